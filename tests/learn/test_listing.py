"""One source: scripts, statements and the list of tutorials say what the chapters say."""

import importlib
import inspect
import re

import pytest

from ibpcl.classroom.assignments import assignment
from ibpcl.learn import listing
from ibpcl.learn.chapters import chapters
from ibpcl.storage import read_text

TUTORIALS = listing.FILE.parent
pytestmark = pytest.mark.skipif(not TUTORIALS.is_dir(), reason="tutorials/ is not beside ibpcl")


def each_chapter(function):
    return pytest.mark.parametrize(
        "chapter", chapters(), ids=lambda chapter: chapter.assignment.name
    )(function)


def test_the_list_of_tutorials_is_up_to_date():
    assert read_text(listing.FILE) == listing.listing(), "python -m ibpcl.learn.listing writes it"


@each_chapter
def test_a_script_states_title_time_and_prerequisites_of_its_chapter(chapter):
    text = read_text(TUTORIALS / f"{chapter.tutorial}.py")
    title = re.search(r"^# # (?:\d+\.\s*)?(.+)$", text, re.M)[1]
    opening = " ".join(line.lstrip("# ") for line in text.splitlines()[:30])
    minutes = re.search(r"\*\*Time:\*\*\D*?(\d+)\s+min", opening)[1]
    assert (title, int(minutes)) == (chapter.title, chapter.reading)
    before = re.search(r"\*\*Prerequisites:\*\*(.*?)\*\*Time", opening)[1]
    named = set()
    for numbers in re.findall(r"tutorials? ((?:\d+(?: to |, | and )?)+)", before):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", numbers):
            named |= set(range(int(first), int(last or first) + 1))
    assert named <= _all_needs(chapter.number)


def _all_needs(number):
    needs = set({each.number: each.needs for each in chapters()}[number])
    return needs.union(*map(_all_needs, needs))


@each_chapter
def test_a_statement_has_the_title_of_its_chapter(chapter):
    heading = f"# Chapter {chapter.number}: {chapter.title}\n"
    assert chapter.assignment.statement().startswith(heading)


def test_every_assignment_follows_a_chapter():
    numbers = {int(name.partition("_")[0]) for name in assignment.names()}
    assert {n for chapter in chapters() for n in chapter.assignments} == numbers


@each_chapter
def test_parts_in_a_statement_are_called_as_they_are_defined(chapter):
    parts = re.findall(r"^- `(\w+)\.(\w+)\(([\w, ]+)\)`", chapter.assignment.statement(), re.M)
    assert parts or chapter.number != 8
    for module, name, arguments in parts:
        function = getattr(importlib.import_module(f"ibpcl.primitives.{module}"), name)
        assert list(inspect.signature(function).parameters) == arguments.split(", "), name

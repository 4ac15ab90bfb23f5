"""Syllabi follow the tables of the chapters."""

import re
from pathlib import Path

import pytest

import ibpcl
from ibpcl.course import kit, syllabus
from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapters

TEXTS = kit.tutorials_of(Path(ibpcl.__file__).parents[1] / "tutorials")
COURSES = pytest.mark.parametrize("weeks", syllabus.COURSES)


@COURSES
def test_what_a_chapter_needs_comes_before_it(weeks):
    seen = []
    for week in syllabus.weeks_of(weeks):
        for chapter in week.chapters:
            assert set(chapter.needs) <= set(seen)
            seen.append(chapter.number)
    assert set(syllabus.COURSES[weeks].goals) <= set(seen)


@COURSES
def test_an_assignment_is_handed_out_after_what_prepares_it(weeks):
    plan = syllabus.weeks_of(weeks)
    assert len(plan) == weeks and all(week.chapters for week in plan)
    out = {number: week.number for week in plan for number in week.handed_out}
    assert set(out) == set(syllabus.COURSES[weeks].assignments)
    for number, begun in out.items():
        for week in plan:
            if any(number in chapter.assignments for chapter in week.chapters):
                assert week.number <= begun
    for week in plan:
        assert all(out[number] + 2 == week.number for number in week.due)


@COURSES
def test_no_week_has_twice_the_work_of_the_mean(weeks):
    hours = [week.hours for week in syllabus.weeks_of(weeks)]
    assert max(hours) < 2 * sum(hours) / len(hours)


@COURSES
def test_the_page_has_all_chapters_with_their_goals(weeks):
    page = syllabus.page(weeks, TEXTS)
    for chapter in syllabus.chapters_of(syllabus.COURSES[weeks]):
        assert f"### {chapter.number}. {chapter.title}" in page
        prerequisites, goals = syllabus.header(TEXTS[chapter.tutorial])
        assert prerequisites in page and all(f"- {goal}" in page for goal in goals)


def test_every_tutorial_states_prerequisites_and_goals():
    for name, text in TEXTS.items():
        prerequisites, goals = syllabus.header(text)
        assert prerequisites and len(goals) >= 2, name
        assert all(len(goal) < 200 and "\n" not in goal for goal in goals), name


def test_hours_of_the_page_are_those_of_the_tables():
    page = syllabus.page(14, TEXTS)
    minutes = sum(chapter.reading + chapter.minutes for chapter in chapters())
    homework = sum(map(syllabus.hours_of, syllabus.COURSES[14].assignments))
    total = int(re.search(r"(\d+) hours in all", page)[1])
    assert abs(total - (minutes / 60 + homework)) <= 0.5


def test_a_split_balances_the_weeks():
    assert syllabus.split((3, 1, 1, 1), 2) == (1, 4)
    assert syllabus.split((1, 1, 1), 3) == (1, 2, 3)


def test_another_number_of_weeks_is_refused():
    with pytest.raises(UserError, match="6, 10, 14"):
        syllabus.page(7, TEXTS)

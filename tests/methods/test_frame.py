"""The shared frame of learners: complete docstrings, and what a class says itself is kept."""

import inspect
import re

import pytest

from ibpcl.continual.learner import Saved
from ibpcl.methods import GENERATIVE, METHODS, frame, method
from ibpcl.methods.naive import Settings
from ibpcl.methods.sequential import Context, PlainClassifier

ORDER = ("Parameters", "Attributes", "Raises", "Examples")


def sections(text):
    return re.findall(r"^(\w+)\n-{3,}$", inspect.cleandoc(text), re.MULTILINE)


@pytest.mark.parametrize("name", [*METHODS, *GENERATIVE])
def test_a_learner_describes_its_arguments_state_and_errors(name):
    found = method(name)
    text = inspect.cleandoc(found.learner.__doc__)
    assert tuple(sections(text)) == ORDER
    attributes = text.partition("Attributes\n---")[2].partition("\nRaises\n---")[0]
    for attribute in ("settings", "model", "knowledge", "name", "learned", "inputs", "context"):
        assert re.search(rf"^{attribute} : ", attributes, re.MULTILINE), attribute
    assert f'``"{name}"``' in attributes and f"{found.learner.__name__}(" in text


def test_a_learner_keeps_its_own_attributes_and_example():
    @frame.documented_learner
    class Own(Saved):
        """Learner of a test.

        Attributes
        ----------
        knowledge : object
            Something else.
        more : int
            A number.

        Examples
        --------
        >>> 1 + 1
        2
        """

        settings_type = Settings
        model_type = PlainClassifier
        context_type = Context
        learn = frame.learning(lambda context, task: (context, task))
        predict = frame.class_probabilities

    assert tuple(sections(Own.__doc__)) == ORDER
    assert Own.__doc__.startswith("Learner of a test.\n\nParameters\n")
    assert (
        "\nknowledge : object\n    Something else.\nmore : int\n    A number.\nname :"
        in Own.__doc__
    )
    assert Own.__doc__.endswith(">>> 1 + 1\n2\n") and Own.__doc__.count(">>>") == 1


def test_without_docstrings_nothing_is_added():
    def learn_task(context, task):
        return context, task

    assert frame.documented_step(learn_task).__doc__ is None


def test_learning_replaces_the_state_by_that_of_the_step(make_task):
    learner = method("naive").learner(Settings(hidden=(4,)), 0, "numpy")
    seen = []

    def step(context, task):
        seen.append((context.progress, task))
        return context.state, ["row"]

    task = make_task(0)
    assert frame.learning(step)(learner, task, progress=False) == ["row"]
    assert seen == [(False, task)]

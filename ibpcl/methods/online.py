"""Learners that are fed one minibatch after another, without whole tasks.

A learner's ``learn(task)`` passes over the examples of a known task.  Here the same steps are taken
on minibatches that come from outside: with the same minibatches, they give the same parameters, bit
for bit.  The number of steps of a task is only a plan.  It sets how fast the temperature and the
learning rates fall, and when NPBCL cuts its masks.

- :class:`OnlineNaive` and :class:`OnlineBGD` take one step after another and never need a boundary.
- :class:`OnlineNPBCL` needs one: there the posterior becomes the prior, and the masks begin anew.
"""

from copy import copy
from dataclasses import replace

import numpy as np

from ibpcl.adam import State
from ibpcl.continual.learner import under
from ibpcl.errors import TrainingError, UserError
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fitting, refuse_non_finite
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import bgd, npbcl, sequential

# Settings of NPBCL that need all examples of a task, or its end, with their values without effect.
UNUSABLE = {"expand": False, "coreset": "none", "likelihood_epochs": 0, "shared_mask": False}


class Online:
    """Base class of the learners that are fed minibatches.

    Parameters
    ----------
    learner : ibpcl.continual.learner.Saved
        A new learner.
    template : ibpcl.continual.task.Task
        Any task, for the width of the inputs and the number of classes; its examples are not read.
    examples : int
        Number of examples of a task, which scales its likelihood.

    Attributes
    ----------
    learner, template, examples
        As given; ``learner`` has the tasks before the current one.
    phase : str
        Name of the phase of training, for the history.
    fitting : ibpcl.inference.loop.Fitting
        The fit of the current task.
    """

    needs_boundaries = False

    def __init__(self, learner, template, examples):
        self.learner = learner
        self.template = template
        self._open(examples)

    def begin(self, examples):
        """Begin a new task: what was learned becomes the prior knowledge.

        Parameters
        ----------
        examples : int
            Number of examples of the task.
        """
        self.learner.become(self.finished())
        self._open(examples)

    def evaluate(self, x, y):
        """Return the objective of the next step at a minibatch.

        Parameters
        ----------
        x : ndarray, shape (N, D)
            Inputs.
        y : ndarray of int, shape (N,)
            Labels.

        Returns
        -------
        step : ibpcl.inference.loop.Step
            Objective and gradient at the current posterior, before it sees the minibatch.

        Raises
        ------
        ibpcl.errors.NonFiniteError
            If one of them is NaN or infinite.
        """
        fitting = self.fitting
        step = self._objective(fitting.vector, x, y, fitting.step, fitting.steps)
        refuse_non_finite(step, f"{self.phase}, step {fitting.step}")
        return step

    def advance(self, step):
        """Take the step that :meth:`evaluate` returned.

        Parameters
        ----------
        step : ibpcl.inference.loop.Step
            The step.

        Returns
        -------
        changed : bool
            Whether a new phase of training begins, in which the objective is another one.
        """
        self.fitting.advance(step.gradient)
        return False

    def snapshot(self):
        """Return a learner with the current task as if it ended now.

        Returns
        -------
        learner : ibpcl.continual.learner.Saved
            A new learner of the same class, ready to predict.
        """
        return self._learner(self.finished())

    def state(self):
        """Return everything that was learned, with the fit in progress.

        Returns
        -------
        state : dict of str to ndarray
            Arrays by name, ready for a file.
        """
        fitting = self.fitting
        arrays = {f"learned/{name}": value for name, value in self.learner.state().items()}
        arrays |= {
            "vector": fitting.vector,
            "first": fitting.state.first,
            "second": fitting.state.second,
            "counts": np.array([self.examples, fitting.step, fitting.state.step]),
        }
        return arrays if fitting.mean is None else arrays | {"mean": fitting.mean}

    def load_state(self, state):
        """Replace everything by a saved state.

        Parameters
        ----------
        state : dict of str to ndarray
            Result of :meth:`state` of a learner of the same class and settings.
        """
        self.learner.load_state(under(state, "learned/"))
        examples, step, adam_step = map(int, state["counts"])
        self._open(examples)
        self._resume(state)
        self.fitting.vector = np.array(state["vector"])
        self.fitting.state = State(np.array(state["first"]), np.array(state["second"]), adam_step)
        self.fitting.mean = np.array(state["mean"]) if "mean" in state else None
        self.fitting.step = step

    def finished(self):
        """Return the state of the method with the current task as if it ended now.

        Returns
        -------
        state : ibpcl.methods.sequential.State
            The state.
        """
        return sequential.keep(self.context, self.network, self.fitting.fitted)

    def _learner(self, state):
        """Return a copy of the learner with another state."""
        learner = copy(self.learner)
        learner.become(state)
        return learner

    def _open(self, examples):
        """Begin the fit of a task with the knowledge of ``learner``."""
        self.examples = examples
        self.context = sequential.accept(self.learner.context, self.template)
        self.network = self.context.next_network(self.template.outputs)
        self._start(sequential.start(self.context, self.network, self.template))
        self.phase = self.context.name

    def _resume(self, state):
        """Return to the phase of a saved state."""

    def _data(self):
        """Return data in place of the examples of the task, which are not known yet."""
        return Data(np.broadcast_to(np.float32(1), (self.examples, self.template.inputs)), None)


class OnlineNaive(Online):
    """Naive training on a stream of minibatches: Adam, whose state is kept.

    Parameters
    ----------
    learner : ibpcl.methods.naive.Naive
        A new learner.
    template : ibpcl.continual.task.Task
        Any task, for the width of the inputs and the number of classes.
    examples : int
        Number of examples of a task, which scales its likelihood and plans its steps.
    """

    def _start(self, vector):
        settings = self.context.settings
        _, problem, self.fitting = objectives.begin_stream(
            self.network,
            vector,
            None,
            self._data(),
            self.context.fit(),
            {"plain": settings.rate},
            Weighted(self.context.model.weights),
            {},
        )
        self._objective = problem.evaluate


class OnlineBGD(Online):
    """BGD on a stream of minibatches: Bayes' rule after each, as the method is defined.

    Parameters
    ----------
    learner : ibpcl.methods.bgd.BGD
        A new learner.
    template : ibpcl.continual.task.Task
        Any task, for the width of the inputs and the number of classes.
    examples : int
        Number of examples of a task, which scales its likelihood and plans its steps.
    """

    def _start(self, vector):
        plan = self.context.fit()
        steps = plan.epochs * -(-self.examples // plan.batch)
        self._objective = bgd.objective_of(self.context, self.network, plan, self.examples)
        self.fitting = Fitting(vector, self.context.settings.rate, plan, steps, bgd.move)


class OnlineNPBCL(Online):
    """NPBCL on a stream of minibatches: one turn of Algorithm 1 between two boundaries.

    After the planned number of steps of masked training, the masks are cut.  All later minibatches
    fine-tune the weights, until the next task begins.  If it begins earlier, the masks are cut
    then.  Inputs that are zero in the whole task are not known in advance, so their weights are
    trained as well.

    Parameters
    ----------
    learner : ibpcl.methods.npbcl.NPBCL
        A new learner.
    template : ibpcl.continual.task.Task
        Any task, for the width of the inputs and the number of classes.
    examples : int
        Number of examples of a task, which scales its likelihood and plans its steps.

    Raises
    ------
    ibpcl.errors.UserError
        If a setting needs all examples of a task in advance.
    """

    needs_boundaries = True

    def __init__(self, learner, template, examples):
        for name, value in UNUSABLE.items():
            if getattr(learner.settings, name) != value:
                raise UserError(
                    f"{name} must be {value!r} on a blended stream, which gives one minibatch "
                    f"at a time, got {getattr(learner.settings, name)!r}"
                )
        super().__init__(learner, template, examples)

    def advance(self, step):
        """Take the step that :meth:`evaluate` returned, and cut the masks at the planned step.

        Parameters
        ----------
        step : ibpcl.inference.loop.Step
            The step.

        Returns
        -------
        changed : bool
            Whether fine-tuning begins.
        """
        super().advance(step)
        if self.phase == "finetune" or self.fitting.step < self.fitting.steps:
            return False
        self._tune(self._whole())
        return True

    def begin(self, examples):
        """Begin a new task: the posterior becomes the prior, and the masks begin anew.

        If the current task has begun so recently that no weight is on yet, nothing of it is kept.

        Parameters
        ----------
        examples : int
            Number of examples of the task.
        """
        try:
            super().begin(examples)
        except TrainingError:
            self._open(examples)

    def snapshot(self):
        """Return a learner with the current task as if it ended now.

        Returns
        -------
        learner : ibpcl.methods.npbcl.NPBCL
            A new learner, ready to predict.  If no weight is on yet, it predicts with all weights.
        """
        try:
            return super().snapshot()
        except TrainingError:
            masked = self.network.masked
            masks = {name: np.ones(layer.shape, bool) for name, layer in masked.items()}
            return self._learner(npbcl.keep(self.context, self.network, self._whole(), masks, None))

    def finished(self):
        """Return the state of the method with the current task as if it ended now.

        Returns
        -------
        state : ibpcl.methods.npbcl.State
            The state.

        Raises
        ------
        ibpcl.errors.TrainingError
            If no weight of a layer is on.
        """
        vector = self._whole()
        vector, masks = (vector, self._masks) if self.phase == "finetune" else self._cut(vector)
        return npbcl.keep(self.context, self.network, vector, masks, None)

    def state(self):
        """Return everything that was learned, with the fit in progress.

        Returns
        -------
        state : dict of str to ndarray
            Arrays by name, ready for a file.
        """
        return super().state() | ({"uncut": self._uncut} if self.phase == "finetune" else {})

    def _open(self, examples):
        self.examples = examples
        context = self.learner.context
        width, state = context.model.accept(self.template, context.state)
        self.context = replace(context, state=state)
        self.network = self.context.next_network(width)
        self._prior = npbcl.masked_prior(self.context, self.network)
        start = npbcl.start(self.context, self.network, None)
        self.phase = "masked"
        about = self.context, self.network, start, self._prior, self._data()
        self._set(*npbcl.masked_training(*about, objectives.begin_stream)[1:])
        if not self.fitting.steps:
            self._tune(self._whole())

    def _cut(self, vector):
        """Return the parameters and the masks after masked training that ended at ``vector``."""
        masks = npbcl.cut_masks(self.context, self.network, vector, None)
        return npbcl.drop(self.context, self.network, vector, self._prior, masks), masks

    def _tune(self, trained):
        """Begin fine-tuning after masked training that ended at ``trained``."""
        vector, self._masks = self._cut(trained)
        self.phase = "finetune"
        self._uncut = trained
        about = self.context, self.network, vector, self._prior, self._data(), self._masks
        self._set(*npbcl.finetune(*about, objectives.begin_stream))

    def _set(self, problem, fitting):
        self._problem = problem
        self.fitting = fitting

    def _objective(self, vector, x, y, step, steps):
        return self._problem.evaluate(vector, self._problem.subnet.columns(x), y, step, steps)

    def _whole(self):
        return self._problem.subnet.write_back(self.fitting.fitted, self._problem.rest)

    def _resume(self, state):
        if "uncut" in state:
            self._tune(np.array(state["uncut"]))


LEARNERS = {"naive": OnlineNaive, "bgd": OnlineBGD, "npbcl": OnlineNPBCL}


def passes(settings, examples):
    """Return how often the examples of a task come, as in a stream with known tasks.

    Parameters
    ----------
    settings : ibpcl.methods.Training
        Settings of the method.
    examples : int
        Number of examples of the task.

    Returns
    -------
    passes : int
        The epochs of all phases.

    Examples
    --------
    >>> passes(npbcl.Settings(epochs=2, finetune_epochs=3), 100)
    5
    """
    if hasattr(settings, "epochs_for"):
        return sum(settings.epochs_for(examples))
    return settings.epochs

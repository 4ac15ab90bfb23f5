r"""Algorithm 1, run on two tiny tasks by the package's learner, with what happens inside written down.

Kumar et al. (2021), Algorithm 1: the checks here are that the prior is the one of Eq. 11, that fine-tuning leaves masks
and sticks alone, that alpha follows its rule, and that predictions use what was learned.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from ibpcl.continual.task import Task
from ibpcl.methods.npbcl import NPBCL, Settings
from ibpcl.models.classifier import Prior
from ibpcl.models.layers import sticks

SETTINGS = Settings(hidden=(6,), samples=2, prediction_samples=4, epochs=4, finetune_epochs=2, batch=16, alpha=10.0,
                    mask_rate=0.05)


class Turn(NamedTuple):
    """One turn of the algorithm: the prior, the parameters after each phase, the mask, and alpha before and after."""

    prior: Prior
    trained: np.ndarray
    tuned: np.ndarray
    mask: np.ndarray
    a: np.ndarray
    alpha_before: float
    alpha: np.ndarray


class Watched(NPBCL):
    """The learner, taking notes between its phases."""

    def learn(self, task, progress=None):
        """Run one turn and append it to ``turns``."""
        before = float(self.alpha[0])
        super().learn(task, progress)
        (a, _), _ = sticks(*(self.trained_layers[0][name] for name in ("raw_a", "raw_b")))
        turn = Turn(self.last_prior, self.trained, self.tuned, self.masks(len(self.heads) - 1)[0], a, before,
                    self.alpha.copy())
        self.turns = [*getattr(self, "turns", []), turn]

    def _train(self, model, vector, prior, task, progress):
        self.last_prior = prior
        vector, records = super()._train(model, vector, prior, task, progress)
        self.trained = vector.copy()
        self.trained_layers = model.layers(self.trained)
        return vector, records

    def _finetune(self, model, vector, prior, masks, task, progress):
        vector, records = super()._finetune(model, vector, prior, masks, task, progress)
        self.tuned = vector.copy()
        return vector, records


class Lowered(Watched):
    """The same, in a world where every stick's a falls by training: what alpha does then is what its rule says."""

    def _train(self, model, vector, prior, task, progress):
        vector, records = super()._train(model, vector, prior, task, progress)
        for layer in (self.trained_layers[0], model.layers(vector)[0]):
            layer["raw_a"][...] = 0.8 * self.alpha[0]        # so far from 0 the softplus changes little
        return vector, records


def tiny_task(seed, t):
    """Make a task of 48 examples in five dimensions that a plane separates."""
    rng = np.random.default_rng((seed, t))
    x = rng.normal(size=(48, 5))
    labels = (x @ rng.normal(size=5) > 0).astype(np.int64)
    return Task(f"plane {t}", x, labels, x[:4], labels[:4], 2, ("below", "above"))


@cache
def two_tasks(seed):
    """Learn two tasks and return the learner; computed once for each seed."""
    learner = Watched(SETTINGS, seed, "numpy")
    for t in range(2):
        learner.learn(tiny_task(seed, t))
    return learner


@cache
def one_task(seed):
    """Learn one task after which every a lies below alpha, and return its :class:`Turn`."""
    learner = Lowered(SETTINGS, seed, "numpy")
    learner.learn(tiny_task(seed, 0))
    return learner.turns[0]

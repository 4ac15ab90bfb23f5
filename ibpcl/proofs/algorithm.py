r"""Algorithm 1, run on two tiny tasks by the package's learner, with what happens inside written down.

Kumar et al. (2021), Algorithm 1: the checks here are that the prior is the one of Eq. 11, that fine-tuning leaves masks
and sticks alone, that alpha follows its rule, and that predictions use what was learned.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from ibpcl.continual.task import Task
from ibpcl.methods.npbcl import NPBCL, Settings
from ibpcl.models.layers import sticks
from ibpcl.models.supervised import Prior
from ibpcl.proofs.outcome import Check, Outcome

SETTINGS = Settings(hidden=(6,), samples=2, prediction_samples=4, epochs=4, finetune_epochs=2, batch=16, alpha=5.0,
                    mask_rate=0.2)


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


def check_prior(seed):
    """The first task's prior is p_0; the second's is Eq. 11 with the first task's mask, and p_0 at the head."""
    first, second = two_tasks(seed).turns
    units = first.mask.shape[1]
    used = np.concatenate([first.mask.ravel(), first.mask.any(axis=0)])
    rest = len(second.prior.mu) - len(used)
    used = np.concatenate([used, np.zeros(rest, bool)])
    gaussian = len(used)
    chosen = np.where(used, first.tuned[:gaussian], first.prior.mu)
    wrong = int(np.count_nonzero(second.prior.mu != chosen) + np.count_nonzero(first.prior.mu))
    scale = np.where(used, first.tuned[gaussian:2 * gaussian], np.float32(np.log(SETTINGS.prior_sigma)))
    wrong += int(np.count_nonzero(second.prior.log_sigma != scale))
    return Outcome(wrong == 0, f"{wrong} of {4 * gaussian} entries wrong, {units} units", {"wrong": wrong})


def check_finetuning(seed):
    """Fine-tuning moves used weights alone: mask offsets, sticks and unused weights stay bit for bit."""
    moved = still = 0
    for turn in two_tasks(seed).turns:
        gaussian = len(turn.prior.mu)
        weights = turn.mask.size
        fixed = np.flatnonzero(~turn.mask.ravel())
        still += np.count_nonzero(turn.tuned[2 * gaussian:] != turn.trained[2 * gaussian:])
        # What the mask leaves out is at its prior: given the mask, that is its best posterior.
        still += np.count_nonzero(turn.tuned[fixed] != turn.prior.mu[fixed])
        moved += np.count_nonzero((turn.tuned != turn.trained)[:weights][turn.mask.ravel()])
    return Outcome(still == 0 and moved > 0, f"{still} fixed values moved, {moved} used weights tuned",
                   {"fixed": still, "tuned": moved})


def check_alpha(seed):
    """After each task alpha is the larger of what it was and the largest a."""
    gaps = [abs(turn.alpha[0] - max(turn.alpha_before, turn.a.max())) for turn in
            (*two_tasks(seed).turns, one_task(seed))]
    return Outcome(max(gaps) < 1e-5, "alpha = max(alpha, max a) in 3 turns", {"gaps": gaps})


def check_prediction(seed):
    """Predictions are softmax averages over weight samples: they sum to 1, and repeat bit for bit."""
    learner = two_tasks(seed)
    x = tiny_task(seed, 0).x_train
    one, other = (learner.predict(x, 0) for _ in range(2))
    gap = float(np.abs(one.sum(axis=1) - 1).max())
    return Outcome(gap < 1e-5 and bool((one == other).all()), f"sum to 1 within {gap:.0e}, repeatable", {"gap": gap})


def checks():
    """Return the checks."""
    functions = {"prior": check_prior, "finetuning": check_finetuning, "alpha": check_alpha,
                 "prediction": check_prediction}
    return [Check("definitions", f"algorithm.{name}", run) for name, run in functions.items()]

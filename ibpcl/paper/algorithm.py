"""Checks of Algorithm 1, which run the package's learner on tiny tasks.

Kumar et al. (2021), Algorithm 1, Secs. 4.1 to 4.6 and supplement C and E. The checks cover
the prior of Eq. 11, fine-tuning with fixed masks and sticks, the rules for alpha, coresets that are
used for predictions only, coresets that are chosen again, and the growth of the network.
"""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from ibpcl.continual.task import Task
from ibpcl.inference.objectives import Data
from ibpcl.methods.npbcl import NPBCL, learn_task, next_alpha, refine, update_coresets
from ibpcl.methods.npbcl_settings import FIRST, Settings
from ibpcl.models.elbo import Prior
from ibpcl.models.masked import sticks
from ibpcl.paper.checks import Outcome, verifies

SETTINGS = Settings(
    **{
        **FIRST,
        "hidden": (6,),
        "samples": 2,
        "prediction_samples": 4,
        "epochs": 2,
        "finetune_epochs": 1,
        "batch": 24,
        "alpha": 5.0,
        "weight_rate": 0.01,
        "mask_rate": 0.2,
        "finetune_rate": 0.01,
        "prior_sigma": 0.3,
        "mask_kl_weight": 1.0,
    }
)


class Notes(NamedTuple):
    """The state of one turn of the algorithm.

    Attributes
    ----------
    x : ndarray, shape (N, 5)
        The training inputs.
    prior : Prior
        The prior of the task.
    trained, tuned : ndarray
        All parameters after masked training and after fine-tuning.
    mask : ndarray of bool, shape (5, K)
        The task's mask.
    a : ndarray, shape (K,)
        The first shape parameter of the sticks.
    alpha_before, alpha : float
        The concentration before and after the task.
    """

    x: np.ndarray
    prior: Prior
    trained: np.ndarray
    tuned: np.ndarray
    mask: np.ndarray
    a: np.ndarray
    alpha_before: float
    alpha: float


def tiny_task(seed, t):
    """Return a task of 48 examples in five dimensions that a plane separates.

    Parameters
    ----------
    seed : int
        Seed of the sequence of tasks.
    t : int
        Number of the task.

    Returns
    -------
    task : ibpcl.continual.task.Task
    """
    rng = np.random.default_rng((seed, t))
    x = rng.normal(size=(48, 5))
    labels = (x @ rng.normal(size=5) > 0).astype(np.int64)
    return Task(f"plane {t}", x, labels, x[:4], labels[:4], 2, ("below", "above"))


@cache
def learn(seed, tasks=2, **changes):
    """Learn a few tasks and return the learner with :class:`Notes` on each turn; cached.

    Parameters
    ----------
    seed : int
    tasks : int
        The number of tasks, >= 1.
    **changes
        Settings that differ from :data:`SETTINGS`.

    Returns
    -------
    learner : NPBCL
    notes : tuple of Notes
    """
    learner = NPBCL(replace(SETTINGS, **changes), seed, "numpy")
    notes = []
    for t in range(tasks):
        before = learner.state()
        turn = learn_task(replace(learner.context, progress=False), tiny_task(seed, t))
        learner.load_state(turn.state.arrays())
        raw_a = turn.network.layout.view(turn.trained, "hidden0.raw_a")
        alpha_before = float(before["memory.alpha"][0]) if before else learner.settings.alpha
        notes.append(
            Notes(
                turn.data.x,
                turn.prior,
                turn.trained,
                turn.tuned,
                turn.masks["hidden0"],
                sticks(raw_a, raw_a)[0][0],
                alpha_before,
                float(turn.state.alpha[0]),
            )
        )
    return learner, tuple(notes)


def lowered(seed):
    """Return the turn of one task after lowering every stick's a, to test the rule for alpha.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    turn : Turn
        With the new ``a`` and the next ``alpha``.
    """
    _, (turn,) = learn(seed, 1)
    # The softplus of such a large value is nearly the value.
    raw_a = np.full_like(turn.a, 0.8 * turn.alpha_before)
    alpha = next_alpha(SETTINGS, turn.alpha_before, {"raw_a": raw_a, "raw_b": raw_a})
    return turn._replace(a=sticks(raw_a, raw_a)[0][0], alpha=alpha)


@verifies("definitions", "algorithm.prior")
def prior(seed):
    """The first prior is p_0; the second is Eq. 11 with the first mask, and p_0 at the head."""
    _, (first, second) = learn(seed)
    used = np.concatenate([first.mask.ravel(), first.mask.any(axis=0)])
    gaussian = len(second.prior.mu)
    used = np.concatenate([used, np.zeros(gaussian - len(used), bool)])
    log_sigma = np.float32(np.log(SETTINGS.prior_sigma))
    pairs = (
        (first.prior.mu, 0),
        (first.prior.log_sigma, log_sigma),
        (second.prior.mu, np.where(used, first.tuned[:gaussian], 0)),
        (second.prior.log_sigma, np.where(used, first.tuned[gaussian : 2 * gaussian], log_sigma)),
    )
    wrong = sum(int(np.count_nonzero(prior != exact)) for prior, exact in pairs)
    return Outcome(
        wrong == 0, f"{wrong} of {4 * gaussian} entries differ from Eq. 11", {"wrong": wrong}
    )


@verifies("definitions", "algorithm.finetuning")
def finetuning(seed):
    """Fine-tuning changes used weights only: masks, sticks and unused weights keep every bit."""
    moved = still = 0
    for turn in (*learn(seed)[1], *learn(seed, unused_prior="gaussian")[1]):
        gaussian = len(turn.prior.mu)
        unused = np.flatnonzero(~turn.mask.ravel())
        still += np.count_nonzero(turn.tuned[2 * gaussian :] != turn.trained[2 * gaussian :])
        # A weight that the mask drops is at its prior, if it has one: given the mask, the prior is
        # its best posterior.
        rest = turn.trained[:gaussian].copy()
        informative = turn.prior.informative
        informative = slice(None) if informative is None else informative
        rest[informative] = turn.prior.mu[informative]
        still += np.count_nonzero(turn.tuned[unused] != rest[unused])
        moved += np.count_nonzero((turn.tuned != turn.trained)[: turn.mask.size][turn.mask.ravel()])
    return Outcome(
        still == 0 and moved > 0,
        f"{still} fixed values moved, {moved} used weights moved",
        {"fixed": int(still), "tuned": int(moved)},
    )


@verifies("definitions", "algorithm.alpha")
def alpha(seed):
    """After each task, alpha is the maximum of its previous value and the largest a."""
    turns = (*learn(seed)[1], lowered(seed))
    gap = max(abs(turn.alpha - max(turn.alpha_before, float(turn.a.max()))) for turn in turns)
    return Outcome(gap < 1e-5, f"max(alpha, max a) to {gap:.0e}, {len(turns)} tasks", {"gap": gap})


@verifies("definitions", "algorithm.alpha-increment")
def alpha_increment(seed):
    """Supplement E.1: alpha grows by its increment with each task."""
    gaps = [
        turn.alpha - turn.alpha_before - 2.5
        for turn in learn(seed, alpha_rule="increment", alpha_increment=2.5)[1]
    ]
    gap = max(map(abs, gaps))
    return Outcome(gap < 1e-5, f"+2.5 per task, to {gap:.0e}", {"gap": gap})


@verifies("definitions", "algorithm.prediction")
def prediction(seed):
    """Predictions are averages of softmax outputs: they sum to 1 and repeat bit for bit."""
    learner, _ = learn(seed)
    x = tiny_task(seed, 0).x_train
    one, other = (learner.predict(x, 0) for _ in range(2))
    gap = float(np.abs(one.sum(axis=1) - 1).max())
    return Outcome(
        gap < 1e-5 and bool((one == other).all()),
        f"sums to 1 within {gap:.0e}, repeatable",
        {"gap": gap},
    )


@verifies("definitions", "algorithm.coresets")
def coresets(seed):
    """Coresets are not trained on; refinement changes used weights only, and not the learner."""
    learner, turns = learn(
        seed, coreset="random", coreset_size=8, coreset_epochs=3, coreset_rate=0.01
    )
    overlap = moved = still = 0
    before = {name: np.array(value) for name, value in learner.state().items()}
    for t, turn in enumerate(turns):
        task = tiny_task(seed, t)
        coreset = learner.knowledge.coresets[t].x
        joined = np.concatenate([turn.x, coreset])
        overlap += 48 - len(np.unique(joined, axis=0)) + abs(len(joined) - len(task.x_train))
        network, vector, masks = learner.assemble(t)
        refined = refine(learner.context, network, vector, masks, t)
        learner.predict(task.x_train, t)
        changed = refined[: turn.mask.size] != vector[: turn.mask.size]
        moved += np.count_nonzero(changed & turn.mask.ravel())
        still += np.count_nonzero(changed & ~turn.mask.ravel())
    still += sum(np.count_nonzero(value != before[name]) for name, value in learner.state().items())
    return Outcome(
        overlap == 0 and still == 0 and moved > 0,
        f"{moved} weights refined, {still} others moved, {overlap} examples in both sets",
        {"overlap": int(overlap), "moved": int(moved), "still": int(still)},
    )


@verifies("definitions", "algorithm.coreset-recursion")
def coreset_recursion(seed):
    """Supplement C with coresets chosen again: C_t is in D_t u C_{t-1} and has a fixed size; every
    other example is trained on once, with the mask of its task, before it is part of the prior.
    """
    size = 8
    learner, turns = learn(
        seed,
        3,
        coreset="random",
        coreset_size=size,
        coreset_selection="reselected",
        coreset_epochs=3,
        coreset_rate=0.01,
        unused_prior="gaussian",
    )
    context = NPBCL(learner.settings, seed, "numpy").context
    old = set()
    wrong = moved = left = 0
    for t, turn in enumerate(turns):
        task = tiny_task(seed, t)
        context = replace(context, state=context.model.accept(task, context.state)[1])
        masks = [context.masks(s)["hidden0"] for s in range(t)]
        before = context.state
        after, data, newest, _ = update_coresets(context, task)
        coreset = _examples(newest, *after.state.coresets)
        pool = old | _examples(Data(task.x_train, None))
        left += len(old - coreset)
        # C_t, the data of the task, and the points that leave are a partition of D_t u C_{t-1}
        wrong += len(coreset) != size or not coreset <= pool
        wrong += len(pool - coreset) != len(_examples(data)) + len(old - coreset)
        wrong += not np.array_equal(data.x, turn.x)
        if t:
            used = np.logical_or.reduce(
                [
                    mask & (len(_examples(before.coresets[s])) > len(_examples(part)))
                    for s, (mask, part) in enumerate(zip(masks, after.state.coresets, strict=True))
                ]
            )
            mu = [one.posterior()["hidden0"]["weight.mu"] for one in (context, after)]
            moved += np.count_nonzero(mu[0] != mu[1])
            wrong += np.count_nonzero((mu[0] != mu[1]) & ~used)
            known = np.logical_or.reduce(masks)
            prior = turn.prior.mu[: known.size].reshape(known.shape)
            wrong += np.count_nonzero(prior[known] != mu[1][known])
        old = coreset
        context = replace(context, state=learn_task(replace(context, progress=False), task).state)
    same = all(
        np.array_equal(value, learner.state()[name])
        for name, value in context.state.arrays().items()
    )
    return Outcome(
        wrong == 0 and moved > 0 and same,
        f"{left} points left, {moved} weights moved, {wrong} violations",
        {"left": left, "moved": int(moved), "wrong": int(wrong)},
    )


def _examples(*parts):
    """Return the examples of some data sets, None for an empty one, as a set of tuples."""
    return {tuple(row) for part in parts if part is not None for row in part.x.tolist()}


@verifies("definitions", "algorithm.growth")
def growth(seed):
    """Sec. 4.6: a layer of four units grows, five trailing ones stay empty, and its earlier tasks
    still predict.
    """
    learner, turns = learn(seed, hidden=(4,), expand=True, empty_units=5, expand_every=2)
    units = [turn.mask.shape[1] for turn in turns]
    # by the recursion of Eq. 12, not by the package's count
    empty = [int(np.cumprod(~turn.mask.any(axis=0)[::-1]).sum()) for turn in turns]
    finite = bool(np.isfinite(learner.predict(tiny_task(seed, 0).x_train, 0)).all())
    return Outcome(
        units[0] > 4 and units == sorted(units) and min(empty) >= 5 and finite,
        f"4 units grew to {units[0]}, then {units[1]}; {empty[0]} and {empty[1]} are empty",
        {"units": units, "empty": empty},
    )

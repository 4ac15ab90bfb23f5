r"""The exact posterior of a network with 17 weights beside the package's learners.

``python -m ibpcl.exact.study --seeds 5`` prints the tables of ``docs/sequential-bayes.md``.

Three tasks of two classes in the plane share one head, and the network does not know the task.
Only NPBCL reads the number of the task, because it selects the mask.  There are two streams:

- ``compatible``: the tasks lie along one bent boundary, :math:`x_2 = |x_1|`: left of the bend, at
  the bend, and right of it.  A network with three ReLU units can fit all of them, because
  :math:`x_2 - |x_1| = (x_1 + x_2) - 2 \max(x_1, 0)`.
- ``conflicting``: all tasks have the same inputs, and the boundary between the classes turns by 60
  degrees from task to task.  No single network can fit all of them.
"""

import argparse
from pathlib import Path

import numpy as np

from ibpcl import storage
from ibpcl.continual.task import Task
from ibpcl.exact import hmc, points, tiny
from ibpcl.exact.forgetting import Forgetting, decompose, scores_of_learner
from ibpcl.experiments import program
from ibpcl.experiments.report import VALUES
from ibpcl.experiments.tables import FINE_NATS, FRACTION, SCORE, Entry, Table, text
from ibpcl.methods import method
from ibpcl.noise import Key, generator
from ibpcl.numerics import logsumexp, sigmoid

PRIOR_SIGMA = 1.0
NETWORK = tiny.TinyNetwork(
    2, hidden=3, outputs=2, likelihood="softmax", activation="relu", prior_sigma=PRIOR_SIGMA
)
STREAMS = ("compatible", "conflicting")
TASKS = 3
TRAIN = 60  # examples per task: enough to learn it, few enough for a wide posterior
TEST = 500
STEEPNESS = 3.0  # of the labels' log-odds across the boundary: about one label in six is unexpected
SPREAD = 1.5  # standard deviation of the inputs of the conflicting tasks
CHAINS = 12
DRAWS = 160
WARM_UP = 160
STEPS = 14
# By method, or by method and variant.  Every learner uses all examples of a task in each step, one
# step per epoch.
COMMON = {"hidden": (NETWORK.hidden,), "batch": TRAIN, "single_head": True}
SETTINGS = {
    "naive": {"epochs": 400, "rate": 0.02},
    "ewc": {"epochs": 400, "rate": 0.02, "weight": 1.0, "variant": "separate"},
    "gpm": {"epochs": 400, "rate": 0.02},
    "kronecker": {"epochs": 400, "rate": 0.02, "prior_sigma": PRIOR_SIGMA},
    "progress": {"epochs": 400, "compress_epochs": 400, "rate": 0.02, "weight": 1.0},
    "ucb": {"epochs": 400, "rate": 0.03, "rate_end": 0.05, "likelihood_epochs": 0}
    | {"sigma_rate": 0.03, "kl_weight": 1.0, "prior_sigma": PRIOR_SIGMA},
    "laplace": {"epochs": 400, "rate": 0.02, "prior_sigma": PRIOR_SIGMA},
    "vcl": {"epochs": 400, "rate": 0.03, "rate_end": 0.05, "likelihood_epochs": 0}
    | {"prior_sigma": PRIOR_SIGMA},
    "vcl-rank": {"epochs": 400, "rate": 0.03, "rate_end": 0.05, "likelihood_epochs": 0}
    | {"prior_sigma": PRIOR_SIGMA, "rank": 2},
    "vcl-full": {"epochs": 400, "rate": 0.03, "rate_end": 0.05, "likelihood_epochs": 0}
    | {"prior_sigma": PRIOR_SIGMA, "full_head": True},
    "gvcl": {"epochs": 400, "rate": 0.03, "rate_end": 0.05, "likelihood_epochs": 0}
    | {"prior_sigma": PRIOR_SIGMA},
    "bgd": {"epochs": 150, "start_sigma": 0.1},
    "ivon": {"epochs": 400, "rate": 0.5, "curvature_rate": 0.05, "rate_end": 0.05}
    | {"prior_sigma": PRIOR_SIGMA},
    "frcl": {"epochs": 400, "rate": 0.02, "rate_end": 0.05, "points": TRAIN}
    | {"prior_sigma": PRIOR_SIGMA},
    "claw": {"epochs": 400, "rate": 0.03, "rate_end": 0.05, "likelihood_epochs": 0}
    | {"prior_sigma": PRIOR_SIGMA},
    "horseshoe": {"epochs": 400, "rate": 0.03, "rate_end": 0.05, "likelihood_epochs": 0}
    | {"prior_sigma": PRIOR_SIGMA, "start_scale": 1.0, "threshold": 0.0},
    # one hidden layer: the same bits as ibp_vcl
    "hibp_vcl": {"epochs": 400, "rate": 0.03, "likelihood_epochs": 0, "mask_rate": 0.03}
    | {"prior_sigma": PRIOR_SIGMA},
    "npbcl": {"epochs": 150, "finetune_epochs": 150, "prior_sigma": PRIOR_SIGMA}
    | {"weight_rate": 0.02, "finetune_rate": 0.02, "rate_end": 0.1},
}
LABELS = {
    "ewc": "EWC",
    "laplace": "Laplace",
    "vcl": "VCL",
    "vcl-rank": "VCL, rank 2",
    "vcl-full": "VCL, full head",
    "gvcl": "GVCL",
    "bgd": "BGD",
    "ivon": "IVON",
    "gpm": "GPM",
    "frcl": "FRCL",
    "claw": "CLAW",
    "kronecker": "Kronecker Laplace",
    "progress": "Progress & Compress",
    "ucb": "UCB",
    "horseshoe": "horseshoe",
    "hibp_vcl": "H-IBP-VCL",
    "npbcl": "NPBCL",
}
EXAMPLES, START = range(2)  # streams of the noise


def stream(kind, seed=0, train=(TRAIN,) * TASKS):
    """Return the tasks of a stream.

    Parameters
    ----------
    kind : {"compatible", "conflicting"}
        The stream.
    seed : int
        Seed of the inputs and the labels.
    train : tuple of int
        Training examples of each task.

    Returns
    -------
    tasks : list of ibpcl.continual.task.Task
        One task per entry of ``train``, with 500 test examples each.

    Raises
    ------
    ValueError
        If ``kind`` is neither of the two names.
    """
    if kind not in STREAMS:
        raise ValueError(f"study.stream: kind must be one of {', '.join(STREAMS)}, got {kind!r}")
    tasks = []
    for t, examples in enumerate(train):
        rng = generator(Key(seed, t, 0, EXAMPLES))
        x = rng.standard_normal((examples + TEST, NETWORK.inputs))
        if kind == "compatible":
            side = 2 * t - len(train) + 1  # -2, 0 and 2 for three tasks
            x = x + np.array([side, abs(side)])
            height = x[:, 1] - np.abs(x[:, 0])
        else:
            angle = np.pi * t / len(train)
            x = SPREAD * x
            height = x @ np.array([np.cos(angle), np.sin(angle)])
        y = (rng.random(len(x)) < sigmoid(STEEPNESS * height)).astype(int)
        parts = (x[:examples], y[:examples], x[examples:], y[examples:])
        tasks.append(Task(f"{kind} {t + 1}", *parts, classes=2))
    return tasks


def exact_posteriors(tasks, seed=0):
    """Draw from the exact posterior after each task.

    The chains of the first task start at draws from the prior.  Those of every other task start
    where the chains of the task before end, so that the posterior narrows step by step.  A chain
    that starts far from a narrow posterior may end at a local maximum.

    Parameters
    ----------
    tasks : sequence of ibpcl.continual.task.Task
        The tasks.
    seed : int
        Seed of the sampler.

    Returns
    -------
    posteriors : list of ibpcl.exact.hmc.Chains
        Draws (T, C, P) given the training data of tasks 1 to t, for every t.
    """
    data = [(task.x_train, task.y_train) for task in tasks]
    rng = generator(Key(seed, 0, 0, START))
    start = PRIOR_SIGMA * rng.standard_normal((CHAINS, NETWORK.size))
    posteriors = []
    for t in range(1, len(tasks) + 1):
        density = tiny.with_gradient(NETWORK, data[:t])
        posteriors.append(hmc.sample(density, start, DRAWS, WARM_UP, STEPS, seed=seed + t))
        start = posteriors[-1].draws[-1]
    return posteriors


def log_predictive(chains, task):
    r"""Return the mean log predictive density of a task, with its error and a diagnostic.

    The error is the jackknife's: with :math:`\ell_{-c}` the value without chain c,
    :math:`\sqrt{\frac{C - 1}{C} \sum_c (\ell_{-c} - \bar\ell)^2}`.

    Parameters
    ----------
    chains : ibpcl.exact.hmc.Chains
        Draws from a posterior.
    task : ibpcl.continual.task.Task
        The task, whose test examples are used.

    Returns
    -------
    value : float
        Mean log predictive density, in nats per test example.
    error : float
        Monte Carlo standard error.
    rhat : float
        :func:`ibpcl.exact.hmc.split_rhat` of the mean log likelihood of the draws.  The weights
        themselves cannot be compared: exchanging two hidden units changes nothing but the weights.
    """
    draws, count, _ = chains.draws.shape
    every = points.of_draws(chains.draws)
    log_p = points.log_likelihoods(NETWORK, every, task.x_test, task.y_test)
    log_p = log_p.reshape(draws, count, -1)
    by_chain = logsumexp(log_p, axis=0) - np.log(draws)
    value = (logsumexp(by_chain, axis=0) - np.log(count)).mean()
    without = np.array(
        [logsumexp(np.delete(by_chain, c, axis=0), axis=0).mean() for c in range(count)]
    )
    error = np.sqrt((count - 1) * without.var())
    return value, error, hmc.split_rhat(log_p.mean(axis=2))


def exact_scores(tasks, seed=0):
    """Score the exact posterior after each task.

    Parameters
    ----------
    tasks : sequence of ibpcl.continual.task.Task
        The tasks.
    seed : int
        Seed of the sampler.

    Returns
    -------
    scores : ndarray, shape (T, T)
        Mean log predictive density of task j after tasks 1 to t, in row t and column j <= t; NaN
        above the diagonal.
    error : float
        The largest Monte Carlo standard error of a score.
    rhat : float
        The largest diagnostic; see :func:`log_predictive`.
    """
    scores = np.full((len(tasks), len(tasks)), np.nan)
    errors = []
    rhats = []
    for t, chains in enumerate(exact_posteriors(tasks, seed)):
        for j in range(t + 1):
            scores[t, j], error, rhat = log_predictive(chains, tasks[j])
            errors.append(error)
            rhats.append(rhat)
    return scores, max(errors), max(rhats)


def learner(name, seed=0):
    """Return a learner of the study.

    Parameters
    ----------
    name : str
        A key of :data:`SETTINGS`.
    seed : int
        Seed of the learner.

    Returns
    -------
    learner : ibpcl.continual.learner.Learner
        The package's learner with the settings of the study.
    """
    about = method(name.partition("-")[0])
    return about.learner(about.settings(**COMMON, **SETTINGS[name]), seed, "numpy")


def compare(kind, seed=0, names=tuple(SETTINGS)):
    """Return what each method forgets on a stream, in parts.

    Parameters
    ----------
    kind : {"compatible", "conflicting"}
        The stream.
    seed : int
        Seed of the data, the sampler and the learners.
    names : sequence of str
        Methods, keys of :data:`SETTINGS`.

    Returns
    -------
    parts : dict of str to ibpcl.exact.forgetting.Forgetting
        The parts by method.
    error : float
        The largest Monte Carlo standard error of an exact score, in nats per example.
    rhat : float
        The largest diagnostic of the sampler.
    """
    tasks = stream(kind, seed)
    exact, error, rhat = exact_scores(tasks, seed)
    parts = {
        name: decompose(exact, scores_of_learner(learner(name, seed), tasks)) for name in names
    }
    return parts, error, rhat


def measured(seeds, names=tuple(SETTINGS)):
    """Return what each method forgets on both streams, and how exact the sampler is.

    Parameters
    ----------
    seeds : int
        Number of seeds, from 0.
    names : sequence of str
        Methods, keys of :data:`SETTINGS`.

    Returns
    -------
    tables : list of ibpcl.experiments.tables.Table
        For each stream, total forgetting, its parts and the gap, means over tasks in nats per test
        example, with a value per seed; then the largest R-hat of the sampler, and the largest Monte
        Carlo standard error of an exact score.
    """
    measured_tables = []
    for kind in STREAMS:
        runs = [compare(kind, seed, names) for seed in range(seeds)]
        entries = []
        for name in names:
            values = np.array([np.mean(parts[name], axis=1) for parts, _, _ in runs])
            entries += [
                Entry(LABELS.get(name, name), column, tuple(values[:, i]), FINE_NATS)
                for i, column in enumerate(Forgetting._fields)
            ]
        measured_tables.append(Table(f"{kind} tasks", tuple(entries)))
        sampler = (
            Entry("R-hat", "largest", tuple(rhat for _, _, rhat in runs), FRACTION),
            Entry("Monte Carlo error", "largest", tuple(error for _, error, _ in runs), SCORE),
        )
        measured_tables.append(Table(f"sampler, {kind} tasks", sampler))
    return measured_tables


def write(folder, measured_tables):
    """Write ``values.csv``, with the program and the machine behind each value.

    Parameters
    ----------
    folder : path-like
        The folder; it is made if it does not exist.
    measured_tables : sequence of ibpcl.experiments.tables.Table
        From :func:`measured`.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    maker = (
        program.commit() or "unknown",
        program.processor(),
        program.described(program.versions()),
    )
    lines = [
        (table.title, entry.row, entry.column, entry.unit.name, value, seed, *maker)
        for table in measured_tables
        for entry in table.entries
        for seed, value in enumerate(entry.values)
    ]
    storage.write_csv(
        Path(folder, "values.csv"),
        {name: [line[i] for line in lines] for i, name in enumerate(VALUES)},
    )


def main(arguments=None):
    """Print the tables, and write them on request.

    Parameters
    ----------
    arguments : list of str, optional
        Words of the command line; those of this process if not given.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument(
        "--methods", default=",".join(SETTINGS), help="methods with commas between (default: all)"
    )
    parser.add_argument("--out", help="folder for values.csv")
    options = parser.parse_args(arguments)
    names = tuple(options.methods.split(","))
    if unknown := [name for name in names if name not in SETTINGS]:
        parser.error(f"--methods must be among {', '.join(SETTINGS)}, got {', '.join(unknown)}")
    results = measured(options.seeds, names)
    print("\n\n".join(map(text, results)))
    if options.out:
        write(options.out, results)


if __name__ == "__main__":
    main()

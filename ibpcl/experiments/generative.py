"""A run on images without labels: what is measured after each task and at the end, and what
``result.json`` holds.

The counterpart of :mod:`ibpcl.continual.loop` and :mod:`ibpcl.experiments.result` for generative
models; a :class:`Stage` is what a ``Progress`` is there.
"""

import math
import time
from typing import NamedTuple

import numpy as np

from ibpcl.continual.loop import learn_task
from ibpcl.evaluation import codes, latent
from ibpcl.evaluation.few_labels import few_label_error
from ibpcl.experiments.run_figures import SHOWN
from ibpcl.inference.loop import progress_bar

MATRICES = (
    "log_likelihood",
    "standard_error",
    "monte_carlo_error",
    "effective_samples",
    "elbo",
    "reconstruction",
    "reconstruction_error",
)


class Stage(NamedTuple):
    """What is known after a task.

    The matrices, (T, T), hold at [i, j] what task j's test images gave after learning task i, NaN
    where nothing was measured: see :func:`ibpcl.evaluation.latent.mean_and_errors`, all nats per
    image but ``effective_samples``; ``reconstruction`` is the mean of
    :func:`~ibpcl.evaluation.latent.reconstruction_score`, with its standard error. ``samples`` and
    ``reconstructed``, (SHOWN * tasks so far, D), are images: of each task's prior, and of its first
    test images.
    """

    task: int
    name: str
    log_likelihood: np.ndarray
    standard_error: np.ndarray
    monte_carlo_error: np.ndarray
    effective_samples: np.ndarray
    elbo: np.ndarray
    reconstruction: np.ndarray
    reconstruction_error: np.ndarray
    samples: np.ndarray
    reconstructed: np.ndarray
    history: list
    train_seconds: float
    test_seconds: float
    # the fields to which each task adds its row
    MATRICES = MATRICES


def learn_stages(learner, stream, config, progress=None, journal=None):
    """Learn every task of a stream; after each, measure the models of all tasks so far, and yield a
    :class:`Stage`.

    ``config.measurement`` sets how much is measured; the noise is a function of its ``seed``, the
    same after each task. The rest as for :func:`ibpcl.continual.loop.learn_stream`.
    """
    T = len(stream)
    tests = []
    finished = list(journal.done) if journal else []
    matrices = {name: np.full((T, T), np.nan) for name in MATRICES}
    for t in range(T):
        task = stream[t]
        tests.append(task.x_test)
        if t < len(finished):
            matrices = {name: getattr(finished[t], name).copy() for name in MATRICES}
            yield finished[t]
            continue
        history, train_seconds = learn_task(learner, task, progress, journal)
        trained = time.perf_counter()
        models = [learner.latent_model(j) for j in range(t + 1)]
        how = config.measurement
        found = _scores(
            models,
            tests,
            how.likelihood_images,
            how.likelihood_samples,
            "likelihoods",
            config,
            progress,
        )
        for name, matrix in matrices.items():
            matrix[t, : t + 1] = [row[name] for row in found]
        samples, reconstructed = shown(models, tests, config.seed)
        done = Stage(
            t,
            task.name,
            **{name: matrix.copy() for name, matrix in matrices.items()},
            samples=samples,
            reconstructed=reconstructed,
            history=history,
            train_seconds=train_seconds,
            test_seconds=time.perf_counter() - trained,
        )
        if journal:
            journal.finish_task(learner, done)
        yield done


def _scores(models, tests, images, samples, title, config, progress):
    """Return the likelihoods and reconstruction scores of each task's first images, means and their
    errors.
    """
    pictures = [x[:images] for x in tests]
    rows = []
    with progress_bar(samples * sum(map(len, pictures)), title, progress) as bar:
        for model, x in zip(models, pictures, strict=True):
            found = latent.importance_sampled(model, x, samples, config.seed, advance=bar.update)
            scores = latent.reconstruction_score(
                model, x, config.measurement.likelihood_samples, config.seed
            )
            error = (
                float(scores.std(ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else math.nan
            )
            rows.append(
                {
                    "images": len(x),
                    **latent.mean_and_errors(found),
                    "reconstruction": float(scores.mean()),
                    "reconstruction_error": error,
                }
            )
    return rows


def shown(models, tests, seed):
    """Return images of each task's prior, and the reconstructions of its first test images: (T *
    SHOWN, D).

    A task's prior is drawn with the same noise at every stage, so that a column of pictures shows
    what changes.
    """
    return (
        np.concatenate(
            [latent.prior_samples(model, SHOWN, (seed, t)) for t, model in enumerate(models)]
        ),
        np.concatenate(
            [
                latent.reconstructions(model, x[:SHOWN])
                for model, x in zip(models, tests, strict=True)
            ]
        ),
    )


def measured(config, stages, learner, stream, progress=None):
    """Return what was measured of a generative model, for ``result.json``; NaN stands for what was
    not measured.

    ``<name>_matrix`` for each of :data:`MATRICES`, from ``likelihood_samples`` samples.  ``final``:
    the same for each task in the end, for ``final_images`` images, from ``final_samples``.
    ``average_...``: means over tasks of these; ``backward_transfer``: mean over tasks and later
    moments of the change since a task was learned, nats; ``log_likelihood_drop``: how far each task
    ended below its value right after it was learned.  ``knn``, ``few_labels``: errors, fractions,
    see :func:`representation`.
    """
    T = len(stages)
    how = config.measurement
    R = stages[-1].log_likelihood
    models = [learner.latent_model(t) for t in range(T)]
    tests = [stream[t].x_test for t in range(T)]
    rows = _scores(
        models, tests, how.final_images, how.final_samples, "final likelihoods", config, progress
    )
    final = {name: [row[name] for row in rows] for name in rows[0]}
    # of earlier tasks, at all later moments
    changes = (R - R.diagonal())[np.tril_indices(T, -1)]
    return {
        **{f"{name}_matrix": getattr(stages[-1], name).tolist() for name in MATRICES},
        "likelihood_samples": how.likelihood_samples,
        "final_samples": how.final_samples,
        "final": final,
        "average_log_likelihood": float(np.mean(final["log_likelihood"])),
        "average_standard_error": math.sqrt(sum(error**2 for error in final["standard_error"])) / T,
        "average_reconstruction": float(np.mean(final["reconstruction"])),
        "backward_transfer": float(np.mean(changes)) if T > 1 else math.nan,
        "log_likelihood_drop": (R.diagonal() - R[-1]).tolist(),
        **representation(models, stream, config, progress),
    }


def images_of(stages, stream):
    """Return the images that each stage showed, and the test images that are reconstructed:
    ``stages.npz``.
    """
    shown_by = {
        f"{name}/{done.task}": getattr(done, name)
        for done in stages
        for name in ("samples", "reconstructed")
    }
    return {
        "originals": np.concatenate([stream[t].x_test[:SHOWN] for t in range(len(stream))]),
        **shown_by,
    }


class Labelled(NamedTuple):
    """The first training and test images of each class, and which task they are of."""

    x: np.ndarray
    labels: np.ndarray
    x_test: np.ndarray
    test_labels: np.ndarray


def labelled(stream, measurement):
    """Return the images whose codes are looked at."""
    parts = []
    for part, count in (("train", measurement.code_images), ("test", measurement.code_test_images)):
        pictures = [getattr(stream[t], f"x_{part}")[:count] for t in range(len(stream))]
        parts += [
            np.concatenate(pictures),
            np.repeat(np.arange(len(pictures)), list(map(len, pictures))),
        ]
    return Labelled(*parts)


def representation(models, stream, config, progress=None):
    """Return how well codes predict the class, encoded in three ways, and pixels to compare with.

    ``knn``: for each of :data:`ibpcl.evaluation.codes.WAYS` the errors of ``means`` and of
    ``samples`` of q(z | x), one for each of ``neighbours``; the errors of ``pixels``;
    ``mask_leak``, see there; ``task_inference``, the share of the test images whose task is not
    found.  ``few_labels``: for each way and for pixels ``labels`` per class and ``errors``, a list
    of draws each.
    """
    how = config.measurement
    images = labelled(stream, config.measurement)
    neighbours = [k for k in codes.NEIGHBOURS if k <= len(images.x)]
    knn = {"neighbours": neighbours, "images": len(images.x), "test_images": len(images.x_test)}
    few = {}

    def error(train, test):
        return codes.knn_error(train, images.labels, test, images.test_labels, neighbours).tolist()

    def with_few(train, test):
        found = few_label_error(train, images.labels, test, images.test_labels, seed=config.seed)
        return {"labels": found.labels.tolist(), "errors": found.errors.tolist()}

    for way in codes.WAYS:
        total = len(models) * how.inference_samples * (len(images.x) + len(images.x_test))
        with progress_bar(total, f"codes, {way}", progress if way == "inferred" else False) as bar:
            tasks, test_tasks = (
                codes.choose_tasks(
                    way, models, x, labels, how.inference_samples, config.seed, bar.update
                )
                for x, labels in ((images.x, images.labels), (images.x_test, images.test_labels))
            )
        means = (
            codes.encode(models, images.x, tasks),
            codes.encode(models, images.x_test, test_tasks),
        )
        rng = np.random.default_rng((config.seed, codes.WAYS.index(way)))
        samples = [
            codes.encode(models, *pair, rng)
            for pair in ((images.x, tasks), (images.x_test, test_tasks))
        ]
        knn[way] = {"means": error(*means), "samples": error(*samples)}
        few[way] = with_few(*means)
        if way == "inferred":
            knn["task_inference"] = float(np.mean(test_tasks != images.test_labels))
    knn["pixels"] = error(images.x, images.x_test)
    few["pixels"] = with_few(images.x, images.x_test)
    x = images.x_test[images.test_labels == 0]
    possible = [k for k in neighbours if k <= len(x) // 2]
    knn["mask_leak"] = codes.mask_leak(models, x, possible).tolist() if possible else []
    return {"knn": knn, "few_labels": few}

"""Runs on images without labels: measurements after each task and at the end.

The counterpart of :mod:`ibpcl.continual.loop` and :mod:`ibpcl.experiments.result` for generative
models; a :class:`Stage` corresponds to a :class:`~ibpcl.continual.loop.Progress`.
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
    """Measurements after a task.

    Entry [i, j] of a matrix, shape (T, T), is the result on the test images of task j after
    learning task i, in nats per image; NaN where nothing was measured.

    Attributes
    ----------
    task : int
        Number of the task, from 0.
    name : str
        Its name.
    log_likelihood : ndarray, shape (T, T)
        Importance-sampled log p(x), see :func:`ibpcl.evaluation.latent.mean_and_errors`.
    standard_error : ndarray, shape (T, T)
        Its standard error over images.
    monte_carlo_error : ndarray, shape (T, T)
        Its standard error over importance samples.
    effective_samples : ndarray, shape (T, T)
        Effective number of importance samples (not in nats).
    elbo : ndarray, shape (T, T)
        The evidence lower bound.
    reconstruction : ndarray, shape (T, T)
        Mean of :func:`ibpcl.evaluation.latent.reconstruction_score`.
    reconstruction_error : ndarray, shape (T, T)
        Its standard error.
    samples : ndarray, shape (SHOWN * tasks so far, D)
        Images from the prior of each task.
    reconstructed : ndarray, shape (SHOWN * tasks so far, D)
        Reconstructions of the first test images of each task.
    history : list of ibpcl.inference.loop.Record
        One row per epoch of the task.
    train_seconds, test_seconds : float
        Time of training and of measuring.
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
    # The fields to which each task adds a row.
    MATRICES = MATRICES


def learn_stages(learner, stream, config, progress=None, journal=None):
    """Learn the tasks of a stream in order; after each, measure the models of all tasks so far.

    The noise of the measurements is a function of ``config.seed``, the same after each task.

    Parameters
    ----------
    learner : Learner
        A generative learner.
    stream : sequence of Task
        Images without labels.
    config : RunConfig
        Its ``measurement`` sets the number of images and samples.
    progress : bool or None
        Whether to show progress bars; None shows them on a terminal only.
    journal : ibpcl.experiments.journal.RunJournal, optional
        Writes a checkpoint after each task. Tasks that it holds already are yielded first.

    Yields
    ------
    stage : Stage
        After each task.
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
        measurement = config.measurement
        scores = _scores(
            models,
            tests,
            measurement.likelihood_images,
            measurement.likelihood_samples,
            "likelihoods",
            config,
            progress,
        )
        for name, matrix in matrices.items():
            matrix[t, : t + 1] = [row[name] for row in scores]
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
    """Return means and errors of likelihoods and reconstruction scores, one dict per task."""
    pictures = [x[:images] for x in tests]
    rows = []
    with progress_bar(samples * sum(map(len, pictures)), title, progress) as bar:
        for model, x in zip(models, pictures, strict=True):
            estimate = latent.importance_sampled(model, x, samples, config.seed, advance=bar.update)
            scores = latent.reconstruction_score(
                model, x, config.measurement.likelihood_samples, config.seed
            )
            error = (
                float(scores.std(ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else math.nan
            )
            rows.append(
                {
                    "images": len(x),
                    **latent.mean_and_errors(estimate),
                    "reconstruction": float(scores.mean()),
                    "reconstruction_error": error,
                }
            )
    return rows


def shown(models, tests, seed):
    """Return images from the prior of each task, and reconstructions of its first test images.

    The noise for a task is the same at every stage, so that a column of pictures shows only changes
    of the model.

    Parameters
    ----------
    models : list of latent-variable models
        One per task, from ``learner.latent_model(t)``.
    tests : list of ndarray, shape (N, D)
        The test images of each task.
    seed : int
        Seed of the noise.

    Returns
    -------
    samples : ndarray, shape (T * SHOWN, D)
        Images from the priors.
    reconstructed : ndarray, shape (T * SHOWN, D)
        Reconstructions.
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
    """Return the measurements of a finished generative run, for ``result.json``.

    Parameters
    ----------
    config : RunConfig
        The configuration.
    stages : list of Stage
        One per task.
    learner : Learner
        After its last task.
    stream : sequence of Task
        The tasks.
    progress : bool or None
        Whether to show progress bars; None shows them on a terminal only.

    Returns
    -------
    values : dict
        ``<name>_matrix`` for each of :data:`MATRICES`, from ``likelihood_samples`` samples.
        ``final``: the same numbers at the end for each task, for ``final_images`` images, from
        ``final_samples`` samples. ``average_...``: their means over tasks. ``backward_transfer``:
        mean change since a task was learned, over tasks and later stages, in nats.
        ``log_likelihood_drop``: for each task, its value right after it was learned minus its final
        value, in nats. ``knn`` and ``few_labels``: classification errors, fractions, see
        :func:`representation`. NaN stands for a missing measurement.
    """
    T = len(stages)
    measurement = config.measurement
    R = stages[-1].log_likelihood
    models = [learner.latent_model(t) for t in range(T)]
    tests = [stream[t].x_test for t in range(T)]
    rows = _scores(
        models,
        tests,
        measurement.final_images,
        measurement.final_samples,
        "final likelihoods",
        config,
        progress,
    )
    final = {name: [row[name] for row in rows] for name in rows[0]}
    # Changes of earlier tasks, after all later tasks.
    changes = (R - R.diagonal())[np.tril_indices(T, -1)]
    return {
        **{f"{name}_matrix": getattr(stages[-1], name).tolist() for name in MATRICES},
        "likelihood_samples": measurement.likelihood_samples,
        "final_samples": measurement.final_samples,
        "final": final,
        "average_log_likelihood": float(np.mean(final["log_likelihood"])),
        "average_standard_error": math.sqrt(sum(error**2 for error in final["standard_error"])) / T,
        "average_reconstruction": float(np.mean(final["reconstruction"])),
        "backward_transfer": float(np.mean(changes)) if T > 1 else math.nan,
        "log_likelihood_drop": (R.diagonal() - R[-1]).tolist(),
        **representation(models, stream, config, progress),
    }


def images_of(stages, stream):
    """Return the images for the figures of a run, as ``stages.npz`` stores them.

    Parameters
    ----------
    stages : list of Stage
        One per task.
    stream : sequence of Task
        The tasks.

    Returns
    -------
    images : dict of str to ndarray
        ``originals``: the test images that are reconstructed. ``samples/<t>`` and
        ``reconstructed/<t>``: the images of stage t.
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
    """Images for the classification of codes, with the number of their task as label.

    Attributes
    ----------
    x : ndarray, shape (N, D)
        The first training images of each task.
    labels : ndarray, shape (N,)
        Their tasks.
    x_test : ndarray, shape (M, D)
        The first test images of each task.
    test_labels : ndarray, shape (M,)
        Their tasks.
    """

    x: np.ndarray
    labels: np.ndarray
    x_test: np.ndarray
    test_labels: np.ndarray


def labelled(stream, measurement):
    """Return the images whose codes are classified.

    Parameters
    ----------
    stream : sequence of Task
        The tasks, one class each.
    measurement : Measurement
        It sets the number of images per class.

    Returns
    -------
    images : Labelled
        Training and test images of all tasks.
    """
    parts = []
    for part, count in (("train", measurement.code_images), ("test", measurement.code_test_images)):
        pictures = [getattr(stream[t], f"x_{part}")[:count] for t in range(len(stream))]
        parts += [
            np.concatenate(pictures),
            np.repeat(np.arange(len(pictures)), list(map(len, pictures))),
        ]
    return Labelled(*parts)


def representation(models, stream, config, progress=None):
    """Return how well codes predict the class, for three encoders, compared with pixels.

    Parameters
    ----------
    models : list of latent-variable models
        One per task, from ``learner.latent_model(t)``.
    stream : sequence of Task
        The tasks, one class each.
    config : RunConfig
        Its ``measurement`` sets the number of images, its ``seed`` the noise.
    progress : bool or None
        Whether to show progress bars; None shows them on a terminal only.

    Returns
    -------
    values : dict
        ``knn`` has, for each encoder of :data:`ibpcl.evaluation.codes.WAYS`, the errors of
        nearest-neighbour classifiers on ``means`` and on ``samples`` of q(z | x), one for each of
        ``neighbours``; the errors on ``pixels``; ``mask_leak``
        (:func:`ibpcl.evaluation.codes.mask_leak`); and ``task_inference``, the share of test images
        whose task is not recognized. ``few_labels`` has, for each encoder and for pixels, the
        numbers of ``labels`` per class and lists of ``errors``, one per draw. Errors are fractions.
    """
    measurement = config.measurement
    images = labelled(stream, measurement)
    neighbours = [k for k in codes.NEIGHBOURS if k <= len(images.x)]
    knn = {"neighbours": neighbours, "images": len(images.x), "test_images": len(images.x_test)}
    few = {}

    def error(train, test):
        return codes.knn_error(train, images.labels, test, images.test_labels, neighbours).tolist()

    def with_few(train, test):
        result = few_label_error(train, images.labels, test, images.test_labels, seed=config.seed)
        return {"labels": result.labels.tolist(), "errors": result.errors.tolist()}

    for way in codes.WAYS:
        total = len(models) * measurement.inference_samples * (len(images.x) + len(images.x_test))
        with progress_bar(total, f"codes, {way}", progress if way == "inferred" else False) as bar:
            tasks, test_tasks = (
                codes.choose_tasks(
                    way, models, x, labels, measurement.inference_samples, config.seed, bar.update
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

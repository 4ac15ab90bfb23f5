"""All benchmarks, in one run; each returns plain numbers for the JSON file."""

import os
import time
from typing import NamedTuple
from unittest import mock

import numpy as np

from ibpcl.bench import autoencoder, convolution, frameworks, fresh
from ibpcl.bench.parts import parts
from ibpcl.bench.problem import MNIST_DENSITY, Problem, Sizes, images, random_images
from ibpcl.bench.timing import interleave, slope
from ibpcl.inference.backend import backend, why_not
from ibpcl.methods.npbcl import NPBCL
from ibpcl.methods.npbcl_settings import Settings
from ibpcl.noise import Key, generator
from ibpcl.processors import usable

AXES = {
    "S": (2, 5, 10, 20),
    "D": (196, 392, 784, 1568),
    "K": (50, 100, 200, 400),
    "N": (64, 128, 256, 512),
}
DENSITIES = (0.05, 0.1, 0.19, 0.28, 0.35, 0.4, 0.45, 0.5, 0.6, 1.0)
FIRST_PAIR = (0, 1)


class Plan(NamedTuple):
    """The extent of a benchmark.

    Attributes
    ----------
    sizes : Sizes
        Sizes of the step.
    rounds : int
        Rounds of interleaved timing.
    axes : dict of str to tuple of int
        Sizes for the scaling plots.
    densities : tuple of float
        Densities of the inputs.
    with_frameworks : bool
        Whether to compare with PyTorch and JAX.
    examples : int or None
        Number of examples of the epoch; None for all.
    """

    sizes: Sizes = Sizes()
    rounds: int = 25
    axes: dict = AXES
    densities: tuple = DENSITIES
    with_frameworks: bool = True
    examples: int | None = None


# A test of the benchmark itself: everything once or twice, with tiny sizes.
QUICK = Plan(Sizes(2, 16, 784, 20, 10), 2, {"S": (1, 2), "K": (10, 20)}, (0.1, 0.5), False, 200)


def steps(plan, data_dir):
    """Measure the step on sparse and dense inputs, against its products, NumPy and the frameworks.

    Parameters
    ----------
    plan : Plan
        Sizes and numbers of rounds.
    data_dir : str or None
        Folder of the image files.

    Returns
    -------
    values : dict
        Milliseconds, ratios, and why a framework was not measured.
    """
    numba = backend()
    ten = images(None, data_dir)
    pair = images(FIRST_PAIR, data_dir)
    dense = random_images(plan.sizes._replace(D=ten.x.shape[1]), 1.0)
    problems = {
        "step": Problem(plan.sizes, ten, numba),
        "step, whole network": Problem(plan.sizes, ten, numba, False),
        "step, two classes": Problem(plan.sizes, pair, numba),
        "step, dense": Problem(plan.sizes, dense, numba),
    }
    reference = Problem(plan.sizes, ten, backend("numpy"))
    functions = {name: problem.step for name, problem in problems.items()}
    functions |= {"products": problems["step"].products(), "step, NumPy backend": reference.step}
    functions |= {f"part: {name}": part for name, part in parts(problems["step"]).items()}
    others = {}
    differences = {}
    reasons = dict.fromkeys(("torch", "jax"), "PyTorch and JAX are not part of a quick run")
    if plan.with_frameworks:
        others, differences, reasons = frameworks.steps(
            lambda who: Problem(plan.sizes, ten, who, False), thread_count()
        )
    times = interleave(functions | others, plan.rounds)

    def over_step(name):
        return times.ratio(name, "step") if name in others else None

    one = problems["step"]
    two = problems["step, two classes"]
    inputs = {
        "name": ten.name,
        "density": one.density,
        "always_zero": one.always_zero,
        "two_classes_density": two.density,
        "two_classes_always_zero": two.always_zero,
    }
    return {
        "step_ms": times.median("step"),
        "products_ms": times.median("products"),
        "step_over_products": times.ratio("step", "products"),
        "step_over_products_dense": times.ratio("step, dense", "products"),
        "step_over_products_two_classes": times.ratio("step, two classes", "products"),
        "step_over_products_whole_network": times.ratio("step, whole network", "products"),
        "torch_eager_over_step": over_step("torch eager"),
        "torch_compile_over_step": over_step("torch.compile"),
        "jax_over_step": over_step("jax jit"),
        "numpy_over_step": times.ratio("step, NumPy backend", "step"),
        "milliseconds": {name: times.median(name) for name in times.seconds},
        "frameworks_disagree_by": differences,
        "frameworks_left_out": reasons,
        "inputs": inputs,
    }


def convolutions(plan, data_dir):
    """Measure the step of a network of convolutions on images of ten classes.

    Parameters
    ----------
    plan : Plan
        Sizes and numbers of rounds.
    data_dir : str or None
        Folder of the image files.

    Returns
    -------
    values : dict
        From :func:`ibpcl.bench.convolution.measure`.
    """
    return convolution.measure(plan, images(None, data_dir), thread_count())


def noise(plan):
    """Measure the noise of a step against equally many numbers of ``numpy.random.Generator``.

    Parameters
    ----------
    plan : Plan
        Sizes and numbers of rounds.

    Returns
    -------
    values : dict
        Milliseconds and ratios.
    """
    numba = backend()
    key = Key(0, 0, 0, 0)
    shape = (plan.sizes.S, plan.sizes.D, plan.sizes.K)

    def ours():
        numba.noise.normal(key, shape)
        numba.noise.logistic(key, shape)

    def by(rng):
        def draw():
            rng.standard_normal(shape, np.float32)
            u = rng.random(shape, np.float32)
            # Twice as fast as rng.logistic, which has no float32 version.
            np.log(u / (1 - u))

        return draw

    with np.errstate(divide="ignore"):  # NumPy's float32 uniforms may be zero
        times = interleave(
            {"ours": ours, "default": by(np.random.default_rng(0)), "philox": by(generator(key))},
            plan.rounds,
        )
    return {
        "noise_speedup": times.ratio("default", "ours"),
        "noise_speedup_philox": times.ratio("philox", "ours"),
        "noise_ms": times.median("ours"),
    }


def scaling(plan):
    """Measure how the time of a step depends on each of its sizes and on the threads.

    Parameters
    ----------
    plan : Plan
        Sizes and numbers of rounds.

    Returns
    -------
    values : dict
        Times, and slopes on log axes.
    """
    found = {}
    for axis, sizes in plan.axes.items():
        problems = {}
        for size in sizes:
            scaled = plan.sizes._replace(**{axis: size})
            problems[str(size)] = Problem(
                scaled, random_images(scaled, MNIST_DENSITY), backend()
            ).step
        times = interleave(problems, plan.rounds)
        medians = [times.median(name) for name in problems]
        found[axis] = {
            "sizes": list(sizes),
            "milliseconds": medians,
            "slope": slope(sizes, medians),
        }
    if why_not() is None:
        found["threads"] = _over_threads(plan)
    return {"scaling": found}


def _over_threads(plan):
    """Measure how the time of a step depends on the threads of the kernels."""
    from ibpcl.kernels import threads

    step = Problem(plan.sizes, random_images(plan.sizes, MNIST_DENSITY), backend()).step
    before = threads.count()

    def with_threads(count):
        def run():
            threads.set_count(count)
            step()

        return run

    counts = sorted({1, *(2**i for i in range(8) if 2**i <= before), before})
    try:
        times = interleave({str(count): with_threads(count) for count in counts}, plan.rounds)
    finally:
        threads.set_count(None)
    medians = [times.median(str(count)) for count in counts]
    return {
        "sizes": counts,
        "milliseconds": medians,
        "slope": slope(counts, medians) if len(counts) > 1 else None,
    }


def thread_count():
    """Return the number of threads of the kernels; 1 without Numba."""
    if why_not() is not None:
        return 1
    from ibpcl.kernels import threads

    return threads.count()


def densities(plan):
    """Measure sparse and dense matrix products of a layer at several densities of the inputs.

    The products are those of masked training and the two moments of fine-tuning, at the width of
    the step and at a quarter of it. Without Numba there are only dense products, and no rows.

    Parameters
    ----------
    plan : Plan
        Sizes and numbers of rounds.

    Returns
    -------
    values : dict
        One row per product, width and density, with ratios of times.
    """
    if why_not() is not None:
        return {"densities": []}
    from ibpcl.kernels import linear, local_linear, sparse

    S, N, D, K, _ = plan.sizes

    def layer(x, columns):
        w, b, dh = (
            np.full(shape, 0.1, np.float32)
            for shape in ((S, D, columns), (S, columns), (S, N, columns))
        )
        return lambda: linear.apply_vjp(dh, linear.apply(x, w, b)[1], False)

    def sampled(x, columns):
        w, b, dh = (
            np.full(shape, 0.1, np.float32) for shape in ((D, columns), (columns,), (1, N, columns))
        )
        return lambda: local_linear.sample_vjp(dh, local_linear.sample(dh, x, w, w, b, b)[1], False)

    rows = []
    for name, make, module in (("layer", layer, linear), ("moments", sampled, local_linear)):
        for columns in (K, max(K // 4, local_linear.NARROWEST)):
            whole = name == "layer" and columns == K
            for density in plan.densities[:: 1 if whole else 2]:
                both = make(random_images(plan.sizes, density).x, columns)
                limit = module.DENSEST * sparse.efficiency(columns)
                ways = {
                    way: with_limit(module, at, both)
                    for way, at in (("sparse", np.inf), ("dense", -1.0), ("chosen", module.DENSEST))
                }
                times = interleave(ways, plan.rounds if whole else -(-plan.rounds // 2))
                rows.append(
                    {
                        "products": name,
                        "columns": columns,
                        "density": density,
                        "densest": limit,
                        "sparse_over_dense": times.ratio("sparse", "dense"),
                        "chosen_over_dense": times.ratio("chosen", "dense"),
                    }
                )
    return {"densities": rows}


def with_limit(module, densest, function):
    """Return a function that is called with another limit for sparse products.

    Parameters
    ----------
    module : module
        The kernels; their ``DENSEST`` is replaced during the call.
    densest : float
        Density up to which sparse products are used.
    function : callable
        Called without arguments.

    Returns
    -------
    run : callable
        Calls ``function``.
    """

    def run():
        with mock.patch.object(module, "DENSEST", densest):
            function()

    return run


def epoch(plan, data_dir):
    """Measure epochs of masked training and of fine-tuning on the first task, and predictions.

    Parameters
    ----------
    plan : Plan
        Sizes and numbers of rounds.
    data_dir : str or None
        Folder of the image files.

    Returns
    -------
    values : dict
        Seconds.
    """
    from ibpcl.continual.task import Task

    pair = images(FIRST_PAIR, data_dir)
    chosen = slice(None, plan.examples)
    x = (pair.x[chosen] / 255).astype(np.float32)
    y = pair.labels[chosen] - FIRST_PAIR[0]
    y[0] = 0
    y[-1] = 1
    task = Task("0/1", x, y, x[:2000], y[:2000])
    seconds = {}
    for name, masked, finetune in (("warm", 1, 1), ("masked", 1, 0), ("both", 1, 1)):
        learner = NPBCL(
            Settings(
                hidden=(plan.sizes.K,),
                samples=plan.sizes.S,
                batch=plan.sizes.N,
                epochs=masked,
                finetune_epochs=finetune,
            )
        )
        start = time.perf_counter()
        learner.learn(task, progress=False)
        seconds[name] = time.perf_counter() - start
    start = time.perf_counter()
    learner.predict(task.x_test, 0)
    return {
        "epoch_s": seconds["masked"],
        "epoch_finetuning_s": max(seconds["both"] - seconds["masked"], 0.0),
        "predict_2000_s": time.perf_counter() - start,
        "epoch_examples": len(x),
    }


def processes(plan):
    """Measure in new processes: import, compilation cold and cached, and the memory of a step.

    Parameters
    ----------
    plan : Plan
        Sizes and numbers of rounds.

    Returns
    -------
    values : dict
        Seconds and MB.
    """
    cold, cached = fresh.cold_and_cached(plan.sizes)
    return {
        "import_s": fresh.import_seconds(min(plan.rounds, 7)),
        "compile_cold_s": cold["compile_s"],
        "compile_cached_s": cached["compile_s"],
        "peak_step_mb": cached["peak_step_mb"],
    }


def machine():
    """Return the number of cores and threads, and the load; times mean nothing without them."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cores": usable(),
        "threads": thread_count(),
        "kernels": why_not() or "compiled",
        "load_before": load,
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
    }


def everything(plan, data_dir=None, say=lambda text: None):
    """Run all benchmarks.

    Parameters
    ----------
    plan : Plan
        Sizes and numbers of rounds.
    data_dir : str, optional
        Folder of the image files.
    say : callable
        Called with the name of each benchmark before it starts.

    Returns
    -------
    values : dict
        The content of ``bench.json``.
    """
    found = {"machine": machine(), "sizes": plan.sizes._asdict(), "rounds": plan.rounds}
    # The step comes late, because the threads of PyTorch and JAX remain after it.
    for title, function, arguments in (
        ("noise", noise, (plan,)),
        ("scaling", scaling, (plan,)),
        ("sparse and dense products", densities, (plan,)),
        ("an epoch", epoch, (plan, data_dir)),
        ("an autoencoder", autoencoder.measure, (plan, data_dir)),
        ("the step and its parts", steps, (plan, data_dir)),
        ("a step with convolutions", convolutions, (plan, data_dir)),
        ("import, compilation, memory", processes, (plan,)),
    ):
        say(title)
        found |= function(*arguments)
    first = (
        "step_ms",
        "products_ms",
        "step_over_products",
        "step_over_products_dense",
        "torch_eager_over_step",
        "torch_compile_over_step",
        "jax_over_step",
        "noise_speedup",
        "peak_step_mb",
    )
    return {name: found[name] for name in first} | {
        name: value for name, value in found.items() if name not in first
    }

"""The speed of a gradient step with convolutions, compared with its products and with PyTorch."""

import numpy as np

from ibpcl.bench import frameworks
from ibpcl.bench.problem import Problem
from ibpcl.bench.timing import interleave
from ibpcl.blas_threads import all_threads
from ibpcl.inference.backend import backend

LINE = "conv:16,32;dense:200"
# The default of the method; the patches of more samples alone would fill half a gigabyte.
SAMPLES = 4


def products(problem):
    """Return a function that computes only the matrix products of a step, by BLAS.

    They are those of all patches with the filters, and of both gradients; the first layer needs no
    gradient at the images.  The patches are cut beforehand.

    Parameters
    ----------
    problem : ibpcl.bench.problem.Problem
        The problem.

    Returns
    -------
    multiply : callable
        Called without arguments; uses all threads of BLAS.
    """
    S = problem.sizes.S
    N = problem.sizes.N
    factors = []
    for i, layer in enumerate(problem.model.layers.values()):
        rows = N * layer.positions
        leading = (S,) if i else ()  # all samples share the images
        x = np.ones((*leading, rows, layer.inputs), problem.x.dtype)
        w = np.full((S, *layer.shape), 0.1, problem.x.dtype)
        dh = np.ones((S, rows, layer.units), problem.x.dtype)
        factors += [(x, w), (np.swapaxes(x, -1, -2), dh)]
        if i > 0:
            factors.append((dh, np.swapaxes(w, 1, 2)))
    outputs = [np.matmul(left, right) for left, right in factors]

    def multiply():
        with all_threads():
            for (left, right), out in zip(factors, outputs, strict=True):
                np.matmul(left, right, out=out)

    return multiply


def measure(plan, data, threads):
    """Measure a step of a network of convolutions, its products, and PyTorch in turn.

    Parameters
    ----------
    plan : ibpcl.bench.measure.Plan
        Sizes and numbers of rounds.
    data : ibpcl.bench.problem.Images
        The images.
    threads : int
        Number of threads for PyTorch.

    Returns
    -------
    values : dict
        Milliseconds, ratios, and why PyTorch was not measured.

    Raises
    ------
    ArithmeticError
        If PyTorch computes another ELBO or gradient.
    """
    sizes = plan.sizes._replace(S=min(plan.sizes.S, SAMPLES))
    problem = Problem(sizes, data, backend(), line=LINE)
    functions = {"step": problem.step, "products": products(problem)}
    reason = "PyTorch and JAX are not part of a quick run"
    if plan.with_frameworks:
        reason = frameworks.missing("torch")
        if reason is None:
            module = frameworks.load("torch_convolution")
            difference = frameworks.disagreement(module, problem)
            if difference > frameworks.TOLERANCE:
                raise ArithmeticError(
                    f"bench: torch computes another ELBO or gradient, by {difference:.2g}"
                )
            module.torch.set_num_threads(threads)
            functions["torch eager"] = module.make_step(frameworks.case(problem))
    times = interleave(functions, plan.rounds)
    compared = "torch eager" in functions
    return {
        "convolution_line": LINE,
        "convolution_samples": sizes.S,
        "convolution_step_ms": times.median("step"),
        "convolution_products_ms": times.median("products"),
        "convolution_step_over_products": times.ratio("step", "products"),
        "convolution_torch_eager_over_step": times.ratio("torch eager", "step")
        if compared
        else None,
        "convolution_torch_left_out": None if compared else reason,
    }

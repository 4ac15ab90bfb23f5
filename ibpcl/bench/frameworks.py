"""The same step in PyTorch and JAX: found in ``tests/benchmarks``, and checked before it is
timed.
"""

import importlib.util
from pathlib import Path

import numpy as np

import ibpcl
from ibpcl.bench.problem import ALPHA, EXAMPLES, RATES, TAU, WEIGHTS
from ibpcl.inference.backend import backend

FOLDER = Path(ibpcl.__file__).parents[1] / "tests" / "benchmarks"
# Largest difference of a part of the ELBO or of the gradient that float32 allows, as a share of the
# largest element.
TOLERANCE = 2e-3


def case(problem):
    """Describe a problem of the whole network in plain arrays and numbers."""
    layout = problem.model.layout
    count = problem.model.layout.block("mu").stop
    prior = np.zeros_like(problem.vector)
    prior[:count] = problem.prior.mu
    prior[layout.block("log_sigma")] = problem.prior.log_sigma
    names = [name for name in layout.views(prior) if name.endswith((".mu", ".log_sigma"))]
    return {
        "parameters": {name: view.copy() for name, view in layout.views(problem.vector).items()},
        "prior": {name: layout.views(prior)[name] for name in names},
        "alpha": ALPHA,
        "x": problem.x,
        "labels": problem.labels,
        "tau": TAU,
        "examples": EXAMPLES,
        "rates": RATES,
        "sizes": tuple(problem.sizes),
        "weights": np.array(WEIGHTS[:4], problem.x.dtype),
    }


def noise_arrays(noise):
    """Return the noise of a step as a dict of arrays."""
    return {
        name: np.asarray(array)
        for name, array in (noise["hidden0"] | {"head": noise["head"]["eps"]}).items()
    }


def missing(name, folder=FOLDER):
    """Return why a framework's step cannot be measured, or None if it can."""
    if importlib.util.find_spec(name) is None:
        return f"{name} is not installed (pip install 'ibpcl[bench]')"
    if not (folder / f"{name}_step.py").is_file():
        return "tests/benchmarks is not there: it comes with the source, not with the package"
    return None


def load(name, folder=FOLDER):
    """Import ``tests/benchmarks/<name>_step.py``."""
    spec = importlib.util.spec_from_file_location(f"{name}_step", folder / f"{name}_step.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def disagreement(module, problem):
    """Return the largest difference from our ELBO and gradient for the same noise, as a share of
    the largest number.
    """
    noise = problem.noise()
    parts, gradient = problem.elbo_and_gradient(noise)
    other_parts, other = module.elbo_and_gradient(case(problem), noise_arrays(noise))
    differences = [np.abs(np.asarray(parts[:4]) - other_parts).max() / np.abs(other_parts).max()]
    for name, view in problem.model.layout.views(gradient).items():
        differences.append(np.abs(view - other[name]).max() / max(np.abs(other[name]).max(), 1e-12))
    return float(max(differences))


def steps(make_problem, threads):
    """Return the frameworks' steps that can be measured, their disagreements, and why others
    cannot.

    Parameters
    ----------
    make_problem : callable
        ``make_problem(backend) -> Problem`` of the whole network.
    threads : int
        How many PyTorch may use; JAX uses all cores.
    """
    functions = {}
    differences = {}
    reasons = {}
    for name in ("torch", "jax"):
        if reason := missing(name):
            reasons[name] = reason
            continue
        module = load(name)
        problem = make_problem(backend())
        differences[name] = disagreement(module, problem)
        if differences[name] > TOLERANCE:
            raise ArithmeticError(
                f"bench: {name} computes another ELBO or gradient, by {differences[name]:.2g}"
            )
        if name == "torch":
            module.torch.set_num_threads(threads)
            functions["torch eager"] = module.make_step(case(problem))
            functions["torch.compile"] = module.make_step(case(problem), compiled=True)
        else:
            functions["jax jit"] = module.make_step(case(problem))
    return functions, differences, reasons

"""The same gradient step in PyTorch and JAX, from ``benchmarks/speed``, checked before timing."""

import importlib.util
from pathlib import Path

import numpy as np

import ibpcl
from ibpcl.bench.problem import ALPHA, EXAMPLES, RATES, TAU, WEIGHTS
from ibpcl.inference.backend import backend

FOLDER = Path(ibpcl.__file__).parents[1] / "benchmarks" / "speed"
# Largest difference of a part of the ELBO or of the gradient that float32 allows, as a share of the
# largest element.
TOLERANCE = 2e-3


def case(problem):
    """Return a problem of the whole network as plain arrays and numbers.

    Parameters
    ----------
    problem : ibpcl.bench.problem.Problem
        The problem.

    Returns
    -------
    case : dict
        Parameters, prior, data and sizes.
    """
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
        "image": getattr(problem.model.stages[0], "image", None),
    }


def noise_arrays(noise):
    """Return the noise of a step as arrays.

    Parameters
    ----------
    noise : dict
        From :meth:`ibpcl.bench.problem.Problem.noise`.

    Returns
    -------
    arrays : dict of str to ndarray
        By name; in a network of several layers by layer and name, such as ``conv0.weight``.
    """
    if len(noise) > 2:
        return {
            f"{layer}.{name}": np.asarray(array)
            for layer, arrays in noise.items()
            for name, array in arrays.items()
        }
    return {
        name: np.asarray(array)
        for name, array in (noise["hidden0"] | {"head": noise["head"]["eps"]}).items()
    }


def missing(name, folder=FOLDER):
    """Return the reason why the step of a framework cannot be measured.

    Parameters
    ----------
    name : {"torch", "jax"}
        The framework.
    folder : Path
        The folder of the steps.

    Returns
    -------
    reason : str or None
        None if it can be measured.
    """
    if importlib.util.find_spec(name) is None:
        return f"{name} is not installed (pip install {name})"
    if not (folder / f"{name}_step.py").is_file():
        return "benchmarks/speed does not exist: it comes with the source, not with the package"
    return None


def load(name, folder=FOLDER):
    """Import the step of a framework.

    Parameters
    ----------
    name : {"torch", "torch_convolution", "jax"}
        The framework, and which step.
    folder : Path
        The folder of the steps.

    Returns
    -------
    module : module
        It has ``elbo_and_gradient`` and ``make_step``.
    """
    spec = importlib.util.spec_from_file_location(f"{name}_step", folder / f"{name}_step.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def disagreement(module, problem):
    """Return the largest difference between the ELBOs and gradients of a framework and of this
    package.

    Parameters
    ----------
    module : module
        From :func:`load`.
    problem : ibpcl.bench.problem.Problem
        The problem; the noise is the same for both.

    Returns
    -------
    difference : float
        As a share of the largest number.
    """
    noise = problem.noise()
    parts, gradient = problem.elbo_and_gradient(noise)
    other_parts, other = module.elbo_and_gradient(case(problem), noise_arrays(noise))
    differences = [np.abs(np.asarray(parts[:4]) - other_parts).max() / np.abs(other_parts).max()]
    for name, view in problem.model.layout.views(gradient).items():
        differences.append(np.abs(view - other[name]).max() / max(np.abs(other[name]).max(), 1e-12))
    return float(max(differences))


def steps(make_problem, threads):
    """Return the steps of the frameworks that can be measured.

    Parameters
    ----------
    make_problem : callable
        ``make_problem(backend)`` returns a ``Problem`` of the whole network.
    threads : int
        Number of threads for PyTorch; JAX uses all cores.

    Returns
    -------
    functions : dict of str to callable
        The steps.
    differences : dict of str to float
        From :func:`disagreement`.
    reasons : dict of str to str
        Why the others cannot be measured.

    Raises
    ------
    ArithmeticError
        If a framework computes another ELBO or gradient.
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

"""The catalogue of all checks of the package, by group and name.

A target selects checks: a group (``divergences``), a name or its beginning (``kumaraswamy``), a
pattern (``*.kl``), or a group with a name or pattern (``gradients/concrete.*``).
"""

import contextlib
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from typing import NamedTuple
from zlib import crc32

from ibpcl.errors import UserError
from ibpcl.inference.backend import why_not
from ibpcl.paper.checks import Check, Outcome, checks_in
from ibpcl.processors import usable
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.running.trap import Trap, limit

GROUPS = {
    "gradients": "every f with its f_vjp, against complex step and differences",
    "densities": "integrals and sums of the probability",
    "samplers": "draws against distribution functions",
    "divergences": "closed forms against quadrature and sampling",
    "estimators": "sampled gradients against the exact derivative",
    "definitions": "the paper's definitions against plain loops",
    "errata": "the paper's mistakes and ambiguities, against an independent number",
}

# With fewer checks, starting interpreters that import all models costs more than it saves.
SPAWNED = 60


class Result(NamedTuple):
    """A check with its outcome.

    Attributes
    ----------
    check : Check
        The check that ran.
    outcome : Outcome
        Its verdict and numbers.
    seconds : float
        The time that it took.
    """

    check: Check
    outcome: Outcome
    seconds: float

    @property
    def title(self):
        """The group and the name of the check, ``group/name``."""
        return str(self.check)

    @property
    def verdict(self):
        """The verdict: "ok", "wrong" or "undecided"."""
        return self.outcome.verdict

    @property
    def report(self):
        """The report of a gradient check, None for other checks."""
        return self.outcome.report

    def to_dict(self):
        """Return the check, its verdict and its numbers as plain values for ``json.dumps``."""
        return {
            "group": self.check.group,
            "name": self.check.name,
            "seconds": self.seconds,
            "verdict": self.verdict,
            **self.outcome.to_dict(),
        }


def gradients():
    """Return the checks of all gradients.

    Returns
    -------
    checks : list of Check
        Those of documented pairs, of layers and networks, and of the ELBO in every variant.
    """
    from ibpcl.models.layers import ACTIVATIONS
    from ibpcl.models.masked import MASK_KLS
    from ibpcl.paper import autoencoders, networks, pairs

    checks = []
    for pair in pairs.documented_pairs():
        name = ".".join([pair.name, *pair.words])
        run = of_twin if isinstance(pair, pairs.Twin) else of_pair
        checks.append(Check("gradients", name, lambda seed, p=pair, r=run: r(p, seed)))
    for name, run in {**networks.CHECKS, **autoencoders.CHECKS}.items():
        short = name.split(".", 2)[2].removesuffix("_vjp")
        checks.append(Check("gradients", short, lambda seed, r=run: of_report(r(seed))))
    for name, run in networks.STAGES.items():
        checks.append(Check("gradients", name, lambda seed, r=run: of_report(r(seed))))
    for activation in ACTIVATIONS:
        checks += [
            Check(
                "gradients",
                f"elbo.{activation}.{kind}",
                lambda seed, a=activation, k=kind: of_report(networks.check_elbo(seed, k, a)),
            )
            for kind in MASK_KLS
        ]
    for name, variant in networks.VARIANTS.items():
        short = name.replace(" ", "-")
        for mask_kl, ending in zip(MASK_KLS, ("", ".concrete"), strict=True):
            checks.append(
                Check(
                    "gradients",
                    f"elbo.{short}{ending}",
                    lambda seed, v=variant, k=mask_kl: of_report(networks.check_elbo(seed, k, **v)),
                )
            )
        checks.append(
            Check(
                "gradients",
                f"fixed-elbo.{short}",
                lambda seed, v=variant: of_report(networks.check_elbo(seed, fixed=True, **v)),
            )
        )
    checks.append(
        Check(
            "gradients",
            "unit-elbo.concrete",
            lambda seed: of_report(networks.check_unit_elbo(seed, "concrete")),
        )
    )
    for name, variant in autoencoders.VARIANTS.items():
        checks.append(
            Check(
                "gradients",
                f"autoencoder.elbo.{name}",
                lambda seed, v=variant: of_report(autoencoders.check_elbo(seed, **v)),
            )
        )
    return checks


def left_out(checks):
    """Return the reason why compiled functions are not checked.

    Parameters
    ----------
    checks : sequence of Check

    Returns
    -------
    reason : str or None
        None if they are checked, or if no group with compiled functions was selected.
    """
    if find_spec("numba") is None:
        concerned = bool({"gradients", "samplers"} & {check.group for check in checks})
    else:
        concerned = any(map(is_compiled, checks))
    reason = why_not() if concerned else None
    return (
        None
        if reason is None
        else f"compiled functions are not compared with their references: {reason}"
    )


def of_pair(pair, seed):
    """Return the outcome of the gradient check of a documented pair.

    Parameters
    ----------
    pair : ibpcl.paper.pairs.Pair
        A function and its gradient.
    seed : int
        Determines the random inputs.

    Returns
    -------
    outcome : ibpcl.paper.checks.Outcome
    """
    from ibpcl.paper import pairs

    return of_report(pairs.check_pair(pair, seed))


def of_twin(pair, seed):
    """Return the outcome of comparing a compiled function and its gradient with their reference.

    Parameters
    ----------
    pair : ibpcl.paper.pairs.Twin
        The compiled function, its gradient and its reference.
    seed : int
        Determines the random inputs.

    Returns
    -------
    outcome : ibpcl.paper.checks.Outcome
    """
    from ibpcl.paper import pairs

    error, entries = pairs.check_twin(pair, seed)
    return Outcome(
        error <= pairs.TWIN_TOLERANCE,
        f"agrees with its reference to {error:.0e}",
        {"error": error, "compared": entries},
    )


def of_report(report):
    """Return the outcome of a gradient's report.

    Parameters
    ----------
    report : ibpcl.verify.Report

    Returns
    -------
    outcome : Outcome
    """
    entries = sum(item.numbers.get("compared", 0) for item in report.inputs)
    # Finite differences confirm the complex step; where there is none, they are the only witness.
    agreement = [
        item.numbers["agreement"]
        for item in report.inputs
        if item.numbers.get("agreement") is not None
    ]
    agreement = [value for value in agreement if value == value]
    size = f"to {report.error:.0e}" if report.error else "exactly"
    if agreement:
        words = f"agrees {size}, differences to {max(agreement):.0e}, {entries} entries"
    else:
        words = f"agrees with differences {size}, {entries} entries"
    if not report.ok:
        wrong = [f"{item.name}: {item.words}" for item in report.inputs if not item.ok]
        words = "; ".join([*wrong, *(problem.words for problem in report.problems)])
    return Outcome(report.ok, words, {"error": report.error}, report.text(), report)


def checks(groups=GROUPS):
    """Return all checks of some groups, in the order of :data:`GROUPS`.

    Those of compiled functions are among them if Numba can be used.

    Parameters
    ----------
    groups : iterable of str
        Names of groups; only their modules are imported.

    Returns
    -------
    checks : list of Check
    """
    found = _installed(groups)
    return found if why_not() is None else [check for check in found if not is_compiled(check)]


def is_compiled(check):
    """Return whether a check is of a compiled function, and imports Numba when it runs.

    Parameters
    ----------
    check : Check

    Returns
    -------
    compiled : bool
    """
    return check.name.startswith("kernels.")


def _installed(groups=GROUPS):
    """Return the checks without importing Numba, which might turn out to be unusable."""
    groups = set(groups)
    found = []
    if "gradients" in groups:
        found += gradients()
    if {"densities", "samplers"} & groups:
        from ibpcl.paper import densities

        found += checks_in(densities)
    if {"samplers", "divergences"} & groups:
        from ibpcl.paper import covariances

        found += checks_in(covariances)
    if "divergences" in groups:
        from ibpcl.paper import divergences, expectations

        found += checks_in(divergences, expectations)
    if "estimators" in groups:
        from ibpcl.paper import estimators

        found += checks_in(estimators)
    if "definitions" in groups:
        from ibpcl.paper import algorithm, autoencoders, bayes, definitions

        found += checks_in(definitions, bayes, algorithm, autoencoders)
    if "errata" in groups:
        from ibpcl.paper.errata import ERRATA

        found += [Check("errata", entry.name, entry.run) for entry in ERRATA]
    # compiled functions are left out, see left_out()
    if find_spec("numba") is None:
        found = [check for check in found if not is_compiled(check)]
    order = list(GROUPS)
    return sorted(
        (check for check in found if check.group in groups),
        key=lambda check: order.index(check.group),
    )


def select(targets):
    """Return the checks that targets select.

    Parameters
    ----------
    targets : sequence of str
        Groups, names, beginnings of names or patterns; without any, all checks are selected.

    Returns
    -------
    checks : list of Check

    Raises
    ------
    UserError
        If a target selects no check.

    Examples
    --------
    >>> [str(check) for check in select(["divergences/gaussian.kl"])]
    ['divergences/gaussian.kl']
    """
    groups = {target.partition("/")[0] for target in targets}
    available = _installed(groups if groups and groups <= set(GROUPS) else GROUPS)
    if not targets:
        return available
    chosen = set()
    for target in targets:
        selected = {str(check) for check in available if matches(check, target)}
        if not selected:
            names = dict.fromkeys(
                [*GROUPS, *(check.name for check in available), *map(str, available)]
            )
            near = get_close_matches(target, names, 3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise UserError(
                f"check: no check is called {target!r}{hint} (`ibpcl check --list` names them all)"
            )
        chosen |= selected
    return [check for check in available if str(check) in chosen]


def matches(check, target):
    """Return whether a target (see :func:`select`) selects a check.

    Parameters
    ----------
    check : ibpcl.paper.checks.Check
        A check of the catalogue.
    target : str
        A group, the beginning of a name, or a pattern with wildcards.

    Returns
    -------
    selected : bool
    """
    target = target.removesuffix("/")
    if target == check.group:
        return True
    return any(
        name.startswith(target) or fnmatchcase(name, target) for name in (check.name, str(check))
    )


def run(check, seed=0):
    """Run one check.

    Parameters
    ----------
    check : Check
    seed : int
        Combined with the name of the check, so that every check has its own random numbers.

    Returns
    -------
    result : Result
        If the check raises, its outcome is not ok and holds the error.
    """
    start = time.perf_counter()
    with Trap() as trap:
        outcome = check.run((seed + crc32(str(check).encode())) % 2**32)
    if trap.error is not None:
        outcome = Outcome(False, str(trap).splitlines()[-1], {}, str(trap))
    return Result(check, outcome, time.perf_counter() - start)


def run_all(checks, seed=0, timeout=120.0, curves=False):
    """Run checks and yield their results in order.

    One process per available processor shares the work.  Meanwhile, this process checks compiled
    functions, so that Numba is imported once.  There is only one process with ``curves``, which
    cannot be sent between processes, and on systems without semaphores (no ``/dev/shm``).

    Parameters
    ----------
    checks : sequence of Check
    seed : int
        As in :func:`run`.
    timeout : float
        Seconds for each check; one that takes longer is undecided.
    curves : bool
        Whether the reports keep the data of their V-curves.

    Yields
    ------
    result : Result
        Checks of compiled functions are left out if Numba cannot be used.
    """
    checks = list(checks)
    options = {"seed": seed, "timeout": timeout, "curves": curves}
    pool = None if curves else _pool(checks)
    if pool is None:
        for check in checks:
            if not (is_compiled(check) and why_not()):
                yield _run_within(check, **options)
        return
    try:
        shared = [i for i, check in enumerate(checks) if not is_compiled(check)]
        found = pool.map(partial(_run_given, **options), shared)
        for check in checks:
            if not is_compiled(check):
                yield Result(check, *next(found))
            elif why_not() is None:
                yield _run_within(check, **options)
    finally:
        # After Ctrl-C, the remaining checks must not run.
        pool.shutdown(cancel_futures=True)


def _pool(checks):
    """Return a pool of processes that know all checks, or None if one process must or should do."""
    workers = min(usable(), len(checks))
    # The libraries of macOS do not survive a fork.
    forks = hasattr(os, "fork") and sys.platform != "darwin"
    if workers < 2 or (not forks and len(checks) < SPAWNED):
        return None
    with contextlib.suppress(OSError, ImportError):  # no semaphores
        if forks:
            # Checks are closures, and another interpreter would have to import all models.
            return ProcessPoolExecutor(workers, get_context("fork"), _given.extend, (checks,))
        return ProcessPoolExecutor(
            workers, get_context("spawn"), _give, ([str(check) for check in checks],)
        )
    return None


# All checks, in a process that shares the work.
_given = []


def _give(names):
    """Look the checks up by name, in an interpreter that inherited nothing."""
    by_name = {str(check): check for check in _installed()}
    _given.extend(by_name[name] for name in names)


def _run_given(index, **options):
    return _run_within(_given[index], **options)[1:]


def _run_within(check, seed, timeout, curves):
    try:
        with limit(timeout):
            result = run(check, seed)
    except TimeUp as up:
        result = Result(check, Outcome(False, str(up), {"timeout": timeout}, str(up)), timeout)
    if not curves and result.report is not None:
        result.report.curves.clear()
    return result

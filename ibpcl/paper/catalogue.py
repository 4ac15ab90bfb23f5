"""Everything that the package proves about itself, by group and name.

A target selects checks: a group (``divergences``), a name or its beginning (``kumaraswamy``), a
pattern (``*.kl``), or both (``gradients/concrete.*``).
"""

import contextlib
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple
from zlib import crc32

from ibpcl.errors import UserError
from ibpcl.inference.backend import why_not
from ibpcl.paper.checks import Check, Outcome, checks_in
from ibpcl.processors import usable
from ibpcl.verify.running.trap import Trap, limit
from ibpcl.verify.witnesses.clock import TimeUp

GROUPS = {
    "gradients": "every f with its f_vjp, against complex step or differences",
    "densities": "integrals and sums of the probability",
    "samplers": "draws against distribution functions",
    "divergences": "closed forms against quadrature and sampling",
    "estimators": "sampled gradients against the exact derivative",
    "definitions": "the paper's definitions against plain loops",
    "errata": "the paper's mistakes: printed form failing, right form holding",
}

# checks, below which it does not pay to start interpreters that import all models
SPAWNED = 60


class Result(NamedTuple):
    """A check, its outcome, and the seconds that it took."""

    check: Check
    outcome: Outcome
    seconds: float

    @property
    def title(self):
        """The group and the name of the check."""
        return str(self.check)

    @property
    def verdict(self):
        """One of "ok", "wrong" and "undecided"."""
        return self.outcome.verdict

    @property
    def report(self):
        """The report of a gradient, None of other checks."""
        return self.outcome.report

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
        return {
            "group": self.check.group,
            "name": self.check.name,
            "seconds": self.seconds,
            "verdict": self.verdict,
            **self.outcome.to_dict(),
        }


def gradients():
    """Return the checks of all gradients: documented pairs, layers and networks, the ELBO in every
    variant.
    """
    from ibpcl.models.layers import ACTIVATIONS
    from ibpcl.models.masked import MASK_KLS
    from ibpcl.paper import autoencoders, networks, pairs

    checks = []
    for pair in pairs.documented_pairs():
        name = ".".join([pair.name, *pair.choices.values()])
        run = of_twin if pair.f is not pair.reference else of_pair
        checks.append(Check("gradients", name, lambda seed, p=pair, r=run: r(p, seed)))
    for name, run in {**networks.CHECKS, **autoencoders.CHECKS}.items():
        short = name.removeprefix("ibpcl.models.").removesuffix("_vjp")
        checks.append(Check("gradients", short, lambda seed, r=run: of_report(r(seed))))
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
    """Return a sentence that says why compiled functions are not among the checks, or None if they
    are or need not.
    """
    reason = why_not() if {"gradients", "samplers"} & {check.group for check in checks} else None
    return (
        None
        if reason is None
        else f"compiled functions are not compared with their references: {reason}"
    )


def of_pair(pair, seed):
    """Check a function with its gradient."""
    from ibpcl.paper import pairs

    return of_report(pairs.check_pair(pair, seed))


def of_twin(pair, seed):
    """Compare a compiled function and its gradient with their reference, whose gradient is checked
    elsewhere.
    """
    from ibpcl.paper import pairs

    error, entries = pairs.check_twin(pair, seed)
    return Outcome(
        error <= pairs.TWIN_TOLERANCE,
        f"{error:.0e} from the reference",
        {"error": error, "compared": entries},
    )


def of_report(report):
    """Make an outcome of the report of a gradient."""
    entries = sum(item.numbers.get("compared", 0) for item in report.inputs)
    # With the complex step a second witness, differences, confirms the first; compiled functions
    # have the second only.
    agreement = [
        item.numbers["agreement"]
        for item in report.inputs
        if item.numbers.get("agreement") is not None
    ]
    agreement = [value for value in agreement if value == value]
    witness = f"witnesses to {max(agreement):.0e}" if agreement else "Richardson"
    words = f"{f'{report.error:.0e}' if report.error else 'exact'} at {entries} entries, {witness}"
    if not report.ok:
        wrong = [f"{item.name}: {item.words}" for item in report.inputs if not item.ok]
        words = "; ".join([*wrong, *(problem["words"] for problem in report.problems)])
    return Outcome(report.ok, words, {"error": report.error}, report.text(), report)


def checks(groups=GROUPS):
    """Return the checks of the groups named, in the order of :data:`GROUPS`; each group is imported
    when asked for.
    """
    groups = set(groups)
    found = []
    if "gradients" in groups:
        found += gradients()
    if {"densities", "samplers"} & groups:
        from ibpcl.paper import densities

        found += checks_in(densities)
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
    if why_not() is not None:
        found = [check for check in found if not check.name.startswith("kernels.")]
    order = list(GROUPS)
    return sorted(
        (check for check in found if check.group in groups),
        key=lambda check: order.index(check.group),
    )


def select(targets):
    """Return the checks that the targets mean; all of them without a target.

    Raises
    ------
    UserError
        For a target that means none.

    Examples
    --------
    >>> [str(check) for check in select(["divergences/gaussian.kl"])]
    ['divergences/gaussian.kl']
    """
    groups = {target.partition("/")[0] for target in targets}
    available = checks(groups if groups and groups <= set(GROUPS) else GROUPS)
    if not targets:
        return available
    chosen = set()
    for target in targets:
        found = {str(check) for check in available if matches(check, target)}
        if not found:
            names = dict.fromkeys(
                [*GROUPS, *(check.name for check in available), *map(str, available)]
            )
            near = get_close_matches(target, names, 3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise UserError(
                f"check: no check is called {target!r}{hint} (`ibpcl check --list` names them all)"
            )
        chosen |= found
    return [check for check in available if str(check) in chosen]


def matches(check, target):
    """Return whether a target means a check."""
    target = target.removesuffix("/")
    if target == check.group:
        return True
    return any(
        name.startswith(target) or fnmatchcase(name, target) for name in (check.name, str(check))
    )


def run(check, seed=0):
    """Run one check; each has a seed of its own, made of the seed given and its name.

    A check that raises has failed, and its error is the verdict.
    """
    start = time.perf_counter()
    with Trap() as trap:
        outcome = check.run((seed + crc32(str(check).encode())) % 2**32)
    if trap.error is not None:
        outcome = Outcome(False, str(trap).splitlines()[-1], {}, str(trap))
    return Result(check, outcome, time.perf_counter() - start)


def run_all(checks, seed=0, timeout=120.0, curves=False):
    """Run checks and yield their results in order.

    Several processes share them, one for each processor that may be used; not with ``curves``,
    which cannot be sent, and not where the system has no semaphores for them (no ``/dev/shm``).

    Parameters
    ----------
    checks : sequence of Check
    seed : int
    timeout : float
        Seconds for each check; one that takes longer is undecided.
    curves : bool
        Whether the reports keep what their V-curves are drawn from.
    """
    checks = list(checks)
    options = {"seed": seed, "timeout": timeout, "curves": curves}
    pool = None if curves else _pool(checks)
    if pool is None:
        yield from (_run_within(check, **options) for check in checks)
        return
    try:
        for check, found in zip(
            checks, pool.map(partial(_run_given, **options), range(len(checks))), strict=True
        ):
            yield Result(check, *found)
    finally:
        # Ctrl-C must not run the remaining checks
        pool.shutdown(cancel_futures=True)


def _pool(checks):
    """Return processes that have all the checks, or None where one process is as good or there can
    be no others.
    """
    workers = min(usable(), len(checks))
    # whose libraries do not survive it
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


# in a process that shares the work: all checks
_given = []


def _give(names):
    """Find the checks again, in an interpreter that has inherited nothing."""
    found = {str(check): check for check in checks()}
    _given.extend(found[name] for name in names)


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

"""Check all functions of a distribution, given one by one or as a group of a file.

1. The models of a group are its functions with the parameters that may be meant.
2. A leading function determines the distribution: the density, or whatever most functions follow.
3. Every other function is judged by its law.
4. Wrong functions get a name, if one is found in time.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np

from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.distributions import divergences
from ibpcl.verify.distributions.calls import ITEM_SECONDS, CallError, within
from ibpcl.verify.distributions.comparing import Outcome, judged, passed, undecided, wrong
from ibpcl.verify.distributions.laws import PUSHED, judge, law_for
from ibpcl.verify.distributions.leads import by_cdf, by_density
from ibpcl.verify.distributions.mending import Judgement, mended_by, repaired
from ibpcl.verify.distributions.model import models_of
from ibpcl.verify.distributions.parameters import shown
from ibpcl.verify.distributions.reading import group_of
from ibpcl.verify.distributions.report import ForwardReport, ForwardVerdict
from ibpcl.verify.distributions.vocabulary import GRADIENTS, OF_DENSITY, ROLES, SIZE

Function = Callable[..., Any]
Parameters = dict[str, Any]

# Functions that follow from the distribution.
FOLLOWING = (*takewhile(lambda role: role != "log_q", ROLES), "expectation")
# Functions that can lead.
LEADS = (*OF_DENSITY, "cdf")
# Functions that others need, which have no verdict of their own.
HELPERS = ("integrand", "transform", "base", "log_joint", "log_likelihood", "log_prior")
OF_MODEL = ("log_joint", "log_likelihood", "log_prior", "bound", "log_evidence")


def check_distribution(
    log_density: Function | None = None,
    *,
    density: Function | None = None,
    sample: Function | None = None,
    cdf: Function | None = None,
    quantile: Function | None = None,
    mean: Function | None = None,
    variance: Function | None = None,
    std: Function | None = None,
    entropy: Function | None = None,
    kl: Function | None = None,
    integrand: Function | None = None,
    expectation: Function | None = None,
    support: tuple[float, float] | Function | None = None,
    parameters: Parameters | Sequence[Parameters] | None = None,
    discrete: bool = False,
    title: str = "distribution",
) -> ForwardReport:
    r"""Check the functions of a distribution against each other, and name what is wrong.

    The density defines the distribution.  It must integrate, or sum, to 1.  All other functions are
    compared with its integrals.  The parameters are those of the density after its first argument.
    Other functions take them by the same names, or in the same order.

    Parameters
    ----------
    log_density, density : callable, optional
        ``log_density(x, *parameters)``, for one ``x`` or an array of them.
    sample : callable, optional
        ``sample(u, *parameters)`` with uniform noise ``u``, normal noise ``eps``, or a generator
        ``rng`` and a ``size``.
    cdf, quantile : callable, optional
        ``cdf(x, *parameters)`` and ``quantile(p, *parameters)``.
    mean, variance, std, entropy : callable, optional
        Closed forms, of the parameters alone.
    kl : callable, optional
        ``kl(mu_q, sigma_q, mu_p, sigma_p)`` for parameters ``mu`` and ``sigma``.
    integrand, expectation : callable, optional
        ``expectation(*parameters)`` is the mean of ``integrand(x, *parameters)``.
    support : (float, float), or callable, optional
        Support of the density, or a function from parameters to supports.  Without it, the support
        is guessed.
    parameters : dict or list of dict, optional
        Parameters by name, one or several sets.  Without it, they are drawn by their names.
    discrete : bool
        Whether only integers have mass.
    title : str
        Title of the report.

    Returns
    -------
    report : ibpcl.verify.distributions.report.ForwardReport
        With a verdict for each function: ok, wrong or undecided.

    Raises
    ------
    ValueError
        If no function is given.

    Examples
    --------
    >>> def log_density(x, rate):
    ...     return np.log(rate) - rate * x
    >>> def mean(rate):
    ...     return rate
    >>> print(check_distribution(log_density, mean=mean, support=(0, np.inf))["mean"])
    mean: WRONG: the reciprocal of the right value: one over `rate` is meant: `rate` should
      be `1 / rate` (1.802 where 0.554939 belongs)
        line 2: return rate
        hint: exp, log, square or root: return the quantity itself
    """
    functions = {
        "log_mass" if discrete else "log_density": log_density,
        "mass" if discrete else "density": density,
        "sample": sample,
        "cdf": cdf,
        "quantile": quantile,
        "mean": mean,
        "variance": variance,
        "std": std,
        "entropy": entropy,
        "kl": kl,
        "integrand": integrand,
        "expectation": expectation,
    }
    group = group_of(title, functions, support, parameters)
    if not group.parts:
        raise ValueError("check_distribution: give log_density, density, cdf or sample")
    return check_group(group)


def check_group(group):
    """Check all functions of a group.

    Parameters
    ----------
    group : ibpcl.verify.distributions.reading.Group
        The functions.

    Returns
    -------
    report : ibpcl.verify.distributions.report.ForwardReport
        One verdict for each function, and what was seen and skipped, with the reason.
    """
    try:
        with np.errstate(all="ignore"):
            return _Check(group).report()
    except CallError as error:
        item = ForwardVerdict(group.title, "undecided", str(error), "undecided")
        return ForwardReport(group.title, [item])


class _Check:
    """One run over the functions of a group; it collects the items and notes of the report."""

    def __init__(self, group):
        self.group = group
        self.models = models_of(group)
        self.items = []
        self.notes = []
        self.skipped = dict(group.skipped)  # reasons by name

    def report(self):
        """Return the report on the group."""
        parts = self.group.parts
        model = self.models[0]
        pairs = []
        for part, view in self._views():
            known = self._distribution(view, part)
            pairs.append(known)
            model = known if known is not None and len(pairs) == 1 else model
        whole = model.having(parts=parts)
        if len(pairs) == 2 and "kl" in parts:
            self._between(whole, *pairs)
        if {"transform", "base", "log_density"} <= set(parts):
            self._pushed(whole)
        done = {item.name for item in self.items}
        for part in parts.values():
            law = law_for(whole, part) if part.name not in done else None
            if law is not None and not self._waits(part, parts):
                self.items.append(self._over_models(law, whole, part).named())
        if "log_evidence" in parts and parts["log_evidence"].name not in self._names():
            name = parts["log_evidence"].name
            self.notes.append(f"{name} was taken as right; with log_joint, it is checked")
        if not self.items:
            words = "nothing could be compared: give a density, or another function"
            self.items.append(ForwardVerdict(self.group.title, "undecided", words, "undecided"))
        self._compare_variances()
        order = [part.name for part in parts.values()]
        self.items.sort(key=lambda item: order.index(item.name) if item.name in order else 99)
        return ForwardReport(self.group.title, self.items, self._all_notes(whole))

    def _over_models(self, law, model, part):
        """Judge a function by a law; it is undecided if only parameters of another domain fit."""
        first = self._judge(law, model, part)
        if first.verdict.verdict != "wrong" or model.densities or model.is_given:
            return first
        for other in self.models[1:]:
            outcome = self._judge(law, other, part)
            if outcome.verdict.verdict == "ok":
                words = (
                    f"it is right at {shown(other.sets[0])}, and not at {shown(model.sets[0])}; "
                    "add parameters = {...} with values that are allowed"
                )
                return undecided(part, words)
        return first

    def _names(self):
        return [item.name for item in self.items]

    def _all_notes(self, model):
        """Return the notes: parameters, assumptions, and what was seen and skipped."""
        notes = list(dict.fromkeys(self.notes))
        sampler = model.parts.get("sample")
        if sampler is not None and set(sampler.names) <= {*model.sets[0], *SIZE}:
            notes.append(
                f"{sampler.name} draws its noise itself; with the noise as an argument, such as "
                f"{sampler.name}(u, ...), it is checked exactly"
            )
        if model.sets[0] and not model.is_given and any(map(np.isscalar, model.sets[0].values())):
            first = shown(model.sets[0])
            notes.insert(0, f"parameters were drawn by their names, {first} first")
        parts = self.group.parts
        taken = set(HELPERS)
        if "expectation" in parts and "integrand" not in parts:
            taken.add("expectation")
            if any(role in parts for role in ("estimator", *GRADIENTS)):
                name = parts["expectation"].name
                notes.append(f"{name} was taken as right; with integrand, it is checked")
        for part in parts.values():
            if part.role not in taken and not any(part.name in note for note in notes):
                self.skipped.setdefault(part.name, "there is no density to compare it with")
        reasons = {}
        for name, reason in self.skipped.items():
            if name not in self._names():
                reasons.setdefault(reason, []).append(name)
        pairs = reasons.items()
        seen = [
            f"seen, and skipped because {reason}: {', '.join(names)}" for reason, names in pairs
        ]
        return [*notes, *seen]

    def _waits(self, part, parts):
        """Return whether a function is left out because the one that it needs is wrong."""
        expectation = parts.get("expectation")
        if part.role not in ("estimator", *GRADIENTS) or expectation is None:
            return False
        wrongs = [item.name for item in self.items if item.verdict == "wrong"]
        if expectation.name not in wrongs:
            return False
        self.skipped[part.name] = f"{expectation.name} is not right"
        return True

    def _views(self):
        """Yield the densities of the group, each with the models of its own functions."""
        parts = self.group.parts
        named = [role for role in ("log_q", "log_p") if role in parts]
        if any(role in parts for role in OF_DENSITY) or not named:
            if any(role in parts for role in LEADS):
                yield None, self.models
            return
        for role in named:
            rest = {} if role == "log_p" and len(named) == 2 else dict(parts)
            for other in (*named, *OF_MODEL, *(["kl"] if len(named) == 2 else [])):
                rest.pop(other, None)
            part = parts[role]._replace(role="log_density")
            view = {"log_density": part, **rest}
            own = tuple(part.parameters)
            yield part, [model.having(parts=view, parameters=own) for model in self.models]

    def _judge(self, law, model, part):
        """Judge a function by a law; it is not wrong where guessed parameters leave a doubt."""
        outcome = self._tried(part, lambda: judge(law, model, part))
        numbers = outcome.verdict.numbers
        if outcome.verdict.verdict != "wrong" or model.is_given or "given" not in numbers:
            return outcome
        given = np.asarray(numbers["given"])
        right = np.asarray(numbers["right"])
        if given.shape != right.shape or given.shape != (len(model.sets),):
            return outcome
        fits = np.isclose(given, right, rtol=1e-6, atol=0)
        if 2 * np.sum(fits) < len(fits):
            return outcome
        at = shown(model.sets[int(np.argmin(fits))])
        words = f"{outcome.verdict.words} at {at}, but it is right at {np.sum(fits)} other sets"
        return undecided(part, f"{words}: give parameters", numbers)

    def _tried(self, part, check):
        """Return the outcome of a check, or an undecided one with the reason."""
        try:
            with within(ITEM_SECONDS):
                return check()
        except TimeUp as error:
            return undecided(part, f"{error}: it is too slow")
        except CallError as error:
            return undecided(part, str(error))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # odd values of a user's function, such as results of several shapes
            words = f"it could not be evaluated: {type(error).__name__}: {error}"
            return undecided(part, words[:300])

    def _distribution(self, models, part):
        """Judge a density and the functions that follow from it; return their model, or None."""
        parts = models[0].parts
        leads = [parts[role] for role in LEADS if role in parts]
        followers = [parts[role] for role in FOLLOWING if role in parts]
        found = []
        for lead in leads:
            judgement = self._led_by(models, lead, followers)
            if isinstance(judgement, Outcome):
                self.items.append(judgement.verdict)
                return None
            found.append(judgement)
            models = [judgement.lead.model.having(densities=(), at=None, lead=None)]
            right = judgement.lead.state == "right"
            if right and lead.role in OF_DENSITY and len(judgement.having("wrong")) < 2:
                break
        # the function that most others follow determines the distribution; a density wins a draw
        best = max(found, key=lambda each: self._weight(each))
        if best.lead.model.lead is None or not best.lead.model.densities:
            best = found[0]
        first = found[0]
        if first.lead.state == "right" or first.lead.model.lead.role not in OF_DENSITY:
            if first is best:
                return self._follow_right(first)
        else:
            mended = self._tried(first.lead.model.lead, lambda: mended_by(first))
            slip, known = (None, None) if isinstance(mended, Outcome) else mended
            outcomes = first.outcomes if known is None else self._again(known, followers)
            count = sum(outcome.verdict.verdict == "ok" for outcome in outcomes.values())
            # a density without a repair outvotes what is right by itself, and does not draw with it
            agreeing = len([each for each in best.having("ok") if each is not leads[0]])
            needed = agreeing + (known is None and agreeing > 0)
            if first is best or count >= needed:
                return self._follow_mended(first, slip, known, outcomes)
        self._blame(first, best)
        return best.lead.model

    def _weight(self, judgement):
        """Return how many functions agree with a leading one, itself included if it is right."""
        known = bool(judgement.lead.model.densities)
        return known * (len(judgement.having("ok")) + (judgement.lead.state == "right"))

    def _led_by(self, models, lead, followers):
        """Return the judgement of all functions by a leading one, or the outcome of a failure."""
        known = self._tried(lead, lambda: _lead_of(models, lead))
        if isinstance(known, Outcome):
            return known
        return Judgement(
            known, self._again(known.model, followers) if known.model.densities else {}
        )

    def _blame(self, first, best):
        """Add the verdicts where the other functions follow another leading function."""
        self.notes += best.lead.notes
        lead = best.lead.model.lead
        density = first.lead.model.lead
        agreeing = [part for part in best.having("ok") if part is not density]
        names = ", ".join(part.name for part in agreeing)
        self.items.append(passed(lead, f"agrees with {names}").verdict)
        for part, outcome in best.outcomes.items():
            verdict = outcome.verdict
            if part.role == density.role:
                if first.lead.state == "right" or verdict.verdict == "wrong":
                    others = f"{lead.name}, {names} agree with each other"
                    verdict.words = f"{verdict.words}; {others}"
                if first.lead.state == "wrong" and verdict.verdict != "wrong":
                    words = first.lead.words
                    outcome = wrong(part, words, "not_normalized")
            self.items.append(outcome.named())

    def _follow_mended(self, judgement, slip, known, outcomes):
        """Add the verdicts where the integral of the density is not 1; return the model, or None.

        Other functions are judged by the density after a repair, or up to its constant.  A function
        that contradicts it is wrong only if another one confirms it.
        """
        lead = judgement.lead
        part = lead.model.lead
        self.notes += lead.notes
        confirmed = [each for each, outcome in outcomes.items() if outcome.verdict.verdict == "ok"]
        is_wrong = lead.state == "wrong" or (known is not None and len(confirmed) > 0)
        numbers = {"integral": [density.total for density in lead.model.densities]}
        if is_wrong:
            outcome = wrong(part, lead.words, "not_normalized", numbers, lambda: slip)
        else:
            words = f"; if its support is right: {slip.words}" if slip else ""
            outcome = undecided(part, f"{lead.words}{words}", numbers)
        self.items.append(outcome.named())
        ones = bool(lead.model.densities) and all(each.is_one for each in lead.model.densities)
        is_known = lead.state == "wrong" or known is not None or ones
        wrongs = [each for each, outcome in outcomes.items() if outcome.verdict.verdict == "wrong"]
        for each, outcome in outcomes.items():
            if each in wrongs and len(wrongs) > len(confirmed):
                words = f"it contradicts {part.name} after a repair: {outcome.verdict.words}"
                outcome = undecided(each, words, outcome.verdict.numbers)
            # what contradicts a guessed support is not wrong
            if confirmed and (is_known or outcome.verdict.verdict == "ok"):
                self.items.append(outcome.named())
        for each in lead.model.parts.values():
            if each.role in FOLLOWING:
                self.skipped.setdefault(each.name, f"{part.name} is not right")
        # without a confirmation, no function is judged by a repair
        return (known or lead.model) if confirmed else None

    def _again(self, model, parts):
        """Return the outcomes of functions under another model."""
        found = {}
        for part in parts:
            law = law_for(model, part)
            needs_more = part.role == "expectation" and "integrand" not in model
            if part.role != model.lead.role and law is not None and not needs_more:
                found[part] = self._judge(law, model, part)
        return found

    def _follow_right(self, judgement):
        """Add the verdicts where the leading function passes by itself."""
        lead = judgement.lead
        model = lead.model
        part = model.lead
        self.notes += lead.notes
        wrongs = judgement.having("wrong")
        rights = judgement.having("ok")
        if part.role in OF_DENSITY and len(wrongs) >= 2 and not rights:
            mended = self._tried(part, lambda: repaired(judgement))
            if not isinstance(mended, Outcome) and mended is not None:
                fit, known = mended
                words = f"it {lead.words} but contradicts everything else"
                self.items.append(wrong(part, words, name=lambda: fit.slip).named())
                outcomes = self._again(known, judgement.outcomes)
                self.items += [outcome.named() for outcome in outcomes.values()]
                return known
        names = ", ".join(each.name for each in wrongs)
        is_even = len(wrongs) >= 2 and len(rights) + 1 <= len(wrongs)
        numbers = {"integral": [density.total for density in model.densities]}
        if lead.state == "open" or (wrongs and (not rights or is_even)):
            words = f"it {lead.words}, but {names} contradicts it, and no other function decides"
            outcome = undecided(part, words if wrongs else lead.words, numbers)
        elif lead.state == "wrong":
            outcome = wrong(part, lead.words, "not_increasing", numbers)
        else:
            outcome = passed(part, lead.words, numbers)
        self.items.append(outcome.verdict)
        if is_even:
            self._contradiction(part, rights, wrongs, judgement)
            return model
        self.items += [outcome.named() for outcome in judgement.outcomes.values()]
        return model

    def _contradiction(self, part, rights, wrongs, judgement):
        """Add one verdict on two sides of equal weight: something is wrong, but not known which."""
        for each, outcome in judgement.outcomes.items():
            if each in wrongs:
                words = f"it contradicts {part.name}: {outcome.verdict.words}"
                outcome = undecided(each, words, outcome.verdict.numbers)
            self.items.append(outcome.verdict)
        sides = [", ".join(each.name for each in side) for side in ([part, *rights], wrongs)]
        words = "they contradict each other, so one side is wrong; more functions would decide"
        both = part._replace(name=" against ".join(sides))
        self.items.append(wrong(both, words).verdict)

    def _between(self, model, q, p):
        """Judge a divergence between two densities of different families."""
        part = self.group.parts["kl"]
        if q is None or p is None:
            words = "both densities must be right first"
            self.items.append(undecided(part, words).verdict)
            return

        def check():
            pairs = [(q.at(values), p.at(values)) for values in model.sets]
            values_of = partial(model.numbers, part)
            found = divergences.between(q, part, model.sets, pairs, values_of)
            return found if isinstance(found, Outcome) else judged(part, found)

        self.items.append(self._tried(part, check).named())

    def _pushed(self, model):
        """Judge the density of a transformed variable."""
        part = self.group.parts["log_density"]
        outcome = self._tried(part, lambda: judge(PUSHED, model, part))
        if outcome.verdict.verdict == "wrong":
            self.items = [item for item in self.items if item.name != part.name]
        if part.name not in self._names():
            self.items.append(outcome.named())

    def _compare_variances(self):
        """Note the variances of several estimators of one gradient."""
        names = [part.name for part in self.group.parts.values() if part.role in GRADIENTS]
        found = {i.name: i.numbers["variance"] for i in self.items if "variance" in i.numbers}
        shown_ = [f"{name} {found[name]:.4g}" for name in names if name in found]
        if len(shown_) > 1:
            words = ", ".join(shown_)
            self.notes.append(f"variance of one draw, summed over the parameters: {words}")


def _lead_of(models, part):
    """Return the distribution of a leading function."""
    if part.role in OF_DENSITY:
        return by_density(models, part)
    return by_cdf(models[0], part)

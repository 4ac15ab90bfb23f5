"""Names for mistakes: the one small change after which all values are right.

A search starts after the verdict, and has its own time limit.  It can add a name to a verdict, but
never changes one.  The changes are those of the editor of gradients, and those of :data:`REPAIRS`.
"""

import ast
import contextlib
import copy
import signal
import threading
from itertools import combinations, islice, permutations
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.edits import edits_of
from ibpcl.codeview.rewrite import Edit, Slot, in_place, replaced
from ibpcl.codeview.search import affordable
from ibpcl.codeview.syntax import Code, Recording, executed_by, name_of, parsed
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.distributions.calls import NAME_SECONDS, CallError, within
from ibpcl.verify.distributions.slips import INSTEAD, SCALE, Slip, agree, explain

SECONDS = 0.55  # about, for one function; estimated from the number of expressions that it runs
LONGEST = 40  # characters of an expression that is changed as a whole
EXACT = 1e-6  # error of a right value
# Parameters whose ratio scales a minibatch.
SIZES = ("N", "n", "batch", "batch_size", "size", "B", "M", "m", "total", "n_batch", "n_total")
# Functions that are often confused with each other in formulas.
CONFUSED = (
    "log log2 log10 log1p",
    "exp expm1 exp2",
    "gammaln betaln digamma gamma loggamma lgamma",
    "sum mean prod max cumsum",
    "cumsum cumprod",
    "var std",
    "sin cos",
    "arctan arcsin arccos",
    "erf erfc",
    "ndtr ndtri",
    "ceil floor round",
    "expit logit",
    "triu tril",
)
# Usual slips: rank, kind, wrong pattern, right pattern, reason.  A, B and C are any expressions,
# VALUE a short one, FORMULA the same or a number; PARAMETER is each argument, SIZE and BATCH are
# two that count examples; TERMS is a number of terms, NUMBER a constant, RETURNED the result.
REPAIRS = (
    (1, "complement", "1 - A", "A", "one minus `{A}` is not meant"),
    (3, "edit", "A ** B", "B ** A", "base and exponent are exchanged"),
    (2, "edit", "A ** B", "A ** (1 / B)", "the root is meant"),
    (2, "edit", "A ** (B / C)", "A ** C", "the power is meant, not the root"),
    (2.5, "edit", "A ** B", "A", "the exponent does not belong there"),
    (3.8, "edit", "A / B", "-(B / A)", "the quotient is upside down, and its sign is wrong"),
    (2.5, "edit", "A * B", "A ** B", "a power is meant"),
    (3.5, "edit", "A * B", "A + B", "this must be a sum"),
    (3.5, "edit", "A * B", "A - B", "this must be a difference"),
    (3.5, "edit", "A + B", "A * B", "this must be a product"),
    (3.5, "edit", "A - B", "A * B", "this must be a product"),
    (2, "edit", "cumsum(A)", "np.flip(np.cumsum(np.flip(A)))", "it must run from the end"),
    (2, "edit", "cumprod(A)", "np.flip(np.cumprod(np.flip(A)))", "it must run from the end"),
    (2, "edit", "flip(A)", "A", "it must not be reversed"),
    *(
        (2, "other_scale", f"{wrong}(A)", f"{right}(A)", f"`{right}` is meant, not `{wrong}`")
        for group in CONFUSED
        for wrong, right in permutations(group.split(), 2)
    ),
    (3, "other_scale", "FUNCTION(A)", "A", "`{FUNCTION}` must not be applied here"),
    (1, "truncated", "TERMS", "5000", "the series is truncated: it needs more terms than {TERMS}"),
    (1.5, "complement", "VALUE", "1 - VALUE", "one minus `{VALUE}` is meant"),
    (2, "parameter_scale", "VALUE", "VALUE ** 2", "`{VALUE}` must be squared"),
    (2, "parameter_scale", "VALUE", "VALUE ** 0.5", "the square root of `{VALUE}` is meant"),
    (2, "parameter_scale", "VALUE", "1 / VALUE", "one over `{VALUE}` is meant"),
    (3, "other_scale", "VALUE", "np.log(VALUE)", "the logarithm of `{VALUE}` is meant"),
    (3, "other_scale", "VALUE", "-np.log(VALUE)", "minus the logarithm of `{VALUE}` is meant"),
    (3, "other_scale", "VALUE", "np.exp(VALUE)", "the exponential of `{VALUE}` is meant"),
    (3.2, "extra_term", "VALUE", "VALUE - 1", "a term -1 is missing"),
    (3.2, "missing_term", "VALUE", "VALUE + 1", "a term 1 is missing"),
    (4, "sign", "VALUE", "-VALUE", "the sign is wrong"),
    (3.4, "constant_factor", "VALUE", "0.5 * VALUE", "a factor 1/2 is missing"),
    (3.4, "constant_factor", "VALUE", "2 * VALUE", "a factor 2 is missing"),
    (3.3, "factor", "FORMULA", "FORMULA / PARAMETER", "a divisor is missing, `{PARAMETER}`"),
    (3.3, "factor", "FORMULA", "FORMULA * PARAMETER", "a factor is missing, `{PARAMETER}`"),
    (5.5, "edit", "FORMULA", "FORMULA ** PARAMETER", "the exponent `{PARAMETER}` is missing"),
    *(
        (
            5.5,
            "missing_term",
            "FORMULA",
            f"FORMULA {term}",
            f"a term is missing, `{term}`".replace("PARAMETER", "{PARAMETER}"),
        )
        for term in ("- PARAMETER", "+ PARAMETER", "- PARAMETER ** 2", "- np.log(1 - PARAMETER)")
    ),
    (
        5.2,
        "factor",
        "FORMULA",
        "FORMULA * SIZE / BATCH",
        "a factor is missing, `* {SIZE} / {BATCH}`",
    ),
    *(
        (4, "constant_factor", "NUMBER", right, "the number {NUMBER} is wrong")
        for right in ("np.pi", "2 * np.pi", "np.sqrt(2 * np.pi)", "np.e")
    ),
    *(
        (
            4.5,
            kind,
            "RETURNED",
            f"RETURNED {term}",
            f"a term is missing, `{term}`".replace("PARAMETER", "{PARAMETER}"),
        )
        for value in ("np.log(PARAMETER)", "PARAMETER", "PARAMETER ** 2", "np.log(1 - PARAMETER)")
        for term, kind in ((f"+ {value}", "missing_term"), (f"- {value}", "extra_term"))
    ),
    *(
        (
            4.5,
            "factor",
            "RETURNED",
            f"RETURNED {term}",
            f"a factor is missing, `{term}`".replace("PARAMETER", "{PARAMETER}"),
        )
        for term in ("* PARAMETER", "/ PARAMETER", "/ PARAMETER ** 2", "* PARAMETER ** 2")
    ),
)
ANY = ("A", "B", "C")
PLACEHOLDERS = (
    *ANY,
    "VALUE",
    "FORMULA",
    "NUMBER",
    "TERMS",
    "RETURNED",
    "PARAMETER",
    "SIZE",
    "BATCH",
)
# Kinds of edits that a verdict keeps; all others become "edit".
NAMED = (
    "truncated",
    "sign",
    "complement",
    "exchanged",
    "parameter_scale",
    "constant_factor",
    "other_scale",
    "missing_term",
)
# Kinds of slips that state an amount; the place in the source is named as well.
AMOUNTS = ("sign", "constant_factor", "missing_term", "extra_term", "factor")


class Fit(NamedTuple):
    """A change that makes all values right.

    Attributes
    ----------
    kind : str
        Kind of the mistake.
    words : str
        Description of the change, with the line.
    function : callable
        Changed function.
    """

    kind: str
    words: str
    function: object


class _Everything:
    """Filter of edits that allows all of them: only the values of a forward function are known."""

    linear = True

    def allow(self, edit):
        return True

    def suspect(self, node):
        return True


@contextlib.contextmanager
def _interrupted(seconds):
    """Raise :class:`TimeUp` after some seconds, also in a loop that calls nothing.

    A limit from outside continues afterwards.  Other threads, and Windows, have no such signal.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def interrupt(number, frame):
        raise TimeUp(seconds)

    handler = signal.getsignal(signal.SIGALRM)
    left, again = signal.getitimer(signal.ITIMER_REAL)
    signal.signal(signal.SIGALRM, interrupt)
    start = min(seconds, left) if left else seconds
    signal.setitimer(signal.ITIMER_REAL, start)
    try:
        yield
    finally:
        used = start - signal.setitimer(signal.ITIMER_REAL, 0)[0]
        signal.signal(signal.SIGALRM, handler)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - used, 1e-3), again)


@contextlib.contextmanager
def searching():
    """Limit a search for a name; what was found before the limit is kept."""
    with contextlib.suppress(TimeUp), _interrupted(2 * NAME_SECONDS), within(NAME_SECONDS):
        yield


def fits_of(function, run, is_right, most=1, cost=0):
    """Return the changes of a function that make all of its values right, the simplest first.

    Parameters
    ----------
    function : callable
        Function to change.  Without Python source nothing is found.
    run : callable
        ``run(function)`` calls the function as often as ``is_right`` does.
    is_right : callable
        ``is_right(function)`` returns whether all values of a changed function are right.
    most : int
        The search ends after this number of changes.
    cost : int
        Duration of one call of ``is_right``, in number of expressions that take as long.

    Returns
    -------
    fits : list of Fit
        By rank.
    """
    found = []
    with searching():
        try:
            code = Code(function, executed_by(lambda: run(function)))
            recording = Recording(code, run)
        except Exception:  # no source, or the function raises
            return found
        with np.errstate(all="ignore"):
            edits = [*_of_formulas(code), *edits_of(code, recording, _Everything())]
        edits.sort(key=lambda edit: edit.rank)
        seen = set()
        for edit in edits[: affordable(SECONDS, recording.executed + cost)]:
            undo = edit.swap()
            text = "".join(map(ast.dump, code.trees.values()))
            made = None
            if text not in seen:
                with contextlib.suppress(SyntaxError, ValueError, TypeError, RecursionError):
                    made = code.compile()
            undo.swap()
            seen.add(text)
            if made is not None and _is_right(is_right, made):
                kind = edit.kind if edit.kind in NAMED else "edit"
                found.append(Fit(kind, f"{code.location(edit.node)}: {edit.words()}", made))
                if len(found) == most:
                    break
    return found


def _is_right(is_right, function):
    """Return whether a changed function is right; a function that raises is not."""
    try:
        with np.errstate(all="ignore"):
            return is_right(function)
    except Exception:  # whatever a changed function raises
        return False


def _of_formulas(code):
    """Yield the edits of the table, and parameters that are exchanged."""
    rows = [(*row[:2], *map(parsed, row[2:4]), row[4]) for row in REPAIRS]
    for key, tree in code.trees.items():
        names = [argument.arg for argument in tree.args.args if argument.arg != "self"]
        own = [place for place in code.places if place.function == key]
        for place in own:
            if place.inside in ("formula", "range"):
                yield from _by_rows(rows, place, names)
        for node in ast.walk(tree):
            if isinstance(node, ast.Return) and not isinstance(node.value, (ast.Tuple, type(None))):
                slot = Slot(node.value, node, "value", None)
                yield from _by_rows([row for row in rows if _is(row[2], "RETURNED")], slot, names)
        yield from _of_parameters(names, own)


def _is(pattern, name):
    return isinstance(pattern, ast.Name) and pattern.id == name


def _by_rows(rows, place, names):
    """Yield the edits of the rows that match a place, for each parameter."""
    text = ast.unparse(place.node)
    for rank, kind, wrong, right, reason in rows:
        bound = {}
        if not _matches(wrong, place, place.node, bound):
            continue
        uses = {node.id for node in ast.walk(right) if isinstance(node, ast.Name)}
        chosen = [{}]
        if "PARAMETER" in uses:
            chosen = [{"PARAMETER": ast.Name(name, ast.Load())} for name in names if name != text]
        elif "SIZE" in uses:
            pairs = permutations([name for name in names if name in SIZES], 2)
            chosen = [
                {"SIZE": ast.Name(a, ast.Load()), "BATCH": ast.Name(b, ast.Load())}
                for a, b in pairs
            ]
        for each in chosen:
            all_bound = {**bound, **each}
            new = _Filling(all_bound, place.node).visit(copy.deepcopy(right))
            words = {key: ast.unparse(node) for key, node in all_bound.items()}
            # a lost term belongs to the whole result, which is too long to repeat
            if _is(wrong, "RETURNED"):
                reason_ = reason.format(**words)
                yield Edit(rank, kind, lambda w=reason_: w, place.node, (in_place(place, new),))
            else:
                yield replaced(rank, kind, place, new, reason.format(**words))


def _matches(pattern, place, node, bound):
    """Return whether a node matches a pattern, and bind the placeholders."""
    if isinstance(pattern, ast.Name) and pattern.id in PLACEHOLDERS:
        bound[pattern.id] = node
        return pattern.id in ANY or _fits(pattern.id, place, node)
    if getattr(place, "inside", "formula") != "formula" or type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.Call):
        bound["FUNCTION"] = node.func
        named = pattern.func.id == "FUNCTION" or pattern.func.id == name_of(node.func)
        single = pattern.func.id != "FUNCTION" or (len(node.args) == 1 and not node.keywords)
        return (
            named
            and single
            and bool(node.args)
            and _matches(pattern.args[0], place, node.args[0], bound)
        )
    if isinstance(pattern, ast.Constant):
        return pattern.value == node.value
    return isinstance(node, ast.BinOp) and (
        type(pattern.op) is type(node.op)
        and _matches(pattern.left, place, node.left, bound)
        and _matches(pattern.right, place, node.right, bound)
    )


def _fits(placeholder, place, node):
    """Return whether a node can stand for a placeholder that is a whole pattern."""
    inside = getattr(place, "inside", "returned")
    if placeholder == "TERMS":
        whole = isinstance(node, ast.Constant) and isinstance(node.value, int)
        return whole and inside == "range" and node.value >= 3
    if placeholder == "RETURNED":
        return inside == "returned"
    if inside != "formula":
        return False
    if placeholder == "NUMBER":
        return isinstance(node, ast.Constant)
    kinds = (ast.Name, ast.Call, ast.BinOp, ast.Subscript)
    kinds += (ast.Attribute, ast.Constant) if placeholder == "FORMULA" else ()
    return isinstance(node, kinds) and len(ast.unparse(node)) <= LONGEST


class _Filling(ast.NodeTransformer):
    """Replace the placeholders of a pattern by what they stand for.

    A function without a module, and further arguments, are those of the given call.
    """

    def __init__(self, bound, node):
        self.bound = bound
        self.node = node

    def visit_Name(self, node):
        return copy.deepcopy(self.bound[node.id]) if node.id in self.bound else node

    def visit_Call(self, node):
        self.generic_visit(node)
        given = self.node
        if isinstance(given, ast.Call) and isinstance(node.func, ast.Name) and len(given.args) > 0:
            if isinstance(given.func, ast.Attribute):
                node.func = ast.Attribute(given.func.value, node.func.id, ast.Load())
            node.args = [*node.args, *given.args[1:]]
            node.keywords = given.keywords
        return node


def _of_parameters(names, places):
    """Yield two parameters exchanged in all of their uses, and one put in place of the other."""
    uses = {
        name: [each for each in places if isinstance(each.node, ast.Name) and each.node.id == name]
        for name in names
    }
    for one, other in combinations(names, 2):
        if not uses[one] or not uses[other]:
            continue
        to_other = [in_place(place, ast.Name(other, ast.Load())) for place in uses[one]]
        to_one = [in_place(place, ast.Name(one, ast.Load())) for place in uses[other]]
        rows = (
            (1, "exchanged", f"`{one}` and `{other}` are exchanged", [*to_other, *to_one]),
            (4, "edit", f"`{one}` should be `{other}`", to_other),
            (4, "edit", f"`{other}` should be `{one}`", to_one),
        )
        for rank, kind, words, puts in rows:
            yield Edit(rank, kind, lambda words=words: words, uses[one][0].node, tuple(puts))


def changed_sets(sets):
    """Yield sets of parameters that are exchanged or on another scale.

    Parameters
    ----------
    sets : sequence of dict of str to object
        Sets of parameters.

    Yields
    ------
    slip : ibpcl.verify.distributions.slips.Slip
        The mistake of a function that is right at these sets.
    changed : list of dict of str to object
        The changed sets.
    """
    names = [name for name, value in sets[0].items() if np.ndim(value) == 0]
    for one, other in combinations(names, 2):
        words = f"it is right with {one} and {other} exchanged"
        yield Slip("exchanged", words), [{**v, one: v[other], other: v[one]} for v in sets]
    for name in names:
        for _, form, change, _, kind in INSTEAD:
            with np.errstate(all="ignore"):
                changed = [
                    {**values, name: float(change(np.float64(values[name])))} for values in sets
                ]
            if all(np.isfinite(values[name]) for values in changed):
                words = f"it is right if it gets {form.format(name)} in place of {name}"
                yield Slip("parameter_scale" if kind == SCALE else kind, words), changed


def of_result(what, is_right):
    """Return the slip of a function that returns another function of the right result.

    Parameters
    ----------
    what : str
        The right result, such as "a draw".
    is_right : callable
        ``is_right(change)`` returns whether the changed results are right.

    Returns
    -------
    slip : ibpcl.verify.distributions.slips.Slip or None
        None if there is no such function, or no time.
    """
    with searching(), np.errstate(all="ignore"):
        for words, _, _, back, kind in INSTEAD:
            if is_right(back):
                return Slip(kind, f"it returns {words.format(what)}")
    return None


def of_parameters(sets, is_right, cost=0):
    """Return the slip of a function that is right at other parameters.

    Parameters
    ----------
    sets : sequence of dict
        Sets of parameters.
    is_right : callable
        ``is_right(sets)`` returns whether the function is right at changed sets.
    cost : int
        Cost of ``is_right``, in expressions that take as long.

    Returns
    -------
    slip : ibpcl.verify.distributions.slips.Slip or None
        None if there are no such parameters, or no time.
    """
    with searching(), np.errstate(all="ignore"):
        for slip, changed in islice(changed_sets(sets), affordable(SECONDS, cost)):
            with contextlib.suppress(CallError, KeyError):
                if is_right(changed):
                    return slip
    return None


def name_of_values(part, given, values, right, others, sets, terms=None, cost=0):
    """Return the slip that leads from right values to given ones.

    Parameters
    ----------
    part : ibpcl.verify.distributions.reading.Part
        The function.
    given : ndarray, shape (N,)
        Values of the function.
    values : callable
        ``values(function, sets)`` returns the values of a changed function, or of the same function
        at changed parameters.
    right : ndarray, shape (N,)
        The right values.
    others : dict of Slip to ndarray, shape (N,)
        Other quantities that the function may have computed.
    sets : sequence of dict
        Sets of parameters.
    terms : dict of str to ndarray, shape (N,), optional
        Known terms.
    cost : int
        Cost of ``values``, in expressions that take as long.

    Returns
    -------
    slip : ibpcl.verify.distributions.slips.Slip or None
        None if no slip is found in time.
    """

    def is_right(function=None, changed=None):
        return agree(values(function, changed), right, atol=EXACT)

    def edited():
        found = fits_of(part.function, values, is_right, cost=cost)
        return Slip(found[0].kind, found[0].words) if found else None

    if not np.all(np.isfinite(given)):
        return edited()
    slip = explain(given, right, terms, others, atol=EXACT * 1e-2)
    if slip is not None and slip.kind in AMOUNTS:
        edit = edited()
        return Slip(slip.kind, f"{slip.words}: {edit.words}") if edit else slip
    if slip is None:
        slip = of_parameters(sets, lambda changed: is_right(changed=changed), cost)
    return slip or edited()

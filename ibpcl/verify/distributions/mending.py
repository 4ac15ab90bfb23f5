"""Find the one place of a function's source whose change makes all of its values right."""

import ast
import contextlib
import copy
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.edits import edits_of
from ibpcl.codeview.rewrite import Edit, Slot, in_place, replaced
from ibpcl.codeview.search import affordable
from ibpcl.codeview.syntax import Code, Recording, executed_by, name_of, parsed
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.distributions.calling import SEARCH_SECONDS, within

SECONDS = 0.55  # about, for one function; estimated from the number of expressions that it runs
MOST_FITS = 8
TERMS = 5_000  # number of terms that replaces the number of terms of a truncated series
LONGEST = 40  # characters of an expression that is changed as a whole
# Parameters whose ratio scales a minibatch.
SIZES = ("N", "n", "batch", "batch_size", "size", "B", "M", "m", "total", "n_batch", "n_total")
# Functions that are often confused with each other in formulas.
PARTNERS = (
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


class _Everything:
    """Filter of edits that allows all of them: only the values of a forward function are known."""

    linear = True

    def allow(self, edit):
        return True

    def suspect(self, node):
        return True


class Fit(NamedTuple):
    """An edit that makes all values right.

    Attributes
    ----------
    kind : str
        Kind of the mistake that the edit corrects.
    words : str
        Description of the edit, with the line.
    function : callable
        Changed function.
    rank : float
        Simpler edits have smaller ranks.
    """

    kind: str
    words: str
    function: object
    rank: float


def fits_of(function, run, is_right, most=MOST_FITS, cost=0):
    """Return the edits of a function that make all of its values right, the simplest first.

    Parameters
    ----------
    function : callable
        Function to change.  Without Python source no edit is found.
    run : callable
        ``run(function)`` calls the function as often as ``is_right`` does.
    is_right : callable
        ``is_right(function)`` returns whether all values of a changed function are right.
    most : int
        The search ends after this number of edits.
    cost : int
        Duration of one call of ``is_right``, in number of expressions that take as long.

    Returns
    -------
    fits : list of Fit
        Edits by rank.
    """
    found = []
    # a search that takes too long leaves the verdict as it is
    with contextlib.suppress(TimeUp), within(SEARCH_SECONDS):
        try:
            code = Code(function, executed_by(lambda: run(function)))
            recording = Recording(code, run)
        except Exception:  # no source, or the function raises
            return []
        with np.errstate(all="ignore"):
            edits = [*_of_formulas(code), *edits_of(code, recording, _Everything())]
        edits.sort(key=lambda edit: edit.rank)
        _search(code, recording, edits, is_right, most, cost, found)
    return found


def _search(code, recording, edits, is_right, most, cost, found):
    """Put the edits that make everything right into ``found``."""
    seen = set()
    for edit in edits[: affordable(SECONDS, recording.executed + cost)]:
        undo = edit.swap()
        text = "".join(map(ast.dump, code.trees.values()))
        undo.swap()
        if text in seen:
            continue
        seen.add(text)
        made = _made(code, edit)
        if made is not None and _quietly(is_right, made):
            found.append(Fit(edit.kind, f"{code.line(edit.node)}: {edit.words()}", made, edit.rank))
            if len(found) == most:
                return


def alike(values):
    """Return whether several arrays are equal.

    Parameters
    ----------
    values : list of ndarray
        Arrays of one shape.

    Returns
    -------
    same : bool
        True if they agree to a relative 1e-6.
    """
    return all(
        np.allclose(values[0], other, rtol=1e-6, atol=1e-9, equal_nan=True) for other in values
    )


def _made(code, edit):
    """Return the function after an edit; None if its source does not compile."""
    undo = edit.swap()
    try:
        return code.compile()
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    finally:
        undo.swap()


def _quietly(is_right, function):
    """Return whether a changed function is right; a function that raises is not."""
    try:
        with np.errstate(all="ignore"):
            return is_right(function)
    except Exception:  # whatever a changed function raises
        return False


def _of_formulas(code):
    """Yield edits for formulas, in addition to those for gradients."""
    for place in code.places:
        node = place.node
        if isinstance(node, ast.Call):
            yield from _of_call(place)
        elif isinstance(node, ast.BinOp):
            yield from _of_operation(place)
        if place.inside == "formula" and isinstance(
            node, (ast.Name, ast.Call, ast.BinOp, ast.Subscript)
        ):
            yield from _of_scale(place)
    for tree in code.trees.values():
        names = [argument.arg for argument in tree.args.args if argument.arg != "self"]
        yield from _of_series(code.places, tree.name)
        for place in code.places:
            if place.function == tree.name and place.inside == "formula":
                yield from _of_insertions(place, names)
        yield from _of_parameters(tree, code.places)
        yield from _of_lost_terms(tree)


def _of_call(place):
    """Yield another function in the place of a called one, its argument alone, and a reversal."""
    node = place.node
    name = name_of(node.func)
    for group in PARTNERS:
        others = group.split()
        if name not in others:
            continue
        for other in others:
            if other != name:
                new = copy.deepcopy(node)
                if isinstance(new.func, ast.Attribute):
                    new.func.attr = other
                else:
                    new.func = ast.Name(other, ast.Load())
                yield replaced(2, "other_scale", place, new, f"`{other}` is meant, not `{name}`")
    if name in ("cumsum", "cumprod") and node.args:
        inner = copy.deepcopy(node)
        inner.args[0] = _flipped(node.args[0])
        yield replaced(
            2, "edit", place, _flipped(inner), "it must run from the end to the beginning"
        )
    if len(node.args) == 1 and not node.keywords:
        yield replaced(3, "other_scale", place, node.args[0], f"`{name}` must not be applied here")
    if name == "flip" and node.args:
        yield replaced(2, "edit", place, node.args[0], "it must not be reversed")


def _flipped(node):
    """Return ``np.flip`` of an expression."""
    return parsed(f"np.flip({ast.unparse(node)})")


def _of_operation(place):
    """Yield other operators in the place of one, and one operand alone."""
    node = place.node
    swapped = ast.BinOp(node.right, node.op, node.left)
    if isinstance(node.op, ast.Pow):
        yield replaced(3, "edit", place, swapped, "base and exponent are exchanged")
        inverse = ast.BinOp(ast.Constant(1), ast.Div(), node.right)
        yield replaced(
            2, "edit", place, ast.BinOp(node.left, ast.Pow(), inverse), "the root is meant"
        )
        if isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Div):
            yield replaced(
                2,
                "edit",
                place,
                ast.BinOp(node.left, ast.Pow(), node.right.right),
                "the power is meant, not the root",
            )
        yield replaced(2.5, "edit", place, node.left, "the exponent does not belong there")
    if isinstance(node.op, ast.Div):
        turned = ast.UnaryOp(ast.USub(), ast.BinOp(node.right, ast.Div(), node.left))
        yield replaced(
            3.8, "edit", place, turned, "the quotient is upside down, and its sign is wrong"
        )
    if isinstance(node.op, ast.Mult):
        yield replaced(
            2.5, "edit", place, ast.BinOp(node.left, ast.Pow(), node.right), "a power is meant"
        )
        for operator, words in ((ast.Add(), "a sum"), (ast.Sub(), "a difference")):
            yield replaced(
                3.5,
                "edit",
                place,
                ast.BinOp(node.left, operator, node.right),
                f"this must be {words}",
            )
    if isinstance(node.op, (ast.Add, ast.Sub)):
        yield replaced(
            3.5,
            "edit",
            place,
            ast.BinOp(node.left, ast.Mult(), node.right),
            "this must be a product",
        )
    if isinstance(node.op, ast.Sub) and _is_one(node.left):
        yield replaced(
            1,
            "complement",
            place,
            node.right,
            f"one minus `{ast.unparse(node.right)}` is not meant",
        )


def _is_one(node):
    """Return whether a node is the constant 1."""
    return isinstance(node, ast.Constant) and node.value == 1


def _by_forms(place, forms, *texts):
    """Yield the edit of each form (rank, kind, expression, words), filled with texts."""
    for rank, kind, form, words in forms:
        yield replaced(rank, kind, place, parsed(form.format(*texts)), words.format(*texts))


def _of_scale(place):
    """Yield one minus, the square, the root, the reciprocal and the logarithm of a value."""
    text = ast.unparse(place.node)
    if len(text) > LONGEST:
        return
    forms = (
        (1.5, "complement", "1 - ({})", "one minus `{}` is meant"),
        (2, "parameter_scale", "({}) ** 2", "`{}` must be squared"),
        (2, "parameter_scale", "({}) ** 0.5", "the square root of `{}` is meant"),
        (2, "parameter_scale", "1 / ({})", "one over `{}` is meant"),
        (3, "other_scale", "np.log({})", "the logarithm of `{}` is meant"),
        (3, "other_scale", "-np.log({})", "minus the logarithm of `{}` is meant"),
        (3, "other_scale", "np.exp({})", "the exponential of `{}` is meant"),
        (3.2, "extra_term", "({}) - 1", "a term -1 is missing"),
        (3.2, "missing_term", "({}) + 1", "a term 1 is missing"),
        (4, "sign", "-({})", "the sign is wrong"),
        (3.4, "constant_factor", "0.5 * ({})", "a factor 1/2 is missing"),
        (3.4, "constant_factor", "2 * ({})", "a factor 2 is missing"),
    )
    yield from _by_forms(place, forms, text)


def _of_series(places, function):
    """Yield more terms of a sum over a range that is too short."""
    for place in places:
        node = place.node
        whole = isinstance(node, ast.Constant) and isinstance(node.value, int)
        if place.function == function and place.inside == "range" and whole and node.value >= 3:
            words = f"the series is truncated: it needs more terms than {node.value}"
            yield replaced(1, "truncated", place, ast.Constant(TERMS), words)


def _of_insertions(place, names):
    """Yield a missing parameter next to a value: a factor, a divisor, a power or a term."""
    node = place.node
    text = ast.unparse(node)
    if isinstance(node, ast.Constant):
        for other in ("np.pi", "2 * np.pi", "np.sqrt(2 * np.pi)", "np.e"):
            words = f"the number {node.value} is wrong"
            yield replaced(4, "constant_factor", place, parsed(other), words)
    if len(text) > LONGEST or not isinstance(
        node, (ast.Name, ast.Call, ast.BinOp, ast.Attribute, ast.Constant)
    ):
        return
    sizes = [name for name in names if name in SIZES]
    for one, other in permutations(sizes, 2):
        new = parsed(f"({text}) * {one} / {other}")
        words = f"a factor is missing, `* {one} / {other}`"
        yield replaced(5.2, "factor", place, new, words)
    lost = ("- {1}", "+ {1}", "- {1} ** 2", "- np.log(1 - {1})")
    forms = (
        (3.3, "factor", "({0}) / {1}", "a divisor is missing, `{1}`"),
        (3.3, "factor", "({0}) * {1}", "a factor is missing, `{1}`"),
        (5.5, "edit", "({0}) ** {1}", "the exponent `{1}` is missing"),
        *(
            (5.5, "missing_term", f"({{0}}) {term}", f"a term is missing, `{term}`")
            for term in lost
        ),
    )
    for name in names:
        if name != text:
            yield from _by_forms(place, forms, text, name)


def _of_parameters(tree, places):
    """Yield two parameters exchanged in all of their uses, and one put in place of the other."""
    names = [argument.arg for argument in tree.args.args]
    uses = {
        name: [
            place
            for place in places
            if place.function == tree.name
            and isinstance(place.node, ast.Name)
            and place.node.id == name
        ]
        for name in names
    }
    for one, other in combinations(names, 2):
        if not uses[one] or not uses[other]:
            continue
        puts = [in_place(place, ast.Name(other, ast.Load())) for place in uses[one]]
        puts += [in_place(place, ast.Name(one, ast.Load())) for place in uses[other]]
        words = f"`{one}` and `{other}` are exchanged"
        yield Edit(1, "exchanged", lambda words=words: words, uses[one][0].node, tuple(puts))
        for name, right in ((one, other), (other, one)):
            puts = [in_place(place, ast.Name(right, ast.Load())) for place in uses[name]]
            words = f"`{name}` should be `{right}`"
            yield Edit(4, "edit", lambda words=words: words, uses[name][0].node, tuple(puts))


def _of_lost_terms(tree):
    """Yield a term or a factor of one parameter that is missing in the return value."""
    names = [argument.arg for argument in tree.args.args]
    forms = [
        (kind, f"{{0}} {sign} {term}", f"a term is missing, `{sign} {term}`")
        for term in ("np.log({1})", "{1}", "{1} ** 2", "np.log(1 - {1})")
        for sign, kind in (("+", "missing_term"), ("-", "extra_term"))
    ]
    forms += [
        ("factor", f"({{0}}) {factor}", f"a factor is missing, `{factor}`")
        for factor in ("* {1}", "/ {1}", "/ {1} ** 2", "* {1} ** 2")
    ]
    for statement in _returns_of(tree):
        slot = Slot(statement.value, statement, "value", None)
        whole = ast.unparse(statement.value)
        for name in names:
            for kind, form, words in forms:
                words = words.format(whole, name)
                puts = (in_place(slot, parsed(form.format(whole, name))),)
                yield Edit(4.5, kind, lambda words=words: words, statement, puts)


def _returns_of(tree):
    """Return the statements that return one value."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Return)
        and node.value is not None
        and not isinstance(node.value, ast.Tuple)
    ]

"""Small changes of a function that can make its values right: rows of the table, and a few more.

The table (:mod:`ibpcl.codeview.slips`) covers slips in one expression or statement.  The changes
here need more of the source: one slip in several places, another variable, another slice, a
value that a loop must pass on.
"""

import ast
import functools
from itertools import product

import numpy as np

from ibpcl.codeview import slips
from ibpcl.codeview.patterns import ARITHMETIC, edits_at, known_in, table_of
from ibpcl.codeview.rewrite import Edit, exchanges, in_place, renamed, replaced
from ibpcl.codeview.syntax import (
    Place,
    is_numeric,
    items_of,
    names_in,
    parsed,
    statements_in,
    text_of,
    value_at,
)
from ibpcl.codeview.variables import of_names

REPEATED = slips.LATE - 0.5  # rank of one change in several places
MOST_SOURCES = 8  # largest number of new values that are tried for an array in a loop


class Everything:
    """A filter of edits that allows all of them."""

    linear = True

    def suspect(self, node):
        """Return True: any expression may be wrong.

        Parameters
        ----------
        node : ast.AST
            The expression.

        Returns
        -------
        bool
        """
        return True

    def allow(self, edit):
        """Return True: any edit may be tried.

        Parameters
        ----------
        edit : Edit
            The edit.

        Returns
        -------
        bool
        """
        return True


@functools.cache
def _tables(rows):
    """Return the tables for each role of a place, with further rows for formulas."""
    return {
        "formula": table_of((*slips.SLIPS, *(row for row in rows if row[2] != "TERMS"))),
        "index": table_of(slips.INDICES),
        "range": table_of((*slips.RANGES, *(row for row in rows if row[2] == "TERMS"))),
        "loop": table_of(slips.LOOPS),
    }


def edits_of(code, recording, suspects, rows=(), near=None):
    """Return the edits of a function and its helpers, the simplest first.

    Parameters
    ----------
    code : Code
        Source of the function.
    recording : Recording
        The values of its places in one run.
    suspects : Suspects
        Filter of the places and edits.
    rows : tuple of tuple
        Rows beside those of the table.
    near : list of ast.stmt, optional
        The statements to which the further rows apply; by default all.  In these statements,
        values may also be unpacked in another order.

    Returns
    -------
    list of Edit
        The allowed edits by rank.
    """
    edits = []
    expressions = []
    for name, tree in code.trees.items():
        arguments = [argument.arg for argument in tree.args.args]
        known = known_in(recording.values, recording.scopes.get(name, {}), arguments)
        own = [place for place in code.places if place.function == name]
        for place in own:
            if suspects.suspect(place.node):
                further = rows if near is None or place.statement in near else ()
                expressions += edits_at(place, known, _tables(further).get(place.inside, {}))
                expressions += _of_place(place, known, suspects)
        for place in _statements(tree):
            edits += _of_statement(place, tree, known, _tables(rows))
            edits += _unpacked(place.node) if place.node in (near or ()) else ()
        edits += of_names(own, known, suspects)
    alone = [edit for edit in expressions if edit.rank < slips.TOGETHER]
    edits = [*alone, *_repeated(expressions, code), *edits]
    return sorted(filter(suspects.allow, edits), key=lambda edit: edit.rank)


def _repeated(edits, code):
    """Yield each slip that stands in several places of a function or a statement, undone in all."""
    groups = {}
    for edit in edits:
        if edit.same and isinstance(edit.node, ast.expr):
            place = code.places[edit.node.place]
            for part in (place.function, place.statement):
                groups.setdefault((part, edit.same), {})[edit.node.place] = edit
    for group in groups.values():
        first, *others = group.values()
        if others:

            def words(first=first, others=others):
                return f"in {len(others) + 1} places, {first.words()}"

            puts = tuple(put for edit in group.values() for put in edit.puts)
            yield first._replace(rank=REPEATED, words=words, puts=puts)


def _of_place(place, known, suspects):
    """Yield the edits of one expression that are not in the table."""
    if isinstance(place.node, ast.Subscript) and place.inside == "formula":
        yield from _of_subscript(place)
    if place.whole and not suspects.linear:
        yield from _of_derivative_at_dout(place, known)


def _statements(tree):
    """Yield each statement of a function as a place."""
    assigned = set()
    for node, parent, field, index in statements_in(tree):
        target = _target(node)
        store = ast.unparse(target) if target else ""
        again = isinstance(target, ast.Subscript) or store in assigned
        yield Place(node, parent, field, index, again=again)
        assigned |= names_in(target, ast.expr_context) if target else set()


def _target(statement):
    """Return the target of an assignment or a loop, None for other statements."""
    return getattr(statement, "target", None) or getattr(statement, "targets", [None])[0]


def _of_statement(place, tree, known, tables):
    """Yield the edits of one statement."""
    node = place.node
    yield from edits_at(place, known, tables["formula"])
    if isinstance(node, ast.For):
        header = Place(node.iter, node, "iter", None)
        for edit in edits_at(header, known, tables["loop"]):
            yield edit._replace(node=node)
        yield from _of_carries(node, tree, known.scope)
    elif isinstance(_target(node), ast.Subscript):
        where = ("targets", 0) if isinstance(node, ast.Assign) else ("target", None)
        yield from _of_subscript(Place(_target(node), node, *where))


def _of_subscript(place):
    """Yield other slices of an array that is read or written, and indices in another order."""
    node = place.node
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]

    def edit(rank, kind, new, why):
        index = new[0] if len(new) == 1 else ast.Tuple(new, ast.Load())
        return replaced(rank, kind, place, ast.Subscript(node.value, index, node.ctx), why)

    for n, part in enumerate(parts):
        if isinstance(part, ast.Slice):
            alike = [m for m, other in enumerate(parts) if ast.dump(other) == ast.dump(part)]
            for new, why in _other_slices(part):
                for chosen in ([n], alike) if alike[1:] and alike[0] == n else ([n],):
                    changed = [new if m in chosen else p for m, p in enumerate(parts)]
                    yield edit(2 + len(chosen), "shifted", changed, why)
    for changed, a, b in exchanges(parts):
        if ast.dump(a) != ast.dump(b):
            yield edit(4, "transposed", changed, "two indices are exchanged")


def _other_slices(part):
    """Yield (slice, reason): slices without an end entry, and the reversed slice.

    Ends that are one off are rows of the table.
    """
    text = text_of(ast.Slice(part.lower, part.upper))
    step = text_of(part.step) if part.step else ""
    if step in ("", "-1"):
        yield parsed(f"x[{text}:{'' if step else -1}]").slice, "in reversed (flipped) order"
    if all(map(_is_number, (part.lower, part.upper))):
        for new in ("1:", ":-1", ":", "1:-1"):
            if new != text:
                yield parsed(f"x[{new}:{step}]").slice, "off by one in a slice (shifted)"


def _is_number(node):
    """Return whether an end of a slice is omitted or a number, perhaps with a minus."""
    return node is None or all(isinstance(part, ARITHMETIC) for part in ast.walk(node))


def _of_derivative_at_dout(place, known):
    """Yield ``dout * F(x)`` instead of ``F(dout)``: a derivative taken at the incoming gradient.

    ``F(dout)`` may be a product with ``dout``; then only a factor is missing.
    """
    shape = np.shape(value_at(place.node, known.values))
    alike = [text for text, value in known.arrays.items() if np.shape(value) == shape != ()]
    for dout, other in product(alike, alike):
        if dout not in names_in(place.node) or other == dout:
            continue
        if _is_factor(dout, place.node):
            new = ast.BinOp(place.node, ast.Mult(), parsed(other))
            why = f"an elementwise factor is missing, `{other}`"
            yield replaced(1.5, "elementwise_factor", place, new, why)
        else:
            inner = renamed(place.node, {dout: other})
            new = ast.BinOp(ast.Name(dout, ast.Load()), ast.Mult(), inner)
            why = f"the derivative is taken at dout, not at `{other}`, and nothing multiplies it"
            yield replaced(1.5, "not_linear", place, new, why)


def _is_factor(name, node):
    """Return whether an expression is a product, one factor of which is a variable."""
    if isinstance(node, ast.UnaryOp):
        return _is_factor(name, node.operand)
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div))):
        return isinstance(node, ast.Name) and node.id == name
    left, right = (name in names_in(side) for side in (node.left, node.right))
    if isinstance(node.op, ast.Mult) and right and not left:
        return _is_factor(name, node.right)
    return left and not right and _is_factor(name, node.left)


def _unpacked(statement):
    """Yield an assignment whose targets are in another order."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    for order, first, second in exchanges(getattr(target, "elts", ())):
        new = ast.Assign([type(target)(order, ast.Store())], statement.value)
        words = (
            f"`{text_of(first)}` and `{text_of(second)}` are unpacked in the wrong order: "
            f"`{text_of(statement)}` should be `{text_of(ast.copy_location(new, statement))}`"
        )
        puts = (in_place(Place(target, statement, "targets", 0), new.targets[0]),)
        yield Edit(3, "raises", lambda words=words: words, statement, puts)


def _of_carries(loop, tree, scope):
    """Yield a loop that passes arrays on to its next step, one of them or all.

    Such an array is made before the loop and read in it, but never gets a new value there.
    """
    body = ast.Module(loop.body, [])
    stored = names_in(body, ast.Store)
    filled = {
        node.value.id
        for node in ast.walk(body)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
    }
    before = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node is not tree and node.lineno < loop.lineno
        for name in names_in(node, ast.Store)
    }
    made = {}
    for name in sorted(stored):
        items = items_of(name, scope.get(name)) if isinstance(scope.get(name), dict) else ()
        made.update(((name, scope.get(name)), *items))
    options = []
    for name in sorted((names_in(body) & before) - stored - filled):
        if is_numeric(scope.get(name)) and np.ndim(scope[name]):
            shape = np.shape(scope[name])
            sources = [t for t, v in made.items() if is_numeric(v) and np.shape(v) == shape]
            sources.sort(key=lambda text: (_bare(text) != _bare(name), len(text)))
            options += [[(name, text) for text in sources[:MOST_SOURCES]]] if sources else []
    for pair in (pair for pairs in options for pair in pairs):
        yield _passed_on(loop, [pair])
    if len(options) > 1:
        yield _passed_on(loop, [pairs[0] for pairs in options])


def _bare(text):
    """Return a name or key without its marks: ``g["da_next"]`` and ``da`` are alike."""
    inner = text.split("[")[-1].strip("]'\"")
    return inner.lower().replace("_", "").replace("prev", "").replace("next", "")


def _passed_on(loop, pairs):
    """Return the edit that assigns new values to arrays at the end of each step."""
    last = loop.body[-1]
    assignments = [ast.parse(f"{name} = {text}").body[0] for name, text in pairs]
    new = ast.If(ast.Constant(True), [last, *assignments], [])
    shown = " and ".join(f"`{text_of(node)}`" for node in assignments)
    names = " and ".join(f"`{name}`" for name, _ in pairs)
    words = (
        f"a term is missing: the loop never gives a new value to {names}, which must be carried "
        f"from step to step; add {shown} at the end of the loop"
    )
    puts = (in_place(Place(last, loop, "body", len(loop.body) - 1), new),)
    return Edit(0.6 + 0.2 * len(pairs), "missing_term", lambda: words, loop, puts)

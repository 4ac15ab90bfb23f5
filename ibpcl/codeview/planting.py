"""Planted mistakes: the table of slips read backwards, from right code to wrong code.

Only the syntax tree is used, no values.  So rows that need values are left out, and rows about what
a person leaves out are read in both directions: ``A * B`` without one of its factors is a factor
too many when a mistake is named, and a missing factor when it is planted.
"""

import ast

from ibpcl.codeview.patterns import CHOICES, edits_at, known_in, placeholders_in, table_of
from ibpcl.codeview.rewrite import Edit, in_place
from ibpcl.codeview.slips import OFTEN, SLIPS, TOGETHER, TWINS
from ibpcl.codeview.syntax import Place, children_of

# Not every function has an axis: PLANTED has this row for those that have one.
ANY_AXIS = ("FUNCTION(A)", "FUNCTION(A, axis=AXIS)")
PAIRS = [*TWINS.split(", "), *OFTEN.split(", ")]  # functions that are taken for each other
# Slips that are planted only: kind, right and wrong pattern.  Their backward reading needs values,
# or names a mistake that another row names as well.
PLANTED = [
    ("sign", "A + B", "-A + B"),
    ("sign", "A - B", "-A - B"),
    ("sign", "ELEMENTARY(A)", "ELEMENTARY(-A)"),
    ("elementwise_factor", "A * B", "B / A"),
    ("elementwise_factor", "A ** B", "A"),
    *(
        ("elementwise_factor", right.replace("+", sign), wrong.replace("+", sign))
        for sign in "+-"
        for right, wrong in (
            ("A * B + C", "(A + C) * B"),
            ("A * B + C", "A * (B + C)"),
            ("C + A * B", "(C + A) * B"),
            ("C + A * B", "A * (C + B)"),
            ("A / B + C", "(A + C) / B"),
            ("C + A / B", "(C + A) / B"),
            ("(A + B) * C", "A * C + B"),
            ("(A + B) * C", "A + B * C"),
            ("C * (A + B)", "C * A + B"),
            ("C * (A + B)", "A + C * B"),
            ("(A + B) / C", "A / C + B"),
            ("(A + B) / C", "A + B / C"),
        )
    ),
    *(("comparison", f"A {old} B", f"A {new} B") for old, new in ("<>", "><", ("==", "!="))),
    *(("comparison", f"A {old} B", f"A {new} B") for old, new in (("<=", ">="), (">=", "<="))),
    *(
        ("other_function", f"{right}(A)", f"{wrong}(A)")
        for right, wrong in (
            ("mean", "prod"),
            ("prod", "mean"),
            ("prod", "sum"),
            ("any", "all"),
            ("all", "any"),
            ("max", "mean"),
            ("min", "mean"),
            ("cumsum", "cumprod"),
            ("digamma", "log"),
            *(pair.split() for pair in PAIRS),
            *(pair.split()[::-1] for pair in PAIRS),
        )
    ),
    ("mean", "sum(A)", "mean(A)"),
    ("mean", "mean(A)", "sum(A)"),
    *(("transposed", f"{name}(A)", "A") for name in ("moveaxis", "swapaxes", "rollaxis")),
    ("other_function", "FUNCTION(A)", "A"),
    ("swapped", "FUNCTION(A, B)", "FUNCTION(B, A)"),
    ("swapped", "(A, B)", "(B, A)"),
    ("shifted", "cumsum(A)", "np.flip(cumsum(np.flip(A)))"),
    ("shifted", "flip(cumsum(flip(A)))", "cumsum(A)"),
    ("shifted", "flip(cumprod(flip(A)))", "cumprod(A)"),
    ("shifted", "cumsum(A)", "cumsum(A) - A"),
    ("shifted", "cumprod(A)", "cumprod(A) / A"),
    *(
        ("shifted", right.format(index), wrong)
        for index in ("[::-1]", "[..., ::-1]", "[:, ::-1]")
        for right, wrong in (("FUNCTION(A{0}){0}", "FUNCTION(A)"), ("A{0}", "A"))
    ),
    ("shifted", "A[B:C]", "A"),
    ("shifted", "A[B:C]", "A[1:]"),
    ("shifted", "A[B:C]", "A[:-1]"),
    ("summed", "REDUCTION(A)", "REDUCTION(A, axis=AXIS)"),
    ("summed", "REDUCTION(A)", "REDUCTION(A, axis=None)"),
    ("constant_factor", "NUMBER", "0"),
]
# Kinds without values: what is dropped is missing.
KINDS = {
    "number": "constant_factor",
    "term": "missing_term",
    "factor": "elementwise_factor",
    "few_entries": "comparison",
}
# What a student reads about a planted slip, without expressions.
SENTENCES = {
    "sign": "the sign of a term is wrong",
    "constant_factor": "a number is wrong",
    "elementwise_factor": "a factor or a divisor is missing, or stands in the wrong place",
    "missing_term": "a term is missing",
    "mean": "a mean stands where a sum belongs, or a sum where a mean belongs",
    "transposed": (
        "a transpose is missing, axes stand in another order, or the operands of a product are "
        "exchanged"
    ),
    "comparison": "a comparison is wrong",
    "other_function": "a function is left out, or another one is meant",
    "other_quantity": "another quantity stands where this one belongs",
    "swapped": "two arguments or results are exchanged",
    "shifted": "the order along an axis, or the end of a slice, is wrong",
    "summed": "it runs along the wrong axis",
    "not_summed": "a sum is missing",
}


def _rows():
    """Return the rows to plant, from right to wrong, whose wrong pattern can be filled."""
    forward = [
        (kind, wrong, right)
        for rank, kind, wrong, right, _ in SLIPS
        if rank < TOGETHER and (wrong, right) != ANY_AXIS
    ]
    backward = [
        (kind, right, wrong) for kind, wrong, right in forward if right != "A" and kind != "number"
    ]
    return [
        (2, KINDS.get(kind, kind), right, wrong, "")
        for kind, right, wrong in (*PLANTED, *forward, *backward)
        if placeholders_in(wrong) <= placeholders_in(right) | set(CHOICES)
        and (kind != "number" or placeholders_in(wrong))
    ]


def planted(function, rows=()):
    """Return edits that plant a mistake in a right function, in one place or in all equal places.

    Parameters
    ----------
    function : ast.FunctionDef
        Syntax tree of the function.
    rows : sequence of tuple
        Rows beside those of the table, from right to wrong: (kind, right pattern, wrong pattern).

    Returns
    -------
    list of Edit
        No two of them change the same place to the same text.
    """
    further = [(2, kind, right, wrong, "") for kind, right, wrong in rows]
    table = table_of([*_rows(), *further])
    known = known_in({}, {})
    edits = {}
    axes = {id(part) for node in ast.walk(function) for part in _axis_of(node)}
    for place in places_in(function):
        for edit in (*edits_at(place, known, table), *_of_names(place, function)):
            ((*_, new),) = edit.puts
            if id(place.node) in axes:
                edit = edit._replace(kind="summed")
            if ast.unparse(new) != ast.unparse(place.node):
                edits.setdefault((id(place.node), ast.unparse(new)), edit)
    groups = {}
    for (_, new), edit in edits.items():
        groups.setdefault((ast.unparse(edit.node), new), []).append(edit)
    together = [
        group[0]._replace(puts=tuple(put for edit in group for put in edit.puts))
        for group in groups.values()
        if len(group) > 1
    ]
    return [*edits.values(), *together]


def _axis_of(node):
    """Return the nodes of an argument that names an axis."""
    is_axis = isinstance(node, ast.keyword) and node.arg == "axis"
    return ast.walk(node.value) if is_axis else ()


def places_in(function):
    """Yield every statement and expression in the body of a function as a place.

    Parameters
    ----------
    function : ast.FunctionDef
        Syntax tree of the function.

    Yields
    ------
    Place
    """
    for parent in [function, *(node for part in function.body for node in ast.walk(part))]:
        for node, field, index in children_of(parent):
            outside = parent is function and field != "body"
            if isinstance(node, (ast.expr, ast.stmt)) and not outside:
                yield Place(node, parent, field, index)


def _of_names(place, function):
    """Yield another variable of the function in the place of one."""
    node = place.node
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return
    names = [argument.arg for argument in function.args.args]
    names += [
        part.id
        for part in ast.walk(ast.Module(function.body, []))
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    ]
    for other in dict.fromkeys(names) if node.id in names else ():
        if other != node.id:
            new = ast.Name(other, ast.Load())
            yield Edit(4, "other_quantity", lambda: "", node, (in_place(place, new),))

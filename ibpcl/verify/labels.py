"""Recorded operations as expressions that a person can read."""

_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "matmul": "@", "greater": ">",
          "less": "<", "greater_equal": ">=", "less_equal": "<="}
LONGEST = 60


def bracketed(label):
    """Return an expression in brackets, unless it is a name, a number or one call already."""
    depth = 0
    for position, letter in enumerate(label):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and (letter in "+-*/@<> " or (letter in ")]" and position < len(label) - 1)):
            return f"({label})"
    return label


def expression(name, labels, options):
    """Return an operation on labelled operands as text; a long one is cut down to its name."""
    if name in _SIGNS and len(labels) == 2:
        text = f" {_SIGNS[name]} ".join(bracketed(label) for label in labels)
    elif name == "negative":
        text = f"-{bracketed(labels[0])}"
    elif name in ("getitem", "setitem"):
        text = f"{bracketed(labels[0])}[...]"
    else:
        axis = options.get("axis")
        text = f"{name.replace('add.reduce', 'sum')}({', '.join(labels)}" + (
            f", axis={axis})" if axis is not None else ")")
    return text if len(text) <= LONGEST else name + "(...)"

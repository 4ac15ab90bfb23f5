"""Which function is the gradient of which, decided by their names."""

import re

from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.target import Target

# Forwards of a gradient function whose name contains no other word, such as `gradient`.
OBJECTIVES = ("f", "loss", "cost", "objective", "func", "fun", "function", "J")
# Words for an objective, which the name of its gradient may lack: `logistic_loss`, `logistic_grad`.
# Words for another version of a gradient function: `norm_backward` and `norm_backward_alt`.
VERSIONS = frozenset(
    {"alt", "alternative", "fast", "slow", "naive", "simple", "vectorized", "loop"}
)
OBJECTIVE_WORDS = frozenset({"loss", "cost", "objective", "function", "func", "fun", "fn", "f"})


def pairs_in(functions, own=None):
    """Return the pairs that follow from the names of functions.

    Parameters
    ----------
    functions : dict of str to callable
        The functions by name.
    own : collection of str, optional
        Names of the functions that may be gradients; by default, all.

    Returns
    -------
    dict of str to Target
        The pairs by name of their forward; products with a Jacobian or Hessian by their own.

    Examples
    --------
    >>> list(pairs_in({"tanh": None, "tanh_prime": None, "loss": None, "loss_grad": None}))
    ['tanh', 'loss']
    """
    own = functions if own is None else own
    # `sample_vjp` belongs to `sample`, and `_sample_vjp` to `_sample`, if there are both.
    public = _by_words(sorted(functions, key=_is_private))
    private = _by_words(sorted(functions, key=_is_private, reverse=True))
    pairs = {}
    used = set()
    for kind, marks in (
        ("pair", words.BACKWARD_WORDS),
        ("pair", words.DERIVATIVE_WORDS),
        ("jvp", words.JVP_WORDS),
        ("hvp", words.HVP_WORDS),
    ):
        for name in functions:
            if name in used:
                continue
            forward = _forward_of(name, marks, *(private if _is_private(name) else public))
            if (
                forward is None
                or forward == name
                or (name not in own and not name.endswith("_vjp"))
                or (kind == "pair" and forward in pairs)
            ):
                continue
            title = forward if kind == "pair" else name
            beside = pairs[forward].gradient if kind == "hvp" and forward in pairs else None
            base = "_".join(_without(words.tokens(name), marks))
            aliases = (name, base) if kind == "pair" else ()
            pairs[title] = Target(title, functions[forward], functions[name], aliases, beside)
            used.add(name)
            if kind == "pair":
                used.add(forward)
    for name in own:
        parts = words.tokens(name)
        bare = "_".join(_without(parts, VERSIONS))
        plain, marked = private if _is_private(name) else public
        forward = _forward_of(bare, words.BACKWARD_WORDS, plain, marked)
        if name not in used and len(parts) > len(words.tokens(bare)) and forward in pairs:
            pairs[name] = Target(name, functions[forward], functions[name])
    return pairs


def _is_private(name):
    return name.startswith("_")


def _by_words(names):
    """Return the first of some names with each sequence of words, of all and of forwards."""
    plain = {}
    marked = {}
    for name in names:
        parts = words.tokens(name)
        if any(part in words.FORWARD_WORDS for part in parts):
            marked.setdefault(_without(parts, words.FORWARD_WORDS), name)
        plain.setdefault(tuple(parts), name)
    return plain, marked


def _forward_of(name, marks, plain, marked):
    """Return the name of the forward that belongs to a gradient's name, or None."""
    parts = words.tokens(name)
    if any(part in marks for part in parts):
        joining = marks | {"of"}  # derivative_of_sigmoid
        both = joining | words.DERIVATIVE_WORDS
        for base in (_without(parts, each) for each in (marks, joining, both)):
            if base and base in marked:
                return marked[base]
            if base and base in plain:
                return plain[base]
            if not base:
                alone = marked.get(()) if marks is words.BACKWARD_WORDS else None
                return (
                    alone
                    or next((o for o in OBJECTIVES if (o,) in plain and o != name), None)
                    or _objective_of(name, marks, plain)
                )
        if found := _objective_of(name, marks, plain):
            return found
    for ending in ("prime", "derivative", "gradient", "grad", "deriv"):  # tanhprime
        found = plain.get(tuple(words.tokens(name.removesuffix(ending))))
        if marks is words.DERIVATIVE_WORDS and found not in (None, name):
            return found
    quotient = re.fullmatch(r"d_?(\w+?)_?d_?[a-z]\w?", name)  # dUdx
    if marks is words.DERIVATIVE_WORDS and quotient and quotient[1] in plain.values():
        return quotient[1]
    if marks is words.DERIVATIVE_WORDS and name.startswith("d") and len(name) > 1:
        rest = name[1:]
        if tuple(words.tokens(rest)) in plain and plain[tuple(words.tokens(rest))] == rest:
            return rest
    return None


def _objective_of(name, marks, plain):
    """Return the name of the objective of a function such as `compute_gradient`, or None.

    One with the same filler is taken first: `compute_cost` before `calculate_cost` and `cost`.
    """
    parts = words.tokens(name)
    rest = _without(parts, marks | words.FILLERS | OBJECTIVE_WORDS)
    fillers = words.FILLERS.intersection(parts)
    found = [
        (fillers != words.FILLERS.intersection(other), len(other), its_name)
        for other, its_name in plain.items()
        if _without(other, words.FILLERS | OBJECTIVE_WORDS) == rest
        and OBJECTIVE_WORDS.intersection(other)
        and its_name != name
    ]
    return min(found)[-1] if found else None


def _without(parts, marks):
    return tuple(part for part in parts if part not in marks)

"""Twelve forms in which people write a function with its gradient.

:func:`parts_of` takes a pair ``out, cache = f(*inputs)``, ``gradients = f_vjp(dout, cache)`` apart,
as text.  Each form writes the parts as a file, and has a bridge: it gives the pair back from the
loaded file, so that a checker that knows only pairs can judge the file.
"""

import ast
import re
from collections.abc import Callable
from textwrap import dedent, indent
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

DOUTS = ("dout", "grad_output", "dy", "upstream", "g_out", "delta_out")
PAIRS = (
    ("{}_forward", "{}_backward"),
    ("{}", "{}_vjp"),
    ("{}_fwd", "{}_bwd"),
    ("{}", "{}_backward"),
)


class UnfitError(ValueError):
    """A pair that cannot be written in a form, with the reason."""


class Parts(NamedTuple):
    """A pair taken apart; all statements are text without indentation.

    Attributes
    ----------
    name : str
        Name of the function.
    head : str
        The docstring and the imports.
    helpers : str
        Constants and functions that the pair uses.
    inputs : list of str
        Parameters of the forward.
    wrt : list of str
        The differentiated ones.
    forward : str
        Statements of the forward before its ``return``.
    out : str
        Its output as an expression.
    kept : dict of str to str
        The expressions in the cache, by the names that they have in the gradient function.
    backward : str
        Statements of the gradient function between the first one, which unpacks the cache, and its
        ``return``.
    gradients : list of str
        The gradients as expressions.
    is_bare : bool
        Whether one gradient is returned without a tuple.
    dout : str
        Name of the gradient from above.
    drawn : str
        The function ``check_inputs()``.
    pair : tuple of str
        Names of the two functions of a pair.
    """

    name: str
    head: str
    helpers: str
    inputs: list
    wrt: list
    forward: str
    out: str
    kept: dict
    backward: str
    gradients: list
    is_bare: bool
    dout: str
    drawn: str
    pair: tuple

    @property
    def parameters(self):
        """The inputs, separated by commas."""
        return ", ".join(self.inputs)

    @property
    def cache(self):
        """The cache as an expression."""
        return _joined(self.kept.values())

    @property
    def unpack(self):
        """The names of the cache as a target."""
        return _joined(self.kept)

    @property
    def result(self):
        """The gradients as an expression."""
        return self.gradients[0] if self.is_bare else _joined(self.gradients, ends=True)

    @property
    def by_name(self):
        """The gradients as the items of a dict."""
        self.require(len(self.gradients) == len(self.wrt), "its gradients have no names")
        return [f'"{name}": {text}' for name, text in zip(self.wrt, self.gradients, strict=True)]

    @property
    def renamed(self):
        """A statement that gives the cache the names of the gradient function, or nothing."""
        moved = {name: text for name, text in self.kept.items() if name != text}
        return f"{_joined(moved)} = {_joined(moved.values())}" if moved else ""

    @property
    def words(self):
        """All names in the pair."""
        return set(re.findall(r"[A-Za-z_]\w*", "\n".join(map(str, self))))

    def unused(self, *names):
        """Return the first of some names that the pair does not use."""
        return next(name for name in names if name not in self.words)

    @staticmethod
    def require(holds, reason):
        """Raise :class:`UnfitError` unless a condition holds."""
        if not holds:
            raise UnfitError(reason)


def _joined(items, ends=False):
    """Return expressions as a tuple without brackets; one expression stays alone."""
    items = list(items)
    return ", ".join(items) + ("," if ends and len(items) == 1 else "")


def parts_of(name, source):
    """Take a pair apart.

    Parameters
    ----------
    name : str
        Name of the function.
    source : str
        A file with ``f``, ``f_vjp(dout, cache)`` and ``check_inputs()``.

    Returns
    -------
    Parts
        Names of the pair and of ``dout`` depend on the name of the function alone.

    Raises
    ------
    UnfitError
        If the pair is written in an unusual way, such as with two ``return`` statements.
    """
    tree = ast.parse(source)
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    f, vjp, drawn = (functions.get(each) for each in ("f", "f_vjp", "check_inputs"))
    last = f.body[-1]
    plain = _is_plain(f, None) and _is_plain(vjp, ["dout", "cache"]) and len(vjp.body) > 1
    if not (_returns_two(last) and plain):
        raise UnfitError("the pair is written in an unusual way")
    first, *_, end = vjp.body
    unpacks = isinstance(first, ast.Assign) and ast.unparse(first.value) == "cache"
    if not unpacks or not isinstance(end, ast.Return) or end.value is None:
        raise UnfitError("the gradient function does not unpack the cache first")
    text = _Text(source)
    out, cache = last.value.elts
    names = text.items(first.targets[0])
    values = text.items(cache)
    is_bare = not isinstance(end.value, ast.Tuple)
    if len(names) != len(values) or len(set(names)) != len(names):
        raise UnfitError("the cache is unpacked in an unusual way")
    if not all(each.isidentifier() for each in names):
        raise UnfitError("the cache is unpacked in an unusual way")
    inputs = [each.arg for each in f.args.args]
    given = [each for each in tree.body if _assigns(each, "WRT")]
    number = sum(map(ord, name))
    parts = Parts(
        name,
        text.of(_imports(tree)),
        text.of(each for each in tree.body if each not in (*_imports(tree), f, vjp, drawn, *given)),
        inputs,
        list(ast.literal_eval(given[0].value)) if given else inputs,
        text.inside(f.body[:-1]),
        text.part(out),
        dict(zip(names, values, strict=True)),
        text.inside(vjp.body[1:-1]),
        [text.part(end.value)] if is_bare else text.items(end.value),
        is_bare,
        "dout",
        text.of([drawn]),
        tuple(pattern.format(name) for pattern in PAIRS[number % len(PAIRS)]),
    )
    new = DOUTS[number % len(DOUTS)]
    if new in parts.words or re.search(r"\bf\(", source.replace("def f(", "")):
        return parts
    rename = re.compile(r"\bdout\b")
    return parts._replace(
        dout=new,
        backward=rename.sub(new, parts.backward),
        gradients=[rename.sub(new, each) for each in parts.gradients],
    )


def _returns_two(node):
    is_pair = isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple)
    return is_pair and len(node.value.elts) == 2


def _is_plain(function, parameters):
    """Return whether a function has plain parameters, and one ``return``."""
    arguments = function.args
    names = [each.arg for each in arguments.args]
    others = arguments.defaults or arguments.kwonlyargs or arguments.vararg or arguments.kwarg
    returns = [each for each in ast.walk(function) if isinstance(each, ast.Return)]
    inner = [each for each in ast.walk(function) if isinstance(each, ast.FunctionDef)][1:]
    of_inner = sum(isinstance(each, ast.Return) for f in inner for each in ast.walk(f))
    return not others and parameters in (None, names) and len(returns) - of_inner == 1


def _assigns(node, name):
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name


def _imports(tree):
    return [
        each
        for n, each in enumerate(tree.body)
        if isinstance(each, (ast.Import, ast.ImportFrom)) or (n == 0 and isinstance(each, ast.Expr))
    ]


class _Text:
    """The text of the nodes of a file."""

    def __init__(self, source):
        self.lines = source.splitlines()

    def part(self, node):
        # As ast.get_source_segment does, which splits the whole file at each call.
        rows = [line.encode() for line in self.lines[node.lineno - 1 : node.end_lineno]]
        rows[-1] = rows[-1][: node.end_col_offset]
        rows[0] = rows[0][node.col_offset :]
        text = "\n".join(row.decode() for row in rows)
        if isinstance(node, ast.Tuple) and not text.startswith("("):
            text = f"({text})"
        return f"({text})" if "\n" in text and text[0] not in "([{" else text

    def items(self, node):
        return (
            [self.part(each) for each in node.elts]
            if isinstance(node, ast.Tuple)
            else [self.part(node)]
        )

    def inside(self, nodes):
        """Return statements with the comments between them."""
        if not nodes:
            return ""
        return dedent("\n".join(self.lines[nodes[0].lineno - 1 : nodes[-1].end_lineno]))

    def of(self, nodes):
        """Return top-level statements, with two empty lines around functions."""
        texts = ["\n".join(self.lines[each.lineno - 1 : each.end_lineno]) for each in nodes]
        return "\n\n".join(
            f"\n{text}\n" if text.startswith(("def ", "class ")) else text for text in texts
        )


def _block(*parts, depth=1):
    """Return statements with indentation, without empty parts."""
    return indent("\n".join(part for part in parts if part), "    " * depth) + "\n"


def _function(name, parameters, *parts, depth=0):
    text = f"def {name}({parameters}):\n{_block(*parts)}"
    return indent(text, "    " * depth)


def with_cache(p):
    """``out, cache = forward(x, w)`` and ``backward(dout, cache)``."""
    forward, backward = p.pair
    return [
        _function(forward, p.parameters, p.forward, f"return {p.out}, ({p.cache})"),
        _function(
            backward, f"{p.dout}, cache", f"{p.unpack} = cache", p.backward, f"return {p.result}"
        ),
    ]


def with_cache_in_a_dict(p):
    """The cache is a dict."""
    forward, backward = p.pair
    items = ", ".join(f'"{name}": {text}' for name, text in p.kept.items())
    read = "\n".join(f'{name} = cache["{name}"]' for name in p.kept)
    return [
        _function(forward, p.parameters, p.forward, f"return {p.out}, {{{items}}}"),
        _function(backward, f"{p.dout}, cache", read, p.backward, f"return {p.result}"),
    ]


def with_cache_in_a_named_tuple(p):
    """The cache is a named tuple."""
    forward, backward = p.pair
    p.require(not any(name.startswith("_") for name in p.kept), "a field begins with _")
    kind = p.unused("Cache", "Saved")
    fields = " ".join(p.kept)
    read = "\n".join(f"{name} = cache.{name}" for name in p.kept)
    return [
        f'{kind} = namedtuple("{kind}", "{fields}")\n',
        _function(
            forward, p.parameters, p.forward, f"return {p.out}, {kind}({_joined(p.kept.values())})"
        ),
        _function(backward, f"{p.dout}, cache", read, p.backward, f"return {p.result}"),
    ]


def takes_inputs(p):
    """The backward takes the inputs and computes the forward again."""
    forward, backward = p.pair
    p.require(p.dout not in p.inputs, "an input has the name of the gradient from above")
    return [
        _function(forward, p.parameters, p.forward, f"return {p.out}"),
        _function(
            backward,
            f"{p.dout}, {p.parameters}",
            p.forward,
            p.renamed,
            p.backward,
            f"return {p.result}",
        ),
    ]


def gradients_in_a_dict(p):
    """The backward returns a dict of gradients, by the names of the inputs."""
    forward, backward = p.pair
    return [
        _function(forward, p.parameters, p.forward, f"return {p.out}, ({p.cache})"),
        _function(
            backward,
            f"{p.dout}, cache",
            f"{p.unpack} = cache",
            p.backward,
            f"return {{{', '.join(p.by_name)}}}",
        ),
    ]


def residuals_first(p):
    """``backward(residuals, dout)``, in the order of ``jax.custom_vjp``."""
    name = p.unused("residuals", "kept_values")
    return [
        _function(
            f"{p.name}_fwd",
            p.parameters,
            p.forward,
            f"{name} = ({p.cache})",
            f"return {p.out}, {name}",
        ),
        _function(
            f"{p.name}_bwd",
            f"{name}, {p.dout}",
            f"{p.unpack} = {name}",
            p.backward,
            f"return {p.result}",
        ),
    ]


def closure(p):
    """The forward returns its backward, a function inside it."""
    tree = ast.parse(p.backward)
    stored = {
        each.id
        for each in ast.walk(tree)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    outer = set(p.kept) | set(p.inputs)
    p.require(not stored & outer, "the gradient function binds a name of its cache again")
    inner = "\n" + _function("pullback", p.dout, p.backward, f"return {p.result}")
    name = p.out if p.out.isidentifier() else p.unused("out", "result", "value")
    out = "" if name == p.out else f"{name} = {p.out}"
    end = f"return {name}, pullback"
    return [_function(p.name, p.parameters, p.forward, p.renamed, out, inner, end)]


def static_functions(p):
    """A class with static methods that take ``ctx``, as in PyTorch."""
    one = "," if len(p.kept) == 1 else ""
    static = "    @staticmethod\n"
    return [
        f"class {_camel(p.name)}:\n{static}"
        + _function(
            "forward",
            f"ctx, {p.parameters}",
            p.forward,
            f"ctx.save_for_backward({_joined(p.kept.values())})",
            f"return {p.out}",
            depth=1,
        )
        + f"\n{static}"
        + _function(
            "backward",
            f"ctx, {p.dout}",
            f"{p.unpack}{one} = ctx.saved_tensors",
            p.backward,
            f"return {p.result}",
            depth=1,
        )
    ]


def layer(p):
    """A class without parameters, which keeps its cache."""
    return [
        f"class {_camel(p.name)}:\n"
        + _function(
            "forward",
            f"self, {p.parameters}",
            p.forward,
            f"self.cache = ({p.cache})",
            f"return {p.out}",
            depth=1,
        )
        + "\n"
        + _function(
            "backward",
            f"self, {p.dout}",
            f"{p.unpack} = self.cache",
            p.backward,
            f"return {p.result}",
            depth=1,
        )
    ]


def _layer_with(p, start, place, store):
    """Return a class whose parameters are all differentiated inputs but the first."""
    data = p.inputs[0]
    others = [name for name in p.inputs[1:] if name in p.wrt]
    given = [name for name in p.inputs if name not in others]
    p.require(bool(others) and data in p.wrt, "it has no parameters")
    p.require(len(p.gradients) == len(p.wrt), "its gradients have no names")
    grads = dict(zip(p.wrt, p.gradients, strict=True))
    unpack = f"{_joined(others)} = {_joined(place.format(name) for name in others)}"
    return [
        f"class {_camel(p.name)}:\n"
        + _function("__init__", f"self, {', '.join(others)}", *start(others), depth=1)
        + "\n"
        + _function(
            "forward",
            f"self, {_joined(given)}",
            unpack,
            p.forward,
            f"self.cache = ({p.cache})",
            f"return {p.out}",
            depth=1,
        )
        + "\n"
        + _function(
            "backward",
            f"self, {p.dout}",
            f"{p.unpack} = self.cache",
            p.backward,
            *(f"{store.format(name)} = {grads[name]}" for name in others),
            f"return {grads[data]}",
            depth=1,
        )
    ]


def layer_with_attributes(p):
    """A layer whose parameters and their gradients are attributes."""
    return _layer_with(
        p, lambda names: [f"self.{name} = {name}" for name in names], "self.{}", "self.d{}"
    )


def layer_with_dicts(p):
    """A layer with a dict of parameters and a dict of gradients."""

    def start(names):
        items = ", ".join(f'"{name}": {name}' for name in names)
        return [f"self.params = {{{items}}}", "self.grads = {}"]

    return _layer_with(p, start, 'self.params["{}"]', 'self.grads["{}"]')


def loss_and_gradients(p):
    """One function returns half the squared error and its gradients."""
    target = p.unused("target", "wanted")
    result = p.unused("prediction", "y_hat")
    loss = p.unused("loss", "total")
    return [
        _function(
            f"{p.name}_loss",
            f"{p.parameters}, {target}",
            p.forward,
            f"{result} = {p.out}",
            f"{loss} = 0.5 * np.sum(({result} - {target}) ** 2)",
            f"{p.dout} = {result} - {target}",
            p.renamed,
            p.backward,
            f"return {loss}, {{{', '.join(p.by_name)}}}",
        )
    ]


def _camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def pair_of(module, p):
    """Return the two functions of a pair."""
    return tuple(getattr(module, name) for name in p.pair)


def pair_of_inputs(module, p):
    """Bridge for a backward that takes the inputs."""
    forward, backward = pair_of(module, p)
    return lambda *inputs: (forward(*inputs), inputs), lambda w, inputs: backward(w, *inputs)


def pair_of_a_dict(module, p):
    """Bridge for gradients in a dict."""
    forward, backward = pair_of(module, p)

    def gradients(w, cache):
        grads = backward(w, cache)
        return tuple(grads[name] for name in p.wrt)

    return forward, gradients


def pair_of_residuals(module, p):
    """Bridge for a backward that takes the residuals first."""
    backward = getattr(module, f"{p.name}_bwd")
    return getattr(module, f"{p.name}_fwd"), lambda w, cache: backward(cache, w)


def pair_of_a_closure(module, p):
    """Bridge for a forward that returns its backward."""
    return getattr(module, p.name), lambda w, pullback: pullback(w)


class Context(SimpleNamespace):
    """The ``ctx`` of static functions."""

    def save_for_backward(self, *values):
        """Keep values for the backward."""
        self.saved_tensors = values


def pair_of_static_functions(module, p):
    """Bridge for static methods."""
    kind = getattr(module, _camel(p.name))

    def forward(*inputs):
        ctx = Context()
        return kind.forward(ctx, *inputs), ctx

    return forward, lambda w, ctx: kind.backward(ctx, w)


def pair_of_a_layer(module, p):
    """Bridge for a layer without parameters."""
    kind = getattr(module, _camel(p.name))

    def forward(*inputs):
        made = kind()
        return made.forward(*inputs), made

    return forward, lambda w, made: made.backward(w)


def _pair_of_parameters(module, p, grad_of):
    kind = getattr(module, _camel(p.name))
    others = [name for name in p.inputs[1:] if name in p.wrt]

    def forward(*inputs):
        values = dict(zip(p.inputs, inputs, strict=True))
        made = kind(*(values.pop(name) for name in others))
        return made.forward(*values.values()), made

    def backward(w, made):
        first = made.backward(w)
        return first, *(grad_of(made, name) for name in p.wrt if name != p.inputs[0])

    return forward, backward


def pair_of_attributes(module, p):
    """Bridge for a layer with attributes."""
    return _pair_of_parameters(module, p, lambda made, name: getattr(made, f"d{name}"))


def pair_of_dicts(module, p):
    """Bridge for a layer with dicts."""
    return _pair_of_parameters(module, p, lambda made, name: made.grads[name])


def pair_of_a_loss(module, p):
    """Bridge for a function that returns a loss and its gradients."""
    loss = getattr(module, f"{p.name}_loss")
    return loss, lambda w, grads: tuple(w * grads[name] for name in p.wrt)


class Form(NamedTuple):
    """A form of code.

    Attributes
    ----------
    write : callable
        ``write(parts)`` returns the pieces of the file; it raises :class:`UnfitError` if the pair
        cannot be written so.
    bridge : callable
        ``bridge(module, parts)`` returns ``f`` and ``f_vjp`` of the loaded file.
    target : str
        Pattern of the name that the command ``ibpcl check FILE:NAME`` takes.
    """

    write: Callable
    bridge: Callable
    target: str


FORMS = {
    "cache": Form(with_cache, pair_of, "{forward}"),
    "cache in a dict": Form(with_cache_in_a_dict, pair_of, "{forward}"),
    "cache in a named tuple": Form(with_cache_in_a_named_tuple, pair_of, "{forward}"),
    "takes the inputs": Form(takes_inputs, pair_of_inputs, "{forward}"),
    "gradients in a dict": Form(gradients_in_a_dict, pair_of_a_dict, "{forward}"),
    "residuals first": Form(residuals_first, pair_of_residuals, "{name}_fwd"),
    "closure": Form(closure, pair_of_a_closure, "{name}"),
    "static methods": Form(static_functions, pair_of_static_functions, "{camel}"),
    "layer": Form(layer, pair_of_a_layer, "{camel}"),
    "layer with attributes": Form(layer_with_attributes, pair_of_attributes, "{camel}"),
    "layer with dicts": Form(layer_with_dicts, pair_of_dicts, "{camel}"),
    "loss and gradients": Form(loss_and_gradients, pair_of_a_loss, "{name}_loss"),
}


def written(form, parts, target_shape=None):
    """Return the source of a pair in a form.

    Parameters
    ----------
    form : str
        One of :data:`FORMS`.
    parts : Parts
        The pair.
    target_shape : tuple of int, optional
        Shape of the output, for a form with a loss; None if the output is not one array.

    Returns
    -------
    str
        A file.

    Raises
    ------
    UnfitError
        If the pair cannot be written so.
    """
    pieces = FORMS[form].write(parts)
    head = parts.head
    drawn = parts.drawn
    if "namedtuple(" in pieces[0]:
        head = _with_import(head, "from collections import namedtuple")
    if form == "loss and gradients":
        if target_shape is None:
            raise UnfitError("its output is not one array of numbers")
        if "import numpy as np" not in head:
            head = _with_import(head, "import numpy as np")
        target = parts.unused("target", "wanted")
        value = f"np.random.default_rng(0).normal(size={target_shape})"
        drawn, count = re.subn(
            r"return (dict\(|\{)(.*?),?(\s*)([)}])\s*\Z",
            lambda m: _more(m, target, value),
            drawn,
            flags=re.DOTALL,
        )
        parts.require(count == 1, "its inputs are drawn in an unusual way")
    items = [head, parts.helpers, *pieces, drawn]
    text = "\n\n\n".join(item.strip("\n") for item in items if item.strip())
    text = re.sub(r"\n{4,}", "\n\n\n", text) + "\n"
    compile(text, "<form>", "exec")
    return text


def _more(match, target, value):
    opening, inside, space, end = match.groups()
    item = f"{target}={value}" if opening == "dict(" else f'"{target}": {value}'
    join = ",\n        " if "\n" in inside else ", "
    return f"return {opening}{inside}{join}{item}{',' if space else ''}{space}{end}"


def _with_import(head, line):
    """Return the head of a file with an import more."""
    tree = ast.parse(head)
    lines = head.splitlines()
    at = tree.body[0].end_lineno if tree.body and isinstance(tree.body[0], ast.Expr) else 0
    lines[at:at] = ["", line] if at else [line]
    return "\n".join(lines)


def target_of(form, parts):
    """Return the name that a checker of files is given.

    Parameters
    ----------
    form : str
        One of :data:`FORMS`.
    parts : Parts
        The pair.

    Returns
    -------
    str
    """
    return FORMS[form].target.format(
        name=parts.name, forward=parts.pair[0], camel=_camel(parts.name)
    )


def shape_of(out):
    """Return the shape of an output; None if it is not one array of real numbers.

    Parameters
    ----------
    out : object
        The output.

    Returns
    -------
    tuple of int or None
    """
    if isinstance(out, (tuple, list, dict)) or np.asarray(out).dtype.kind != "f":
        return None
    return np.shape(out)

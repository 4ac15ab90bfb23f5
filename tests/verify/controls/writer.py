"""An author's habits, and the pieces of a file that several forms share."""

import re
from textwrap import indent
from typing import NamedTuple

from .cores import SIZES


class Style(NamedTuple):
    """Habits of an author.

    Attributes
    ----------
    dout : str
        Name of the gradient from above.
    prefix : str
        What the name of a gradient begins with.
    inline : bool
        Whether gradients are written in the ``return``.
    given : bool
        Whether the file has ``check_inputs()``.
    documented : bool
        Whether a docstring has the shapes of the inputs.
    pair : tuple of str
        Patterns for the names of a forward and its backward.
    methods : tuple of str
        Names of the two methods of a layer.
    """

    dout: str
    prefix: str
    inline: bool
    given: bool
    documented: bool
    pair: tuple = ("{}_forward", "{}_backward")
    methods: tuple = ("forward", "backward")


STYLES = (
    Style("dout", "d", False, True, False),
    Style("grad_output", "grad_", False, False, True, ("{}", "{}_vjp")),
    Style("dout", "d", True, False, False),
    Style("dy", "d", False, False, True, ("{}", "{}_backward")),
    Style("upstream", "d_", True, True, False, ("forward_{}", "backward_{}")),
    Style("grad", "d", False, True, True, ("{}_fwd", "{}_bwd"), ("forward", "backprop")),
    Style("delta", "grad_", False, False, True, ("{}", "{}_backprop"), ("forward", "bwd")),
    Style("g", "d", True, True, False, ("{}", "{}_grad"), ("__call__", "grad")),
)


# What a docstring says about the values of an input, by a part of the expression that draws it.
VALUES = {
    "np.eye": "one-hot rows",
    "integers(0, 2": "0 or 1",
    "integers(0, 3": "integers",
    "choice([-1": "-1 or 1",
    "uniform(0.1, 0.9": "probabilities",
    "uniform(0.5": "positive",
}


def code(text):
    """Return statements with indentation, without empty lines."""
    lines = [line for line in text.splitlines() if line.strip()]
    return indent("\n".join(lines), "    ") + "\n" if lines else ""


def camel(name):
    """Return a name as that of a class."""
    return name.title().replace("_", "")


def listed(names):
    """Return the names in a text such as "x, w"."""
    return [name.strip() for name in names.split(",")] if names else []


def swapped(text, table):
    """Return a text with names replaced."""
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda found: table.get(found[0], found[0]), text)


def function(name, parameters, *parts):
    """Return a function; each part is indented code."""
    return f"def {name}({parameters}):\n{''.join(parts)}\n\n"


def kept(names):
    """Return statements that keep values in an object, and a table of their names there."""
    return "\n".join(f"self.{name} = {name}" for name in names), {n: f"self.{n}" for n in names}


class Writer:
    """The pieces of a file, for a core, a style, and gradients of which one may be spoiled.

    Attributes
    ----------
    grads : dict of str to str
        The gradients, with the author's name of ``dout``.
    after : str
        The statements before them.
    inputs : str
        The parameters of a function.
    data : str
        The first input.
    parameters : list of str
        The other inputs.
    saved : list of str
        What the gradients use.
    names : list of str
        Names of the gradients.
    """

    def __init__(self, core, style, grads):
        if style.dout in core.inputs:  # an author would not use one name twice
            style = style._replace(dout="dout")
        self.core = core
        self.style = style
        upstream = {"dout": style.dout}
        self.grads = {name: swapped(text, upstream) for name, text in grads.items()}
        self.after = swapped(core.after, upstream)
        self.inputs = ", ".join([*core.inputs, *filter(None, [core.options])])
        self.data, *self.parameters = core.inputs
        self.saved = listed(core.saved)
        self.names = [style.prefix + name for name in grads]

    def one_of(self, choices):
        """Return a habit that the style does not have, always the same one for this file."""
        return choices[len(self.core.name + self.style.dout) % len(choices)]

    def pair(self):
        """Return the names of the forward and the backward."""
        return [pattern.format(self.core.name) for pattern in self.style.pair]

    def doc(self, names=None):
        """Return a docstring with the shapes of inputs, if the author writes one."""
        if not self.style.documented:
            return ""
        title = self.core.name.replace("_", " ").capitalize()
        lines = [f'    """{title}.', ""]
        for name in names or self.core.inputs:
            sizes = self.core.inputs[name].split()
            shape = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
            drawn = self.core.draws.get(name, "")
            value = next((f", {word}" for part, word in VALUES.items() if part in drawn), "")
            kind = f"array of shape {shape}" if sizes else "number"
            lines.append(f"    {name}: {kind}{value}")
        return "\n".join([*lines, '    """']) + "\n"

    def cache(self):
        """Return what is kept for the gradients, as people write a cache: ``x`` or ``(x, w)``."""
        return f"({self.core.saved})" if len(self.saved) > 1 else self.core.saved

    def computed(self, name="out"):
        """Return the statements that compute the output."""
        return f"{self.core.before}\n{name} = {self.core.out}"

    def recomputed(self):
        """Return those statements of the forward that the gradients need."""
        text = self.after + " ".join(self.grads.values())
        return self.computed() if re.search(r"\bout\b", text) else self.core.before

    def assigned(self):
        """Return statements that give each gradient its name."""
        return "\n".join(f"{n} = {g}" for n, g in zip(self.names, self.grads.values(), strict=True))

    def gradients(self, before="", result="{}"):
        """Return statements that compute and return the gradients, after others."""
        items = list(self.grads.values()) if self.style.inline else self.names
        lines = [before, self.after, "" if self.style.inline else self.assigned()]
        return code("\n".join([*lines, f"return {result.format(', '.join(items))}"]))

    def check_inputs(self, names=None, **more):
        """Return ``check_inputs()``, if the author writes one."""
        if not self.style.given:
            return ""
        items = [f'"{name}": {value}' for name, value in more.items()]
        names = self.core.inputs if names is None else names
        items += [f'"{name}": {self.core.draw(name)}' for name in names]
        body = f"rng = np.random.default_rng(0)\nreturn {{{', '.join(items)}}}"
        return function("check_inputs", "", code(body))

    def method(self, name, parameters, *parts):
        """Return a method; each part is indented code."""
        return code_of_class(function(name, ", ".join(filter(None, ["self", parameters])), *parts))

    def constructor(self):
        """Return the arguments of a constructor with their sizes, and the shapes of parameters."""
        letters = "".join(self.core.inputs[name] for name in self.parameters).replace(" ", "")
        letters = list(dict.fromkeys(letters))
        names = ("n_in", "n_out") if len(letters) > 1 else ("dim",)
        table = dict(zip(letters, names, strict=True))
        shapes = {
            name: tuple(table[letter] for letter in self.core.inputs[name].split())
            for name in self.parameters
        }
        return {table[letter]: SIZES[letter] for letter in letters}, shapes


def code_of_class(text):
    """Return functions as the body of a class."""
    return indent(text.rstrip("\n"), "    ") + "\n\n"


def start(name, shape):
    """Return an expression for the first value of a parameter."""
    if len(shape) > 1:
        return f"np.random.randn({', '.join(shape)}) * 0.5"
    is_gain = name in ("gamma", "g", "gain", "weight", "scale")
    return f"np.{'ones' if is_gain else 'zeros'}({', '.join(shape)})"

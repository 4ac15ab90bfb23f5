"""The forms of code that the checker reads, as functions that write a core as a file."""

import json
import re
from collections.abc import Callable
from itertools import cycle, islice
from typing import NamedTuple

import numpy as np

from . import cores, engines
from .writer import STYLES, Writer, camel, code, function, kept, start, swapped

LETTERS = {"D": "n_in", "M": "n_hidden", "K": "n_out"}
VARIANTS = 10  # at least, of right code in each form
SPOILS = {
    "times five": "5 * ({gradient})",
    "minus": "-({gradient})",
    "zero": "0 * ({gradient})",
    "rolled": "np.roll({gradient}, 1)",
    "plus a constant": "({gradient}) + 0.5",
    "of the neighbour": "{neighbour}",
    "transposed": "({gradient}).T",
}


def with_cache(w):
    forward, backward = w.pair()
    body = code(f"{w.computed()}\nreturn out, {w.cache()}")
    return (
        function(forward, w.inputs, w.doc(), body)
        + function(backward, f"{w.style.dout}, cache", w.gradients(f"{w.core.saved} = cache"))
        + w.check_inputs()
    )


def with_cache_in_a_dict(w):
    forward, backward = w.pair()
    stored = ", ".join(f'"{name}": {name}' for name in w.saved)
    read = "\n".join(f'{name} = cache["{name}"]' for name in w.saved)
    body = code(f"{w.computed()}\ncache = {{{stored}}}\nreturn out, cache")
    return (
        function(forward, w.inputs, w.doc(), body)
        + function(backward, f"{w.style.dout}, cache", w.gradients(read))
        + w.check_inputs()
    )


def takes_inputs(w):
    forward, backward = w.pair()
    return (
        function(forward, w.inputs, w.doc(), code(f"{w.core.before}\nreturn {w.core.out}"))
        + function(backward, f"{w.style.dout}, {w.inputs}", w.gradients(w.recomputed()))
        + w.check_inputs()
    )


def in_another_order(w):
    """The gradients have names and another order than the inputs: ``return dw, db, dx``."""
    first, *others = w.grads
    w = Writer(
        w.core,
        w.style._replace(inline=False, prefix="d"),
        {name: w.grads[name] for name in [*others, first]},
    )
    return with_cache(w)


PATTERNS = ("{}_prime", "{}_derivative", "grad_{}", "d_{}", "{}_grad", "d{}", "{}_deriv")


def prime_of(w):
    """Return the name of the derivative of a function."""
    return w.one_of(PATTERNS).format(w.core.name)


def prime(w):
    return (
        function(w.core.name, w.inputs, w.doc(), code(f"{w.core.before}\nreturn {w.core.out}"))
        + function(prime_of(w), w.inputs, w.gradients(w.recomputed()))
        + w.check_inputs()
    )


def prime_of_output(w):
    return (
        function(w.core.name, w.inputs, w.doc(), code(f"{w.computed()}\nreturn out"))
        + function(prime_of(w), "out", w.gradients())
        + w.check_inputs()
    )


def flag(w):
    name = "derivative" if w.style.inline else "deriv"
    body = f"if {name}:\n{w.gradients()}return {w.core.out}"
    parameters = f"{w.inputs}, {name}=False"
    return function(w.core.name, parameters, w.doc(), code(body)) + w.check_inputs()


def class_of_a_function(w):
    first, second = w.one_of((("evaluate", "derivative"), ("f", "df"), ("function", "prime")))
    return (
        f"class {camel(w.core.name)}:\n"
        + w.method(first, w.inputs, w.doc(), code(f"return {w.core.out}"))
        + w.method(second, w.inputs, w.gradients())
        + w.check_inputs()
    )


def methods_without_an_object(w):
    """A network that nobody can make, with an activation among its methods."""
    forward = w.core.name
    backward = w.one_of((*PATTERNS, "derivative_of_{}")).format(forward)
    return (
        "class Network:\n"
        + w.method("__init__", "topology", code("self.topology = topology"))
        + w.method(forward, w.inputs, w.doc(), code(f"{w.core.before}\nreturn {w.core.out}"))
        + w.method(backward, w.inputs, w.gradients(w.recomputed()))
        + w.check_inputs()
    )


def activation_that_keeps_nothing(w):
    """Its backward takes the input of the forward, and no gradient from above."""
    forward, backward = w.style.methods
    return (
        f"class {camel(w.core.name)}:\n"
        + w.method(forward, w.inputs, w.doc(), code(f"{w.core.before}\nreturn {w.core.out}"))
        + w.method(backward, w.inputs, w.gradients(w.recomputed()))
        + w.check_inputs()
    )


def layer_by_tuple(w):
    store, table = kept(w.saved)
    forward, backward = w.style.methods
    inner = Writer(w.core, w.style, {name: swapped(g, table) for name, g in w.grads.items()})
    inner.after = swapped(w.after, table)
    body = code(f"{w.computed()}\n{store}\nreturn out")
    return (
        f"class {camel(w.core.name)}:\n"
        + w.method(forward, w.inputs, w.doc(), body)
        + w.method(backward, w.style.dout, inner.gradients())
        + w.check_inputs()
    )


def layer(
    w, places, stores, initial, arguments, more="", after="", result="return {}", training=""
):
    """Return a class whose parameters and gradients lie in given places."""
    store, kept_places = kept([name for name in w.saved if name not in places])
    forward, backward = w.style.methods
    inside = {**kept_places, **places}
    body = swapped(f"{w.computed()}\n{store}\n", places)
    body += "return out" if result.startswith("return") else "self.output = out"
    grads = {name: swapped(text, inside) for name, text in w.grads.items()}
    lines = [swapped(w.after, inside)]
    lines += [f"{place} = {grads[name]}" for name, place in stores.items()]
    if after:
        lines.append(f"{w.style.prefix}{w.data} = {grads[w.data]}")
        grads[w.data] = f"{w.style.prefix}{w.data}"
    lines += [after, result.format(grads[w.data])]
    return (
        f"class {camel(w.core.name)}:\n"
        + w.method("__init__", arguments, code(initial))
        + w.method(forward, f"{w.data}{training}", w.doc([w.data]), code(body))
        + w.method(backward, f"{w.style.dout}{more}", code("\n".join(lines)))
        + "\n"
    )


def layer_of_sizes(w, place, store, head="", value="{}", **more):
    """Return a layer whose constructor takes sizes; ``place`` and ``store`` are patterns."""
    sizes, shapes = w.constructor()
    table = [(n, name, w.style.prefix + name) for n, name in enumerate(shapes)]
    places = {name: place.format(n=n, name=name) for n, name, _ in table}
    stores = {name: store.format(n=n, name=name, grad=grad) for n, name, grad in table}
    initial = [head] if head else []
    for name, shape in shapes.items():
        target = places[name].removesuffix(".data")
        initial.append(f"{target} = {value.format(start(name, shape))}")
    return layer(w, places, stores, "\n".join(initial), ", ".join(sizes), **more)


def layer_with_attributes(w):
    sizes = w.constructor()[0]
    return layer_of_sizes(w, "self.{name}", "self.{grad}") + w.check_inputs([w.data], **sizes)


def layer_of_arrays(w):
    places = {name: f"self.{name}" for name in w.parameters}
    stores = {name: f"self.{w.style.prefix}{name}" for name in w.parameters}
    initial = "\n".join(f"{place} = {name}" for name, place in places.items())
    return layer(w, places, stores, initial, ", ".join(w.parameters)) + w.check_inputs()


def layer_with_dicts(w):
    head = "self.params = {}\nself.grads = {}"
    text = layer_of_sizes(w, 'self.params["{name}"]', 'self.grads["{name}"]', head)
    return text + w.check_inputs([w.data])


def layer_with_lists(w):
    count = len(w.parameters)
    head = f"self.params = [None] * {count}\nself.grads = [None] * {count}"
    text = layer_of_sizes(w, "self.params[{n}]", "self.grads[{n}]", head)
    return text + w.check_inputs([w.data])


def layer_with_parameter_objects(w):
    body = code("self.data = data\nself.grad = np.zeros_like(data)")
    return (
        "class Parameter:\n"
        + w.method("__init__", "data", body)
        + "\n"
        + layer_of_sizes(w, "self.{name}.data", "self.{name}.grad", value="Parameter({})")
        + w.check_inputs([w.data])
    )


def layer_that_fills_a_dict(w):
    text = layer_of_sizes(w, "self.{name}", 'grads["{name}"]', more=", grads")
    return text + w.check_inputs([w.data])


def layer_with_training(w):
    text = layer_of_sizes(w, "self.{name}", "self.{grad}", training=", training=True")
    return text + w.check_inputs([w.data])


def layer_that_keeps_its_output(w):
    """As in "Neural networks from scratch": nothing is returned."""
    style = w.style._replace(dout="dvalues", prefix="d", methods=("forward", "backward"))
    w = Writer(w.core, style, {n: swapped(g, {w.style.dout: "dout"}) for n, g in w.grads.items()})
    text = layer_of_sizes(w, "self.{name}", "self.{grad}", result=f"self.d{w.data} = {{}}")
    return text + w.check_inputs([w.data])


def layer_as_an_object(w):
    arguments = ", ".join(map(str, w.constructor()[0].values()))
    made = f"layer = {camel(w.core.name)}({arguments})\n"
    return layer_of_sizes(w, "self.{name}", "self.{grad}") + made + w.check_inputs([w.data])


def layer_with_an_update(w):
    after = "\n".join(
        f"self.{name} -= learning_rate * self.{w.style.prefix}{name}" for name in w.parameters
    )
    text = layer_of_sizes(w, "self.{name}", "self.{grad}", more=", learning_rate", after=after)
    return text + w.check_inputs([w.data])


def activation_layer(w):
    store, table = kept(w.saved)
    forward, backward = w.style.methods
    (gradient,) = w.grads.values()
    return (
        f"class {camel(w.core.name)}:\n"
        + w.method(forward, w.inputs, w.doc(), code(f"{store}\nreturn {w.core.out}"))
        + w.method(backward, w.style.dout, code(f"return {swapped(gradient, table)}"))
        + w.check_inputs()
    )


def network_of_layers(w):
    """Two linear layers, the core between them, and a class that calls all three."""
    linear = cores.LAYERS[0]
    style = w.style._replace(given=False, documented=False, methods=("forward", "backward"))
    between = Writer(
        w.core, style, {n: swapped(g, {w.style.dout: "dout"}) for n, g in w.grads.items()}
    )
    dense = layer_of_sizes(Writer(linear, style, linear.grads), "self.{name}", "self.{grad}")
    name = camel(w.core.name)
    layers = f"self.layers = [Linear(n_in, n_hidden), {name}(), Linear(n_hidden, n_out)]"
    forward = "for layer in self.layers:\n    x = layer.forward(x)\nreturn x"
    backward = "for layer in reversed(self.layers):\n    dout = layer.backward(dout)\nreturn dout"
    return (
        dense
        + activation_layer(between)
        + "class Network:\n"
        + w.method("__init__", "n_in, n_hidden, n_out", code(layers))
        + w.method("forward", "x", code(forward))
        + w.method("backward", "dout", code(backward))
    )


def gradients_in_a_dict(w):
    forward, backward = w.pair()
    prefix = "" if w.style.inline else w.style.prefix
    values = w.grads.values() if w.style.inline else w.names
    items = ", ".join(f'"{prefix}{n}": {value}' for n, value in zip(w.grads, values, strict=True))
    lines = [f"{w.core.saved} = cache", w.after, "" if w.style.inline else w.assigned()]
    body = code(f"{w.computed()}\nreturn out, {w.cache()}")
    return (
        function(forward, w.inputs, w.doc(), body)
        + function(
            backward, f"{w.style.dout}, cache", code("\n".join([*lines, f"return {{{items}}}"]))
        )
        + w.check_inputs()
    )


def parameters_in_a_dict(w):
    forward, backward = w.pair()
    places = {name: f'params["{name}"]' for name in w.parameters}
    saved = ", ".join([*(name for name in w.saved if name not in places), "params"])
    grads = {name: swapped(text, places) for name, text in w.grads.items()}
    prefix = "" if w.style.inline else w.style.prefix
    items = ", ".join(f'"{prefix}{name}": {grads[name]}' for name in places)
    first = w.style.prefix + w.data
    drawn = ", ".join(f'"{name}": {w.core.draw(name)}' for name in places)
    body = swapped(f"{w.computed()}\nreturn out, ({saved})", places)
    lines = [f"{saved} = cache", swapped(w.after, places), f"{first} = {grads[w.data]}"]
    return (
        function(forward, f"{w.data}, params", w.doc([w.data]), code(body))
        + function(
            backward,
            f"{w.style.dout}, cache",
            code("\n".join([*lines, f"return {first}, {{{items}}}"])),
        )
        + w.check_inputs([w.data], params=f"{{{drawn}}}")
    )


def loss_and_gradient(w):
    lines = [w.computed("loss"), w.after, w.assigned()]
    result = ", ".join(w.names)
    if w.style.inline:
        items = ", ".join(f'"{n}": {d}' for n, d in zip(w.grads, w.names, strict=True))
        lines.append(f"grads = {{{items}}}")
        result = "grads"
    body = code("\n".join([*lines, f"return loss, {result}"]))
    return function(w.core.name, w.inputs, w.doc(), body) + w.check_inputs()


def two_functions(w, forward, backward):
    """Return a function and one that returns its gradient, both of the inputs."""
    forward, backward = forward.format(w.core.name), backward.format(w.core.name)
    return (
        function(forward, w.inputs, w.doc(), code(f"{w.core.before}\nreturn {w.core.out}"))
        + function(backward, w.inputs, w.gradients(w.recomputed()))
        + w.check_inputs()
    )


LOSSES = (("{}_loss", "{}_grad"), ("{}", "{}_gradient"), ("{}", "{}_prime"), ("{}", "grad_{}"))
OBJECTIVES = (("objective", "gradient"), ("cost", "cost_gradient"), ("loss", "grad_loss"))


def loss_and_its_gradient(w):
    return two_functions(w, *w.one_of(LOSSES))


def objective_and_gradient(w):
    return two_functions(w, *w.one_of(OBJECTIVES))


def loss_class(w):
    store, table = kept(w.saved)
    forward, backward = w.style.methods
    (gradient,) = w.grads.values()
    lines = swapped(f"{w.after}\nreturn {gradient}", table)
    return (
        f"class {camel(w.core.name)}:\n"
        + w.method(forward, w.inputs, w.doc(), code(f"{w.computed('loss')}\n{store}\nreturn loss"))
        + w.method(backward, "", code(lines))
        + w.check_inputs()
    )


def model_with_a_loss(w):
    """A model whose method ``loss(X, y)`` returns the loss and a dict of gradients."""
    method = w.one_of(("loss", "compute_cost", "get_loss_and_grad"))
    names = list(w.grads)
    data = [name for name in w.core.inputs if name not in names]
    places = {name: f"self.{name}" for name in names}
    shapes = {name: w.core.inputs[name].split() for name in names}
    sizes = dict.fromkeys(letter for shape in shapes.values() for letter in shape)
    arguments = [{"D": "n_in", "M": "n_out"}[letter] for letter in sizes]
    table = dict(zip(sizes, arguments, strict=True))
    initial = "\n".join(
        f"{places[name]} = " + (f"np.random.randn({', '.join(table[s] for s in shape)})")
        for name, shape in shapes.items()
    )
    grads = {name: swapped(text, places) for name, text in w.grads.items()}
    items = ", ".join(f'"{name}": {text}' for name, text in grads.items())
    lines = [swapped(w.computed("loss"), places), swapped(w.after, places), f"grads = {{{items}}}"]
    parameters = ", ".join([*data, *filter(None, [w.core.options])])
    return (
        "class Model:\n"
        + w.method("__init__", ", ".join(arguments), code(initial))
        + w.method(method, parameters, w.doc(data), code("\n".join([*lines, "return loss, grads"])))
        + w.check_inputs(data, **{table[letter]: cores.SIZES[letter] for letter in sizes})
    )


def network_that_learns(w):
    """A network whose backward has the loss inside, and changes the weights."""
    places = {name: f"self.{name}" for name in w.grads}
    shapes = {name: [LETTERS[s] for s in w.core.inputs[name].split()] for name in w.grads}
    initial = [f"self.{name} = {start(name, shape)}" for name, shape in shapes.items()]
    inside = {**places, "h": "self.h", "p": "self.p"}
    lines = [swapped(w.after, inside)]
    lines += [f"d{name} = {swapped(text, inside)}" for name, text in w.grads.items()]
    lines += [f"self.{name} -= learning_rate * d{name}" for name in w.grads]
    loss = f"p = self.forward(X)\nreturn {w.core.out}"
    stated = w.method("loss", "X, y", code(loss)) if w.style.given else ""
    return (
        "class Network:\n"
        + w.method("__init__", "n_in, n_hidden, n_out", code("\n".join(initial)))
        + w.method("forward", "X", code(swapped(w.core.before, inside) + "\nreturn self.p"))
        + stated
        + w.method("backward", "X, y, learning_rate", code("\n".join(lines)))
        + w.check_inputs(["X", "y"], n_in=4, n_hidden=3, n_out=2)
    )


def closure(w):
    if w.after or not w.style.inline:
        last = f"def pull({w.style.dout}):\n{w.gradients()}return out, pull"
    else:
        last = f"return out, lambda {w.style.dout}: ({', '.join(w.grads.values())})"
    body = code(f"{w.computed()}\n{last}")
    return function(w.core.name, w.inputs, w.doc(), body) + w.check_inputs()


def static_functions(w):
    store = "\n".join(f"ctx.{name} = {name}" for name in w.saved)
    read = "\n".join(f"{name} = ctx.{name}" for name in w.saved)
    if w.style.inline:
        store = f"ctx.save_for_backward({w.core.saved})"
        comma = "" if len(w.saved) > 1 else ","
        read = f"{w.core.saved}{comma} = ctx.saved_tensors"
    forward = function(
        "forward", f"ctx, {w.inputs}", w.doc(), code(f"{w.computed()}\n{store}\nreturn out")
    )
    backward = function("backward", f"ctx, {w.style.dout}", w.gradients(read))
    methods = "".join(f"@staticmethod\n{one}" for one in (forward, backward))
    return f"class {camel(w.core.name)}:\n{code(methods)}\n\n{w.check_inputs()}"


def jacobian_vector_product(w):
    directions = [name for name in w.core.inputs if name[1:] in w.core.inputs]
    inputs = [name for name in w.core.inputs if name not in directions]
    terms = " + ".join(w.grads.values())
    return (
        function(w.core.name, ", ".join(inputs), w.doc(inputs), code(f"return {w.core.out}"))
        + function(f"{w.core.name}_jvp", w.inputs, code(f"return {terms}"))
        + w.check_inputs(inputs)
    )


def hessian_vector_product(w):
    (product,) = w.grads.values()
    before = w.core.before
    return (
        function(w.core.name, w.data, w.doc([w.data]), code(f"{before}\nreturn {w.core.out}"))
        + function(f"{w.core.name}_grad", w.data, code(f"{before}\nreturn {w.core.of_output}"))
        + function(f"{w.core.name}_hvp", w.inputs, code(f"{before}\nreturn {product}"))
        + w.check_inputs([w.data])
    )


def jacobian(w):
    return two_functions(w, "{}", w.one_of(("{}_jacobian", "{}_grad", "{}_prime")))


def notebook(w):
    cells = ["import numpy as np", *filter(None, with_cache(w).rstrip("\n").split("\n\n\n"))]
    made = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": cell.splitlines(keepends=True),
        }
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


class Form(NamedTuple):
    """A form of code.

    Attributes
    ----------
    write : callable
        ``write(writer)`` returns the file's source.
    cores : tuple of Core
        The functions that may be written so.
    pulled : bool
        Whether gradients are multiplied by ``dout``.
    is_promised : bool
        Whether the guide says that the checker reads this form. If not, it may refuse it.
    is_by_name : bool
        Whether a report names the input whose gradient is spoiled.
    """

    write: Callable
    cores: tuple
    pulled: bool = False
    is_promised: bool = True
    is_by_name: bool = True


LAYERS = tuple(core for core in cores.LAYERS if core.name != "bilinear")
OF_OUTPUT = tuple(
    core._replace(grads={"x": core.of_output}, saved="out")
    for core in cores.ACTIVATIONS
    if core.of_output
)
FUNCTIONS = (*cores.LAYERS, *cores.MAPS)
PRIMES = (*cores.ACTIVATIONS, *cores.WITH_OPTIONS)
BETWEEN = tuple(core for core in cores.ACTIVATIONS if core.name != "sqrt")  # of any number
SEVERAL = tuple(core for core in FUNCTIONS if len(core.grads) > 1)
FORMS = {
    "function with cache": Form(with_cache, (*FUNCTIONS, *cores.ACTIVATIONS[:4]), True),
    "function with cache in a dict": Form(with_cache_in_a_dict, FUNCTIONS, True),
    "backward that takes the inputs": Form(
        takes_inputs, (*FUNCTIONS, *cores.ACTIVATIONS[:4], *cores.WITH_OPTIONS), True
    ),
    "gradients in another order": Form(in_another_order, SEVERAL, True, is_promised=False),
    "gradients in a dict": Form(gradients_in_a_dict, FUNCTIONS, True),
    "parameters in a dict": Form(parameters_in_a_dict, LAYERS, True, is_promised=False),
    "prime": Form(prime, PRIMES),
    "prime of the output": Form(prime_of_output, OF_OUTPUT),
    "flag": Form(flag, cores.ACTIVATIONS),
    "Jacobian": Form(jacobian, cores.JACOBIANS),
    "class of a function": Form(class_of_a_function, cores.ACTIVATIONS, is_promised=False),
    "methods without an object": Form(methods_without_an_object, cores.ACTIVATIONS),
    "activation that keeps nothing": Form(activation_that_keeps_nothing, cores.ACTIVATIONS),
    "layer by tuple": Form(layer_by_tuple, cores.LAYERS, True),
    "layer with attributes": Form(layer_with_attributes, LAYERS, True),
    "layer of given arrays": Form(layer_of_arrays, LAYERS, True),
    "layer with dicts": Form(layer_with_dicts, LAYERS, True),
    "layer with lists": Form(layer_with_lists, LAYERS, True),
    "layer with parameter objects": Form(layer_with_parameter_objects, LAYERS, True),
    "layer that fills a dict": Form(layer_that_fills_a_dict, LAYERS, True, is_promised=False),
    "layer that keeps its output": Form(layer_that_keeps_its_output, LAYERS, True),
    "layer with training": Form(layer_with_training, LAYERS, True),
    "layer as an object": Form(layer_as_an_object, LAYERS, True),
    "layer with an update": Form(layer_with_an_update, LAYERS, True),
    "activation layer": Form(activation_layer, cores.ACTIVATIONS, True),
    "network of layers": Form(network_of_layers, BETWEEN, True, is_by_name=False),
    "loss and gradient": Form(loss_and_gradient, (*cores.OBJECTIVES, *cores.LOSSES)),
    "loss and its gradient": Form(loss_and_its_gradient, cores.LOSSES),
    "objective and gradient": Form(objective_and_gradient, cores.OBJECTIVES),
    "loss class": Form(loss_class, cores.LOSSES),
    "model with a loss": Form(model_with_a_loss, cores.OBJECTIVES),
    "network that learns": Form(network_that_learns, cores.NETWORKS, is_promised=False),
    "closure": Form(closure, FUNCTIONS, True),
    "static functions": Form(static_functions, FUNCTIONS, True),
    "engine of numbers": Form(engines.of_numbers, engines.cores_of("number"), is_by_name=False),
    "engine of arrays": Form(engines.of_arrays, engines.cores_of("array"), is_by_name=False),
    "Jacobian-vector product": Form(jacobian_vector_product, cores.TANGENTS, is_by_name=False),
    "Hessian-vector product": Form(hessian_vector_product, cores.CURVATURES, is_by_name=False),
    "notebook": Form(notebook, FUNCTIONS, True),
}


class Control(NamedTuple):
    """A file with its truth.

    Attributes
    ----------
    form : str
        The form of code.
    name : str
        The function, the author's habits, and the spoiled input.
    source : str
        The text of the file.
    spoiled : str
        The input whose gradient is spoiled; empty if the file is right.
    target : str
        What to check in the file; empty for everything.
    wrt : tuple of str
        The inputs whose gradients are returned; empty for all.
    """

    form: str
    name: str
    source: str
    spoiled: str = ""
    target: str = ""
    wrt: tuple = ()


def variants(form):
    """Return the cores of a form with other names, and a style for each."""
    count = max(VARIANTS, len(form.cores))
    shift = list(FORMS.values()).index(form)
    for n, core in enumerate(islice(cycle(form.cores), count)):
        position, turn = n % len(form.cores), n // len(form.cores)
        names = core.names[(position + turn) % len(core.names)]
        core = core.pulled() if form.pulled else core
        style = STYLES[(n + n // len(STYLES) + shift) % len(STYLES)]
        if core.is_vague and not style.given:
            style = style._replace(documented=True)
        yield core.renamed(names), style


def spoils(core):
    """Return every wrong version of a core's gradients, with its input and kind.

    A change that leaves the values as they are at generic inputs is not a mistake.
    """
    names = list(core.grads)
    right = core.evaluated()
    for n, name in enumerate(names):
        for kind, pattern in SPOILS.items():
            neighbour = names[(n + 1) % len(names)]
            if kind == "of the neighbour" and neighbour == name:
                continue
            if kind == "transposed" and not is_square(right[name]):
                continue
            changed = pattern.format(gradient=core.grads[name], neighbour=core.grads[neighbour])
            wrong = core.evaluated({name: changed})[name]
            if wrong.shape != right[name].shape or not np.allclose(wrong, right[name], rtol=1e-3):
                yield name, kind, {**core.grads, name: changed}


def is_square(array):
    """Return whether an array is a square matrix."""
    return array.ndim == 2 and array.shape[0] == array.shape[1]


def sample():
    """Yield a right file of each form and a spoiled version of it.

    Each form has the next core, the next input and the next kind of spoil, so all kinds occur.
    """
    for n, name in enumerate(FORMS):
        count = len(list(variants(FORMS[name])))
        right, *spoiled = _of_variant(name, n % count)
        yield right
        yield spoiled[n % len(spoiled)]


def controls(chosen=()):
    """Yield the controls of some forms, or of all: right code, then its spoiled versions.

    Parameters
    ----------
    chosen : sequence of str
        Names of forms; all if empty.

    Yields
    ------
    Control
        A file.
    """
    for name in chosen or FORMS:
        for n in range(len(list(variants(FORMS[name])))):
            yield from _of_variant(name, n)


def _of_variant(form_name, n):
    form = FORMS[form_name]
    core, style = list(variants(form))[n]
    name = f"{n}: {core.name}({', '.join(core.inputs)})"
    yield Control(form_name, name, written(form, core, style, core.grads))
    for spoiled, kind, grads in spoils(core):
        source = written(form, core, style, grads)
        yield Control(form_name, f"{name}, {spoiled} {kind}", source, spoiled)


def written(form, core, style, grads):
    """Return the source of a file."""
    text = form.write(Writer(core, style, grads))
    if text.startswith("{"):
        return text
    text = re.sub(r"\n{2,}(?=def |class |layer = |\Z)|\n{3,}", "\n\n\n", text).strip("\n")
    return f"import numpy as np\n\n\n{text}\n"

"""Hand-ins that are made of a stub alone: names, shapes and types, and no mathematics."""

import ast
import re

from ibpcl.classroom.authoring.stubs import stub

HELPERS = '''
def _real(values):
    return [np.asarray(v, dtype=complex if np.iscomplexobj(v) else float) for v in values
            if np.asarray(v).dtype.kind in "fc"]


def _fit(value, shape, reduce=np.sum):
    value = np.asarray(value)
    if reduce is np.sum:
        for count in range(value.ndim + 1):
            for axes in combinations(range(value.ndim), count):
                try:
                    return np.broadcast_to(value.sum(axis=axes), shape)
                except ValueError:
                    pass
    return np.broadcast_to(value.mean(), shape)


def _fitted(values, shape):
    return [_fit(v, shape) for v in _real(values)]


def _consistent(forward, inputs, dout, places):
    found = []
    for place in places:
        value = np.asarray(inputs[place], dtype=complex)
        gradient = np.zeros(value.size)
        for at in range(value.size):
            moved = value.copy()
            moved.flat[at] += 1e-30j
            changed = [moved if n == place else v for n, v in enumerate(inputs)]
            gradient[at] = np.sum(dout * np.imag(forward(*changed)[0])) / 1e-30
        found.append(gradient.reshape(value.shape))
    return tuple(found)


def _down(dout, value, like):
    """The cotangent times a value, summed to the shape of an input."""
    try:
        product = dout * value
    except ValueError:
        product = np.sum(dout) * value
    return _fit(product, np.shape(like)) + 0.0


def _near_one(x):
    return 1 + 1e-9 * x


def _sigmoid_(x):
    return 1 / (1 + np.exp(-x))
'''
# value of the output of shape `shape`, from the list `v` of fitted inputs
FORWARDS = {
    "zeros": "0 * sum(v)",
    "sum": "sum(v)",
    "alternating sum": "sum((-1) ** n * each for n, each in enumerate(v))",
    "mean": "sum(_fit(x, shape, np.mean) for x in _real(inputs)) / len(v)",
    "product": "np.prod(v, axis=0) + 0 * v[0]",
    "first": "v[0] + 0.0",
    "last": "v[-1] + 0.0",
    "exp": "np.exp(v[0]) + 0.0",
    "exp of sum": "np.exp(sum(v) / len(v))",
    "log": "np.log(v[0] * v[0] + 1e-3)",
    "tanh": "np.tanh(sum(v))",
    "sigmoid": "_sigmoid_(sum(v))",
    "squares": "-sum(each * each for each in v) / 2",
    "first plus product": "v[0] + v[-1] * (1 + v[len(v) // 2])",
    "second plus product": "v[len(v) // 2] + v[0] * (1 + v[-1])",
    "square of a difference": "-(v[0] - v[len(v) // 2]) ** 2 + 0 * v[-1]",
    "smooth": (
        "sum(np.sin((n + 1.3) * each + n) for n, each in enumerate(v)) * np.cos(v[0] - v[-1])"
    ),
}
GRADIENTS = {  # of the input at place `i`
    "input": "1.0 * np.asarray(inputs[i])",
    "ones": "np.ones(np.shape(inputs[i]))",
    "cotangent": "_down(dout, 1.0, inputs[i])",
    "minus cotangent": "-_down(dout, 1.0, inputs[i])",
    "cotangent, hardly changed": "_down(dout, _near_one(inputs[i]), inputs[i])",
    "cotangent times input": "_down(dout, inputs[i], inputs[i])",
    "cotangent times square": "_down(dout, np.square(inputs[i]), inputs[i])",
    "cotangent times exponential": "_down(dout, np.exp(inputs[i]), inputs[i])",
    "cotangent over input": "_down(dout, 1 / inputs[i], inputs[i])",
    "cotangent times first": "_down(dout, inputs[0], inputs[i])",
    "cotangent times sum": "_down(dout, sum(_fitted(inputs, np.shape(dout))), inputs[i])",
    "cotangent times sigmoid": (
        "_down(dout, _sigmoid_(inputs[i]) * (1 - _sigmoid_(inputs[i])), inputs[i])"
    ),
    "input plus a little": "np.asarray(inputs[i]) + 1e-6 * np.sum(dout)",
    "smooth": "_down(dout, np.cos(2 * np.asarray(inputs[i]) + 1), inputs[i])",
    "unsummed": "dout * 1.0",
}


def hand_in_of(assignment, variant, forward="zeros", gradient=None):
    """Return a hand-in: forwards of one kind, and gradients of one kind or, without it, consistent
    ones.
    """
    tree = ast.parse(stub(assignment, variant))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    gradients = {task.function: task for task in assignment.tasks if task.kind == "vjp"}
    pairs = {task.function for task in assignment.tasks if task.kind == "forward"}
    text = f"import numpy as np\n{HELPERS}\n{COMBINATIONS}"
    for name, node in functions.items():
        arguments = [argument.arg for argument in node.args.args]
        if name in gradients:
            task = gradients[name]
            own = [argument.arg for argument in functions[task.forward].args.args]
            places = [own.index(each) for each in task.wrt]
            value = (
                f"_consistent({task.forward}, inputs, dout, {places})"
                if gradient is None
                else f"tuple({GRADIENTS[gradient]} for i in {places})"
            )
            text += f"\n\ndef {name}(dout, inputs):\n    return {value}\n"
            continue
        shape, count = shape_of(node, variant)
        value = FORWARDS[forward]
        text += (
            f"\n\ndef {name}({', '.join(arguments)}):\n    inputs = ({', '.join(arguments)},)\n"
            f"    shape = {shape}\n    v = _fitted(inputs, shape)\n    out = {value}\n"
        )
        text += (
            "    out = (out, out)\n"
            if count == 2
            else "    out = out[()] if np.ndim(out) == 0 else out\n"
        )
        text += "    return out, inputs\n" if name in pairs else "    return out\n"
    return text


COMBINATIONS = '''
def combinations(items, count):
    items = list(items)
    if count == 0:
        return [()]
    return [
        (items[n], *rest)
        for n in range(len(items))
        for rest in combinations(items[n + 1:], count - 1)
    ]
'''


# sizes that no argument's shape names: those of a convolution, which the statement gives
STEPS = "(np.shape(x)[{axis}] + 2 * padding - {length}) // stride + 1"
SIZES = {
    "conv2d": ("np.shape(w)[0]", "np.shape(w)[1]"),
    "masked_conv2d": ("np.shape(v)[0]", "np.shape(v)[1]"),
    "slope_in_kernel": ("rows", "columns"),
}
MATRIX = {
    "M": "((height + 2 * padding - np.shape(w)[0]) // stride + 1)"
    " * ((width + 2 * padding - np.shape(w)[1]) // stride + 1) * np.shape(w)[3]",
    "P": "height * width * np.shape(w)[2]",
}


def _sizes(name, variant):
    """Return expressions for the sizes of a result that its arguments' shapes do not name."""
    if name == "convolution_matrix":
        sizes = dict(MATRIX)
        if variant == "holes":
            sizes["M"] = sizes["M"].replace("np.shape(w)[0])", "2 * np.shape(w)[0] + 1)")
            sizes["M"] = sizes["M"].replace("np.shape(w)[1])", "2 * np.shape(w)[1] + 1)")
        return sizes
    if name == "pool2d":
        return {"H'": "np.shape(x)[1] // window", "W'": "np.shape(x)[2] // window"}
    if name not in SIZES:
        return {}
    rows, columns = SIZES[name]
    spans = [f"(2 * {each} - 1)" if variant == "holes" else each for each in (rows, columns)]
    return {
        "H'": STEPS.format(axis=1, length=spans[0]),
        "W'": STEPS.format(axis=2, length=spans[1]),
        "I": rows,
        "J": columns,
    }


def shape_of(node, variant="base"):
    """Return the output's shape as an expression of the arguments, and the number of results.

    Parameters
    ----------
    node : ast.FunctionDef
        A function of a stub.
    variant : str
        Name of the variant, on which the sizes of a convolution depend.
    """
    head, _, tail = ast.get_docstring(node).partition("Returns\n-------\n")
    lines = [line for line in tail.split("\n") if " : " in line and not line.startswith(" ")]
    results = [line for line in lines if not line.startswith("cache : ")]
    places = {}
    for names, shape in re.findall(r"^([\w, ]+) : .*?shape (\([^)]*\))", head, re.MULTILINE):
        for name in names.split(","):
            for axis, size in enumerate(_axes(shape)):
                places.setdefault(size, f"np.shape({name.strip()})[{axis}]")
    places |= _sizes(node.name, variant)
    found = re.search(r"shape (\([^)]*\))", results[0])
    axes = _axes(found[1]) if found else []
    shape = "".join(f"{size if size.isdecimal() else places[size]}, " for size in axes)
    names = results[0].split(" : ")[0].split(",")
    count = 2 if "tuple of two" in results[0] else max(len(names), len(results))
    return f"({shape})", count


def _axes(shape):
    return [each.strip() for each in shape.strip("()").split(",") if each.strip()]

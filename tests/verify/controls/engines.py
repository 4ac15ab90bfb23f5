"""Engines of automatic differentiation as students write them: one of numbers, one of arrays."""

from .cores import ACTIVATIONS, Core

FEW = 2  # engines in which every operation is spoiled
ENTRY = (
    'type("Node", (), {{"data": rng.uniform(0.5, 1.5, size={0}), "grad": rng.normal(size={0})}})'
)
OPERATIONS = {
    "add self": "out.grad",
    "add other": "out.grad",
    "mul self": "other.data * out.grad",
    "mul other": "self.data * out.grad",
}
PRODUCT = {"matmul self": "out.grad @ other.data.T", "matmul other": "self.data.T @ out.grad"}
KINDS = ("Value", "Scalar", "Node", "Tensor", "Array")
KIND = '''class {kind}:
    def __init__(self, data, children=()):
        self.data = {data}
        self.grad = {zero}
        self._children = children
        self._backward = lambda: None

    def __add__(self, other):
        other = other if isinstance(other, {kind}) else {kind}(other)
        out = {kind}(self.data + other.data, (self, other))

        def _backward():
            self.grad += {add self}
            other.grad += {add other}

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, {kind}) else {kind}(other)
        out = {kind}(self.data * other.data, (self, other))

        def _backward():
            self.grad += {mul self}
            other.grad += {mul other}

        out._backward = _backward
        return out
{product}
    def {name}(self):
        x = self.data
        out = {kind}({value}, (self,))

        def _backward():
            self.grad += {rule}

        out._backward = _backward
        return out

    def backward(self):
        order = []
        visited = set()

        def visit(node):
            if node not in visited:
                visited.add(node)
                for child in node._children:
                    visit(child)
                order.append(node)

        visit(self)
        self.grad = {one}
        for node in reversed(order):
            node._backward()
'''
MATMUL = """
    def __matmul__(self, other):
        out = {kind}(self.data @ other.data, (self, other))

        def _backward():
            self.grad += {matmul self}
            other.grad += {matmul other}

        out._backward = _backward
        return out
"""
UNBROADCAST = '''def unbroadcast(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    for axis, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad


'''


def cores_of(kind):
    """Return a core for each activation, whose gradients are those of an engine's operations.

    All engines have the same other operations; they are spoiled in the first ones only.
    """
    entry = ENTRY.format("()" if kind == "number" else "(4, 4)")
    others = OPERATIONS if kind == "number" else {**OPERATIONS, **PRODUCT}
    return tuple(
        Core(
            core.name,
            "engine",
            {"self": "", "other": "", "result": ""},
            "result",
            {**(others if n < FEW else {}), core.name: f"({core.grads['x']}) * out.grad"},
            before="x = self.data",
            draws={"self": entry, "other": entry, "result": entry},
        )
        for n, core in enumerate(ACTIVATIONS)
    )


def engine(w, kind, **pieces):
    """Return the source of an engine with an activation among its operations."""
    (core,) = (core for core in ACTIVATIONS if core.name == w.core.name)
    rules = {
        **OPERATIONS,
        **PRODUCT,
        **w.grads,
        "kind": kind,
        "name": core.name,
        "value": core.out,
        **pieces,
    }
    rules["rule"] = w.grads[core.name]
    rules["product"] = pieces.get("product", "").format(**rules)
    return KIND.format(**rules)


def of_numbers(w):
    """Return an engine of numbers, and an expression of them."""
    kind = w.one_of(KINDS[:3])
    text = engine(w, kind, data="data", zero="0.0", one="1.0")
    return f"{text}\n\n{expression(w, kind, '(a * b + a)', '0.7', '0.9')}"


def expression(w, kind, inner, a, b):
    """Return an expression of recorded objects, with their values."""
    return (
        f"def expression(a, b):\n    return {inner}.{w.core.name}() * b + a\n\n\n"
        f'def check_inputs():\n    return {{"a": {kind}({a}), "b": {kind}({b})}}\n'
    )


def of_arrays(w):
    """Return an engine of arrays, whose operators sum over broadcast axes."""
    kind = w.one_of(KINDS[3:])
    for name, rule in OPERATIONS.items():
        operand = name.split()[1]
        w.grads[name] = f"unbroadcast({w.grads.get(name, rule)}, {operand}.data.shape)"
    text = engine(
        w,
        kind,
        product=MATMUL,
        data="np.asarray(data, dtype=float)",
        zero="np.zeros_like(self.data)",
        one="np.ones_like(self.data)",
    )
    values = "np.linspace(0.3, 0.9, 16).reshape(4, 4)", "np.linspace(1.2, 0.4, 16).reshape(4, 4)"
    return f"{UNBROADCAST}{text}\n\n{expression(w, kind, '(a @ b + a * b)', *values)}"

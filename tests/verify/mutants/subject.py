"""A pair under the knife: its values at two points, and what every expression in its gradient
evaluates to.
"""

import ast
from functools import cached_property

import numpy as np

from ibpcl.paper import pairs
from mutants.mutations import Walk, parse, sources

# a gradient that differs by less, relative to its largest entry, has not changed
SAME = 1e-8


class Subject:
    """A pair at two independent points, each with two cotangents.

    Parameters
    ----------
    pair : ibpcl.paper.pairs.Pair
    seed : int
    """

    def __init__(self, pair, seed=0):
        self.pair = pair
        self.points = [pairs.make_inputs(pair, np.random.default_rng(seed + n)) for n in (0, 1)]
        self.inputs = self.points[0]
        self.names = [name for name in self.inputs if name not in pairs.CONSTANT]
        self._values = {}

    @cached_property
    def f(self):
        """The forward, with the choices of its variant."""
        forward = self.pair.f
        choices = self.pair.choices
        return (lambda *values: forward(*values, **choices)) if choices else forward

    @cached_property
    def cotangents(self):
        """For each trial the point and a random cotangent, shaped like the outputs there."""
        rng = np.random.default_rng(5)
        trials = []
        for point in self.points:
            out, _ = self.f(*point.values())
            for _ in range(2):
                trials.append(
                    (
                        point,
                        tuple(rng.normal(size=np.shape(part)) for part in out)
                        if isinstance(out, tuple)
                        else rng.normal(size=np.shape(out)),
                    )
                )
        return trials

    def gradients(self, f_vjp):
        """Return for each trial the tuple of gradients."""
        found = []
        for point, dout in self.cotangents:
            _, kept = self.f(*point.values())
            result = f_vjp(dout, kept)
            found.append(
                tuple(np.asarray(g) for g in (result if isinstance(result, tuple) else (result,)))
            )
        return found

    @cached_property
    def truth(self):
        """The gradients of the unchanged pair."""
        return self.gradients(self.pair.f_vjp)

    def arrays(self):
        """Return the inputs and outputs of the first point."""
        out, _ = self.f(*self.inputs.values())
        return [
            np.asarray(array)
            for array in (*self.inputs.values(), *(out if isinstance(out, tuple) else (out,)))
        ]

    def changed(self, j, gradients):
        """Tell whether the gradient of input ``j`` is another one than it was."""
        # at the point of the check
        for got, right in list(zip(gradients, self.truth, strict=True))[:2]:
            got = got[j]
            right = right[j]
            size = np.max(np.abs(right), initial=0.0)
            if got.shape != right.shape or not np.all(np.abs(got - right) <= SAME * size):
                return True
        return False

    def source(self, function):
        """Return the source of a function without docstring and comments."""
        return ast.unparse(parse(function))

    def values(self, name):
        """Return what the expressions of the function ``name`` evaluate to: position in the walk ->
        value.

        A value is a list with one item for each point; only arrays and numbers are kept.
        """
        if name not in self._values:
            function = sources(self.pair.f_vjp)[name]
            tree = parse(function)
            seen = {}
            namespace = dict(self.pair.f_vjp.__globals__)
            namespace["_probe"] = lambda at, value: seen.setdefault(at, []).append(value) or value
            text = ast.unparse(ast.fix_missing_locations(_probed(tree)))
            for other, its in sources(self.pair.f_vjp).items():
                exec(text if other == name else self.source(its), namespace)
            for point, dout in self.cotangents[::2]:
                _, kept = self.f(*point.values())
                namespace[self.pair.f_vjp.__name__](dout, kept)
            self._values[name] = {
                at: [np.asarray(one) for one in value]
                for at, value in seen.items()
                if isinstance(value[0], (np.ndarray, np.number, float, int))
            }
        return self._values[name]

    def expression(self, mutation):
        """Return the source of the whole expression that a mutation changes."""
        return ast.unparse(
            Walk(parse(sources(self.pair.f_vjp)[mutation.function])).nodes[mutation.whole]
        )

    def cotangent_names(self, name):
        """Return the names that the function ``name`` gives to its cotangent, to parts of it and to
        views of it.
        """
        tree = parse(sources(self.pair.f_vjp)[name])
        names = {tree.body[0].args.args[0].arg}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                value = node.value.value if isinstance(node.value, ast.Subscript) else node.value
                if isinstance(value, ast.Name) and value.id in names:
                    names |= {
                        target.id
                        for target in ast.walk(node.targets[0])
                        if isinstance(target, ast.Name)
                    }
        return names

    def over_cotangent(self, value):
        """Return ``value`` divided by the cotangent of the check of values, if it can be broadcast
        to it.
        """
        dout = self.cotangents[0][1]
        if isinstance(dout, tuple) or np.ndim(dout) > value.ndim:
            return []
        dout = np.reshape(dout, np.shape(dout) + (1,) * (value.ndim - np.ndim(dout)))
        fits = all(a in (1, b) for a, b in zip(dout.shape, value.shape, strict=True))
        return [value / dout] if fits else []

    def same_shape(self, function):
        """Return for each name that is unpacked from the cache the other ones with arrays of the
        same shape.
        """
        tree = parse(function)
        walk = Walk(tree)
        values = self.values(function.__name__)
        cached = [
            target.id
            for node in walk.nodes
            if isinstance(node, ast.Assign)
            for target in getattr(node.targets[0], "elts", ())
            if isinstance(node.value, ast.Name) and isinstance(target, ast.Name)
        ]
        shapes = {}
        for at, node in enumerate(walk.nodes):
            if (
                isinstance(node, ast.Name)
                and node.id in cached
                and at in values
                and values[at][0].dtype.kind == "f"
            ):
                shapes[node.id] = values[at][0].shape
        return {
            name: [other for other in shapes if other != name and shapes[other] == shape]
            for name, shape in shapes.items()
        }


def _probed(tree):
    """Return the tree with every expression of a formula wrapped into a call that notes its
    value.
    """
    walk = Walk(tree)

    class Wrap(ast.NodeTransformer):
        def visit(self, node):
            at = walk.position.get(id(node))
            wanted = (
                isinstance(node, ast.expr)
                and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
                and walk.formula(node)
                and not isinstance(node, (ast.Tuple, ast.Starred, ast.Slice))
            )
            parent = walk.parents.get(id(node))
            wanted &= not (isinstance(parent, ast.Call) and parent.func is node)
            new = self.generic_visit(node)
            return (
                ast.Call(ast.Name("_probe", ast.Load()), [ast.Constant(at), new], [])
                if wanted
                else new
            )

    return Wrap().visit(tree)

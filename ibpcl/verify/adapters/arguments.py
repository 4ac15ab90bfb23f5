"""The user's code as it is given, and the arguments of a forward as a flat list of arrays."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ibpcl.verify.adapters import leaves
from ibpcl.verify.adapters.reading import Leaf
from ibpcl.verify.adapters.refusals import FormError


class Code(NamedTuple):
    """What a user gives to :func:`ibpcl.verify.check`, before its form is known.

    Attributes
    ----------
    forward : callable, object or class
        A forward, an object with a forward and a backward, or a function that returns a loss and
        its gradient.
    gradient : callable or None
        The gradient function, if there is one.
    inputs : dict, sequence or ndarray
        The inputs of the forward.
    names : sequence of str or None
        Names of the inputs.  By default, the parameter names of the forward.
    output : bool or None
        Whether the gradient function takes the output of the forward (True) or its input (False),
        if the names of its parameters leave both.
    beside : callable or None
        For a Hessian-vector product, the gradient function whose derivative the product is.
    """

    forward: object
    gradient: object = None
    inputs: object = None
    names: object = None
    output: bool | None = None
    beside: object = None

    def named(self, parameters):
        """Return the inputs by name, and the names of keyword-only inputs.

        Parameters
        ----------
        parameters : Parameters
            Parameters of the forward.

        Returns
        -------
        given : dict of str to object
            The inputs, in the order of the parameters.
        keywords : list of str
            Names of the inputs that are passed by keyword only.
        """
        return named(self.inputs, parameters, self.names)


@dataclass
class Arguments:
    """The arguments of a forward, with access to the arrays in nested collections.

    Attributes
    ----------
    given : dict of str to object
        The arguments by name.
    keywords : tuple of str
        Names of keyword-only arguments.
    """

    given: dict
    keywords: tuple = ()

    @cached_property
    def spread(self):
        """One :class:`Leaf` for each array in a collection, and for each other argument."""
        items = []
        for name, value in self.given.items():
            if leaves.is_container(value):
                items += [
                    Leaf(leaves.text_of(path, name), (name, *path), item)
                    for path, item in leaves.arrays_in(value, False).items()
                ]
            else:
                items.append(Leaf(name, (name,), value))
        return items

    def rebuilt(self, values):
        """Return the arguments with other values of the leaves.

        Parameters
        ----------
        values : sequence
            One value for each leaf, in the order of :attr:`spread`.

        Returns
        -------
        dict of str to object
            The arguments by name.
        """
        made = dict(self.given)
        for leaf, value in zip(self.spread, values, strict=True):
            name, *path = leaf.keys
            made[name] = leaves.replaced(made[name], tuple(path), value) if path else value
        return made

    def passed_to(self, function, made):
        """Call a function with arguments by position where possible, and by keyword otherwise.

        Parameters
        ----------
        function : callable
            The function.
        made : dict of str to object
            The arguments by name.

        Returns
        -------
        object
            The result of the function.
        """
        return function(
            *(value for name, value in made.items() if name not in self.keywords),
            **{name: value for name, value in made.items() if name in self.keywords},
        )


def named(inputs, parameters, names=None):
    """Return the inputs by name, and the names of keyword-only inputs.

    Parameters
    ----------
    inputs : dict, sequence or ndarray
        The inputs as the user passed them.
    parameters : Parameters
        Parameters of the forward function.
    names : sequence of str, optional
        Names to use instead of the parameters'.

    Returns
    -------
    given : dict of str to object
        The inputs, in the order of the parameters.
    keywords : list of str
        Names of the inputs that are passed by keyword only.

    Raises
    ------
    FormError
        If the inputs are None or a string.
    """
    if isinstance(inputs, dict):
        known = set(parameters.every)
        if set(inputs) <= known:
            return {
                name: inputs[name] for name in parameters.every if name in inputs
            }, parameters.keywords
        return dict(inputs), [name for name in parameters.keywords if name in inputs]
    if not isinstance(inputs, (tuple, list)):
        if inputs is None or isinstance(inputs, (str, bytes)):
            raise FormError(
                "inputs must be an array, a tuple, a list or a dict of the forward's "
                "arguments, "
                f"got {type(inputs).__name__}; a call that works: ibpcl.check(f, f_vjp, (x, w))"
            )
        inputs = (inputs,)
    labels = list(names or parameters.every)
    if len(labels) < len(inputs):
        labels = [f"x{n}" for n in range(len(inputs))] if len(inputs) > 1 else ["x"]
    return dict(zip(labels, inputs, strict=False)), [
        name for name in parameters.keywords if name in labels
    ]

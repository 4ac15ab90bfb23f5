"""Target of a check: a function, class or object in a file, with its gradient."""

import inspect
from typing import NamedTuple

from ibpcl.verify.adapters import loss
from ibpcl.verify.adapters.arguments import Code
from ibpcl.verify.adapters.methods import methods_of
from ibpcl.verify.adapters.signatures import method_parameters, parameters_of
from ibpcl.verify.adapters.static import is_function


class Target(NamedTuple):
    """One thing in a file that can be checked.

    Attributes
    ----------
    name : str
        Name that the report shows, and that ``FILE:NAME`` refers to.
    forward : callable, type or object
        The forward function, the class or object that holds it, or a function that returns a loss
        with its gradient.
    gradient : callable or None
        The gradient function; None if ``forward`` provides the gradient itself.
    aliases : tuple of str
        Further names that refer to this target.
    beside : callable or None
        For a Hessian-vector product, the gradient function whose derivative the product is.
    """

    name: str
    forward: object
    gradient: object = None
    aliases: tuple = ()
    beside: object = None

    def code(self, inputs):
        """Return the code of the target with its inputs.

        Parameters
        ----------
        inputs : dict or sequence
            All its inputs.

        Returns
        -------
        Code
            The code, of any form.
        """
        return Code(self.forward, self.gradient, inputs, beside=self.beside)

    @property
    def kind(self):
        """The class whose method takes the inputs; None for a function."""
        if inspect.isclass(self.forward):
            return self.forward
        kind = type(self.forward)
        is_layer = not inspect.isroutine(self.forward) and (
            methods_of(kind) or loss.method_of(kind)
        )
        return kind if is_layer else None

    @property
    def method(self):
        """The name of the method that takes the inputs; None for a function."""
        if self.kind is None:
            return None
        methods = methods_of(self.kind)
        return methods.forward if methods else loss.method_of(self.kind)

    @property
    def parameters(self):
        """The parameters of the function or method that takes the inputs, without ``self``."""
        if self.kind is None:
            return parameters_of(self.forward)
        if is_function(self.kind):
            return parameters_of(self.kind.forward, skip=1)
        return method_parameters(self.kind, self.method)

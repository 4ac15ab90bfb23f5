"""Construction of objects from a class, with guessed arguments if none are given."""

import inspect
import re

import numpy as np

from ibpcl.verify.adapters import leaves
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.draws import repeated
from ibpcl.verify.adapters.methods import methods_of
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.settings import guesses_for, settings
from ibpcl.verify.adapters.signatures import method_parameters, parameters_of

# Names of methods that create the parameters of a layer, or compute their shapes.
SET_UP = re.compile(
    r"_*(build|init|initiali[sz]e|set_?up)"
    r"|_*(build|create|init|initiali[sz]e|make|reset|set_?up)_?(weights?|params?|parameters)"
    r"|_*(build|compute|init|initiali[sz]e|set|set_?up)_?(in(put)?_)?(dims?|dimensions|shapes?)",
    re.IGNORECASE,
)
# Attributes of a layer that its network sets.
INPUT_SIZE = re.compile(r"_*(in|input|prev)_?(shape|size|dims?|features|units)", re.IGNORECASE)
VARIANTS = 3  # guesses for the arguments of such a method


def constructed(kind, inputs, given_arguments=None):
    """Return an object of a class and the inputs of its forward method.

    Sizes of the constructor are guessed and tried until the forward accepts the inputs.

    Parameters
    ----------
    kind : type
        The class.
    inputs : dict, sequence, ndarray or None
        Inputs of the forward; a dict may also contain arguments of the constructor.
    given_arguments : dict of str to object, optional
        Arguments of the constructor.

    Returns
    -------
    holder : object
        The object.
    inputs : dict, sequence, ndarray or None
        The inputs without arguments of the constructor.

    Raises
    ------
    FormError
        If no object can be made.
    """
    parameters = parameters_of(kind.__init__, skip=1) if "__init__" in dir(kind) else None
    wanted = (
        list(parameters.required)
        if parameters and parameters.known and not parameters.open_ended
        else []
    )
    wanted += [name for name in _large(kind) if name not in wanted]
    given = dict(given_arguments or {})
    if isinstance(inputs, dict) and parameters is not None:
        given.update(
            {
                name: value
                for name, value in inputs.items()
                if name in parameters.every and name not in forward_names(kind)
            }
        )
        inputs = {name: value for name, value in inputs.items() if name not in given}
    missing = [name for name in wanted if name not in given]
    x = first_array(inputs)
    shape = np.shape(x) if x is not None else (3, 4)
    if x is not None and x.dtype.kind in "iu" and x.size:  # indices into a table of this size
        shape = (*shape, int(x.max()) + 1)
    if not missing:
        holder = made(kind, given)
        if x is not None and not runs(holder, inputs):
            holder = _set_up_to_run(kind, given, inputs, {}) or holder
        return holder, inputs
    errors = []
    unfit = None
    for options in settings(kind, missing, shape):
        try:
            holder = made(kind, {**given, **options})
        except FormError as error:
            errors.append(error)
            continue
        unfit = unfit or (holder, {**given, **options})
        if x is None or runs(holder, inputs):
            return holder, inputs
        holder = _set_up_to_run(kind, {**given, **options}, inputs, options)
        if holder is not None:
            return holder, inputs
    if unfit is not None:
        raise _refused(kind, *unfit, inputs)
    if isinstance(errors[0].__cause__, (NameError, NotImplementedError, SystemExit)):
        raise errors[0]
    # The exception is no mistake of the class, whose arguments were guessed.
    raise FormError(str(errors[0]))


def _refused(kind, holder, arguments, inputs):
    """Return the error of an object whose forward raises for the inputs."""
    title = f"{_called(kind, arguments)}.{methods_of(kind).forward}"
    values = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    named = inputs if isinstance(inputs, dict) else {}
    try:
        getattr(holder, methods_of(kind).forward)(*(() if named else values), **named)
        why = f"check: {title} works once, but not on a copy of the object"
    except Exception as error:  # code under check may raise anything
        why = f"check: {raised(error, title)}"
    return FormError(f"{why}; {_objects(kind)}")


def _large(kind):
    """Return constructor arguments with large default sizes, which are replaced by small ones."""
    try:
        every = inspect.signature(kind.__init__).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        p.name
        for p in every
        if isinstance(p.default, int)
        and p.default > (2 if "head" in p.name else 20)
        and re.search(
            "dim|size|hidden|in|out|class|unit|feature|shape|model|ff|embed|channel|vocab|head",
            p.name,
        )
        and not re.search("seed|iter|epoch|batch|step", p.name)
    ] + [p.name for p in every if p.name == "input_dim" and isinstance(p.default, tuple)]


def forward_names(kind):
    """Return the names of the arguments of a class's forward method.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    list of str
        Empty if the class has no forward and backward methods.
    """
    methods = methods_of(kind)
    return method_parameters(kind, methods.forward).every if methods else []


def first_array(inputs):
    """Return the first array among inputs.

    Parameters
    ----------
    inputs : dict, sequence, ndarray or None
        The inputs.

    Returns
    -------
    ndarray or None
        None if there is no array.
    """
    if isinstance(inputs, np.ndarray):
        return inputs
    values = list(inputs.values()) if isinstance(inputs, dict) else list(inputs or ())
    return next((value for value in values if isinstance(value, np.ndarray)), None)


class PlainStep:
    """Gradient descent with a fixed rate, for layers that expect an optimizer.

    Attributes
    ----------
    rate : float
        The learning rate.
    """

    rate = 1.0

    def update(self, weights, gradient):
        """Return the weights after one step.

        Parameters
        ----------
        weights : ndarray
            The weights.
        gradient : ndarray
            Their gradient.

        Returns
        -------
        ndarray
            ``weights - rate * gradient``.
        """
        return weights - self.rate * np.asarray(gradient)

    __call__ = step = update


def _set_up_to_run(kind, arguments, inputs, options):
    """Return an object that its methods have set up so that its forward runs, or None."""
    for variant in range(VARIANTS):
        holder = made(kind, arguments)
        sized = _is_given_sizes(holder, inputs, variant)
        if (set_up(holder, inputs, options, variant) or sized) and runs(holder, inputs):
            return holder
    for columns in ((), (1,)):
        holder = made(kind, arguments)
        if _is_given_weights(holder, inputs, columns) and runs(holder, inputs):
            return holder
    return None


def _is_given_weights(holder, inputs, columns):
    """Give a linear model the weights that its ``fit`` would set; return whether it has any."""
    if not hasattr(holder, "fit"):
        return False
    rng = np.random.default_rng(1)
    missing = [
        name
        for name, value in getattr(holder, "__dict__", {}).items()
        if value is None and words.is_learned(name)
    ]
    for name in missing:
        is_bias = words.plain(name) in ("b", "bias", "intercept")
        shape = () if is_bias else (_shape_of(inputs)[-1], *columns)
        setattr(holder, name, np.array(rng.normal(size=shape)))
    return bool(missing)


def _is_given_sizes(holder, inputs, variant):
    """Give a layer the sizes of its input that its network would set; return whether it has any."""
    shape = _shape_of(inputs)
    missing = [
        name
        for name, value in getattr(holder, "__dict__", {}).items()
        if value is None and INPUT_SIZE.fullmatch(name)
    ]
    for name in missing:
        setattr(holder, name, _guess(name, shape, variant))
    return bool(missing)


def _shape_of(inputs):
    x = first_array(inputs)
    return np.shape(x) if x is not None else (3, 4)


def set_up(holder, inputs, options, variant=0):
    """Call the methods in which a layer creates its parameters.

    Parameters
    ----------
    holder : object
        The layer.
    inputs : dict, sequence, ndarray or None
        Inputs of its forward. A method may take them, or get its sizes from their shape.
    options : dict of str to object
        Known arguments by name.
    variant : int
        Which guess to use for each unknown argument; 0 for the first.

    Returns
    -------
    called : bool
        Whether any such method was called without an error.
    """
    kind = type(holder)
    shape = _shape_of(inputs)
    known = {**_by_name(kind, inputs), **options}
    called = False
    for name in set_up_methods(kind):
        values = [
            PlainStep()
            if "opt" in words.plain(other)
            else known[other]
            if other in known
            else _guess(other, shape, variant)
            for other in method_parameters(kind, name).required
        ]
        called |= _called_on(holder, name, values)
    return called


def _guess(name, shape, variant):
    size = shape[-1] if shape else 4
    guesses = guesses_for(name, shape, size, None, {}, np.random.default_rng(1))
    return guesses[min(variant, len(guesses) - 1)]


def _by_name(kind, inputs):
    """Return the inputs of the forward of a class by their names."""
    if inputs is None or isinstance(inputs, dict):
        return inputs or {}
    values = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    return dict(zip(forward_names(kind), values, strict=False))


def _called_on(holder, name, values):
    """Call a method of a layer; return whether it worked."""
    try:
        repeated(lambda: getattr(holder, name)(*values))
    except Exception as error:  # it may need other arguments
        return _is_given_generator(holder, holder, error) and _called_on(holder, name, values)
    return True


def _is_given_generator(holder, copy, error):
    """Give a layer the generator of random numbers that its network would give it.

    Returns whether the error of the layer, or of a copy of it, was that this attribute is missing.
    """
    name = getattr(error, "name", None) or ""
    if getattr(error, "obj", None) is not copy or "rng" not in words.plain(name):
        return False
    setattr(holder, name, np.random.RandomState(0))
    return True


def set_up_methods(kind):
    """Return the names of the methods in which a layer creates its parameters.

    Parameters
    ----------
    kind : type
        The class of the layer.

    Returns
    -------
    list of str
        The methods that compute shapes first, then in the order of their definitions.

    Examples
    --------
    >>> class Layer:
    ...     def init_weights(self): ...
    ...     def set_input_shape(self, shape): ...
    ...     def reset(self): ...
    >>> set_up_methods(Layer)
    ['set_input_shape', 'init_weights']
    """
    names = dict.fromkeys(name for base in reversed(kind.__mro__) for name in vars(base))
    methods = [name for name in names if inspect.isfunction(getattr(kind, name, None))]
    return sorted(
        (name for name in methods if SET_UP.fullmatch(name) or _takes_a_shape(kind, name)),
        key=lambda name: not re.search("shape|dim", name, re.IGNORECASE),
    )


def _takes_a_shape(kind, name):
    """Return whether a method of a layer takes the shape of the input, and nothing else."""
    return [words.plain(one) for one in method_parameters(kind, name).required] in (
        ["shape"],
        ["inputshape"],
        ["inshape"],
    )


def runs(holder, inputs):
    """Return whether the forward method of an object accepts these inputs.

    Parameters
    ----------
    holder : object
        The object; the forward is called on a copy.  If it lacks a generator of random numbers, it
        gets one.
    inputs : dict, sequence or ndarray
        Inputs of the forward.

    Returns
    -------
    bool
        True also for an object without forward and backward methods.
    """
    methods = methods_of(type(holder))
    if methods is None:
        return True
    values = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    named = inputs if isinstance(inputs, dict) else {}
    copy = leaves.duplicate(holder)
    try:
        with np.errstate(all="ignore"):
            getattr(copy, methods.forward)(*(() if named else values), **named)
    except Exception as error:  # other sizes may fit
        return _is_given_generator(holder, copy, error) and runs(holder, inputs)
    return True


def made(kind, arguments):
    """Return an object of a class, made with the same random draws each time.

    Parameters
    ----------
    kind : type
        The class.
    arguments : dict of str to object
        Arguments of the constructor.

    Returns
    -------
    object
        The object.

    Raises
    ------
    FormError
        If the constructor raises.
    """
    try:
        return repeated(lambda: kind(**arguments))
    except (Exception, SystemExit) as error:
        raise FormError(
            f"check: {raised(error, _called(kind, arguments))}; {_objects(kind)}"
        ) from error


def _called(kind, arguments):
    shown = ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
    return f"{kind.__name__}({shown})"


def _objects(kind):
    return (
        f"give an object instead: ibpcl.check({kind.__name__}(...), x), or make one in the file: "
        f"layer = {kind.__name__}(...)"
    )


def _short(value):
    return f"array{value.shape}" if isinstance(value, np.ndarray) else repr(value)

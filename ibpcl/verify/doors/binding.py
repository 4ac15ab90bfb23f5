"""Meaning of the arguments of a gradient function: cotangent, cache, input or output."""

import itertools
from typing import NamedTuple

import numpy as np

from ibpcl.verify.doors import vocabulary as words

MOST = 24  # ways to call a function that are tried


class Call(NamedTuple):
    """A way to call a gradient function: a role for each argument.

    A role is one of

    - "dout", the cotangent, or ``("dout", n)``, the cotangent of output n of several,
    - "out", the output,
    - "cache", everything that the forward returned besides its output, or an integer, which selects
      one of these values,
    - "rate", a learning rate,
    - "kept", the output that an object keeps in an attribute,
    - ``(name,)``, an input.

    Attributes
    ----------
    positional : tuple
        Roles of the positional arguments.
    keywords : tuple of (str, object)
        Name and role of each keyword argument.
    """

    positional: tuple
    keywords: tuple = ()

    @property
    def roles(self):
        """Roles of all arguments."""
        return self.positional + tuple(role for _, role in self.keywords)

    @property
    def takes_cotangent(self):
        """True if a cotangent is among the arguments."""
        return any(
            role == "dout" or role[:1] == ("dout",)
            for role in self.roles
            if not isinstance(role, int)
        )

    @property
    def takes_rate(self):
        """True if a learning rate is among the arguments; the function then updates parameters."""
        return "rate" in self.roles

    def rate(self, dout):
        """Return the learning rate to pass.

        Parameters
        ----------
        dout : ndarray, float or tuple
            The cotangent.

        Returns
        -------
        float
            :func:`rate_for` the cotangent; 1 if the function takes no cotangent.
        """
        return rate_for(dout) if self.takes_cotangent else 1.0

    def arguments(self, dout, out, extras, inputs, kept=None):
        """Return the arguments of one call.

        Parameters
        ----------
        dout : ndarray, float or tuple
            The cotangent.
        out : ndarray, float or tuple
            The output.
        extras : tuple
            Everything that the forward returned besides its output.
        inputs : dict of str to object
            The inputs of the forward by name.
        kept : object, optional
            The output that an object keeps.

        Returns
        -------
        positional : list
            The positional arguments.
        keywords : dict of str to object
            The keyword arguments.
        """

        def value(role):
            if isinstance(role, tuple):
                return dout[role[1]] if len(role) == 2 else inputs[role[0]]
            if isinstance(role, int):
                return extras[role]
            return {
                "dout": dout,
                "out": out,
                "rate": self.rate(dout),
                "kept": kept,
                "cache": extras[0] if len(extras) == 1 else tuple(extras),
            }[role]

        return [value(role) for role in self.positional], {
            name: value(role) for name, role in self.keywords
        }


def rate_for(dout):
    """Return the learning rate for a backward that updates the parameters.

    The gradient is computed as the update divided by the rate.  With the inverse size of the
    cotangent as rate, the update is about as large as the weights, and no digits are lost for a
    small ``dout``.

    Parameters
    ----------
    dout : ndarray, float or tuple
        The cotangent.

    Returns
    -------
    float
        1 for a cotangent of zeros.

    Examples
    --------
    >>> rate_for(np.array([1e-8, -2e-8])), rate_for(0.0)
    (50000000.0, 1.0)
    """
    parts = dout if isinstance(dout, tuple) else (dout,)
    size = max((float(np.max(np.abs(part), initial=0.0)) for part in parts), default=0.0)
    return 1 / size if size > 0 and np.isfinite(1 / size) else 1.0


def calls_of(parameters, inputs, extras, method=False, outputs=1, returned=None):
    """Return the possible ways to call a gradient function, the most plausible first.

    Parameters
    ----------
    parameters : Parameters
        Parameters of the gradient function, without ``self``.
    inputs : list of str
        Names of the forward's arguments.
    extras : int
        Number of values that the forward returns besides its output.
    method : bool
        Whether the forward is a method, so that its object stores everything that the gradient
        needs.
    outputs : int
        Number of outputs; each of several outputs has a separate cotangent.
    returned : str, list or None
        Names of the forward's results in its source.

    Returns
    -------
    list of Call
        At most :data:`MOST` calls.
    """
    if not parameters.known or (parameters.open_ended and not parameters.required):
        roles = (
            [("dout", "cache")]
            if extras
            else [("dout", *((name,) for name in inputs)), tuple((name,) for name in inputs)]
        )
        return (
            [Call(("dout",))] + [Call(way) for way in roles]
            if method
            else [Call(way) for way in roles]
        )
    results = _results(returned, extras)
    options = [_options(name, inputs, extras, method, results) for name in parameters.required]
    if not any(map(words.is_cotangent, parameters.required)):  # eta, the gradient or the rate
        options = [
            ["dout", "rate"] if words.plain(name) == "eta" else item
            for name, item in zip(parameters.required, options, strict=True)
        ]
    if outputs > 1:
        arriving = [n for n, name in enumerate(parameters.required) if words.is_cotangent(name)]
        for k, n in enumerate(arriving[:outputs]):
            options[n] = [("dout", k)]
    optional = _optional(parameters, inputs)
    caches = [name for name in parameters.required if words.plain(name) in words.CACHES and extras]
    if not method and outputs == 1 and not caches and _are_decisive(parameters.required, inputs):
        options = [item[:1] for item in options]
    calls = []
    for roles in itertools.islice(itertools.product(*options), 50 * MOST):
        if len(set(roles)) == len(roles) and not (_holds_cache(roles) and not extras):
            keywords = tuple(item for item in optional if item[1] not in roles)
            calls.append(Call(roles, keywords))
    calls = calls[:MOST]
    return sorted(calls, key=lambda call: _penalty(call, options, extras, method))


def _results(returned, extras):
    """Return the roles of the forward's results by their names in its source, as ``plain``."""
    if isinstance(returned, str):
        return {words.plain(returned): "out"}
    if not isinstance(returned, list) or len(returned) != extras + 1:
        return {}
    roles = ["out", *range(extras)] if extras > 1 else ["out", "cache"]
    return {
        words.plain(name): role
        for name, role in zip(returned, roles, strict=False)
        if isinstance(name, str)
    }


def _are_decisive(names, inputs):
    """Return whether the names leave only one reading: one cotangent, and inputs otherwise.

    >>> _are_decisive(["dout", "x", "w"], ["x", "w"]), _are_decisive(["dout", "y"], ["x", "w"])
    (True, False)
    """
    known = {words.plain(name) for name in inputs}
    others = [name for name in names if words.plain(name) not in known]
    return len(others) == 1 and len(names) > 1 and words.is_cotangent(others[0])


def _holds_cache(roles):
    return any(role == "cache" or isinstance(role, int) for role in roles)


def _options(name, inputs, extras, method, results):
    """Return the possible roles of a required parameter, the likeliest first."""
    found = _by_name(name, inputs, extras, method)
    role = results.get(words.plain(name))
    if role is None or role not in found or (words.plain(name),) in found[:1]:
        return found
    return [role, *(other for other in found if other != role)]


def _by_name(name, inputs, extras, method):
    """Return the possible roles of a parameter by its name alone."""
    word = words.plain(name)
    exact = [(key,) for key in inputs if words.plain(key) == word]
    alike = [(key,) for key in inputs if words.same(key, name) and (key,) not in exact]
    cache = (["cache"] if extras else []) + (list(range(extras)) if extras > 1 else [])
    if word in words.RATES:
        return ["rate"]
    if word in words.CACHES and extras:
        return cache
    if not exact and not alike and (words.is_label(name) or word == "y") and method:
        # a label that the forward does not take: the loss is inside; or y = f(x)
        return ["out"] if word == "y" else []
    if exact:
        return [*exact, *(["dout"] if words.is_cotangent(name) else []), "out"]
    if words.is_cotangent(name):
        others = ((key,) for key in inputs if (key,) not in alike)
        return ["dout", *alike, *others, *(["kept"] if method else []), "out"]
    if words.is_output(name):
        return ["out", *alike, "dout", *cache]
    others = [(key,) for key in inputs if (key,) not in alike]
    return [*alike, *cache, *others, "out", "dout"] if alike else [*cache, "dout", *others, "out"]


def _optional(parameters, inputs):
    """Return (name, role) of the optional parameters that should be passed."""
    roles = []
    for name in parameters.optional + parameters.keywords:
        word = words.plain(name)
        key = next((key for key in inputs if words.plain(key) == word), None)
        if key is not None:
            roles.append((name, (key,)))
        elif (
            words.is_cotangent(name)
            and not any(words.is_cotangent(other) for other in parameters.required)
            and word not in words.UNCLEAR
        ):
            roles.append((name, "dout"))
        elif word in words.RATES:
            roles.append((name, "rate"))
    return roles


def _penalty(call, options, extras, method):
    """Return how implausible a call is: it should use the cache, and keep the usual order."""
    cost = sum(roles.index(role) for roles, role in zip(options, call.positional, strict=True))
    if not call.takes_cotangent and (extras or method) and not (method and not call.positional):
        cost += 1
    if extras and not _holds_cache(call.roles) and not method:
        cost += 2
    return cost

"""Pairs from a class with a forward and a backward method, or from an object of such a class."""

import contextlib
from dataclasses import replace

import numpy as np

from ibpcl.verify.doors import implied
from ibpcl.verify.doors.methods import method_of, methods_of
from ibpcl.verify.doors.objects import Opened
from ibpcl.verify.doors.pairs import fits
from ibpcl.verify.doors.refusals import FormError
from ibpcl.verify.doors.signatures import parameters_of
from ibpcl.verify.doors.ways import split


def pair_of_object(holder, given, keywords=(), methods=None):
    """Return the pair of an object that has a forward and a backward method.

    Parameters
    ----------
    holder : object
        The object.
    given : dict of str to object
        Arguments of the forward method by name.
    keywords : tuple of str
        Names of keyword-only arguments.
    methods : Methods, optional
        The names of its methods.  By default, :func:`methods_of` its class.

    Returns
    -------
    Pair
        The forward and its gradient.

    Raises
    ------
    FormError
        If a method raises, or no gradient is found.
    """
    methods = methods or methods_of(type(holder))
    backward = parameters_of(method_of(type(holder), methods.backward), skip=1)
    label = implied.label_of(
        backward, [name for name in given if name in _names(holder, methods.forward)]
    )
    if label is None:
        return Opened(holder, given, keywords, methods).pair()
    plain = None
    if label == "y" and backward.required == [label]:  # y may also be the output, y = f(x)
        inputs = {name: value for name, value in given.items() if name != label}
        with contextlib.suppress(FormError):
            plain = Opened(holder, inputs, keywords, methods).pair()
    if plain is not None and fits(plain):
        return plain
    try:
        return _of_implied_loss(holder, given, keywords, methods, label)
    except FormError:
        if plain is None:
            raise
        return plain


def _names(holder, method):
    return parameters_of(getattr(holder, method)).every


def _of_implied_loss(holder, given, keywords, methods, label):
    """Return the pair of a backward that contains its loss: the first usual loss that fits."""
    inputs = {name: value for name, value in given.items() if name != label}
    out = split(Opened(holder, inputs, keywords, methods).result, 1)[0]
    for labels in implied.labels_for(out, given.get(label)):
        for words_of_loss, loss in implied.LOSSES.items():
            try:
                with np.errstate(all="ignore"):
                    pair = Opened(
                        holder,
                        {**inputs, label: labels.values},
                        keywords,
                        methods,
                        (label, lambda out, y, loss=loss, of=labels: loss(*of.arguments(out, y))),
                    ).pair()
                    fitting = fits(pair)
            except FormError:  # this loss does not fit the output
                continue
            if fitting:
                note = (
                    f"the loss inside {methods.backward} is assumed to be "
                    f"{words_of_loss.format(y=label)}"
                ) + (f" ({labels.words})" if labels.words else "")
                return replace(pair, notes=(*pair.notes, note))
    title = f"{type(holder).__name__}.{methods.backward}"
    raise FormError(
        f"check: {title} takes {label}, which {methods.forward} does not take, but its gradients "
        "do not fit any of the usual losses; let a method return loss, gradients, or let "
        f"{title} take dout, then call ibpcl.check(layer, x)",
        in_gradient=True,
    )

"""The network of methods without a distribution over weights: layers with ReLU, under the
softmax.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.models import starts
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp
from ibpcl.models.layers import Pass, Plain
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import Network


@dataclass(frozen=True)
class PlainNetwork(Network):
    """Layers whose weights are numbers, under the softmax; :func:`network` makes one."""

    @property
    def hidden(self):
        """The units of each hidden layer."""
        return tuple(layer.units for layer in self.stages[:-1])

    @property
    def head_size(self):
        """How many parameters the head has: the last ones of the vector."""
        return (self.hidden[-1] + 1) * self.outputs

    def resized(self, hidden):
        """Return the network with other widths of the hidden layers."""
        return network(self.inputs, hidden, self.outputs)

    def weights(self, vector):
        """Return weights (D, K) and biases (K,) of each layer, as views into ``vector``."""
        views = self.layout.layers(vector)
        return [(views[name]["weight.mu"], views[name]["bias.mu"]) for name in self.layers]

    def start(self, rng, kind="uniform"):
        """Draw the parameters before training; ``kind`` is a word of
        :data:`ibpcl.models.starts.STARTS`.
        """
        return self.initial(starts.STARTS[kind](rng))

    @on_one_thread
    def log_likelihood(self, vector, x, labels, backend):
        """Add up the log probabilities of the labels (N,) of inputs (N, D): nats, and the cache for
        the gradient.
        """
        parts, cache = elbo(self, vector, None, x, labels, {}, len(x), backend, {})
        return parts.log_likelihood, cache

    def log_likelihood_vjp(self, dtotal, cache):
        """Pull the gradient at the sum back to ``vector``."""
        return elbo_vjp(Elbo(dtotal), cache)

    @on_one_thread
    def predict(self, vector, x, backend):
        """Return class probabilities (N, C) for inputs (N, D)."""
        (outputs, _), _ = self.forward(vector, np.asarray(x, np.float32), {}, Pass(backend, {}))
        return self.likelihood.predict({}, outputs).probabilities


def network(inputs, hidden, outputs, kind=Plain, **options):
    """Return the network with the given widths: hidden layers ``hidden0``, ... of a kind, and a
    plain ``head``.

    >>> network(784, (200,), 2).layout.size
    157402
    """
    layers = [
        kind(f"hidden{i}", *shape, "relu", **options)
        for i, shape in enumerate(pairwise((inputs, *hidden)))
    ]
    return PlainNetwork((*layers, Plain("head", hidden[-1], outputs)), Softmax())

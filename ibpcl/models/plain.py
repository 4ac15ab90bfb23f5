"""Plain networks: layers of numbers with ReLU units and softmax output."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.models import starts
from ibpcl.models.architecture import from_line
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp
from ibpcl.models.layers import Pass, Plain
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import Network


@dataclass(frozen=True)
class PlainNetwork(Network):
    """A network whose weights are plain numbers, with softmax output; :func:`network` builds one.

    Parameters
    ----------
    stages : tuple of ibpcl.models.layers.Plain and other stages
        Layers, convolutions, pools and residual blocks of plain layers, in the order of evaluation;
        the head is last.
    likelihood : ibpcl.models.likelihoods.Softmax
        Likelihood of the labels given the outputs.
    """

    @property
    def hidden(self):
        """Number of units of each hidden layer; of a convolution, the number of filters."""
        return tuple(layer.units for layer in list(self.layers.values())[:-1])

    @property
    def head_size(self):
        """Number of parameters of the head, which are the last ones of the vector."""
        return (self.stages[-1].inputs + 1) * self.outputs

    def resized(self, hidden):
        """Return a network with other widths of the hidden layers.

        The hidden layers of the new network are of the kind :class:`ibpcl.models.layers.Plain`.

        Parameters
        ----------
        hidden : sequence of int
            Number of units of each hidden layer.

        Returns
        -------
        network : PlainNetwork
            The network, with the same inputs and outputs.
        """
        return network(self.inputs, hidden, self.outputs)

    def weights(self, vector):
        """Return weights and biases of each layer, as views into the vector.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.

        Returns
        -------
        layers : list of (ndarray, ndarray)
            Weights (D, K) and biases (K,) of each layer; the head is last.
        """
        views = self.layout.layers(vector)
        return [(views[name]["weight.mu"], views[name]["bias.mu"]) for name in self.layers]

    def start(self, rng, kind="uniform"):
        """Draw the parameters before training.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the random numbers.
        kind : {"uniform", "he"}
            Initialization, a key of :data:`ibpcl.models.starts.STARTS`.

        Returns
        -------
        vector : ndarray of float32, shape (P,)
            The parameters.
        """
        return self.initial(starts.STARTS[kind](rng))

    @on_one_thread
    def log_likelihood(self, vector, x, labels, backend):
        """Compute the log likelihood of labels, summed over the examples.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.
        x : ndarray, shape (N, D)
            Inputs.
        labels : ndarray of int, shape (N,)
            Classes in 0 .. C - 1.
        backend : ibpcl.inference.backend.Backend
            The functions that compute.

        Returns
        -------
        log_likelihood : float
            Nats, summed over the examples.
        cache : tuple
            Input of :meth:`log_likelihood_vjp`.
        """
        parts, cache = elbo(self, vector, None, x, labels, {}, len(x), backend, {})
        return parts.log_likelihood, cache

    def log_likelihood_vjp(self, dtotal, cache):
        """Pull the gradient at the log likelihood, a float, back to ``vector``."""
        return elbo_vjp(Elbo(dtotal), cache)

    @on_one_thread
    def predict(self, vector, x, backend):
        """Return the class probabilities.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.
        x : array_like, shape (N, D)
            Inputs; converted to float32.
        backend : ibpcl.inference.backend.Backend
            The functions that compute.

        Returns
        -------
        probabilities : ndarray, shape (N, C)
            Class probabilities; each row sums to 1.
        """
        (outputs, _), _ = self.forward(vector, np.asarray(x, np.float32), {}, Pass(backend, {}))
        return self.likelihood.predict({}, outputs).probabilities


def network(inputs, hidden, outputs, kind=Plain, line="", **options):
    """Return a plain network with the given widths, or the one that a line describes.

    The hidden layers, called ``hidden0``, ``hidden1``, ..., have ReLU units.  The output layer is
    called ``head``.

    Parameters
    ----------
    inputs : int
        Width D of the inputs.
    hidden : sequence of int
        Number of units of each hidden layer; at least one layer.
    outputs : int
        Number of classes C.
    kind : type
        Class of the hidden layers: :class:`ibpcl.models.layers.Plain` or a subclass.
    line : str
        Description of the network, see :mod:`ibpcl.models.architecture`; it replaces ``hidden``.
    **options
        Further arguments of ``kind``.

    Returns
    -------
    network : PlainNetwork
        The network.

    Examples
    --------
    >>> network(784, (200,), 2).layout.size
    157402
    >>> network(784, (), 2, line="conv:8;dense:20").hidden
    (8, 20)
    """
    if line:
        described = from_line(inputs, line, Softmax(), outputs, kind, head=Plain, **options)
        return PlainNetwork(described.stages, described.likelihood)
    layers = [
        kind(f"hidden{i}", *shape, "relu", **options)
        for i, shape in enumerate(pairwise((inputs, *hidden)))
    ]
    return PlainNetwork((*layers, Plain("head", hidden[-1], outputs)), Softmax())

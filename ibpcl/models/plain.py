r"""Plain networks: deterministic linear layers with ReLU between them, under the softmax; with one head, or several.

They are what the methods that do not keep a distribution over weights learn with.  A :class:`Network` has one head.
Several tasks, each with a head of its own, share the hidden layers of a :class:`MultiHead`; restricted to one of its
heads it is a :class:`Network` again.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ibpcl.models.parameters import Entry, Layout
from ibpcl.numerics import logsumexp
from ibpcl.primitives import activations, likelihoods

STARTS = ("uniform", "he")


@dataclass(frozen=True)
class Network:
    """A plain network: linear layers with ReLU between them, and the softmax on top.

    Parameters
    ----------
    inputs : int
        Width D of the inputs.
    hidden : tuple of int
        Units of each hidden layer.
    outputs : int
        Number C of classes.
    """

    inputs: int
    hidden: tuple[int, ...]
    outputs: int

    @cached_property
    def layout(self):
        """The order of the parameters: for each layer its weights (D, K), then its biases (K,); the head is last."""
        widths = (self.inputs, *self.hidden, self.outputs)
        return Layout(entry for i, shape in enumerate(pairwise(widths))
                      for entry in (Entry(f"weight{i}", shape, "weights"), Entry(f"bias{i}", shape[1:], "weights")))

    @property
    def hidden_size(self):
        """How many parameters the hidden layers have: all but the head's."""
        return self.layout.size - (self.hidden[-1] + 1) * self.outputs

    def layers(self, vector):
        """Return weights and biases of each layer, as views into ``vector``."""
        views = self.layout.views(vector)
        return [(views[f"weight{i}"], views[f"bias{i}"]) for i in range(len(self.hidden) + 1)]

    def initial(self, rng, start="uniform"):
        r"""Draw the parameters before training.

        ``uniform``: weights and biases from :math:`U(-1/\sqrt D, 1/\sqrt D)`, the usual start of linear layers today.
        ``he``: weights from :math:`N(0, 2 / D)`, biases 0, which keeps the size of ReLU activations from layer to layer
        (He, Zhang, Ren and Sun, 2015, "Delving deep into rectifiers").
        """
        vector = np.zeros(self.layout.size, np.float32)
        for weight, bias in self.layers(vector):
            if start == "he":
                weight[...] = rng.normal(0.0, np.sqrt(2 / len(weight)), weight.shape)
            else:
                widest = 1 / np.sqrt(len(weight))
                weight[...] = rng.uniform(-widest, widest, weight.shape)
                bias[...] = rng.uniform(-widest, widest, bias.shape)
        return vector

    def logits(self, vector, x, backend):
        """Evaluate the network for inputs (N, D): logits (1, N, C), and the caches of its layers."""
        h, caches = x, []
        for i, (weight, bias) in enumerate(self.layers(vector)):
            h, cache = backend.linear(h, weight[None], bias[None])   # a single sample of the weights
            on = None
            if i < len(self.hidden):
                h, on = activations.relu(h)
            caches.append((cache, on))
        return h, caches

    def log_likelihood(self, vector, x, labels, backend):
        r"""Add up the log probabilities of the labels.

        .. math:: \sum_n \log \mathrm{softmax}(f(x_n))_{y_n}

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters, in the order of ``layout``.
        x : ndarray, shape (N, D)
            Inputs.
        labels : ndarray of int, shape (N,)
            Classes in 0 ... C - 1.
        backend : Backend
            Who computes.

        Returns
        -------
        total : float
            Nats, summed over the examples.
        cache : tuple
            What :meth:`log_likelihood_vjp` needs.
        """
        logits, caches = self.logits(vector, x, backend)
        log_p, likelihood_cache = likelihoods.categorical(logits, labels)
        return log_p.sum(), (vector, caches, likelihood_cache, log_p, backend)

    def log_likelihood_vjp(self, dtotal, cache):
        """Pull the gradient at the sum back to ``vector``, from the last layer to the first."""
        vector, caches, likelihood_cache, log_p, backend = cache
        gradient = np.zeros_like(vector)
        views = self.layers(gradient)
        dh = likelihoods.categorical_vjp(np.full_like(log_p, dtotal), likelihood_cache)
        for i in reversed(range(len(caches))):
            linear_cache, on = caches[i]
            if on is not None:
                dh = activations.relu_vjp(dh, on)
            dh, dweight, dbias = backend.linear_vjp(dh, linear_cache, needs_dx=i > 0)
            views[i][0][...], views[i][1][...] = dweight[0], dbias[0]
        return gradient

    def predict(self, vector, x, backend):
        """Return class probabilities (N, C) for inputs (N, D)."""
        (logits,), _ = self.logits(vector, np.asarray(x, np.float32), backend)
        return np.exp(logits - logsumexp(logits, axis=-1, keepdims=True))

    def layer_inputs(self, vector, x):
        """Evaluate the network for inputs (N, D): what each layer is given, (N, D), and the logits (N, C)."""
        inputs = [x]
        for weight, bias in self.layers(vector):
            inputs.append(inputs[-1] @ weight + bias)
            if len(inputs) <= len(self.hidden) + 1:
                np.maximum(inputs[-1], 0, out=inputs[-1])
        return inputs[:-1], inputs[-1]

    def deltas(self, vector, inputs, dlogits):
        r"""Send gradients at the logits down to the pre-activations of every layer, example by example.

        .. math:: \delta_l = (\delta_{l + 1} W_{l + 1}^\top) \odot \mathbb 1[h_l > 0]

        An example's gradient of a weight is then the product of its layer's input and delta.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.
        inputs : list of ndarray, shape (N, D)
            From :meth:`layer_inputs`.
        dlogits : ndarray, shape (..., N, C)
            Gradients, any number of them an example.

        Returns
        -------
        deltas : list of ndarray, shape (..., N, K)
            One array a layer, the first layer first.
        """
        found = [dlogits]
        for (weight, _), h in zip(self.layers(vector)[:0:-1], inputs[:0:-1], strict=True):
            found.append((found[-1] @ weight.T) * (h > 0))   # a ReLU's output is positive where its input is
        return found[::-1]


class Group(NamedTuple):
    """Examples of one task: inputs (N, D), labels (N,), and the head that they are for."""

    x: np.ndarray
    labels: np.ndarray
    head: int = 0


@dataclass(frozen=True)
class MultiHead:
    """Hidden layers that are shared, and heads of their own; the vector is the hidden layers', then each head's.

    Parameters
    ----------
    inputs : int
        Width D of the inputs.
    hidden : tuple of int
        Units of each hidden layer.
    outputs : tuple of int
        Number of classes of each head.
    """

    inputs: int
    hidden: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def size(self):
        """Number of parameters."""
        return self.network(0).hidden_size + sum((self.hidden[-1] + 1) * outputs for outputs in self.outputs)

    def network(self, head):
        """Return the network that the hidden layers are with one of the heads."""
        return Network(self.inputs, self.hidden, self.outputs[head])

    def parts(self, head):
        """Return the slices of the vector that hold the hidden layers and one of the heads."""
        shared = self.network(head).hidden_size
        start = shared + sum((self.hidden[-1] + 1) * outputs for outputs in self.outputs[:head])
        return slice(0, shared), slice(start, start + (self.hidden[-1] + 1) * self.outputs[head])

    def select(self, vector, head):
        """Return the parameters of the hidden layers and of one head, in the order of :class:`Network`."""
        return np.concatenate([vector[part] for part in self.parts(head)])

    def log_likelihoods(self, vector, groups, backend):
        r"""Add up the log probabilities of the labels of each group, at the group's own head.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.
        groups : sequence of Group
            Examples; several groups may be of one head.
        backend : Backend
            Who computes.

        Returns
        -------
        totals : tuple of float
            Nats, one sum a group; 0 for a group without examples.
        cache : tuple
            What :meth:`log_likelihoods_vjp` needs.
        """
        found = [self.network(group.head).log_likelihood(self.select(vector, group.head), group.x, group.labels,
                                                         backend) if len(group.x) else (0.0, None)
                 for group in groups]
        return tuple(total for total, _ in found), (vector, groups, [cache for _, cache in found])

    def log_likelihoods_vjp(self, dtotals, cache):
        """Pull the gradients at the sums back to ``vector``; the hidden layers gather those of all groups."""
        vector, groups, caches = cache
        gradient = np.zeros_like(vector)
        for dtotal, group, inner in zip(dtotals, groups, caches, strict=True):
            if inner is None:
                continue
            part = self.network(group.head).log_likelihood_vjp(dtotal, inner)
            shared, head = self.parts(group.head)
            gradient[shared] += part[shared]
            gradient[head] += part[shared.stop:]
        return gradient

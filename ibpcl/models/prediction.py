r"""Predictions of a network, averaged over samples of its random weights.

.. math:: p(y | x) = \frac1S \sum_s p(y | f(x; V^s, B))

Kumar et al. (2021), Sec. 4.5 and supplement D (100 samples at test time).
"""

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.models import subnetwork
from ibpcl.models.layers import Pass

# Rows (samples times examples) that are evaluated at once, which bounds the memory.
CHUNK = 16384
# Noise of variables that all examples share.
GLOBAL = frozenset(("stick", "scale", "global"))


@on_one_thread
def predict(network, vector, masks, x, samples, key, backend, chunk=CHUNK):
    """Return the prediction of a network with given or sampled masks.

    The pre-activations are sampled, so every example has its own weights.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network, which defines the order and use of the parameters.
    vector : ndarray, shape (P,)
        The variational parameters, in the order of ``network.layout``.
    masks : dict of str to ndarray of bool, shape (D, K), or None
        Hard masks of the task by layer; a layer that is missing has none.  None samples binary
        masks for each example, in a network with layers of :class:`ibpcl.models.units.Units`.
    x : ndarray, shape (N, D)
        Inputs.
    samples : int
        Number of Monte Carlo samples S, at least 1; at least 2 for a Gaussian likelihood, whose
        standard deviation is estimated.
    key : ibpcl.noise.Key
        Key that determines the noise.  The result is a function of the key and the inputs.
    backend : ibpcl.inference.backend.Backend
        The functions that compute.
    chunk : int
        Number of rows, samples times examples, that are evaluated at once.

    Returns
    -------
    prediction : ibpcl.models.likelihoods.Classes or ibpcl.models.likelihoods.Values
        Predictions for the N examples with their uncertainty, as the network's likelihood defines
        them.

    Examples
    --------
    >>> from ibpcl.inference.backend import backend
    >>> from ibpcl.models import layers, likelihoods, network, starts
    >>> from ibpcl.noise import Key
    >>> net = network.classifier(4, (3,), likelihoods.Softmax(), 2, layers.Gaussian)
    >>> vector = net.initial(starts.he(np.random.default_rng(0)), sigma=0.1)
    >>> predict(net, vector, {}, np.ones((5, 4)), 100, Key(0, 0, 0, 0),
    ...     backend("numpy")).probabilities.shape
    (5, 2)
    """
    # the rest of the network does not affect the outputs
    subnet = subnetwork.usable(network, x, masks)
    shared = {}
    small = subnet.network
    vector = vector[subnet.index]
    views = small.layout.layers(vector)
    rows = max(1, chunk // samples)
    predictions = []
    for i, start in enumerate(range(0, max(1, len(x)), rows)):
        batch = subnet.columns(x[start : start + rows])
        noise = small.noise(
            key._replace(step=i), samples, len(batch), backend, vector.dtype, masks is None
        )
        # Sticks and scales are global, not per example: all chunks share those of the first.
        shared = shared or {
            name: {kind: drawn[kind] for kind in GLOBAL & drawn.keys()}
            for name, drawn in noise.items()
        }
        noise = {name: drawn | shared[name] for name, drawn in noise.items()}
        (outputs, _), _ = small.forward(vector, batch, noise, Pass(backend, subnet.masks, 0.0))
        predictions.append(small.likelihood.predict(views, outputs))
    return type(predictions[0])(
        *(np.concatenate(parts) for parts in zip(*predictions, strict=True))
    )

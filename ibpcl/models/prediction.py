r"""Predictions of a network with given masks, averaged over samples of what is random in it.

.. math:: p(y | x) = \frac1S \sum_s p(y | f(x; V^s, B))

Kumar et al. (2021), Sec. 4.5 and supplement D (100 samples at test time).
"""

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.models import subnetwork
from ibpcl.models.layers import Pass

# rows (sample times example) at once: bounds the memory
CHUNK = 16384


@on_one_thread
def predict(network, vector, masks, x, samples, key, backend, chunk=CHUNK):
    """Predict with given masks, or with sampled ones.

    Every example has samples of its own, drawn at the pre-activations.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        What the parameters mean.
    vector : ndarray, shape (P,)
        The variational parameters.
    masks : dict of str to ndarray of bool, shape (D, K), or None
        The task's masks by layer, none where a layer is not named; None to sample binary ones for
        each example.
    x : ndarray, shape (N, D)
        Inputs.
    samples : int
        Number of samples S; at least two for values, whose deviation is predicted.
    key : Key
        Of the noise; the result is a function of it and the inputs.
    backend : Backend
        The backend that computes: numba or numpy.
    chunk : int
        Rows evaluated at once.

    Returns
    -------
    prediction : ibpcl.models.likelihoods.Classes or Values
        As the network's likelihood predicts.
    """
    # nothing else can be seen in the outputs
    subnet = subnetwork.usable(network, x, masks)
    sticks = {}
    small = subnet.network
    vector = vector[subnet.index]
    views = small.layout.layers(vector)
    rows = max(1, chunk // samples)
    found = []
    for i, start in enumerate(range(0, max(1, len(x)), rows)):
        some = subnet.columns(x[start : start + rows])
        noise = small.noise(
            key._replace(step=i), samples, len(some), backend, vector.dtype, masks is None
        )
        # Sticks belong to the model: they are those of the first chunk for all.
        sticks = sticks or {
            name: drawn["stick"] for name, drawn in noise.items() if "stick" in drawn
        }
        noise |= {name: noise[name] | {"stick": stick} for name, stick in sticks.items()}
        (outputs, _), _ = small.forward(vector, some, noise, Pass(backend, subnet.masks, 0.0))
        found.append(small.likelihood.predict(views, outputs))
    return type(found[0])(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

r"""Gradients of the ELBO with binary masks: six estimators, of which four are unbiased.

Algorithm 1 of Kumar et al. (2021) relaxes the masks, so it follows the gradient of another
objective than the ELBO of the model, whose masks are 0 or 1.  The setting ``mask_gradient`` of
NPBCL replaces it:

====================  ==========================================  ========  ======================
mask_gradient         source                                      unbiased  passes per step
====================  ==========================================  ========  ======================
``concrete``          Maddison et al. (2017); Jang et al. (2017)  no        1, relaxed masks
``straight_through``  Bengio, Leonard and Courville (2013)        no        1, binary masks
``score``             Williams (1992); Kool et al. (2019)         yes       1, binary masks
``arm``               Yin and Zhou (2019)                         yes       2, binary masks
``disarm``            Dong, Mnih and Tucker (2020)                yes       2, binary masks
``rebar``             Tucker et al. (2017)                        yes       3, one with binary masks
====================  ==========================================  ========  ======================

The masks enter the likelihood, and the divergence of the codes of an autoencoder; let f be the loss
of both, as a function of all masks of the network.  The divergence of the masks is a closed form of
their log-odds and is differentiated as it is.  The gradient at the weights is that of the passes
with binary masks.  The sticks have a gradient through the log-odds, as with relaxed masks: given
the sticks, the masks are independent Bernoulli variables.
"""

from typing import NamedTuple

from ibpcl.models.binary import Binary, Conditional
from ibpcl.models.elbo import Elbo, elbo_vjp, sample_losses
from ibpcl.models.layers import Draw
from ibpcl.primitives.binary_gradients import leave_one_out

ESTIMATORS = ("concrete", "straight_through", "score", "arm", "disarm", "rebar")
BLOCKS = ("rho", "sticks")  # of the parameters that determine the log-odds of the masks
# The streams of a network count up from 0, one or more per layer; this one is beyond all of them.
AGAIN = 2**31


class Estimator(NamedTuple):
    """The choice of an estimator.

    Attributes
    ----------
    name : {"concrete", "straight_through", "score", "arm", "disarm", "rebar"}
        The estimator.
    eta : float
        Weight of the control variate of REBAR.  With 0 it is the score function.
    """

    name: str = "concrete"
    eta: float = 1.0

    @property
    def relaxes(self):
        """True if the estimator relaxes the masks, so that it has a temperature."""
        return self.name in ("concrete", "rebar")


def estimate(estimator, evaluate, noise, downhill, again=None):
    r"""Return the parts of an ELBO with binary masks, and an estimate of the gradient of the loss.

    With S samples, :math:`\ell_s` the part of the loss that depends on the masks of sample s, and
    :math:`\tilde\ell_s` that with opposite masks, the gradient at the log-odds of sample s is that
    of :mod:`ibpcl.primitives.binary_gradients`.  The score function subtracts the mean of the other
    samples from each loss.

    Parameters
    ----------
    estimator : Estimator
        The estimator, not ``concrete``.
    evaluate : callable
        ``evaluate(noise, draw)`` returns the parts of the ELBO and their cache; ``draw`` is an
        object of :mod:`ibpcl.models.binary`, or None for relaxed masks.
    noise : dict of str to dict
        Noise of the pass, from ``network.noise``.
    downhill : ibpcl.models.elbo.Elbo
        Weight of each part in the loss to minimize.
    again : dict of str to ndarray, optional
        For "rebar": further logistic noise for the masks of each layer, from :func:`draw_again`.

    Returns
    -------
    parts : ibpcl.models.elbo.Elbo
        The parts with binary masks, in nats for the whole task.
    gradient : ndarray, shape (P,)
        The estimate.
    """
    if estimator.name == "straight_through":
        parts, cache = evaluate(noise, Binary("straight_through"))
        return parts, elbo_vjp(downhill, cache)
    if estimator.name in ("arm", "disarm"):
        return _of_opposite_masks(estimator, evaluate, noise, downhill)
    parts, cache = evaluate(noise, Binary("score"))
    losses = sample_losses(downhill, cache)
    if estimator.name == "score" or estimator.eta == 0:
        return parts, elbo_vjp(downhill, cache, losses - leave_one_out(losses))
    relaxed = evaluate(noise, None)[1]
    given = evaluate(_with_noise(noise, "again", again), Conditional())[1]
    losses = losses - estimator.eta * sample_losses(downhill, given)
    gradient = elbo_vjp(downhill, cache, losses - leave_one_out(losses))
    # the control variate has mean 0 at all parameters, and helps at the log-odds only
    of_masks = Elbo(downhill.log_likelihood, kl_latent=downhill.kl_latent)
    control = elbo_vjp(of_masks, relaxed) - elbo_vjp(of_masks, given)
    layout = cache.network.layout
    for block in set(BLOCKS) & set(layout.blocks):
        gradient[layout.block(block)] += estimator.eta * control[layout.block(block)]
    return parts, gradient


def _of_opposite_masks(estimator, evaluate, noise, downhill):
    """Return parts and gradient from two passes whose masks have opposite noise."""
    opposite = {name: -arrays["mask"] for name, arrays in noise.items() if "mask" in arrays}
    draw = Binary(estimator.name)
    first, cache = evaluate(noise, draw)
    second, cache_of_opposite = evaluate(_with_noise(noise, "mask", opposite), draw)
    gap = sample_losses(downhill, cache) - sample_losses(downhill, cache_of_opposite)
    # Gap and noise both change their sign with the masks, so both passes give the same estimate at
    # the log-odds.
    gradient = elbo_vjp(downhill, cache, gap) + elbo_vjp(downhill, cache_of_opposite, -gap)
    parts = Elbo(*((one + other) / 2 for one, other in zip(first, second, strict=True)))
    return parts, gradient / 2


def draw_again(noise, key, backend):
    """Draw the second noise of REBAR.

    Parameters
    ----------
    noise : dict of str to dict
        Noise of the pass, from ``network.noise``.
    key : ibpcl.noise.Key
        Key of the pass; its ``stream`` is ignored.
    backend : ibpcl.inference.backend.Backend
        The functions that draw.

    Returns
    -------
    again : dict of str to ndarray
        Logistic noise (S, D, K) for the masks of each layer.
    """
    masks = {name: arrays["mask"] for name, arrays in noise.items() if "mask" in arrays}
    asked = [
        Draw("logistic", key._replace(stream=AGAIN + i), mask.shape)
        for i, mask in enumerate(masks.values())
    ]
    dtype = next(iter(masks.values())).dtype if masks else None
    return dict(zip(masks, backend.noise.draw(asked, dtype), strict=True)) if masks else {}


def _with_noise(noise, kind, arrays):
    """Return the noise of a pass with one kind of noise added or replaced, layer by layer."""
    return {
        name: {**drawn, kind: arrays[name]} if name in arrays else drawn
        for name, drawn in noise.items()
    }

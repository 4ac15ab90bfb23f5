"""The fits of autoencoders: masked training, and training with fixed masks or without any."""


from ibpcl.inference.objectives import Packed, block_rates, fit_part
from ibpcl.inference.schedules import geometric
from ibpcl.models import autoencoder_packing, packing
from ibpcl.models.autoencoder import Elbo


def train_masked(model, vector, prior, data, how, rates, weights, tau, warm_up=0.0, held=None):
    """Maximize the ELBO over weights, masks, sticks and the codes' prior while the temperature falls.

    Parameters
    ----------
    model : Autoencoder
        The network.
    vector : ndarray, shape (P,)
        Where to start.
    prior : ibpcl.models.supervised.Prior
        Of the Gaussian block and the sticks.
    data : Data
        The images; labels are not looked at.
    how : Fit
        How the fit goes.
    rates : dict of str to float
        Learning rate of each block of the layout.
    weights : Elbo
        Cotangent of the parts: (1, -1, -1, -1, -1) for the true ELBO.
    tau : (float, float)
        Temperature at the first and at the last step.
    warm_up : float
        Share of the steps, from the first on, in which the weight of the codes' divergence rises from 0 to its own.
    held : ndarray of bool, shape (P,), optional
        Which parameters stay where they are.

    Returns
    -------
    vector : ndarray, shape (P,)
        The fitted parameters.
    history : list of Record
        One row an epoch.
    """
    part, rest = autoencoder_packing.whole(model), vector
    if weights.kl_weights and weights.kl_masks:              # else nothing would say where the left out ones rest
        part, rest = autoencoder_packing.masked_part(model, data.x), packing.at_rest(model, vector, prior)
        rest[model.layout.block("rho")] = 0
    packed = Packed(model, part, packing.pack_prior(part, model, prior), rest)
    return _fit(packed, data, how, vector, rates, weights, warm_up, held,
                lambda step, steps: geometric(*tau, step, steps))


def train_fixed(model, vector, prior, masks, data, how, rates, weights, warm_up=0.0, held=None, penalty=None):
    """Maximize the ELBO over the weights that hard masks keep; all other parameters have to be at rest.

    Arguments as in :func:`train_masked`; ``masks`` is a dict of boolean arrays (D, K) by layer, None for a network that
    has none, all of which is trained.  ``penalty(vector)`` returns what is added to the negative ELBO, in nats for the
    whole task, and its gradient or None; the history counts it with the weights' divergence.
    """
    part = autoencoder_packing.whole(model) if masks is None else autoencoder_packing.fixed_part(model, masks, data.x)
    packed = Packed(model, part, packing.pack_prior(part, model, prior) if prior is not None else None, vector)
    masks = {} if masks is None else autoencoder_packing.pack_masks(model, part, masks, how.backend)
    return _fit(packed, data, how, vector, rates, weights, warm_up, held, lambda step, steps: 0.0, masks, penalty)


def rising(step, steps, warm_up):
    """Return the factor of a weight that rises evenly from 0 to 1 within a share of the steps, and stays there.

    >>> [rising(step, 8, 0.5) for step in (0, 1, 4, 7)]
    [0.0, 0.25, 1.0, 1.0]
    """
    return min(1.0, step / (warm_up * steps)) if warm_up > 0 else 1.0


def _fit(packed, data, how, vector, rates, weights, warm_up, held, temperature, masks=None, penalty=None):
    model, part, examples = packed.part.model, packed.part, len(data.x)
    downhill = Elbo(*(-weight / examples for weight in weights))
    read = part.columns(data.x)

    def objective(vector, rows, step, steps):
        tau = temperature(step, steps)
        noise = model.noise(how.key._replace(step=step), how.samples, len(rows), how.backend, relaxed=masks is None)
        x, targets = (how.backend.take(array, rows) for array in (read, data.x))
        parts, cache = model.elbo(vector, packed.prior, x, noise, examples, how.backend, masks, tau, targets)
        now = downhill._replace(kl_latent=downhill.kl_latent * rising(step, steps, warm_up))
        gradient = model.elbo_vjp(now, cache)
        if penalty is not None:
            value, dpenalty = penalty(vector)
            if dpenalty is not None:
                parts, gradient = parts._replace(kl_weights=parts.kl_weights + value), gradient + dpenalty / examples
        return parts, gradient, tau

    element_rates = block_rates(model.layout, **rates)
    if held is not None:
        element_rates[held[part.index]] = 0
    return fit_part(lambda: packed, objective, element_rates, data, how, vector)

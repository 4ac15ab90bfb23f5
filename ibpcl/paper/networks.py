"""The gradients of whole layers and networks, each at small sizes with random parameters, noise and data.

Their inputs are not single arrays, so each has a few lines here that lay them out for the checker.
"""

import numpy as np

from ibpcl.inference.backend import backend
from ibpcl.models import layers
from ibpcl.models.classifier import Classifier
from ibpcl.models.controller import Controller
from ibpcl.models.gated import Gated, capacity, capacity_vjp, gates, gates_vjp
from ibpcl.models.layers import MaskModel
from ibpcl.models.mean_field import MeanField
from ibpcl.models.plain import Group, MultiHead, Network
from ibpcl.models.regressor import Regressor
from ibpcl.models.stochastic_units import UNITS, StochasticUnits, log_odds, log_odds_vjp
from ibpcl.models.supervised import Prior
from ibpcl.noise import Key
from ibpcl.verify import check

NUMPY = backend("numpy")
ALPHA = np.array([4.0, 2.0])
LAYER = ("weight.mu", "weight.log_sigma", "bias.mu", "bias.log_sigma", "rho", "raw_a", "raw_b")


def network(seed=0, mask_kl="bernoulli", activation="relu", *, kind="classifier", link="logit", structured=True,
            row_sticks=False, learns_alpha=False, partial=False, flat=False):
    """Build a network with two hidden layers, and a point in its parameter space that is nothing special.

    Returns the model, its parameters, a prior, inputs, labels (or real targets) and masks.  With ``partial``
    half of the weights have no Gaussian prior: none at all or, with ``flat``, a flat one.
    """
    options = (6, (5, 4), 3, activation, MaskModel(mask_kl, link, structured, row_sticks), learns_alpha)
    model = Classifier(*options) if kind == "classifier" else Regressor(*options)
    rng = np.random.default_rng(seed)
    vector = model.initial(rng, ALPHA, 0.3, 0.5, np.float64)
    vector += rng.normal(scale=0.3, size=vector.size)
    gaussian = model.layout.block("mu").stop
    prior = Prior(rng.normal(size=gaussian), rng.normal(scale=0.3, size=gaussian), ALPHA, (2.0, 0.5),
                  np.flatnonzero(rng.random(gaussian) < 0.5) if partial or flat else None, flat)
    x, labels = rng.normal(size=(7, 6)), rng.integers(0, 3, 7)
    masks = tuple(rng.random(shape) < 0.5 for shape in model.shapes)
    return model, vector, prior, x, labels if kind == "classifier" else rng.normal(size=(7, 3)), masks


def whole(f, f_vjp, vector, seed):
    """Check the gradient of all parameters of a network at once."""
    return check(f, f_vjp, {"vector": vector}, seed=seed, mode="full")


def check_elbo(seed=0, mask_kl="bernoulli", activation="relu", samples=2, **variant):
    """Check the gradient of the ELBO, part by part, for every parameter of the network at once, at fixed noise.

    ``variant`` as in :func:`network`.
    """
    model, vector, prior, x, labels, _ = network(seed, mask_kl, activation, **variant)
    noise = model.noise(Key(seed, 0, 0, 0), samples, len(x), NUMPY, np.float64)

    def f(vector):
        return model.elbo(vector, prior, x, labels, noise, 0.7, 70, NUMPY)

    return whole(f, model.elbo_vjp, vector, seed)


def check_fixed_elbo(seed=0, activation="relu", samples=2, **variant):
    """Check the gradient of the ELBO with fixed masks, as fine-tuning uses it; ``variant`` as in :func:`network`."""
    model, vector, prior, x, labels, masks = network(seed, activation=activation, **variant)
    noise = model.fixed_noise(Key(seed, 0, 0, 0), samples, len(x), NUMPY, np.float64)

    def f(vector):
        return model.fixed_elbo(vector, prior, masks, x, labels, noise, 70, NUMPY)

    return whole(f, model.fixed_elbo_vjp, vector, seed)


def check_relaxed_network(seed=0):
    """Check the masked network's own gradient, before any likelihood."""
    model, vector, _, x, _, _ = network(seed)
    noise = model.noise(Key(seed, 0, 0, 0), 2, len(x), NUMPY, np.float64)
    return whole(lambda vector: model.relaxed(vector, x, noise, 0.7, NUMPY), model.relaxed_vjp, vector, seed)


def check_fixed_network(seed=0):
    """Check the network's gradient with fixed masks."""
    model, vector, _, x, _, masks = network(seed)
    noise = model.fixed_noise(Key(seed, 0, 0, 0), 2, len(x), NUMPY, np.float64)
    return whole(lambda vector: model.fixed(vector, masks, x, noise), model.fixed_vjp, vector, seed)


def check_relaxed_layer(seed=0):
    """Check one masked layer, also for its input."""
    model, vector, _, x, _, _ = network(seed)
    noise = model.noise(Key(seed, 0, 0, 0), 2, len(x), NUMPY, np.float64).hidden[0]

    def f(x, *values):
        return layers.relaxed(dict(zip(LAYER, values, strict=True)), x, noise, 0.7, MaskModel(), NUMPY)

    parameters = model.layers(vector)[0]
    return check(f, _flat(layers.relaxed_vjp, LAYER), {"x": x, **{name: parameters[name] for name in LAYER}}, seed=seed)


def check_fixed_layer(seed=0):
    """Check one layer with a fixed mask, also for its input."""
    model, vector, _, x, _, masks = network(seed)
    eps = model.fixed_noise(Key(seed, 0, 0, 0), 2, len(x), NUMPY, np.float64)[0]
    gaussian = LAYER[:4]

    def f(x, *values):
        return layers.fixed(dict(zip(gaussian, values, strict=True)), masks[0], x, eps)

    parameters = model.layers(vector)[0]
    inputs = {"x": x, **{name: parameters[name] for name in gaussian}}
    return check(f, _flat(layers.fixed_vjp, gaussian), inputs, seed=seed)


def check_independent_network(seed=0):
    """Check the log-likelihood of a plain network with two hidden layers."""
    rng, plain = np.random.default_rng(seed), Network(6, (5, 4), 3)
    x, labels = rng.normal(size=(7, 6)), rng.integers(0, 3, 7)
    vector = rng.normal(scale=0.6, size=plain.layout.size)
    return whole(lambda vector: plain.log_likelihood(vector, x, labels, NUMPY), plain.log_likelihood_vjp, vector, seed)


def check_multi_head(seed=0):
    """Check the log-likelihoods of a plain network with two heads, for three groups of examples, one of them empty."""
    rng, plain = np.random.default_rng(seed), MultiHead(6, (5, 4), (3, 2))
    groups = [Group(rng.normal(size=(n, 6)), rng.integers(0, plain.outputs[head], n), head)
              for n, head in ((7, 0), (5, 1), (0, 0))]
    vector = rng.normal(scale=0.6, size=plain.size)
    return whole(lambda vector: plain.log_likelihoods(vector, groups, NUMPY), plain.log_likelihoods_vjp, vector, seed)


def check_sampled_elbo(seed=0):
    """Check the gradient of the ELBO of a network without masks, its weights sampled."""
    rng, model = np.random.default_rng(seed), MeanField(6, (5, 4), 3)
    vector = rng.normal(scale=0.5, size=model.layout.size)
    count = model.layout.block("mu").stop
    prior = Prior(rng.normal(size=count), rng.normal(scale=0.3, size=count), ALPHA)
    x, labels = rng.normal(size=(7, 6)), rng.integers(0, 3, 7)
    noise = model.sampled_noise(Key(seed, 0, 0, 0), 2, NUMPY, np.float64)
    return whole(lambda vector: model.sampled_elbo(vector, prior, x, labels, noise, 70, NUMPY),
                 model.sampled_elbo_vjp, vector, seed)


def check_gates(seed=0):
    """Check the gates of hard attention."""
    e = np.random.default_rng(seed).normal(size=5)
    return check(lambda e: gates(e, 1.7), gates_vjp, {"e": e}, seed=seed)


def check_capacity(seed=0):
    """Check the share of unused units that gates open."""
    rng = np.random.default_rng(seed)
    a, used = rng.uniform(size=5), rng.uniform(size=5)
    return check(lambda a: capacity(a, used), capacity_vjp, {"a": a}, seed=seed)


def check_gated(seed=0):
    """Check a network with gates: its log-likelihood and the capacity it takes, by weights and embedding."""
    rng, model = np.random.default_rng(seed), Gated(Network(6, (5, 4), 3))
    x, labels, used = rng.normal(size=(7, 6)), rng.integers(0, 3, 7), rng.uniform(size=9)
    vector = rng.normal(scale=0.6, size=model.size)
    return whole(lambda vector: model.objective(vector, used, 1.7, x, labels, NUMPY), model.objective_vjp, vector, seed)


def check_policy(seed=0):
    """Check the log probabilities of a policy for three sequences of choices."""
    rng, policy = np.random.default_rng(seed), Controller(3, 4, 5)
    actions, vector = rng.integers(0, 4, (3, 3)), rng.normal(scale=0.6, size=policy.layout.size)
    return whole(lambda vector: policy.log_probabilities(vector, actions), policy.log_probabilities_vjp, vector, seed)


def check_reinforce(seed=0):
    """Check the loss by which a policy and its value learn, for four trials at a given baseline."""
    rng, policy = np.random.default_rng(seed), Controller(2, 3, 4)
    actions, rewards = rng.integers(0, 3, (4, 2)), rng.normal(size=4)
    vector = rng.normal(scale=0.6, size=policy.layout.size)
    return whole(lambda vector: policy.loss(vector, actions, rewards, 0.3), policy.loss_vjp, vector, seed)


def check_log_odds(seed=0):
    """Check the log-odds of stochastic units, with and without the sticks' sample that they share."""
    rng = np.random.default_rng(seed)
    u, parameters = rng.uniform(0.05, 0.95, (3, 4)), {name: rng.normal(size=4) for name in UNITS}

    def f(*values):
        return log_odds(dict(zip(UNITS, values, strict=True)), u)

    def f_vjp(dout, cache):
        return tuple(log_odds_vjp(dout, cache)[name] for name in UNITS)

    return check(f, f_vjp, parameters, seed=seed)


def check_unit_elbo(seed=0, mask_kl="bernoulli"):
    """Check the ELBO of a network with stochastic units, part by part, against a prior that is nothing special."""
    rng, model = np.random.default_rng(seed), StochasticUnits(6, (5, 4), 3, "relu", MaskModel(mask_kl))
    vector = model.initial(rng, ALPHA, 0.3, 0.5, np.float64)
    vector += rng.normal(scale=0.3, size=vector.size)
    count = model.layout.block("mu").stop
    prior = Prior(rng.normal(size=count), rng.normal(scale=0.3, size=count), ALPHA)
    sticks_prior = [tuple(np.exp(rng.normal(size=(2, width)))) for width in model.hidden]
    x, labels = rng.normal(size=(7, 6)), rng.integers(0, 3, 7)
    noise = model.unit_noise(Key(seed, 0, 0, 0), 2, len(x), NUMPY, np.float64)

    def f(vector):
        return model.unit_elbo(vector, prior, sticks_prior, x, labels, noise, 0.7, 70, NUMPY)

    return whole(f, model.unit_elbo_vjp, vector, seed)


def _flat(f_vjp, names):
    """Turn a gradient (dx, {name: gradient}) into a tuple in the order of ``names``."""
    def flat_vjp(dout, cache):
        dx, gradients = f_vjp(dout, cache)
        return (dx, *(gradients[name] for name in names))
    return flat_vjp


# Every gradient that is not a documented pair, by its qualified name; a test holds this against the package.
CHECKS = {
    "ibpcl.models.layers.relaxed_vjp": check_relaxed_layer,
    "ibpcl.models.layers.fixed_vjp": check_fixed_layer,
    "ibpcl.models.mlp.MaskedMLP.relaxed_vjp": check_relaxed_network,
    "ibpcl.models.mlp.MaskedMLP.fixed_vjp": check_fixed_network,
    "ibpcl.models.supervised.Supervised.elbo_vjp": check_elbo,
    "ibpcl.models.supervised.Supervised.fixed_elbo_vjp": check_fixed_elbo,
    "ibpcl.models.classifier.Classifier.likelihood_vjp": check_fixed_elbo,
    "ibpcl.models.plain.Network.log_likelihood_vjp": check_independent_network,
    "ibpcl.models.plain.MultiHead.log_likelihoods_vjp": check_multi_head,
    "ibpcl.models.mean_field.MeanField.sampled_elbo_vjp": check_sampled_elbo,
    "ibpcl.models.controller.Controller.log_probabilities_vjp": check_policy,
    "ibpcl.models.controller.Controller.loss_vjp": check_reinforce,
    "ibpcl.models.stochastic_units.log_odds_vjp": check_log_odds,
    "ibpcl.models.stochastic_units.StochasticUnits.unit_elbo_vjp": check_unit_elbo,
    "ibpcl.models.gated.gates_vjp": check_gates,
    "ibpcl.models.gated.capacity_vjp": check_capacity,
    "ibpcl.models.gated.Gated.objective_vjp": check_gated,
    "ibpcl.models.regressor.Regressor.likelihood_vjp": lambda seed=0: check_fixed_elbo(seed, kind="regressor"),
}

# Every way in which the ELBO can be set up, beyond those of the activations and of the masks' divergence.
VARIANTS = {
    "log link": {"link": "log"},
    "plain mean field": {"structured": False},
    "sticks of each row": {"row_sticks": True},
    "sticks of each row, their alpha learned": {"row_sticks": True, "learns_alpha": True},
    "learned alpha": {"learns_alpha": True},
    "no prior on half": {"partial": True},
    "flat prior on half": {"flat": True},
    "regression": {"kind": "regressor"},
    "all at once": {"kind": "regressor", "link": "log", "structured": False, "learns_alpha": True, "flat": True},
}

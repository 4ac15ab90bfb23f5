"""Every model in every phase, with fixed noise: the terms of the ELBO, and its gradient by name.

A case is a function of a backend and a dtype that returns named arrays.  The cases build models as
the package does today; names of parameters, noise and returned values stay the same.
"""

from functools import partial

import numpy as np
from fingerprints import rng, values

from ibpcl.continual import fisher
from ibpcl.models import likelihoods, subnetwork
from ibpcl.models.elbo import Elbo, Flat, Prior, elbo, elbo_vjp
from ibpcl.models.gated import Gated, freedom, gates, gates_vjp, prices
from ibpcl.models.layers import Drawn, Gaussian
from ibpcl.models.masked import Masked, MaskModel
from ibpcl.models.network import autoencoder as autoencoder_of
from ibpcl.models.network import classifier
from ibpcl.models.plain import network as plain_of
from ibpcl.models.point_autoencoder import PointAutoencoder
from ibpcl.models.prediction import predict
from ibpcl.models.units import Units
from ibpcl.noise import Key

KEY = Key(3, 1, 5, 0)
INPUTS = 12
HIDDEN = (9, 7)
OUTPUTS = 3
EXAMPLES = 8
SAMPLES = 2
TASK = 70
WEIGHTS = Elbo(1.0, -0.9, -0.4, -1.3, -0.6, -0.7)


def inputs(dtype):
    x = rng("x").normal(size=(EXAMPLES, INPUTS)).clip(0)
    x[:, [2, 5]] = 0  # pixels that are always dark
    return x.astype(dtype)


def point(model, dtype, start=""):
    vector = np.zeros(model.layout.size, dtype)
    for name, view in model.layout.views(vector).items():
        view[...] = values(start + name, view.shape, dtype)
    return vector


def prior_of(model, dtype, sticks, **options):
    there = point(model, dtype, "prior.")
    block = model.layout.block
    mu, log_sigma = (
        there[block(name)] if "mu" in model.layout.blocks else there[:0]
        for name in ("mu", "log_sigma")
    )
    return Prior(
        mu, log_sigma, dict(zip(model.masked, np.asarray(sticks, dtype), strict=True)), **options
    )


def half(model):
    chosen = np.zeros(model.layout.size, bool)
    for name, view in model.layout.views(chosen).items():
        view[...] = rng(f"informative {name}".replace("log_sigma", "mu")).random(view.shape) < 0.5
    return np.flatnonzero(chosen[model.layout.block("mu")])


def answer(model, *arguments):
    """Return the parts of the ELBO that a model has, and its gradient by name."""
    parts, cache = elbo(model, *arguments)
    gradient = elbo_vjp(WEIGHTS, cache)
    return {f"part.{name}": part for name, part in parts._asdict().items()} | model.layout.views(
        gradient
    )


def hard_masks(model):
    return {
        name: rng(f"mask {i}").random(layer.shape) < 0.5
        for i, (name, layer) in enumerate(model.masked.items())
    }


def supervised(
    kind, mask_model, activation, who, dtype, *, prior="all", learns_alpha=False, masks=None
):
    likelihood = (
        likelihoods.Softmax() if kind == "classes" else likelihoods.Gaussian(0.1, kind == "values")
    )
    model = classifier(
        INPUTS,
        HIDDEN,
        likelihood,
        OUTPUTS,
        Masked,
        activation,
        model=MaskModel(*mask_model, learns_alpha),
    )
    vector = point(model, dtype)
    x = inputs(dtype)
    y = rng("y").integers(0, OUTPUTS, EXAMPLES)
    if kind != "classes":
        y = rng("targets").normal(size=(EXAMPLES, OUTPUTS)).astype(dtype)
    given = (
        {}
        if prior == "all"
        else {"informative": half(model), "others": Flat if prior == "flat" else None}
    )
    belief = prior_of(model, dtype, (4.0, 2.5), **given)
    if learns_alpha:
        belief = belief._replace(sticks=dict.fromkeys(model.masked, (2.0, 0.5)))
    if masks is None:
        drawn = model.noise(KEY, SAMPLES, EXAMPLES, who, dtype)
        return answer(model, vector, belief, x, y, drawn, TASK, who, None, 0.7)
    hard = {}
    if masks != "none":
        hard = hard_masks(model)
        hard["hidden1"][:, 3] = False
    if masks == "packed":
        part = subnetwork.usable(model, x, hard)
        belief = subnetwork.cut_prior(part, model, belief)
        vector = vector[part.index]
        x = part.columns(x)
        hard = part.masks
        model = part.network
    drawn = model.noise(KEY, SAMPLES, EXAMPLES, who, dtype, relaxed=False)
    if masks == "none":
        drawn = {name: {"eps": np.zeros_like(own["eps"][:1])} for name, own in drawn.items()}
    return answer(model, vector, belief, x, y, drawn, TASK, who, hard)


def masked_part(who, dtype):
    model = classifier(INPUTS, HIDDEN, likelihoods.Softmax(), OUTPUTS, Masked)
    x = inputs(dtype)
    part = subnetwork.usable(model, x)
    vector = point(model, dtype)
    drawn = part.network.noise(KEY, SAMPLES, EXAMPLES, who, dtype)
    belief = subnetwork.cut_prior(part, model, prior_of(model, dtype, (4.0, 2.5)))
    y = rng("y").integers(0, OUTPUTS, EXAMPLES)
    return answer(
        part.network, vector[part.index], belief, part.columns(x), y, drawn, TASK, who, None, 0.7
    )


def prediction(likelihood, who, dtype):
    model = classifier(INPUTS, HIDDEN, likelihood, OUTPUTS, Masked)
    return predict(
        model, point(model, dtype), hard_masks(model), inputs(dtype), 5, KEY, who, chunk=20
    )._asdict()


def gaussian(kind, who, dtype):
    model = classifier(INPUTS, HIDDEN, likelihoods.Softmax(), OUTPUTS, kind, head=kind)
    y = rng("y").integers(0, OUTPUTS, EXAMPLES)
    drawn = model.noise(KEY, SAMPLES, EXAMPLES, who, dtype)
    return answer(
        model,
        point(model, dtype),
        prior_of(model, dtype, ()),
        inputs(dtype),
        y,
        drawn,
        TASK,
        who,
        {},
    )


def units(kl, who, dtype):
    model = classifier(INPUTS, HIDDEN, likelihoods.Softmax(), OUTPUTS, Units, kl=kl)
    vector = point(model, dtype)
    x = inputs(dtype)
    y = rng("y").integers(0, OUTPUTS, EXAMPLES)
    sticks = {
        f"hidden{i}": tuple(
            np.exp(rng(f"sticks {i}{side}").normal(size=width)).astype(dtype) for side in "ab"
        )
        for i, width in enumerate(HIDDEN)
    }
    drawn = model.noise(KEY, SAMPLES, EXAMPLES, who, dtype)
    belief = prior_of(model, dtype, ())._replace(sticks=sticks)
    found = answer(model, vector, belief, x, y, drawn, TASK, who, None, 0.7)
    return found | predict(model, vector, None, x, 5, KEY, who, chunk=20)._asdict()


def autoencoder(kinds, pixels, masked, who, dtype, *, packed=False, **options):
    kinds = (
        None
        if kinds is None
        else tuple({"m": "masked", "g": "gaussian", "p": "plain"}[kind] for kind in kinds)
    )
    model = autoencoder_of(INPUTS, HIDDEN, 4, likelihoods.of_pixels(pixels, 0.1), kinds, **options)
    vector = point(model, dtype)
    x = inputs(dtype).clip(0, 1)
    belief = prior_of(model, dtype, np.linspace(2, 5, len(model.masked)))
    masks = None
    tau = 0.7
    if not masked:
        masks = {
            name: rng(f"mask {name}").random(layer.shape) < 0.6
            for name, layer in model.masked.items()
        }
        tau = None
    read = x
    whole = model
    if packed:
        part = subnetwork.usable(model, x, masks)
        belief = subnetwork.cut_prior(part, model, belief)
        vector = vector[part.index]
        read = part.columns(x)
        masks = part.masks
        model = part.network
    drawn = model.noise(KEY, SAMPLES, EXAMPLES, who, dtype, masked)
    found = answer(model, vector, belief, read, x, drawn, TASK, who, masks, tau)
    if masked or packed:
        return found
    fixed = PointAutoencoder(whole, vector, masks)
    z = values("z.mu", (3, EXAMPLES, 4), dtype)
    mean, log_sigma = fixed.encode(x)
    return found | {
        "encoded": mean,
        "scale": log_sigma,
        "point": fixed.log_likelihood(x, z),
        "decoded": fixed.decode(z),
    }


def plain(who, dtype):
    network = plain_of(INPUTS, HIDDEN, OUTPUTS)
    vector = point(network, dtype)
    x = inputs(dtype)
    y = rng("y").integers(0, OUTPUTS, EXAMPLES)
    total, cache = network.log_likelihood(vector, x, y, who)
    found = dict(network.layout.views(network.log_likelihood_vjp(1.0, cache)))
    for definition in fisher.DEFINITIONS:
        information = fisher.diagonal(network, vector, x, y, definition, np.random.default_rng(0))
        found |= {
            f"{definition}.{name}": view for name, view in network.layout.views(information).items()
        }
    return found | {"total": total, "predicted": network.predict(vector, x, who)}


def heads(who, dtype):
    """Two heads on the same hidden layers, each for some of the examples, as in joint training."""
    found = {}
    totals = []
    for head, (n, outputs, weight) in enumerate(((8, 3, 1.0), (5, 2, -0.6))):
        network = plain_of(INPUTS, HIDDEN, outputs)
        vector = point(network, dtype)
        vector[-network.head_size :] *= head + 1
        total, cache = network.log_likelihood(
            vector, inputs(dtype)[:n], rng(f"y{head}").integers(0, outputs, n), who
        )
        totals.append(total)
        gradient = network.log_likelihood_vjp(weight, cache)
        found[f"head{head}"] = gradient[-network.head_size :].copy()
        for name, view in network.layout.views(gradient).items():
            if not name.startswith("head"):
                found[name] = found.get(name, 0) + view
    return found | {"head.weight.mu": np.zeros(21), "head.bias.mu": np.zeros(3), "totals": totals}


def gated(who, dtype):
    model = plain_of(INPUTS, HIDDEN, OUTPUTS, Gated)
    vector = point(model, dtype)
    used = rng("used").random(sum(HIDDEN)).astype(dtype)
    y = rng("y").integers(0, OUTPUTS, EXAMPLES)
    block = model.layout.block("gates")
    parts, cache = elbo(model, vector, None, inputs(dtype), y, {}, EXAMPLES, who, {}, 1 / 1.7)
    gradient = elbo_vjp(Elbo(1.0), cache)
    opened, gates_cache = gates(vector[block], 1.7)
    share = opened @ prices(used)
    dembedding = gradient[block] + gates_vjp(-2.0 * prices(used), gates_cache)
    found = {
        name: view
        for name, view in model.layout.views(gradient).items()
        if not name.endswith("embedding")
    }
    return found | {
        "embedding": dembedding,
        "total": parts.log_likelihood,
        "share": share,
        "freedom": freedom(model, used),
    }


def decoder_information(likelihood, definition, who, dtype):
    model = autoencoder_of(
        INPUTS, HIDDEN, 4, likelihoods.of_pixels(likelihood, 0.1), ("plain",) * 7
    )
    x = inputs(dtype).clip(0, 1)
    found = fisher.diagonal(model, point(model, dtype), x, x, definition, np.random.default_rng(0))
    return {
        f"{side}{i}": model.layout.view(found, f"{name}.{side}.mu")
        for i, name in enumerate(("decoder1", "pixels"))
        for side in ("weight", "bias")
    }


STANDARD = ("bernoulli", "logit", True, False)
CASES = {
    "masked": partial(supervised, "classes", STANDARD, "relu"),
    "masked concrete log": partial(supervised, "classes", ("concrete", "log", True, False), "tanh"),
    "masked mean field": partial(
        supervised, "classes", ("bernoulli", "logit", False, False), "softplus"
    ),
    "masked row sticks": partial(
        supervised, "classes", ("concrete", "logit", True, True), "leaky_relu"
    ),
    "masked learned alpha": partial(supervised, "classes", STANDARD, "relu", learns_alpha=True),
    "masked half none": partial(supervised, "classes", STANDARD, "relu", prior="none"),
    "masked half flat": partial(supervised, "classes", STANDARD, "relu", prior="flat"),
    "masked part": masked_part,
    "masked regression": partial(supervised, "values", STANDARD, "relu"),
    "masked regression, noise given": partial(supervised, "values, noise given", STANDARD, "relu"),
    "hard masks": partial(supervised, "classes", STANDARD, "relu", masks="given"),
    "hard masks, flat": partial(
        supervised, "classes", STANDARD, "tanh", masks="given", prior="flat"
    ),
    "hard masks, packed": partial(
        supervised, "classes", STANDARD, "relu", masks="packed", prior="none"
    ),
    "hard masks, regression": partial(supervised, "values", STANDARD, "leaky_relu", masks="given"),
    "hard masks, regression, packed": partial(
        supervised, "values", STANDARD, "relu", masks="packed"
    ),
    "likelihood": partial(supervised, "classes", STANDARD, "relu", masks="none"),
    "prediction": partial(prediction, likelihoods.Softmax()),
    "prediction, regression": partial(prediction, likelihoods.Gaussian(0.1, True)),
    "gaussian": partial(gaussian, Gaussian),
    "gaussian, weights drawn": partial(gaussian, Drawn),
    "units": partial(units, "bernoulli"),
    "units concrete": partial(units, "concrete"),
    "autoencoder masked": partial(autoencoder, None, "bernoulli", True, activation="leaky_relu"),
    "autoencoder masked, prior": partial(
        autoencoder, None, "gaussian", True, learns_prior=True, activation="tanh"
    ),
    "autoencoder masked part": partial(autoencoder, None, "bernoulli", True, packed=True),
    "autoencoder hard": partial(autoencoder, None, "bernoulli", False),
    "autoencoder hard, prior": partial(
        autoencoder, None, "gaussian", False, learns_prior=True, activation="softplus"
    ),
    "autoencoder hard, packed": partial(autoencoder, None, "bernoulli", False, packed=True),
    "autoencoder mixed": partial(autoencoder, "pmpmpgg", "bernoulli", True),
    "autoencoder plain": partial(autoencoder, "ppppppp", "bernoulli", False),
    "autoencoder plain, gaussian end": partial(autoencoder, "pppppgg", "gaussian", False),
    "plain": plain,
    "heads": heads,
    "gated": gated,
    "decoder information": partial(decoder_information, "bernoulli", "sampled"),
    "decoder information, empirical": partial(decoder_information, "gaussian", "empirical"),
}

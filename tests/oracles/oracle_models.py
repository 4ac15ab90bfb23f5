"""Every model in every phase, at fixed noise: the ELBO by parts, and its gradient by name.

A case is a function of a backend and a dtype that returns named arrays.  The cases build models as the package does
today; the names of parameters, the noise and what is returned stay what they are.
"""

from functools import partial

import numpy as np
from fingerprints import rng, values

from ibpcl.continual import decoder_fisher, fisher
from ibpcl.models import autoencoder_packing, packing
from ibpcl.models.autoencoder import Autoencoder
from ibpcl.models.classifier import Classifier
from ibpcl.models.gated import Gated
from ibpcl.models.layers import MaskModel
from ibpcl.models.mean_field import MeanField
from ibpcl.models.plain import Group, MultiHead, Network
from ibpcl.models.point_autoencoder import at_means
from ibpcl.models.regressor import Regressor
from ibpcl.models.stochastic_units import StochasticUnits
from ibpcl.models.supervised import Prior
from ibpcl.noise import Key

KEY = Key(3, 1, 5, 0)
INPUTS, HIDDEN, OUTPUTS, EXAMPLES, SAMPLES, TASK = 12, (9, 7), 3, 8, 2, 70
WEIGHTS = {"log_likelihood": 1.0, "kl_latent": -0.7, "kl_weights": -0.9, "kl_masks": -0.4, "kl_sticks": -1.3,
           "kl_alpha": -0.6}


def inputs(dtype):
    x = rng("x").normal(size=(EXAMPLES, INPUTS)).clip(0)
    x[:, [2, 5]] = 0                                         # pixels that are always dark
    return x.astype(dtype)


def point(model, dtype, start=""):
    vector = np.zeros(model.layout.size, dtype)
    for name, view in model.layout.views(vector).items():
        view[...] = values(start + name, view.shape, dtype)
    return vector


def prior_of(model, dtype, alpha, **options):
    there, block = point(model, dtype, "prior."), model.layout.block
    mu, log_sigma = (there[block(name)] if "mu" in model.layout.blocks else there[:0] for name in ("mu", "log_sigma"))
    return Prior(mu, log_sigma, np.asarray(alpha, dtype), (2.0, 0.5), **options)


def half(model):
    chosen = np.zeros(model.layout.size, bool)
    for name, view in model.layout.views(chosen).items():
        view[...] = rng(f"informative {name}".replace("log_sigma", "mu")).random(view.shape) < 0.5
    return np.flatnonzero(chosen[model.layout.block("mu")])


def answer(parts, gradient, layout, rename=str):
    found = {f"part.{name}": part for name, part in parts._asdict().items()}
    return found | {rename(name): view for name, view in layout.views(gradient).items()}


def cotangent(parts):
    return type(parts)(*(WEIGHTS[name] for name in parts._fields))


def supervised(kind, mask_model, activation, who, dtype, *, prior="all", learns_alpha=False, masks=None, **options):
    model = kind(INPUTS, HIDDEN, OUTPUTS, activation, MaskModel(*mask_model), learns_alpha, **options)
    vector, x = point(model, dtype), inputs(dtype)
    y = rng("y").integers(0, OUTPUTS, EXAMPLES)
    if kind is Regressor:
        y = rng("targets").normal(size=(EXAMPLES, OUTPUTS)).astype(dtype)
    given = {} if prior == "all" else {"informative": half(model), "flat": prior == "flat"}
    belief = prior_of(model, dtype, (4.0, 2.5), **given)
    if masks is None:
        noise = model.noise(KEY, SAMPLES, EXAMPLES, who, dtype)
        parts, cache = model.elbo(vector, belief, x, y, noise, 0.7, TASK, who)
        return answer(parts, model.elbo_vjp(cotangent(parts), cache), model.layout)
    hard = [None] * len(HIDDEN)
    if masks != "none":
        hard = tuple(rng(f"mask {i}").random(shape) < 0.5 for i, shape in enumerate(model.shapes))
        hard[1][:, 3] = False
    if masks == "packed":
        part = packing.fixed_part(model, hard, x)
        belief, vector = packing.pack_prior(part, model, belief), vector[part.index]
        x, hard, model = part.columns(x), packing.pack_masks(part, hard, who), part.model
    noise = model.fixed_noise(KEY, SAMPLES, EXAMPLES, who, dtype)
    if masks == "none":
        noise = tuple(np.zeros_like(eps[:1]) for eps in noise)
    parts, cache = model.fixed_elbo(vector, belief, hard, x, y, noise, TASK, who)
    return answer(parts, model.fixed_elbo_vjp(cotangent(parts), cache), model.layout)


def masked_part(who, dtype):
    model, x = Classifier(INPUTS, HIDDEN, OUTPUTS), inputs(dtype)
    part, belief = packing.masked_part(model, x), prior_of(model, dtype, (4.0, 2.5))
    belief, small = packing.pack_prior(part, model, belief), part.model
    noise = small.noise(KEY, SAMPLES, EXAMPLES, who, dtype)
    parts, cache = small.elbo(point(model, dtype)[part.index], belief, part.columns(x),
                              rng("y").integers(0, OUTPUTS, EXAMPLES), noise, 0.7, TASK, who)
    return answer(parts, small.elbo_vjp(cotangent(parts), cache), small.layout)


def prediction(kind, who, dtype):
    model = kind(INPUTS, HIDDEN, OUTPUTS)
    masks = tuple(rng(f"mask {i}").random(shape) < 0.5 for i, shape in enumerate(model.shapes))
    return model.predict(point(model, dtype), masks, inputs(dtype), 5, KEY, who, chunk=20)._asdict()


def mean_field(local, who, dtype):
    model = MeanField(INPUTS, HIDDEN, OUTPUTS)
    vector, x, y = point(model, dtype), inputs(dtype), rng("y").integers(0, OUTPUTS, EXAMPLES)
    belief = prior_of(model, dtype, (1.0, 1.0))
    if local:
        noise = model.fixed_noise(KEY, SAMPLES, EXAMPLES, who, dtype)
        parts, cache = model.fixed_elbo(vector, belief, model.all_ones, x, y, noise, TASK, who)
        gradient = model.fixed_elbo_vjp(cotangent(parts), cache)
    else:
        noise = model.sampled_noise(KEY, SAMPLES, who, dtype)
        parts, cache = model.sampled_elbo(vector, belief, x, y, noise, TASK, who)
        gradient = model.sampled_elbo_vjp(cotangent(parts), cache)
    found = answer(parts, gradient, model.layout)
    return {name: value for name, value in found.items() if not name.endswith(("rho", "raw_a", "raw_b"))}


def units(kl, who, dtype):
    model = StochasticUnits(INPUTS, HIDDEN, OUTPUTS, "relu", MaskModel(kl))
    vector, x, y = point(model, dtype), inputs(dtype), rng("y").integers(0, OUTPUTS, EXAMPLES)
    sticks = [tuple(np.exp(rng(f"sticks {i}{side}").normal(size=width)).astype(dtype) for side in "ab")
              for i, width in enumerate(HIDDEN)]
    noise = model.unit_noise(KEY, SAMPLES, EXAMPLES, who, dtype)
    parts, cache = model.unit_elbo(vector, prior_of(model, dtype, (1.0, 1.0)), sticks, x, y, noise, 0.7, TASK, who)
    found = answer(parts, model.unit_elbo_vjp(cotangent(parts), cache), model.layout)
    return found | model.predict_units(vector, x, 5, KEY, who, chunk=20)._asdict()


def autoencoder(kinds, likelihood, masked, who, dtype, *, packed=False, **options):
    kinds = None if kinds is None else tuple({"m": "masked", "g": "gaussian", "p": "plain"}[kind] for kind in kinds)
    model = Autoencoder(INPUTS, HIDDEN, 4, HIDDEN[::-1], kinds, likelihood=likelihood, **options)
    vector, x = point(model, dtype), inputs(dtype).clip(0, 1)
    belief = prior_of(model, dtype, np.linspace(2, 5, len(model.of_kind("masked"))))
    masks, tau = None, 0.7
    if not masked:
        masks = {name: rng(f"mask {name}").random(model.shapes[name]) < 0.6 for name in model.of_kind("masked")}
        tau = None
    read, whole = x, model
    if packed:
        part = (autoencoder_packing.masked_part(model, x) if masked else
                autoencoder_packing.fixed_part(model, masks, x))
        belief, vector, read = packing.pack_prior(part, model, belief), vector[part.index], part.columns(x)
        masks = None if masked else autoencoder_packing.pack_masks(model, part, masks, who)
        model = part.model
    noise = model.noise(KEY, SAMPLES, EXAMPLES, who, dtype, masked)
    parts, cache = model.elbo(vector, belief, read, noise, TASK, who, masks, tau, x)
    found = answer(parts, model.elbo_vjp(cotangent(parts), cache), model.layout)
    if masked or packed:
        return found
    fixed = at_means(whole, vector, masks)
    z = values("z.mu", (3, EXAMPLES, 4), dtype)
    mean, log_sigma = fixed.encode(x)
    return found | {"encoded": mean, "scale": log_sigma, "point": fixed.log_likelihood(x, z),
                    "decoded": fixed.decode(z)}


def _canonical(name):
    layer, kind = int(name[-1]), name[:-1]
    return f"{f'hidden{layer}' if layer < len(HIDDEN) else 'head'}.{kind}.mu"


def plain_point(network, dtype):
    vector = np.zeros(network.layout.size, dtype)
    for name, view in network.layout.views(vector).items():
        view[...] = values(_canonical(name), view.shape, dtype)
    return vector


def plain(who, dtype):
    network = Network(INPUTS, HIDDEN, OUTPUTS)
    vector, x, y = plain_point(network, dtype), inputs(dtype), rng("y").integers(0, OUTPUTS, EXAMPLES)
    total, cache = network.log_likelihood(vector, x, y, who)
    gradient = network.log_likelihood_vjp(1.0, cache)
    found = {_canonical(name): view for name, view in network.layout.views(gradient).items()}
    for definition in fisher.DEFINITIONS:
        information = fisher.diagonal(network, vector, x, y, definition, np.random.default_rng(0))
        found |= {f"{definition}.{_canonical(name)}": view for name, view in network.layout.views(information).items()}
    return found | {"total": total, "predicted": network.predict(vector, x, who)}


def heads(who, dtype):
    network, outputs = MultiHead(INPUTS, HIDDEN, (3, 2)), (3, 2)
    vector = np.zeros(network.size, dtype)
    for head in range(2):
        one = plain_point(network.network(head), dtype)
        shared, own = network.parts(head)
        vector[shared], vector[own] = one[shared], one[shared.stop:] * (head + 1)
    groups = [Group(inputs(dtype)[:n], rng(f"y{head}").integers(0, outputs[head], n), head)
              for n, head in ((8, 0), (5, 1))]
    totals, cache = network.log_likelihoods(vector, groups, who)
    gradient = network.log_likelihoods_vjp((1.0, -0.6), cache)
    shared = np.zeros(network.network(0).layout.size)
    shared[network.parts(0)[0]] = gradient[network.parts(0)[0]]
    found = {_canonical(name): view for name, view in network.network(0).layout.views(shared).items()}
    return found | {"totals": totals, "head0": gradient[network.parts(0)[1]], "head1": gradient[network.parts(1)[1]]}


def gated(who, dtype):
    model = Gated(Network(INPUTS, HIDDEN, OUTPUTS))
    embedding = np.concatenate([values(f"hidden{i}.embedding", (width,), dtype) for i, width in enumerate(HIDDEN)])
    vector = np.concatenate([plain_point(model.network, dtype), embedding])
    used = rng("used").random(sum(HIDDEN)).astype(dtype)
    out, cache = model.objective(vector, used, 1.7, inputs(dtype), rng("y").integers(0, OUTPUTS, EXAMPLES), who)
    weights, dembedding = model.split(model.objective_vjp((1.0, -2.0), cache))
    found = {_canonical(name): view for name, view in model.network.layout.views(weights).items()}
    return found | {"embedding": dembedding, "total": out[0], "share": out[1], "freedom": model.freedom(used)}


def decoder_information(likelihood, definition, who, dtype):
    model = Autoencoder(INPUTS, HIDDEN, 4, HIDDEN[::-1], ("plain",) * 7, likelihood=likelihood)
    fixed, x = at_means(model, point(model, np.float32)), inputs(np.float32).clip(0, 1)
    found = decoder_fisher.diagonal(fixed, x, 2, definition, np.random.default_rng(0))
    return {f"{side}{i}": value for i, pair in enumerate(found)
            for side, value in zip(("weight", "bias"), pair, strict=True)}


STANDARD = ("bernoulli", "logit", True, False)
CASES = {
    "masked": partial(supervised, Classifier, STANDARD, "relu"),
    "masked concrete log": partial(supervised, Classifier, ("concrete", "log", True, False), "tanh"),
    "masked mean field": partial(supervised, Classifier, ("bernoulli", "logit", False, False), "softplus"),
    "masked row sticks": partial(supervised, Classifier, ("concrete", "logit", True, True), "leaky_relu"),
    "masked learned alpha": partial(supervised, Classifier, STANDARD, "relu", learns_alpha=True),
    "masked half none": partial(supervised, Classifier, STANDARD, "relu", prior="none"),
    "masked half flat": partial(supervised, Classifier, STANDARD, "relu", prior="flat"),
    "masked part": masked_part,
    "masked regression": partial(supervised, Regressor, STANDARD, "relu"),
    "masked regression, noise given": partial(supervised, Regressor, STANDARD, "relu", learns_noise=False),
    "hard masks": partial(supervised, Classifier, STANDARD, "relu", masks="given"),
    "hard masks, flat": partial(supervised, Classifier, STANDARD, "tanh", masks="given", prior="flat"),
    "hard masks, packed": partial(supervised, Classifier, STANDARD, "relu", masks="packed", prior="none"),
    "hard masks, regression": partial(supervised, Regressor, STANDARD, "leaky_relu", masks="given"),
    "hard masks, regression, packed": partial(supervised, Regressor, STANDARD, "relu", masks="packed"),
    "likelihood": partial(supervised, Classifier, STANDARD, "relu", masks="none"),
    "prediction": partial(prediction, Classifier),
    "prediction, regression": partial(prediction, Regressor),
    "gaussian": partial(mean_field, True),
    "gaussian, weights drawn": partial(mean_field, False),
    "units": partial(units, "bernoulli"),
    "units concrete": partial(units, "concrete"),
    "autoencoder masked": partial(autoencoder, None, "bernoulli", True, activation="leaky_relu"),
    "autoencoder masked, prior": partial(autoencoder, None, "gaussian", True, learns_prior=True, activation="tanh"),
    "autoencoder masked part": partial(autoencoder, None, "bernoulli", True, packed=True),
    "autoencoder hard": partial(autoencoder, None, "bernoulli", False),
    "autoencoder hard, prior": partial(autoencoder, None, "gaussian", False, learns_prior=True, activation="softplus"),
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

"""Gradient checks of whole layers and networks, with small sizes and random parameters and data.

Their inputs are not single arrays, so each check arranges the inputs for the gradient checker.
"""

from functools import partial

import numpy as np

from ibpcl.continual.fisher import Factored, Squared
from ibpcl.evaluation import linear_probe
from ibpcl.exact import tiny
from ibpcl.inference.backend import backend
from ibpcl.methods.progress import Column
from ibpcl.methods.pruning import absolute, absolute_vjp
from ibpcl.models import elbo as bounds
from ibpcl.models import function_space, likelihoods, plain, scaled, starts
from ibpcl.models.adapted import Adapted
from ibpcl.models.binary import Conditional
from ibpcl.models.controller import Controller
from ibpcl.models.convolution import SHARING, LayerNorm, Pool, of_kind
from ibpcl.models.correlated import FullCovariance, LowRank
from ibpcl.models.depth import Blocks
from ibpcl.models.elbo import Flat, Prior
from ibpcl.models.film import Film
from ibpcl.models.gated import Gated, gates, gates_vjp
from ibpcl.models.layers import (
    Drawn,
    Gaussian,
    Images,
    Pass,
    Plain,
    activate,
    activate_vjp,
    evaluate,
    evaluate_vjp,
)
from ibpcl.models.masked import Masked, MaskModel
from ibpcl.models.network import Network, classifier
from ibpcl.models.parameters import Layout, collect
from ibpcl.models.units import Units
from ibpcl.noise import Key
from ibpcl.verify import check_pair

NUMPY = backend("numpy")
ALPHA = np.array([4.0, 2.0])
# Inputs and hidden units where every single parameter is checked: what is checked takes the time of
# their square. They differ, so that no exchange of two axes hides.
SMALL = 4, 2, 3


def network(
    seed=0,
    mask_kl="bernoulli",
    activation="relu",
    *,
    kind="classifier",
    link="logit",
    structured=True,
    row_sticks=False,
    learns_alpha=False,
    inherits=False,
    partial=False,
    flat=False,
    sizes=(6, 5, 4),
):
    """Build a network with two hidden layers, and a generic point in its parameter space.

    Parameters
    ----------
    seed : int
        Determines the random inputs.
    mask_kl : {"bernoulli", "concrete"}
        Divergence of the masks.
    activation : str
        Name of the activation function of the hidden layers.
    kind : {"classifier", "regressor", "probit", "logistic"}
        The likelihood; the last two are for two classes with one output.
    link : {"logit", "log"}
        Link between masks and sticks.
    structured : bool
        Whether the posterior of a mask depends on the sticks.
    row_sticks : bool
        Whether each input has its own sticks.
    learns_alpha : bool
        Whether alpha has a posterior.
    inherits : bool
        Whether the prior of the masks is an earlier posterior.
    partial : bool
        Whether half of the weights have no Gaussian prior.
    flat : bool
        Whether these have a flat prior instead of none.
    sizes : tuple of int
        Numbers of inputs and of units of the two hidden layers.

    Returns
    -------
    model, vector, prior, x, labels, masks
        The network, a vector of all parameters, a prior, seven inputs, their labels (or real
        targets), and a Boolean mask for each masked layer.
    """
    likelihood = {
        "classifier": likelihoods.Softmax(),
        "regressor": likelihoods.Gaussian(0.1, True),
    }.get(kind)
    likelihood = likelihood or likelihoods.Bernoulli(kind)
    outputs = 1 if kind in likelihoods.LINKS else 3
    model = classifier(
        sizes[0],
        sizes[1:],
        likelihood,
        outputs,
        Masked,
        activation,
        model=MaskModel(mask_kl, link, structured, row_sticks, learns_alpha, inherits),
    )
    rng = np.random.default_rng(seed)
    vector = model.initial(starts.normal(rng, 0.5), 0.3, ALPHA, np.float64)
    vector += rng.normal(scale=0.3, size=vector.size)
    gaussian = model.layout.block("mu").stop
    sticks = dict(zip(model.masked, [(2.0, 0.5)] * 2 if learns_alpha else ALPHA, strict=True))
    prior = Prior(
        rng.normal(size=gaussian),
        rng.normal(scale=0.3, size=gaussian),
        sticks,
        np.flatnonzero(rng.random(gaussian) < 0.5) if partial or flat else None,
        Flat if flat else None,
    )
    x = rng.normal(size=(7, sizes[0]))
    labels = rng.integers(0, max(outputs, 2), 7)
    masks = {name: rng.random(layer.shape) < 0.5 for name, layer in model.masked.items()}
    return (
        model,
        vector,
        prior,
        x,
        rng.normal(size=(7, 3)) if kind == "regressor" else labels,
        masks,
    )


def whole(f, f_vjp, vector, seed):
    """Check the gradient of all parameters of a network at once.

    It is compared along random directions. Each of them moves every parameter, so a wrong entry
    shows in all of them. Only if one fails, each entry is compared, to find the wrong ones: this
    takes three to four times as long.

    Parameters
    ----------
    f, f_vjp : callable
        A function of the vector, and its gradient.
    vector : ndarray
        All parameters.
    seed : int
        Determines the cotangents.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    report = check_pair(f, f_vjp, {"vector": vector}, seed=seed, mode="directional")
    return report if report.ok else check_pair(f, f_vjp, {"vector": vector}, seed=seed, mode="full")


def check_elbo(seed=0, mask_kl="bernoulli", activation="relu", samples=2, fixed=False, **variant):
    """Check the gradient of the ELBO, part by part, for every parameter of the network at once, at
    fixed noise.

    Parameters
    ----------
    seed : int
        Determines the random inputs.
    mask_kl, activation : str
        As in :func:`network`.
    samples : int
        Number of Monte-Carlo samples.
    fixed : bool
        Whether masks are given, as in fine-tuning; else they are relaxed samples.
    **variant
        Other arguments of :func:`network`.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    model, vector, prior, x, labels, masks = network(
        seed, mask_kl, activation, **variant, sizes=SMALL
    )
    noise = model.noise(Key(seed, 0, 0, 0), samples, len(x), NUMPY, np.float64, not fixed)
    given = (masks, None) if fixed else (None, 0.7)
    return whole(
        lambda vector: bounds.elbo(model, vector, prior, x, labels, noise, 70, NUMPY, *given),
        bounds.elbo_vjp,
        vector,
        seed,
    )


def check_network(seed=0, fixed=False):
    """Check the gradient of the network's outputs, without a likelihood.

    Parameters
    ----------
    seed : int
        Determines the random inputs.
    fixed : bool
        Whether masks are given; else they are relaxed samples.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    model, vector, _, x, _, masks = network(seed)
    noise = model.noise(Key(seed, 0, 0, 0), 2, len(x), NUMPY, np.float64, not fixed)
    return check_forward(
        model, vector, x, noise, Pass(NUMPY, masks if fixed else None, 0.7, 10.0), seed
    )


def check_forward(model, vector, x, noise, options, seed):
    """Check the gradient of a network's outputs and divergences for given noise.

    Parameters
    ----------
    model : ibpcl.models.network.Network
        The network.
    vector : ndarray
        All parameters.
    x : ndarray
        Inputs.
    noise : dict
        The noise of every layer.
    options : ibpcl.models.layers.Pass
        How to compute: backend, given masks, temperature.
    seed : int
        Determines the cotangents.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    names = list(model.forward(vector, x, noise, options)[0][1])

    def f(vector):
        (outputs, divergences), cache = model.forward(vector, x, noise, options)
        return (outputs, *divergences.values()), cache

    def f_vjp(dout, cache):
        return model.forward_vjp((dout[0], dict(zip(names, dout[1:], strict=True))), cache)

    return whole(f, f_vjp, vector, seed)


def check_squared_slopes(kind=Squared, seed=0):
    """Check what a layer of squared slopes passes to its inputs: the usual gradient.

    Its other results are sums of squares, which are compared with single examples elsewhere.

    Parameters
    ----------
    kind : type
        :class:`ibpcl.continual.fisher.Squared` or :class:`ibpcl.continual.fisher.Factored`.
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    layer = kind("layer", 5, 3, "tanh")
    rng = np.random.default_rng(seed)
    layout = Layout(layer.entries())
    views = layout.layers(rng.normal(scale=0.5, size=layout.size))

    def forward(x):
        (h, _), cache = layer.forward(views, x, {}, Pass(NUMPY, {}))
        return h, cache

    def backward(dh, cache):
        return layer.forward_vjp((dh, {}), cache)[0]

    return check_pair(forward, backward, {"x": rng.normal(size=(4, 5))}, seed=seed)


def check_column(seed=0):
    """Check the column of Progress and Compress: its logits with lateral inputs.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    column = Column(plain.network(4, (3,), 2), 5, NUMPY)
    vector = rng.normal(scale=0.5, size=column.network.layout.size + 10)
    x = rng.normal(size=(6, 4))
    k = rng.normal(size=(6, 5))

    def forward(vector):
        return column.scores(vector, x, k)

    return check_pair(forward, column.scores_vjp, {"vector": vector}, seed=seed)


def check_layer(kind, seed=0, mask=None, relaxed=False, **options):
    """Check a layer of a kind as :func:`check_stage` does, with axes of different lengths.

    Parameters
    ----------
    kind : type
        The class of the layer.
    seed : int
        Determines the random inputs.
    mask : float, optional
        Share of the weights that a given mask keeps.
    relaxed : bool
        Whether masks are relaxed samples; else they are given.
    **options
        Arguments of the layer.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    layer = kind("layer", 5, 3, "tanh", **options)
    return check_stage(layer, seed, mask, relaxed, examples=4)


def check_conditional(seed=0):
    """Check a masked layer whose relaxed masks are drawn given binary ones, as REBAR's are.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    again = np.random.default_rng(seed + 1).logistic(size=(2, 5, 3))
    layer = Masked("layer", 5, 3, "tanh")
    return check_stage(layer, seed, relaxed=True, examples=4, draw=Conditional(), again=again)


def check_stage(
    stage,
    seed=0,
    mask=None,
    relaxed=False,
    examples=2,
    draw=None,
    again=None,
    divergences=("kl_masks",),
):
    """Check a stage of a network, by its input, which has a sample axis, and by all of its
    parameters in one vector.

    Parameters
    ----------
    stage : ibpcl.models.layers.Layer or another stage
        The stage.
    seed : int
        Determines the random inputs.
    mask : float, optional
        Share of the weights and switches that given masks keep.
    relaxed : bool
        Whether masks are relaxed samples; else they are given.
    examples : int
        Number of examples.
    draw : ibpcl.models.binary.Conditional, optional
        What draws sampled masks, if they are not simply relaxed.
    again : ndarray, shape (2, D, K), optional
        Further noise of the masks, for ``draw``.
    divergences : tuple of str
        The divergences that the stage returns if masks are relaxed samples.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    network = Network((stage,), likelihoods.Softmax())
    layout = network.layout
    masks = None if relaxed else {}
    if mask is not None:
        parts = network.layers | network.masked
        masks = {name: rng.random(part.shape) < mask for name, part in parts.items()}
    noise = network.noise(Key(seed, 0, 0, 0), 2, examples, NUMPY, np.float64, relaxed)
    if draw is not None:
        noise[stage.name]["again"] = again
    options = Pass(NUMPY, masks, 0.7, 10.0, draw)
    divergences = divergences if relaxed else ()
    inputs = {"x": rng.normal(size=(2, examples, stage.inputs))}
    if layout.size:
        inputs["vector"] = rng.normal(scale=0.5, size=layout.size)

    def f(x, *vector):
        views = layout.layers(vector[0]) if vector else {}
        (h, found), cache = stage.forward(views, x, noise, options)
        return (h, *(found[name] for name in divergences)), cache

    def f_vjp(dout, cache):
        ddivergences = dict(zip(divergences, dout[1:], strict=True))
        dx, found = stage.forward_vjp((dout[0], ddivergences), cache)
        gradient = np.empty(layout.size)
        collect(found, layout.layers(gradient))  # given masks have no part in it: zeros
        return (dx, gradient)[: len(inputs)]

    return check_pair(f, f_vjp, inputs, seed=seed)


def check_sticks(kind, prior, seed=0, **options):
    """Check the divergence of a layer's sticks from their prior.

    Parameters
    ----------
    kind : type
        The class of the layer.
    prior : tuple
        Parameters of the prior of the layer's sticks.
    seed : int
        Determines the random inputs.
    **options
        Arguments of the layer.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    return check_sticks_of(kind("layer", 5, 3, "relu", **options), prior, seed)


def check_sticks_of(layer, prior, seed=0, names=("raw_a", "raw_b", "raw_shape", "raw_scale")):
    """Check the divergence of the sticks of a layer, or of residual blocks, from their prior.

    Parameters
    ----------
    layer : ibpcl.models.layers.Layer or ibpcl.models.depth.Blocks
        What has the sticks.
    prior : float or tuple
        Parameters of their prior.
    seed : int
        Determines the random inputs.
    names : tuple of str
        The parameters of the divergence; those that the layer lacks are left out.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    inputs = {
        entry.name.removeprefix(f"{layer.name}."): rng.normal(size=entry.shape)
        for entry in layer.entries()
        if entry.name.removeprefix(f"{layer.name}.") in names
    }

    def f(*values):
        return layer.kl_sticks(dict(zip(inputs, values, strict=True)), prior, NUMPY)

    def f_vjp(dout, cache):
        found = layer.kl_sticks_vjp(dout, cache)
        return tuple(found[name] for name in inputs)

    return check_pair(f, f_vjp, inputs, seed=seed)


def check_scales(f, f_vjp, seed=0, names=scaled.SCALES, **options):
    """Check a function of the scales of a layer.

    Parameters
    ----------
    f : callable
        ``f(parameters, layer)`` returns a value and its cache.
    f_vjp : callable
        ``f_vjp(dout, cache)`` returns the gradients by name.
    seed : int
        Determines the random inputs.
    names : sequence of str
        Parameters of the layer that the function reads.
    **options
        Arguments of the layer.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    layer = scaled.Scaled("layer", 5, 3, "tanh", **options)
    shapes = {entry.name.removeprefix("layer."): entry.shape for entry in layer.entries()}
    inputs = {
        name.replace(".", "_"): np.asarray(rng.normal(scale=0.5, size=shapes[name]))
        for name in names
    }

    def back(dout, cache):
        found = f_vjp(dout, cache)
        return tuple(found[name] for name in names)

    return check_pair(
        lambda *values: f(dict(zip(names, values, strict=True)), layer), back, inputs, seed=seed
    )


def check_drawn_scales(seed=0):
    """Check the draw of the global and the local scales of a layer.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """

    def draw(parameters, layer):
        noise = np.random.default_rng(seed + 1)
        eps = {name: noise.normal(size=one.shape) for name, one in drawn(layer).items()}
        return scaled.sample(eps, parameters)

    def drawn(layer):
        return scaled.draws(layer, Key(seed, 0, 0, 0), 2)

    return check_scales(draw, scaled.sample_vjp, seed, local=False)


def posterior_scales(seed=0):
    """Return an earlier posterior of the scales of three units.

    Parameters
    ----------
    seed : int
        Determines the values.

    Returns
    -------
    prior : ibpcl.models.scaled.Scales
        Random means and log standard deviations.
    """
    rng = np.random.default_rng(seed)
    return scaled.Scales(*rng.normal(scale=0.5, size=(2, 3)), *rng.normal(scale=0.5, size=2))


def check_correlations(kind, seed=0, **options):
    """Check what the correlations of a layer add to the divergence of its weights.

    Parameters
    ----------
    kind : type
        The class of the layer.
    seed : int
        Determines the random inputs.
    **options
        Arguments of the layer.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    layer = kind("layer", 5, 3, "tanh", **options)
    layout = Layout(layer.entries())
    rng = np.random.default_rng(seed)
    prior = layout.layers(rng.normal(scale=0.5, size=layout.size))["layer"]

    def f(vector):
        return layer.kl_correlations(layout.layers(vector)["layer"], prior, NUMPY)

    def f_vjp(ddivergence, cache):
        gradient = np.zeros(layout.size)
        collect({"layer": layer.kl_correlations_vjp(ddivergence, cache)}, layout.layers(gradient))
        return gradient

    return whole(f, f_vjp, rng.normal(scale=0.5, size=layout.size), seed)


def check_likelihood(likelihood, seed=0):
    """Check a likelihood's gradient at the outputs, and at a learned noise.

    Parameters
    ----------
    likelihood : object
        One of :mod:`ibpcl.models.likelihoods`.
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    targets = (
        rng.random((7, 3))
        if not isinstance(likelihood, likelihoods.Softmax)
        else rng.choice(likelihood.labels(3), 7)
    )
    inputs = {"outputs": rng.normal(size=(2, 7, 3))}
    if getattr(likelihood, "learned", False):
        inputs["log_sigma"] = rng.normal(size=3)

    def f(outputs, log_sigma=None):
        return likelihood.log_density({"noise": {"log_sigma": log_sigma}}, outputs, targets, NUMPY)

    def f_vjp(dlog_p, cache):
        doutputs, extra = likelihood.log_density_vjp(dlog_p, cache)
        return (doutputs, extra["noise"]["log_sigma"]) if extra else doutputs

    return check_pair(f, f_vjp, inputs, seed=seed)


def check_activation(seed=0):
    """Check an activation by its name.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    h = np.random.default_rng(seed).normal(size=(2, 4))
    return check_pair(lambda h: activate("softplus", h, NUMPY), activate_vjp, {"h": h}, seed=seed)


def check_evaluation(seed=0):
    """Check the evaluation of images by filters, with activation and pool.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        The verdict on the gradient.
    """
    rng = np.random.default_rng(seed)
    inputs = {
        name: rng.normal(size=shape)
        for name, shape in (("pixels", (2, 2, 4, 3, 2)), ("w", (2, 12, 2)), ("b", (2, 2)))
    }
    return check_pair(
        lambda pixels, w, b: evaluate(Images(pixels, (3, 2), 1, 1, 2), w, b, "tanh", NUMPY),
        evaluate_vjp,
        inputs,
        seed=seed,
    )


def check_plain_network(seed=0):
    """Check the log-likelihood of a plain network with two hidden layers.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    model = plain.network(6, (5, 4), 3)
    x = rng.normal(size=(7, 6))
    labels = rng.integers(0, 3, 7)
    vector = rng.normal(scale=0.6, size=model.layout.size)
    return whole(
        lambda vector: model.log_likelihood(vector, x, labels, NUMPY),
        model.log_likelihood_vjp,
        vector,
        seed,
    )


def check_gates(seed=0):
    """Check the gates of hard attention.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    e = np.random.default_rng(seed).normal(size=5)
    return check_pair(lambda e: gates(e, 1.7), gates_vjp, {"e": e}, seed=seed)


def check_absolute(seed=0):
    """Check the weighted L1 penalty of pruning.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    strength = rng.random(5)
    weights = rng.normal(size=5)
    return check_pair(
        lambda weights: absolute(weights, strength), absolute_vjp, {"weights": weights}, seed=seed
    )


def check_tiny(f, f_vjp, seed=0):
    """Check a function of the weights of a tiny network with a hidden layer.

    Parameters
    ----------
    f : callable
        ``f(network, w, x, y)`` returns a value and its cache.
    f_vjp : callable
        Its gradient.
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        The verdict on the gradient.
    """
    rng = np.random.default_rng(seed)
    network = tiny.TinyNetwork(inputs=2, hidden=3)
    x = rng.normal(size=(5, 2))
    y = rng.integers(0, 2, 5)
    return check_pair(
        lambda w: f(network, w, x, y),
        f_vjp,
        {"w": rng.normal(size=(2, network.size))},
        seed=seed,
    )


def check_policy(seed=0):
    """Check the log probabilities of a policy for three sequences of choices.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    policy = Controller(3, 4, 5)
    actions = rng.integers(0, 4, (3, 3))
    vector = rng.normal(scale=0.6, size=policy.layout.size)
    return whole(
        lambda vector: policy.log_probabilities(vector, actions),
        policy.log_probabilities_vjp,
        vector,
        seed,
    )


def check_reinforce(seed=0):
    """Check the loss by which a policy and its value learn, for four trials at a given baseline.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    policy = Controller(2, 3, 4)
    actions = rng.integers(0, 3, (4, 2))
    rewards = rng.normal(size=4)
    vector = rng.normal(scale=0.6, size=policy.layout.size)
    return whole(
        lambda vector: policy.loss(vector, actions, rewards, 0.3), policy.loss_vjp, vector, seed
    )


def check_unit_elbo(seed=0, mask_kl="bernoulli"):
    """Check the ELBO of a network with stochastic units, part by part, against a generic prior.

    Parameters
    ----------
    seed : int
        Determines the random inputs.
    mask_kl : {"bernoulli", "concrete"}
        Divergence of the masks.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    model = classifier(6, (5, 4), likelihoods.Softmax(), 3, Units, kl=mask_kl)
    vector = model.initial(starts.normal(rng, 0.5), 0.3, dtype=np.float64)
    vector += rng.normal(scale=0.3, size=vector.size)
    count = model.layout.block("mu").stop
    sticks = {
        f"hidden{i}": tuple(np.exp(rng.normal(size=(2, width)))) for i, width in enumerate((5, 4))
    }
    prior = Prior(rng.normal(size=count), rng.normal(scale=0.3, size=count), sticks)
    x = rng.normal(size=(7, 6))
    labels = rng.integers(0, 3, 7)
    noise = model.noise(Key(seed, 0, 0, 0), 2, len(x), NUMPY, np.float64)
    return whole(
        lambda vector: bounds.elbo(model, vector, prior, x, labels, noise, 70, NUMPY, None, 0.7),
        bounds.elbo_vjp,
        vector,
        seed,
    )


def check_linear_probe(seed=0):
    """Check the loss of a linear classifier at its weights and biases, and its penalty.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        The verdict on the gradient.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(7, 4))
    labels = rng.integers(0, 3, 7)
    return check_pair(
        lambda weights, bias: linear_probe.objective(weights, bias, x, labels, 0.3),
        linear_probe.objective_vjp,
        {"weights": rng.normal(size=(4, 3)), "bias": rng.normal(size=3)},
        seed=seed,
    )


def blocks(kind):
    """Return two residual blocks of a kind of layer, with three units.

    Parameters
    ----------
    kind : type
        Class of the layers.

    Returns
    -------
    stage : ibpcl.models.depth.Blocks
        The blocks.
    """
    return Blocks(tuple(kind(f"block{i}", 3, 3, "tanh") for i in range(2)))


def check_function_space(name, seed=0):
    """Check a gradient of :mod:`ibpcl.models.function_space`.

    Parameters
    ----------
    name : str
        Name of the function.
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    rng = np.random.default_rng(seed)
    phi, mean, eps = (rng.normal(size=shape) for shape in ((4, 3), (4, 2), (2, 4, 2)))
    mu, raw = (rng.normal(scale=0.5, size=shape) for shape in ((3, 2), (2, 3, 3)))
    root = function_space.lower(raw)[0]
    spread = np.array([np.cov(rng.normal(size=(4, 9))) for _ in range(2)])
    f = getattr(function_space, name)
    f_vjp = getattr(function_space, f"{name}_vjp")
    by_phi = (lambda phi: f(phi, mean, spread, 0.7, 0.1), f_vjp, {"phi": phi})

    def of_layers(w, b, v, c):
        return f([(w, b), (v, c)], phi)

    def of_layers_vjp(dphi, cache):
        return tuple(part for layer in f_vjp(dphi, cache) for part in layer)

    def of_weights(mu, raw, prior_mean, prior_raw):
        root, lower = function_space.lower(raw)
        prior_root, prior_lower = function_space.lower(prior_raw)
        value, cache = f(mu, root, prior_mean, prior_root @ prior_root.swapaxes(1, 2))
        return value, (lower, prior_root, prior_lower, cache)

    def of_weights_vjp(dvalue, cache):
        lower, prior_root, prior_lower, inner = cache
        dmu, droot, dmean, dcovariance = f_vjp(dvalue, inner)
        draw = function_space.lower_vjp(droot, lower)
        dprior_root = (dcovariance + dcovariance.swapaxes(1, 2)) @ prior_root
        return dmu, draw, dmean, function_space.lower_vjp(dprior_root, prior_lower)

    widths = {"w": (3, 5), "b": (5,), "v": (5, 2), "c": (2,)}
    cases = {
        "features": (
            of_layers,
            of_layers_vjp,
            {each: rng.normal(size=shape) for each, shape in widths.items()},
        ),
        "lower": (f, f_vjp, {"raw": raw}),
        "sample": (
            lambda phi, mu, root: f(eps, phi, mu, root),
            f_vjp,
            {"phi": phi, "mu": mu, "root": root},
        ),
        "implied": by_phi,
        "values_kl": by_phi,
        "weights_kl": (
            of_weights,
            of_weights_vjp,
            {
                "mu": mu,
                "raw": raw,
                "prior_mean": rng.normal(size=(3, 2)),
                "prior_raw": rng.normal(scale=0.3, size=(2, 3, 3)),
            },
        ),
    }
    return check_pair(*cases[name], seed=seed)


# Every gradient that is not a documented pair, by its qualified name; a test holds this against the
# package.
CHECKS = {
    "ibpcl.continual.fisher.Squared.forward_vjp": check_squared_slopes,
    "ibpcl.continual.fisher.Factored.forward_vjp": lambda seed=0: check_squared_slopes(
        Factored, seed
    ),
    "ibpcl.methods.progress.Column.scores_vjp": check_column,
    "ibpcl.models.layers.Layer.forward_vjp": lambda seed=0: check_layer(Gaussian, seed, mask=0.6),
    "ibpcl.models.layers.Plain.forward_vjp": lambda seed=0: check_layer(Plain, seed),
    "ibpcl.models.layers.Gaussian.forward_vjp": lambda seed=0: check_layer(Gaussian, seed),
    "ibpcl.models.layers.activate_vjp": check_activation,
    "ibpcl.models.layers.evaluate_vjp": check_evaluation,
    "ibpcl.models.masked.Masked.forward_vjp": lambda seed=0: check_layer(
        Masked, seed, relaxed=True
    ),
    "ibpcl.models.binary.forward_vjp": check_conditional,
    "ibpcl.models.film.Film.forward_vjp": lambda seed=0: check_stage(Film("film", 6, 3), seed),
    "ibpcl.models.masked.Masked.kl_sticks_vjp": lambda seed=0: check_sticks(
        Masked, (2.0, 0.5), seed, model=MaskModel(learns_alpha=True)
    ),
    "ibpcl.models.convolution.Convolution.forward_vjp": lambda seed=0: check_stage(
        of_kind(Plain, "layer", (3, 2, 2), 2, (2, 1), 1, 1, "tanh"), seed
    ),
    "ibpcl.models.convolution.Pool.forward_vjp": lambda seed=0: check_stage(
        Pool("pool", (4, 3, 2), 2), seed
    ),
    "ibpcl.models.convolution.LayerNorm.forward_vjp": lambda seed=0: check_stage(
        LayerNorm("norm", (3, 2, 2)), seed
    ),
    "ibpcl.models.depth.Blocks.forward_vjp": lambda seed=0: check_stage(
        blocks(Gaussian), seed, relaxed=True
    ),
    "ibpcl.models.depth.Blocks.kl_sticks_vjp": lambda seed=0: check_sticks_of(
        blocks(Plain), 2.0, seed
    ),
    "ibpcl.models.units.Units.forward_vjp": lambda seed=0: check_layer(Units, seed, relaxed=True),
    "ibpcl.models.units.Units.kl_sticks_vjp": lambda seed=0: check_sticks(
        Units, (np.full(3, 2.0), np.ones(3)), seed
    ),
    **{
        f"ibpcl.models.function_space.{name}_vjp": partial(check_function_space, name)
        for name in ("features", "lower", "sample", "implied", "weights_kl", "values_kl")
    },
    "ibpcl.models.adapted.Adapted.forward_vjp": lambda seed=0: check_stage(
        Adapted("layer", 5, 3, "tanh"), seed, relaxed=True, examples=4, divergences=()
    ),
    "ibpcl.models.adapted.Adapted.kl_sticks_vjp": lambda seed=0: check_sticks_of(
        Adapted("layer", 5, 3), np.array([-1.0, 0.5, 2.0]), seed, names=("rho",)
    ),
    "ibpcl.models.scaled.Scaled.forward_vjp": lambda seed=0: check_layer(scaled.Scaled, seed),
    "ibpcl.models.correlated.LowRank.forward_vjp": lambda seed=0: check_layer(
        LowRank, seed, rank=2
    ),
    "ibpcl.models.correlated.LowRank.kl_correlations_vjp": lambda seed=0: check_correlations(
        LowRank, seed, rank=2
    ),
    "ibpcl.models.correlated.FullCovariance.forward_vjp": lambda seed=0: check_layer(
        FullCovariance, seed
    ),
    "ibpcl.models.correlated.FullCovariance.kl_correlations_vjp": lambda seed=0: check_correlations(
        FullCovariance, seed
    ),
    "ibpcl.models.scaled.Scaled.kl_sticks_vjp": lambda seed=0: check_scales(
        lambda parameters, layer: layer.kl_sticks(parameters, 0.3, NUMPY),
        scaled.Scaled("layer", 5, 3).kl_sticks_vjp,
        seed,
    ),
    "ibpcl.models.scaled.sample_vjp": check_drawn_scales,
    "ibpcl.models.scaled.kl_vjp": lambda seed=0: check_scales(
        lambda parameters, layer: scaled.kl(parameters, posterior_scales(seed + 1)),
        scaled.kl_vjp,
        seed,
    ),
    "ibpcl.models.network.Network.forward_vjp": check_network,
    "ibpcl.models.likelihoods.Likelihood.log_density_vjp": lambda seed=0: check_likelihood(
        likelihoods.Bernoulli(), seed
    ),
    "ibpcl.models.likelihoods.Softmax.log_density_vjp": lambda seed=0: check_likelihood(
        likelihoods.Softmax(seen=(0, 2)), seed
    ),
    "ibpcl.methods.pruning.absolute_vjp": check_absolute,
    "ibpcl.exact.tiny.outputs_vjp": lambda seed=0: check_tiny(
        lambda network, w, x, y: tiny.outputs(network, w, x), tiny.outputs_vjp, seed
    ),
    "ibpcl.exact.tiny.log_density_vjp": lambda seed=0: check_tiny(
        tiny.log_density, tiny.log_density_vjp, seed
    ),
    "ibpcl.exact.tiny.log_joint_vjp": lambda seed=0: check_tiny(
        lambda network, w, x, y: tiny.log_joint(network, w, [(x, y)]), tiny.log_joint_vjp, seed
    ),
    "ibpcl.models.likelihoods.Gaussian.log_density_vjp": lambda seed=0: check_likelihood(
        likelihoods.Gaussian(0.3, True), seed
    ),
    "ibpcl.models.elbo.elbo_vjp": check_elbo,
    "ibpcl.models.plain.PlainNetwork.log_likelihood_vjp": check_plain_network,
    "ibpcl.models.controller.Controller.log_probabilities_vjp": check_policy,
    "ibpcl.models.controller.Controller.loss_vjp": check_reinforce,
    "ibpcl.models.gated.gates_vjp": check_gates,
    "ibpcl.models.gated.Gated.forward_vjp": lambda seed=0: check_layer(Gated, seed),
    "ibpcl.evaluation.linear_probe.objective_vjp": check_linear_probe,
}

# Further cases of stages, by the name of the check.
STAGES = {
    "layers.Drawn.forward": lambda seed=0: check_layer(Drawn, seed),
    "correlated.LowRank.forward.weights": lambda seed=0: check_layer(
        LowRank, seed, rank=2, local=False
    ),
    "scaled.Scaled.forward.weights": lambda seed=0: check_layer(scaled.Scaled, seed, local=False),
    "layers.Drawn.forward.masked": lambda seed=0: check_layer(Drawn, seed, mask=0.6),
    **{
        f"convolution.Convolution.forward.{masks}": lambda seed=0, masks=masks: check_stage(
            of_kind(Masked, "layer", (3, 2, 2), 2, (2, 1), 2, 1, "tanh", masks),
            seed,
            relaxed=True,
        )
        for masks in SHARING
    },
    "convolution.Convolution.forward.pooled": lambda seed=0: check_stage(
        of_kind(Masked, "layer", (4, 3, 2), 2, (2, 2), 1, 1, "tanh", window=2, local=True),
        seed,
        mask=0.6,
    ),
    "convolution.Convolution.forward.given": lambda seed=0: check_stage(
        of_kind(Masked, "layer", (3, 2, 2), 2, (2, 1), 1, 1, "tanh", local=False),
        seed,
        mask=0.6,
    ),
    "depth.Blocks.forward.given": lambda seed=0: check_stage(blocks(Gaussian), seed, mask=0.6),
}

# Every way in which the ELBO can be set up, beyond those of the activations and of the masks'
# divergence.
VARIANTS = {
    "log link": {"link": "log"},
    "plain mean field": {"structured": False},
    "sticks of each row": {"row_sticks": True},
    "sticks of each row, their alpha learned": {"row_sticks": True, "learns_alpha": True},
    "learned alpha": {"learns_alpha": True},
    "no prior on half": {"partial": True},
    "flat prior on half": {"flat": True},
    "regression": {"kind": "regressor"},
    "probit": {"kind": "probit"},
    "logistic": {"kind": "logistic"},
    "all at once": {
        "kind": "regressor",
        "link": "log",
        "structured": False,
        "learns_alpha": True,
        "flat": True,
    },
}

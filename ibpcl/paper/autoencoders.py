r"""Checks of the autoencoder: its gradients, and its ELBO against plain loops.

Kumar et al. (2021), Sec. 3.3 (Eq. 10) and supplement G.
"""

from functools import cache

import numpy as np

from ibpcl.continual.task import Task
from ibpcl.methods.npbcl_images import ImageNPBCL, ImageSettings
from ibpcl.models import elbo as bounds
from ibpcl.models import starts
from ibpcl.models.class_codes import Enumerated, with_classes
from ibpcl.models.elbo import Elbo, Prior
from ibpcl.models.layers import Gaussian, Pass
from ibpcl.models.likelihoods import Bernoulli, of_pixels
from ibpcl.models.masked import MaskModel
from ibpcl.models.network import autoencoder
from ibpcl.models.point_autoencoder import PointAutoencoder
from ibpcl.noise import Key
from ibpcl.paper.checks import Outcome, agrees, verifies
from ibpcl.paper.definitions import gaussian_layer, masked_layer, sticks_divergence
from ibpcl.paper.networks import NUMPY, SMALL, check_forward, whole
from ibpcl.primitives import gaussian, latent
from ibpcl.verify import check_pair

# Each of the three kinds of layers, plain ones before the codes and behind them.
MIXED = ("plain", "masked", "plain", "masked", "plain", "gaussian", "gaussian")


def network(seed=0, kinds=None, likelihood="bernoulli", sizes=(6, 5, 4), classes=0, **options):
    """Build an autoencoder with two hidden layers per side, and a generic parameter vector.

    Parameters
    ----------
    seed : int
        Determines the random inputs.
    kinds : sequence of {"masked", "gaussian", "plain"}, optional
        The kind of each layer.
    likelihood : str
        Name of the pixels' likelihood.
    sizes : tuple of int
        Numbers of pixels and of units of the two hidden layers.
    classes : int
        Number of classes of an image; 0 for an autoencoder without classes.
    **options
        Other arguments of the autoencoder.

    Returns
    -------
    model, vector, prior, x, masks
        The autoencoder, a vector of all parameters, a prior of the weights and of the sticks, seven
        images, and a Boolean mask for each masked layer.
    """
    rng = np.random.default_rng(seed)
    model = autoencoder(sizes[0], sizes[1:], 3, of_pixels(likelihood, 0.1), kinds, **options)
    if classes:
        model = with_classes(model, Gaussian, classes)
    alpha = rng.uniform(2, 5, len(model.masked))
    vector = model.initial(starts.he(rng, 0.7, starts.QUIET), 0.3, alpha, np.float64)
    vector += rng.normal(scale=0.3, size=vector.size)
    count = len(vector[model.layout.block("mu")]) if "mu" in model.layout.blocks else 0
    sticks = dict(zip(model.masked, alpha, strict=True))
    # shape and rate of the Gamma prior of a learned alpha
    for name, layer in model.masked.items():
        if layer.model.learns_alpha:
            sticks[name] = (2.0, 2.0 / sticks[name])
    prior = Prior(rng.normal(size=count), rng.normal(scale=0.3, size=count), sticks)
    masks = {name: rng.random(layer.shape) < 0.6 for name, layer in model.masked.items()}
    return model, vector, prior, rng.random((7, sizes[0])), masks


def check_elbo(seed=0, relaxed=True, samples=2, **options):
    """Check the gradient of the ELBO, part by part, for every parameter at once, at fixed noise.

    Parameters
    ----------
    seed : int
        Determines the random inputs.
    relaxed : bool
        Whether masks are relaxed samples; else they are given.
    samples : int
        Number of Monte-Carlo samples.
    **options
        Arguments of :func:`network`.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    model, vector, prior, x, masks = network(seed, sizes=SMALL, **options)
    targets = with_labels(x, options["classes"], seed) if options.get("classes") else x
    noise = model.noise(Key(seed, 0, 0, 0), samples, len(x), NUMPY, np.float64, relaxed)
    given = (None, 0.7) if relaxed else (masks, None)
    return whole(
        lambda vector: bounds.elbo(model, vector, prior, x, targets, noise, 70, NUMPY, *given),
        bounds.elbo_vjp,
        vector,
        seed,
    )


def with_labels(x, classes, seed=0):
    """Return the targets of images, of which about half have a label.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        Images.
    classes : int
        Number of classes.
    seed : int
        Determines the labels.

    Returns
    -------
    targets : ndarray, shape (N, 2 + D)
        Label or -1, weight of its log probability, pixels.
    """
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(len(x)) < 0.5, rng.integers(0, classes, len(x)), -1)
    return np.column_stack([labels, rng.uniform(0.5, 2, len(x)), x])


def check_classes(seed=0):
    """Check the gradient of outputs and divergences through the codes of all classes.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    model, vector, _, x, _ = network(seed, kinds=MIXED, learns_prior=True, classes=3)
    noise = model.noise(Key(seed, 0, 0, 0), 2, len(x), NUMPY, np.float64)
    options = Pass(NUMPY, None, 0.7, 10.0, targets=with_labels(x, 3, seed))
    return check_forward(model, vector, x, noise, options, seed)


def check_enumerated(seed=0):
    """Check the likelihood of the pixels of all classes at its outputs.

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
    likelihood = Enumerated(of_pixels("bernoulli", 0.1), 2)
    targets = with_labels(rng.random((3, 4)), 2, seed)
    return check_pair(
        lambda outputs: likelihood.log_density({}, outputs, targets, NUMPY),
        lambda dlog_p, cache: likelihood.log_density_vjp(dlog_p, cache)[0],
        {"outputs": rng.normal(size=(2, 6, 6))},
        seed=seed,
    )


def check_codes(seed=0):
    """Check the gradient of outputs and divergences through the codes, before any likelihood.

    Parameters
    ----------
    seed : int
        Determines the random inputs.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    model, vector, _, x, _ = network(seed, kinds=MIXED, learns_prior=True)
    noise = model.noise(Key(seed, 0, 0, 0), 2, len(x), NUMPY, np.float64)
    return check_forward(model, vector, x, noise, Pass(NUMPY, None, 0.7, 10.0), seed)


@verifies("definitions", "autoencoder.elbo")
def elbo_by_loops(seed):
    """Eq. 10 and supplement G: the ELBO and its parts, by plain loops from the formulas of the
    paper.
    """
    model, vector, prior, x, _ = network(seed, learns_prior=True)
    noise = model.noise(Key(seed, 0, 0, 0), 2, len(x), NUMPY, np.float64)
    tau = 0.7
    examples = 70
    parts = dict.fromkeys(("log_likelihood", "kl_latent", "kl_masks"), 0.0)
    layers = model.layout.layers(vector)
    views = model.layout.views(vector)
    parts["kl_sticks"] = sum(
        sticks_divergence(layers[name], alpha) for name, alpha in prior.sticks.items()
    )
    for s in range(2):
        of = {name: masked_layer(layers[name], noise[name], s, tau) for name in model.masked}
        parts["kl_masks"] += sum(divergence for _, _, divergence in of.values()) / 2

        def linear(name, h, of=of):
            return h @ of[name][0] + of[name][1]

        for n in range(len(x)):
            h = np.maximum(linear("encoder1", np.maximum(linear("encoder0", x[n]), 0)), 0)
            mean = linear("mean", h) + views["codes.mu"]
            log_sigma = linear("scale", h) + views["codes.log_sigma"]
            parts["kl_latent"] += (
                examples
                / len(x)
                / 2
                * gaussian.kl(mean, log_sigma, views["prior.mu"], views["prior.log_sigma"])[0]
            )
            h = mean + np.exp(log_sigma) * noise["codes"]["eps"][s, n]
            h = np.maximum(linear("decoder1", np.maximum(linear("decoder0", h), 0)), 0)
            on = 1 / (
                1 + np.exp(-gaussian_layer(layers["pixels"], h, noise["pixels"]["eps"][s, n]))
            )
            parts["log_likelihood"] += (
                examples / len(x) / 2 * (x[n] * np.log(on) + (1 - x[n]) * np.log(1 - on)).sum()
            )
    block = model.layout.block
    parts["kl_weights"] = gaussian.kl(
        vector[block("mu")], vector[block("log_sigma")], prior.mu, prior.log_sigma
    )[0]
    exact = Elbo(**parts)
    got = bounds.elbo(model, vector, prior, x, x, noise, examples, NUMPY, None, tau)[0]
    return agrees(f"ELBO {got.total:.6g}, parts by loops", [*got, got.total], [*exact, exact.total])


@verifies("definitions", "autoencoder.latent-divergence")
def latent_divergence(seed):
    """Supplement G: each example's divergence of codes is that of diagonal Gaussians, summed over
    codes.
    """
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(2, 3, 4, 5))
    p = rng.normal(size=(2, 5))
    exact = [[gaussian.kl(q[0, s, n], q[1, s, n], *p)[0] for n in range(4)] for s in range(3)]
    return agrees("example by example", latent.kl(*q, *p)[0], exact)


@verifies("definitions", "autoencoder.bound")
def bound(seed):
    """Check that Eq. 10 with all weights known is a bound, by integrating over z.

    The gap is log p(x) - ELBO = KL[q(z|x) || p(z|x)] >= 0.
    """
    rng = np.random.default_rng(seed)
    model = autoencoder(4, (3,), 1, Bernoulli(), ("plain",) * 5, "tanh")
    vector = rng.normal(scale=0.5, size=model.layout.size)
    x = rng.random((3, 4))
    point = PointAutoencoder(model, vector)
    mean, log_sigma = point.encode(x)
    wide = max(20.0, 12 * np.exp(log_sigma).max())  # q may be wider than the prior
    step = wide / 4000
    z = np.linspace(-wide, wide, 8001)[:, None, None] * np.ones((1, 3, 1))
    log_joint = point.log_likelihood(x, z) + gaussian.log_density(z, 0.0, 0.0)[0][..., 0]
    log_q = gaussian.log_density(z, mean, log_sigma)[0][..., 0]
    log_p = np.log(np.trapezoid(np.exp(log_joint), dx=step, axis=0))
    gap = np.trapezoid(np.exp(log_q) * (log_q - log_joint + log_p), dx=step, axis=0)
    expected = np.trapezoid(np.exp(log_q) * point.log_likelihood(x, z), dx=step, axis=0)
    elbo = expected - latent.kl(mean[None], log_sigma[None], np.zeros(1), np.zeros(1))[0][0]
    outcome = agrees("log p(x) - ELBO = KL", log_p - elbo, gap, 1e-8)
    return Outcome(outcome.ok and bool((gap >= 0).all()), outcome.words, outcome.numbers)


@cache
def learned(seed):
    """Return a learner that has learned two tiny tasks; computed once for each seed."""
    settings = ImageSettings(
        hidden=(6, 5),
        latent=3,
        activation="relu",
        epochs=1,
        finetune_epochs=1,
        batch=24,
        alpha=4.0,
        latent_alpha=3.0,
    )
    learner = ImageNPBCL(settings, seed, "numpy")
    for t in range(2):
        x = np.random.default_rng((seed, t)).random((48, 8))
        learner.learn(Task(f"noise {t}", x_train=x, x_test=x[:4]), progress=False)
    return learner


@verifies("definitions", "autoencoder.masked-networks")
def masked_networks(seed):
    """Sec. 3.3 and supplement G: encoder and decoder of a task, by loops over the layers with its
    masks' weights.
    """
    learner = learned(seed % 2**31)
    x = np.random.default_rng(seed).random((5, 8))
    differ = 0.0
    for t in range(2):
        names = ("encoder0", "encoder1", "mean", "scale", "decoder0", "decoder1")
        masks = dict(zip(names, learner.masks(t), strict=True))
        point = learner.latent_model(t)

        def layer(name, h, masks=masks):
            values = learner.posterior[name]
            return h @ (values["weight.mu"] * masks[name]) + values["bias.mu"] * masks[name].any(
                axis=0
            )

        h = np.maximum(layer("encoder1", np.maximum(layer("encoder0", x), 0)), 0)
        network, vector, _ = learner.assemble(t)
        own = network.layout.views(vector)
        mean = layer("mean", h) + own["codes.mu"]
        log_sigma = layer("scale", h) + own["codes.log_sigma"]
        h = np.maximum(layer("decoder1", np.maximum(layer("decoder0", mean), 0)), 0)
        used = masks["decoder1"].any(axis=0)
        logits = h[:, used] @ own["pixels.weight.mu"][used] + own["pixels.bias.mu"]
        for got, exact in zip(
            (*point.encode(x), point.outputs(mean)), (mean, log_sigma, logits), strict=True
        ):
            differ = max(differ, float(np.abs(got - exact).max()))
    return Outcome(differ < 1e-5, f"codes and pixels of 2 tasks to {differ:.0e}", {"gap": differ})


@verifies("definitions", "autoencoder.alphas")
def alphas(seed):
    """Supplement B.2: alpha starts at 40, and at 20 in the layers of the codes; it never falls."""
    first = ImageNPBCL(ImageSettings.preset("paper"), seed, "numpy").alpha
    learner = learned(seed % 2**31)
    risen = bool((learner.alpha >= learner.settings.alphas).all())
    return Outcome(
        first.tolist() == [40, 40, 20, 20, 40, 40] and risen, f"{first.astype(int).tolist()}", {}
    )


# Every gradient that is not a documented pair, by its qualified name.
CHECKS = {
    "ibpcl.models.codes.Codes.forward_vjp": check_codes,
    "ibpcl.models.class_codes.ClassCodes.forward_vjp": check_classes,
    "ibpcl.models.class_codes.SemiSupervised.forward_vjp": check_classes,
    "ibpcl.models.class_codes.Enumerated.log_density_vjp": check_enumerated,
}

# Every way in which the ELBO can be set up.
VARIANTS = {
    "fixed-masks": {"relaxed": False},
    "learned-prior": {"learns_prior": True},
    "classes": {"classes": 3},
    "classes-fixed-masks": {"classes": 2, "relaxed": False, "learns_prior": True},
    "learned-alpha": {"model": MaskModel(learns_alpha=True)},
    "gaussian": {"likelihood": "gaussian"},
    "plain": {"kinds": ("plain",) * 7},
    "mixed": {"kinds": MIXED, "activation": "tanh"},
    "mixed-fixed": {"kinds": MIXED, "relaxed": False, "activation": "softplus"},
}

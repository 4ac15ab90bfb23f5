"""The settings of NPBCL, each with one sentence and its place in the paper, and the presets that
have a name.

``Settings`` and ``PRESETS`` are for tasks with labels, ``ImageSettings`` and ``IMAGE_PRESETS`` for
images without.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.coresets import SELECTIONS
from ibpcl.methods import Training
from ibpcl.methods.settings_docs import documented
from ibpcl.models.layers import ACTIVATIONS
from ibpcl.models.likelihoods import OF_CLASSES, OF_PIXELS
from ibpcl.models.masked import MASK_KLS, MASK_LINKS, MaskModel
from ibpcl.options import OrOwn, option

# Where this implementation started from: the paper's temperatures and concentration, its link, and
# guesses for what it does not print.
FIRST = {
    "tau_start": 10.0,
    "tau_end": 0.25,
    "alpha": 30.0,
    "mask_link": "logit",
    "prior_sigma": 0.1**0.5,
    "start_sigma": 0.05,
    "start_spread": 0.01,
}
# Settings with a name; each says what it changes in the defaults.
PRESETS = {
    "default": {},
    # Every setting as printed, where one is printed; of what is not printed, the batch is the
    # default, and sigma_0 and where the weights start are those of the released code or near it.
    "paper": {
        **FIRST,
        "samples": 10,
        "likelihood_epochs": 5,
        "epochs": 5,
        "finetune_epochs": 5,
        "weight_rate": 0.001,
        "mask_rate": 0.01,
        "finetune_rate": 0.0001,
        "finetune_average": 0.0,
        "rate_end": 1.0,
        "unused_prior": "gaussian",
        "alpha_rule": "max",
        "mask_kl": "bernoulli",
        "mask_kl_weight": 1.0,
        "reset_unused": False,
    },
    # The released settings on our sampling.  It departs from their code: sticks are shared by all
    # inputs and independent; both concrete temperatures are equal; a bias's divergence counts once;
    # weights of the first task have no prior either.
    "authors": {
        "samples": 10,
        "epochs": 5,
        "finetune_epochs": 4,
        "weight_rate": 0.01,
        "mask_rate": 0.1,
        "finetune_rate": 0.001,
        "finetune_average": 0.0,
        "rate_end": 1.0,
        "prior_sigma": 0.1**0.5,
        "tau_start": 10.0,
        "tau_end": 0.3,
        "start_sigma": float(np.exp(-3.0)),
        "start_spread": 0.01,
        "alpha": 30.0,
        "alpha_rule": "max",
        "mask_kl": "concrete",
        "mask_link": "log",
        "mask_kl_weight": 1 / 784,
        "unused_prior": "none",
        "reset_unused": False,
    },
    # Every divergence at weight one, and the paper's link.  No bound: the likelihood has relaxed
    # masks, and the masks' divergence is that of binary ones; with mask_kl = "concrete" both are of
    # the relaxed model.
    "unweighted": {
        **FIRST,
        "epochs": 20,
        "finetune_epochs": 10,
        "weight_rate": 0.01,
        "mask_rate": 0.1,
        "finetune_rate": 0.001,
        "finetune_average": 0.0,
        "mask_kl_weight": 1.0,
        "unused_prior": "gaussian",
        "prior_sigma": 3.0,
        "rate_end": 0.1,
    },
}
# The same for images.
IMAGE_PRESETS = {
    "default": {},
    # Every setting as printed, where one is printed; what is not printed is the default.
    "paper": {
        "samples": 10,
        "weight_rate": 0.001,
        "mask_rate": 0.01,
        "finetune_rate": 0.0001,
        "rate_end": 1.0,
        "alpha": 40.0,
        "latent_alpha": 20.0,
        "latent_prior": "learned",
        "first_columns": "sticks",
        "hold_used": False,
        "warm_up": 0.0,
        "weight_kl_weight": 1.0,
        "mask_kl_weight": 1.0,
    },
    # The released settings on our sampling.  Their divergence of the codes is summed over the
    # minibatch and divided by all examples, so it counts as 128 of some 6,000.  It departs from
    # their code: rho starts at 0 (theirs at logit(0.05), so that far fewer masks start open); the
    # masks' divergence is Bernoulli's and has the first layer's weight, 1 / 784, in all layers
    # (theirs one over the rows of each: 1 / 100 in the decoder's first); Adam is the plain one
    # (theirs AMSGrad with epsilon 1e-3); sticks are shared by all rows; the codes' scales are a
    # layer apart.
    "authors": {
        "epochs": 50,
        "finetune_epochs": 49,
        "weight_rate": 0.01,
        "mask_rate": 0.1,
        "finetune_rate": 0.001,
        "rate_end": 1.0,
        "tau_end": 0.3,
        "alpha": 40.0,
        "latent_alpha": 20.0,
        "prior_sigma": 0.1**0.5,
        "start_sigma": float(np.exp(-3.0)),
        "output": "shared",
        "first_columns": "sticks",
        "hold_used": False,
        "beta": 128 / 6000,
        "warm_up": 0.0,
        "weight_kl_weight": 1.0,
        "mask_kl_weight": 1 / 784,
    },
    # Every divergence at weight one, and Eq. 11 for used weights.
    "unweighted": {"hold_used": False, "weight_kl_weight": 1.0, "mask_kl_weight": 1.0},
}


@documented
@dataclass(frozen=True, init=False)
class MaskedSettings(Training):
    """The settings of NPBCL with labels and without; each has one sentence and its place in the
    paper.
    """

    hidden: tuple[int, ...] = option(
        (200,), "Units of each hidden layer: the truncation level K (Sec. 3.1)."
    )
    activation: str = option(
        "relu", "Activation of hidden units (Sec. 6.1: ReLU).", choices=ACTIVATIONS
    )
    samples: int = option(
        4, "Monte-Carlo samples S of a training step (supplement D: 10).", at_least=1, at_most=1000
    )
    epochs: int = option(10, "Epochs of masked training per task (supplement B.1: 5).")
    finetune_epochs: int = option(
        40, "Epochs of selective fine-tuning (Sec. 4.5; supplement B.1: 5).", at_least=0
    )
    batch: int = option(256, "Examples in a minibatch (not in the paper).")
    weight_rate: float = option(
        0.0038, "Adam's rate of weights in masked training (supp. B.1: 0.001).", at_least=0
    )
    mask_rate: float = option(
        0.25, "Adam's rate of rho, the sticks and alpha (supplement B.1: 0.01).", at_least=0
    )
    finetune_rate: float = option(
        0.0037, "Adam's rate in fine-tuning (supplement B.1: 0.0001).", at_least=0
    )
    rate_end: float = option(
        1.0, "Factor of all rates at the last step of a phase (not in the paper).", above=0
    )
    tau_start: float = option(
        2.0, "Temperature of the masks at the first step (supplement B.1: 10).", above=0
    )
    tau_end: float = option(
        0.5, "Temperature of the masks at the last step (supplement B.1: 0.25).", above=0
    )
    alpha: float = option(
        69.0, "Concentration of the IBP for the first task (supplement B.1: 30).", above=0
    )
    prior_sigma: float = option(
        0.8, "Standard deviation of the initial prior p0 of a weight (Sec. 3.1).", above=0
    )
    start_sigma: float = option(
        0.13, "Standard deviation that an unused weight starts a task with.", above=0
    )
    mask_kl: str = option(
        "bernoulli", "Divergence of the masks (Eq. 7; supplement D.3: concrete).", choices=MASK_KLS
    )
    mask_link: str = option(
        "log",
        "Log-odds of the masks' prior (Sec. 3.2: logit; released code: log).",
        choices=MASK_LINKS,
    )
    structured: bool = option(
        True, "Masks know the sticks, theta = sigma(rho + logit pi); else sigma(rho) (Sec. 3.2)."
    )
    weight_kl_weight: float = option(
        1.0, "Weight of the weights' divergence; the ELBO's is 1 (Eq. 8).", at_least=0
    )
    mask_kl_weight: float = option(
        0.0021, "Weight of the masks' divergence; the ELBO's is 1 (Eq. 8).", at_least=0
    )
    stick_kl_weight: float = option(
        1.0, "Weight of the sticks' divergence; the ELBO's is 1 (Eq. 8).", at_least=0
    )


@documented
@dataclass(frozen=True, init=False)
class Settings(MaskedSettings):
    """The settings of NPBCL for labels, besides those of :class:`MaskedSettings`."""

    method = "npbcl"
    presets = PRESETS

    likelihood: str = option(
        "softmax", "Likelihood; logistic and probit: two classes (Sec. 3).", choices=OF_CLASSES
    )
    single_head: bool = option(False, "One head for all tasks instead of one per task (Sec. 4.2).")
    prediction_samples: int = option(
        100, "Monte-Carlo samples of a prediction (supplement D: 100).", at_least=1, at_most=100_000
    )
    likelihood_epochs: int = option(
        0, "Maximum-likelihood epochs before the first task (supp. B.1).", at_least=0
    )
    max_steps: int = option(
        3600,
        "Most steps per task, roughly: large tasks get fewer epochs (not in the paper).",
        at_least=1,
    )
    finetune_average: float = option(
        0.8,
        "Share of fine-tuning's last steps that are averaged (not in the paper).",
        at_least=0,
        at_most=1,
    )
    alpha_rule: str = option(
        "max",
        "Alpha of later tasks; max: of alpha and a (supplement E).",
        choices=("fixed", "max", "increment", "learned"),
    )
    alpha_increment: float = option(
        0.0, "Growth of alpha per task under the rule increment (supp. E.1).", at_least=0
    )
    alpha_prior_shape: float = option(
        2.0, "Shape of a learned alpha's Gamma prior of mean alpha (supp. E.2).", above=0
    )
    masked_prior: bool = option(
        True, "Prior p0 for weights that no task uses yet; else the last posterior (Eq. 11)."
    )
    reset_unused: bool = option(
        True, "Set what a mask drops to its prior, the ELBO's maximum (not in the paper)."
    )
    unused_prior: str = option(
        "none",
        "p0 of weights not used yet (Sec. 4.1: flat); none has no divergence; "
        "package.module:Prior is your own (docs/own-prior.md).",
        choices=OrOwn(("gaussian", "flat", "none")),
    )
    start_spread: float = option(
        0.052, "Standard deviation of the random means of unused weights.", above=0
    )
    start_rho: float = option(
        0.0, "Rho of all masks as a task starts; at 0 they follow the sticks alone."
    )
    row_sticks: bool = option(
        False, "Sticks, an IBP, for each input of a layer; else all share them (Sec. 3.1)."
    )
    shared_mask: bool = option(
        False, "All tasks use the first task's mask (Sec. 6.3: an ablation)."
    )
    coreset: str = option(
        "none", "How a task's coreset is chosen (Sec. 4.3).", choices=("none", *SELECTIONS)
    )
    coreset_size: int = option(
        50, "Examples kept of a task, taken out of its training data (supp. B.1: 50).", at_least=1
    )
    coreset_epochs: int = option(
        100, "Steps on a task's coreset before its predictions.", at_least=0
    )
    coreset_rate: float = option(0.001, "Adam's rate on a coreset.", at_least=0)
    expand: bool = option(False, "Grow the hidden layers so that some units stay empty (Sec. 4.6).")
    empty_units: int = option(
        10, "How many trailing units growth keeps empty (Sec. 4.6: T, not given).", at_least=1
    )
    expand_every: int = option(
        50, "Steps of masked training between two checks of the empty units (Sec. 4.6).", at_least=1
    )
    noise_sigma: float = option(
        0.1, "Standard deviation of a regression's noise, at first (Sec. 3.2).", above=0
    )
    learn_noise: bool = option(
        True, "Learn a regression's noise instead of keeping noise_sigma (Sec. 3.2)."
    )

    def epochs_for(self, examples):
        """Return the epochs of masked training and of fine-tuning for a task of so many examples,
        within ``max_steps``.

        >>> Settings().epochs_for(12_000), Settings().epochs_for(60_000)
        ((10, 40), (3, 12))
        """
        steps = -(-examples // self.batch) * (self.epochs + self.finetune_epochs)
        share = min(1.0, self.max_steps / max(1, steps))
        return tuple(
            max(1, round(share * epochs)) if epochs else 0
            for epochs in (self.epochs, self.finetune_epochs)
        )

    @property
    def mask_model(self):
        """How the masks are modelled."""
        return MaskModel(
            self.mask_kl,
            self.mask_link,
            self.structured,
            self.row_sticks,
            self.alpha_rule == "learned",
        )

    @property
    def mask_samples(self):
        """Samples of the sticks from which hard masks are cut."""
        return self.prediction_samples

    @property
    def alphas(self):
        """The first task's concentration of each masked layer."""
        return np.full(len(self.hidden), self.alpha)


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(MaskedSettings):
    """The settings of NPBCL for images; each has one sentence of documentation in its metadata, all
    are checked.
    """

    method = "vae_npbcl"
    presets = IMAGE_PRESETS

    hidden: tuple[int, ...] = option(
        (500, 500), "Units of the encoder's hidden layers; the decoder's are reversed."
    )
    activation: str = option("leaky_relu", "Activation of hidden units (as in the released code).")
    samples: int = option(1, "Monte-Carlo samples of a training step.")
    epochs: int = option(5, "Epochs of masked training per task (not in the paper).")
    finetune_epochs: int = option(45, "Epochs of selective fine-tuning per task (Sec. 4.5).")
    batch: int = option(128, "Images in a minibatch (not in the paper; the released code has 128).")
    weight_rate: float = 0.003
    mask_rate: float = option(0.1, "Adam's rate of rho and the sticks (supplement B.1: 0.01).")
    finetune_rate: float = 0.01
    rate_end: float = 0.1
    tau_start: float = option(
        10.0, "Temperature of the masks at the first step (supplement B.2: 10)."
    )
    tau_end: float = option(
        0.25, "Temperature of the masks at the last step (supplement B.2: 0.25)."
    )
    alpha: float = option(
        60.0, "Concentration of the IBP in hidden layers for the first task (supplement B.2: 40)."
    )
    prior_sigma: float = 1.0
    start_sigma: float = 0.02
    mask_link: str = "logit"
    weight_kl_weight: float = 0.001
    mask_kl_weight: float = 1 / 784
    latent: int = option(100, "Width of the codes z (supplement B.2: 100).", at_least=1)
    likelihood: str = option(
        "bernoulli", "Likelihood of the pixels (supplement G: bernoulli).", choices=OF_PIXELS
    )
    pixel_sigma: float = option(0.1, "Standard deviation of gaussian pixels.", above=0)
    output: str = option(
        "own",
        "The pixels' layer: each task's own (Fig. 2b) or shared (the released code).",
        choices=("own", "shared"),
    )
    latent_prior: str = option(
        "per_task",
        "The codes' prior; learned is one for all tasks (supplement G).",
        choices=("standard", "learned", "per_task"),
    )
    mask_samples: int = option(
        100, "Samples of the sticks from which hard masks are cut.", at_least=1, at_most=100_000
    )
    latent_alpha: float = option(
        60.0, "Alpha in the two layers of the codes (supplement B.2: 20).", above=0
    )
    alpha_rule: str = option(
        "max",
        "Alpha of later tasks; max: of alpha and a (supplement B.2).",
        choices=("fixed", "max"),
    )
    first_columns: str = option(
        "unused",
        "Columns where a task's masks start: the sticks' first ones, or unused ones.",
        choices=("sticks", "unused"),
    )
    hold_used: bool = option(
        True, "Hold weights that earlier tasks use; else their posterior is the prior (Eq. 11)."
    )
    start_spread: float = option(
        1.0, "Spread of the random means of unused weights, times sqrt(2 / D).", above=0
    )
    beta: float = option(
        1.0, "Weight of the codes' divergence; the ELBO's is 1 (Eq. 10).", at_least=0
    )
    warm_up: float = option(
        0.3, "Share of each phase in which that weight rises from 0 (not in the paper).", at_least=0
    )

    # What can be chosen for labels alone.
    masked_prior = reset_unused = True
    shared_mask = expand = False
    likelihood_epochs = finetune_average = 0
    unused_prior = "gaussian"
    coreset = "none"

    @property
    def mask_model(self):
        """How the masks are modelled."""
        return MaskModel(self.mask_kl, self.mask_link, self.structured)

    @property
    def alphas(self):
        """The first task's concentration of each masked layer, encoder first."""
        side = [self.alpha] * len(self.hidden)
        return np.array([*side, self.latent_alpha, self.latent_alpha, *side])

    def epochs_for(self, examples):
        """Return the epochs of masked training and of fine-tuning."""
        return self.epochs, self.finetune_epochs

"""The settings of NPBCL, each with one sentence and its place in the paper, and the presets that have a name."""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.coresets import SELECTIONS
from ibpcl.methods import Presets, check_settings, option
from ibpcl.models.layers import ACTIVATIONS
from ibpcl.models.likelihoods import OF_CLASSES
from ibpcl.models.masked import MASK_KLS, MASK_LINKS, MaskModel

CHOICES = {
    "activation": ACTIVATIONS, "likelihood": OF_CLASSES, "mask_kl": MASK_KLS, "mask_link": MASK_LINKS,
    "alpha_rule": ("fixed", "max", "increment", "learned"), "unused_prior": ("gaussian", "flat", "none"),
    "coreset": ("none", *SELECTIONS),
}
AT_LEAST_ONE = ("max_steps", "samples", "prediction_samples", "batch", "coreset_size", "expand_every", "empty_units")
AT_LEAST_ZERO = (
    "likelihood_epochs", "epochs", "finetune_epochs", "coreset_epochs", "weight_rate", "mask_rate", "finetune_rate",
    "finetune_average", "coreset_rate", "weight_kl_weight", "mask_kl_weight", "stick_kl_weight", "alpha_increment",
)
ABOVE_ZERO = ("rate_end", "tau_start", "tau_end", "alpha", "alpha_prior_shape", "prior_sigma", "start_sigma",
              "start_spread", "noise_sigma")


@dataclass(frozen=True)
class Settings(Presets):
    """The settings of NPBCL; each has one sentence of documentation in its metadata, and all are checked."""

    hidden: tuple[int, ...] = option((200,), "Units of each hidden layer: the truncation level K (Sec. 3.1).")
    activation: str = option("relu", "relu, leaky_relu, softplus or tanh (Sec. 6.1: ReLU).")
    likelihood: str = option("softmax", "Of classes: softmax, or logistic or probit of two (Sec. 3).")
    single_head: bool = option(False, "One head for all tasks instead of one a task (Sec. 4.2).")
    samples: int = option(4, "Monte-Carlo samples S of a training step (supplement D: 10).")
    prediction_samples: int = option(100, "Monte-Carlo samples of a prediction (supplement D: 100).")
    likelihood_epochs: int = option(0, "Maximum-likelihood epochs before the first task (supplement B.1).")
    epochs: int = option(10, "Epochs of masked training a task (supplement B.1: 5).")
    finetune_epochs: int = option(40, "Epochs of selective fine-tuning a task (Sec. 4.5; supplement B.1: 5).")
    max_steps: int = option(3600, "Steps a task at most, roughly: large tasks have fewer epochs (not in the paper).")
    batch: int = option(256, "Examples in a minibatch (not in the paper).")
    weight_rate: float = option(0.0038, "Adam's rate of means and scales in masked training (supplement B.1: 0.001).")
    mask_rate: float = option(0.25, "Adam's rate of rho, the sticks and alpha (supplement B.1: 0.01).")
    finetune_rate: float = option(0.0037, "Adam's rate in fine-tuning (supplement B.1: 0.0001).")
    finetune_average: float = option(0.8, "Share of fine-tuning's last steps that are averaged (not in the paper).")
    rate_end: float = option(1.0, "Factor of all learning rates at the last step of a phase (not in the paper).")
    tau_start: float = option(2.0, "Temperature of the masks at the first step (supplement B.1: 10).")
    tau_end: float = option(0.5, "Temperature of the masks at the last step (supplement B.1: 0.25).")
    alpha: float = option(69.0, "Concentration of the IBP for the first task (supplement B.1: 30).")
    alpha_rule: str = option("max", "fixed, max (of alpha and a), increment or learned (supplement E).")
    alpha_increment: float = option(0.0, "What alpha grows by a task under the rule increment (supplement E.1).")
    alpha_prior_shape: float = option(2.0, "Shape of a learned alpha's Gamma prior of mean alpha (supplement E.2).")
    prior_sigma: float = option(0.8, "Standard deviation of the initial prior, Gaussian p0 or head (Sec. 3.1).")
    masked_prior: bool = option(True, "Prior p0 for weights that no task uses yet; else the last posterior (Eq. 11).")
    reset_unused: bool = option(True, "Set what a mask drops to its prior, the ELBO's maximum (not in the paper).")
    unused_prior: str = option("none", "p0 of weights not used yet: gaussian, flat (Sec. 4.1) or none (no divergence).")
    start_sigma: float = option(0.13, "Standard deviation that an unused weight starts a task with.")
    start_spread: float = option(0.052, "Standard deviation of the random means that unused weights start with.")
    start_rho: float = option(0.0, "Rho of all masks as a task starts; at 0 they follow the sticks alone.")
    mask_kl: str = option("bernoulli", "Divergence of the masks: bernoulli (Eq. 7) or concrete (supplement D.3).")
    mask_link: str = option("log", "Log-odds of the masks' prior: logit (Sec. 3.2) or log, the authors' code's.")
    structured: bool = option(True, "Masks know the sticks, theta = sigma(rho + logit pi); else sigma(rho) (Sec. 3.2).")
    row_sticks: bool = option(False, "Sticks, an IBP, for each input of a layer; else all share them (Sec. 3.1).")
    shared_mask: bool = option(False, "All tasks use the first task's mask (Sec. 6.3: an ablation).")
    weight_kl_weight: float = option(1.0, "Weight of the weights' divergence; 1 leaves it as in the ELBO (Eq. 8).")
    mask_kl_weight: float = option(0.0021, "Weight of the masks' divergence; 1 leaves it as in the ELBO (Eq. 8).")
    stick_kl_weight: float = option(1.0, "Weight of the sticks' divergence; 1 leaves it as in the ELBO (Eq. 8).")
    coreset: str = option("none", "How a task's coreset is chosen: none, random or k_center (Sec. 4.3).")
    coreset_size: int = option(50, "Examples kept from each task, taken out of its training data (supplement B.1: 50).")
    coreset_epochs: int = option(100, "Steps on a task's coreset before its predictions.")
    coreset_rate: float = option(0.001, "Adam's rate on a coreset.")
    expand: bool = option(False, "Grow the hidden layers so that some units stay empty (Sec. 4.6).")
    empty_units: int = option(10, "How many trailing units growth keeps empty (Sec. 4.6: T, not given).")
    expand_every: int = option(50, "Steps of masked training between two looks at the empty units (Sec. 4.6).")
    noise_sigma: float = option(0.1, "Standard deviation of a regression's noise, where learning it starts (Sec. 3.2).")
    learn_noise: bool = option(True, "Learn a regression's noise instead of keeping noise_sigma (Sec. 3.2).")

    def __post_init__(self):
        at_least = dict.fromkeys(AT_LEAST_ONE, 1) | dict.fromkeys(AT_LEAST_ZERO, 0)
        check_settings("npbcl", self, CHOICES, at_least, ABOVE_ZERO)
        if self.finetune_average > 1:
            raise ValueError(f"npbcl: finetune_average must be in 0 .. 1, got {self.finetune_average}")

    def epochs_for(self, examples):
        """Return the epochs of masked training and of fine-tuning for a task of so many examples, within ``max_steps``.

        >>> Settings().epochs_for(12_000), Settings().epochs_for(60_000)
        ((10, 40), (3, 12))
        """
        steps = -(-examples // self.batch) * (self.epochs + self.finetune_epochs)
        share = min(1.0, self.max_steps / max(1, steps))
        return tuple(max(1, round(share * epochs)) if epochs else 0 for epochs in (self.epochs, self.finetune_epochs))

    @property
    def mask_model(self):
        """How the masks are modelled."""
        return MaskModel(self.mask_kl, self.mask_link, self.structured, self.row_sticks, self.alpha_rule == "learned")


# Where this implementation started from: the paper's temperatures and concentration, its link, and guesses for what it
# does not print.
FIRST = {
    "tau_start": 10.0, "tau_end": 0.25, "alpha": 30.0, "mask_link": "logit", "prior_sigma": 0.1**0.5,
    "start_sigma": 0.05, "start_spread": 0.01,
}
# Settings with a name; each says what it changes in the defaults.
PRESETS = {
    "default": {},
    # Every setting as printed, where one is printed; of what is not printed, the batch is the default, and sigma_0 and
    # where the weights start are those of the released code or near it.
    "paper": {
        **FIRST, "samples": 10, "likelihood_epochs": 5, "epochs": 5, "finetune_epochs": 5, "weight_rate": 0.001,
        "mask_rate": 0.01, "finetune_rate": 0.0001, "finetune_average": 0.0, "rate_end": 1.0,
        "unused_prior": "gaussian", "alpha_rule": "max", "mask_kl": "bernoulli", "mask_kl_weight": 1.0,
        "reset_unused": False,
    },
    # The released settings on our sampling.  It departs from their code: sticks are shared by all inputs and
    # independent; both concrete temperatures are equal; a bias's divergence counts once; weights of the first task have
    # no prior either.
    "authors": {
        "samples": 10, "epochs": 5, "finetune_epochs": 4, "weight_rate": 0.01, "mask_rate": 0.1,
        "finetune_rate": 0.001, "finetune_average": 0.0, "rate_end": 1.0, "prior_sigma": 0.1**0.5,
        "tau_start": 10.0, "tau_end": 0.3, "start_sigma": float(np.exp(-3.0)), "start_spread": 0.01,
        "alpha": 30.0, "alpha_rule": "max", "mask_kl": "concrete", "mask_link": "log", "mask_kl_weight": 1 / 784,
        "unused_prior": "none", "reset_unused": False,
    },
    # Every divergence at weight one, and the paper's link.  No bound: the likelihood has relaxed masks, and the masks'
    # divergence is that of binary ones; with mask_kl = "concrete" both are of the relaxed model.
    "unweighted": {
        **FIRST, "epochs": 20, "finetune_epochs": 10, "weight_rate": 0.01, "mask_rate": 0.1, "finetune_rate": 0.001,
        "finetune_average": 0.0, "mask_kl_weight": 1.0, "unused_prior": "gaussian", "prior_sigma": 3.0, "rate_end": 0.1,
    },
}

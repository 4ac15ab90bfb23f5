"""The settings of NPBCL for images without labels, each with one sentence and its place in the paper."""

from dataclasses import dataclass

import numpy as np

from ibpcl.methods import Presets, check_settings, option
from ibpcl.models.layers import ACTIVATIONS
from ibpcl.models.likelihoods import OF_PIXELS
from ibpcl.models.masked import MASK_KLS, MASK_LINKS, MaskModel

CHOICES = {
    "activation": ACTIVATIONS, "likelihood": OF_PIXELS, "mask_kl": MASK_KLS, "mask_link": MASK_LINKS,
    "output": ("own", "shared"), "first_columns": ("sticks", "unused"),
    "latent_prior": ("standard", "learned", "per_task"), "alpha_rule": ("fixed", "max"),
}
AT_LEAST_ONE = ("latent", "samples", "mask_samples", "batch")
AT_LEAST_ZERO = ("epochs", "finetune_epochs", "weight_rate", "mask_rate", "finetune_rate", "beta", "warm_up",
                 "weight_kl_weight", "mask_kl_weight", "stick_kl_weight")
ABOVE_ZERO = ("rate_end", "tau_start", "tau_end", "alpha", "latent_alpha", "prior_sigma", "start_sigma", "start_spread",
              "pixel_sigma")


@dataclass(frozen=True)
class Settings(Presets):
    """The settings of NPBCL for images; each has one sentence of documentation in its metadata, all are checked."""

    hidden: tuple[int, ...] = option((500, 500), "Units of the encoder's hidden layers; the decoder's are reversed.")
    latent: int = option(100, "Width of the codes z (supplement B.2: 100).")
    activation: str = option("leaky_relu", "relu, leaky_relu, softplus or tanh (as in the released code).")
    likelihood: str = option("bernoulli", "Of the pixels: bernoulli (supplement G) or gaussian.")
    pixel_sigma: float = option(0.1, "Standard deviation of gaussian pixels.")
    output: str = option("own", "The pixels' layer: each task's own (Fig. 2b) or shared (the released code).")
    latent_prior: str = option("per_task", "The codes' prior: standard, learned for all tasks, or per_task (supp. G).")
    samples: int = option(1, "Monte-Carlo samples of a training step.")
    mask_samples: int = option(100, "Samples of the sticks from which hard masks are cut.")
    epochs: int = option(5, "Epochs of masked training a task (not in the paper).")
    finetune_epochs: int = option(45, "Epochs of selective fine-tuning a task (Sec. 4.5).")
    batch: int = option(128, "Images in a minibatch (not in the paper; the released code has 128).")
    weight_rate: float = option(0.003, "Adam's rate of means and scales in masked training (supplement B.1: 0.001).")
    mask_rate: float = option(0.1, "Adam's rate of rho and the sticks (supplement B.1: 0.01).")
    finetune_rate: float = option(0.01, "Adam's rate in fine-tuning (supplement B.1: 0.0001).")
    rate_end: float = option(0.1, "Factor of all learning rates at the last step of a phase (not in the paper).")
    tau_start: float = option(10.0, "Temperature of the masks at the first step (supplement B.2: 10).")
    tau_end: float = option(0.25, "Temperature of the masks at the last step (supplement B.2: 0.25).")
    alpha: float = option(60.0, "Concentration of the IBP in hidden layers for the first task (supplement B.2: 40).")
    latent_alpha: float = option(60.0, "The same in the two layers of the codes (supplement B.2: 20).")
    alpha_rule: str = option("max", "fixed, or max (of alpha and a) for the next task (supplement B.2).")
    prior_sigma: float = option(1.0, "Standard deviation of the initial prior p0 of a weight (Sec. 3.1: sigma_0).")
    first_columns: str = option("unused", "Columns where a task's masks start: the sticks' first ones, or unused ones.")
    hold_used: bool = option(True, "Hold weights that earlier tasks use; else their posterior is the prior (Eq. 11).")
    start_sigma: float = option(0.02, "Standard deviation that an unused weight starts a task with.")
    start_spread: float = option(1.0, "Spread of the random means of unused weights, times sqrt(2 / D).")
    mask_kl: str = option("bernoulli", "Divergence of the masks: bernoulli (Eq. 7) or concrete (supplement D.3).")
    mask_link: str = option("logit", "Log-odds of the masks' prior: logit (Sec. 3.2) or log, the authors' code's.")
    structured: bool = option(True, "Masks know the sticks, theta = sigma(rho + logit pi); else sigma(rho) (Sec. 3.2).")
    beta: float = option(1.0, "Weight of the codes' divergence; 1 leaves it as in the ELBO (Eq. 10).")
    warm_up: float = option(0.3, "Share of each phase in which that weight rises from 0 (not in the paper).")
    weight_kl_weight: float = option(0.001, "Weight of the weights' divergence; 1 leaves it as in the ELBO (Eq. 10).")
    mask_kl_weight: float = option(1 / 784, "Weight of the masks' divergence; 1 leaves it as in the ELBO (Eq. 10).")
    stick_kl_weight: float = option(1.0, "Weight of the sticks' divergence; 1 leaves it as in the ELBO (Eq. 10).")

    def __post_init__(self):
        at_least = dict.fromkeys(AT_LEAST_ONE, 1) | dict.fromkeys(AT_LEAST_ZERO, 0)
        check_settings("vae_npbcl", self, CHOICES, at_least, ABOVE_ZERO)

    @property
    def mask_model(self):
        """How the masks are modelled."""
        return MaskModel(self.mask_kl, self.mask_link, self.structured)

    @property
    def alphas(self):
        """The first task's concentration of each masked layer, encoder first."""
        side = [self.alpha] * len(self.hidden)
        return np.array([*side, self.latent_alpha, self.latent_alpha, *side])

    @property
    def masked_rates(self):
        """Learning rate of each block of parameters in masked training."""
        return {"mu": self.weight_rate, "log_sigma": self.weight_rate, "prior": self.weight_rate,
                "codes": self.weight_rate,
                "rho": self.mask_rate, "sticks": self.mask_rate}

    @property
    def finetune_rates(self):
        """Learning rate of each block of parameters in fine-tuning."""
        return dict.fromkeys(("mu", "log_sigma", "codes", "prior"), self.finetune_rate)


# Settings with a name; each says what it changes in the defaults.
PRESETS = {
    "default": {},
    # Every setting as printed, where one is printed; what is not printed is the default.
    "paper": {
        "samples": 10, "weight_rate": 0.001, "mask_rate": 0.01, "finetune_rate": 0.0001, "rate_end": 1.0, "alpha": 40.0,
        "latent_alpha": 20.0, "latent_prior": "learned", "first_columns": "sticks", "hold_used": False, "warm_up": 0.0,
        "weight_kl_weight": 1.0, "mask_kl_weight": 1.0,
    },
    # The released settings on our sampling.  Their divergence of the codes is summed over the minibatch and divided by
    # all examples, so it counts as 128 of some 6,000.  It departs from their code: rho starts at 0 (theirs at
    # logit(0.05), so that far fewer masks start open); the masks' divergence is Bernoulli's and has the first layer's
    # weight, 1 / 784, in all layers (theirs one over the rows of each: 1 / 100 in the decoder's first); Adam is the
    # plain one (theirs AMSGrad with epsilon 1e-3); sticks are shared by all rows; the codes' scales are a layer apart.
    "authors": {
        "epochs": 50, "finetune_epochs": 49, "weight_rate": 0.01, "mask_rate": 0.1, "finetune_rate": 0.001,
        "rate_end": 1.0, "tau_end": 0.3, "alpha": 40.0, "latent_alpha": 20.0, "prior_sigma": 0.1**0.5,
        "start_sigma": float(np.exp(-3.0)), "output": "shared", "first_columns": "sticks", "hold_used": False,
        "beta": 128 / 6000, "warm_up": 0.0, "weight_kl_weight": 1.0, "mask_kl_weight": 1 / 784,
    },
    # Every divergence at weight one, and Eq. 11 for used weights.
    "unweighted": {"hold_used": False, "weight_kl_weight": 1.0, "mask_kl_weight": 1.0},
}

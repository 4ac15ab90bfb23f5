"""The settings of NPBCL for images without labels, each with one sentence and its place in the paper."""

from dataclasses import dataclass

import numpy as np

from ibpcl.methods import option
from ibpcl.methods.npbcl_settings import MaskedSettings
from ibpcl.models.likelihoods import OF_PIXELS
from ibpcl.models.masked import MaskModel


@dataclass(frozen=True)
class Settings(MaskedSettings):
    """The settings of NPBCL for images; each has one sentence of documentation in its metadata, all are checked."""

    hidden: tuple[int, ...] = option((500, 500), "Units of the encoder's hidden layers; the decoder's are reversed.")
    activation: str = option("leaky_relu", "Activation of hidden units (as in the released code).")
    samples: int = option(1, "Monte-Carlo samples of a training step.")
    epochs: int = option(5, "Epochs of masked training a task (not in the paper).")
    finetune_epochs: int = option(45, "Epochs of selective fine-tuning a task (Sec. 4.5).")
    batch: int = option(128, "Images in a minibatch (not in the paper; the released code has 128).")
    weight_rate: float = 0.003
    mask_rate: float = option(0.1, "Adam's rate of rho and the sticks (supplement B.1: 0.01).")
    finetune_rate: float = 0.01
    rate_end: float = 0.1
    tau_start: float = option(10.0, "Temperature of the masks at the first step (supplement B.2: 10).")
    tau_end: float = option(0.25, "Temperature of the masks at the last step (supplement B.2: 0.25).")
    alpha: float = option(60.0, "Concentration of the IBP in hidden layers for the first task (supplement B.2: 40).")
    prior_sigma: float = 1.0
    start_sigma: float = 0.02
    mask_link: str = "logit"
    weight_kl_weight: float = 0.001
    mask_kl_weight: float = 1 / 784
    latent: int = option(100, "Width of the codes z (supplement B.2: 100).", at_least=1)
    likelihood: str = option("bernoulli", "Of the pixels (supplement G: bernoulli).", choices=OF_PIXELS)
    pixel_sigma: float = option(0.1, "Standard deviation of gaussian pixels.", above=0)
    output: str = option("own", "The pixels' layer: each task's own (Fig. 2b) or shared (the released code).",
                         choices=("own", "shared"))
    latent_prior: str = option("per_task", "The codes' prior; learned is one for all tasks (supplement G).",
                               choices=("standard", "learned", "per_task"))
    mask_samples: int = option(100, "Samples of the sticks from which hard masks are cut.", at_least=1)
    latent_alpha: float = option(60.0, "Alpha in the two layers of the codes (supplement B.2: 20).", above=0)
    alpha_rule: str = option("max", "Alpha of later tasks; max: of alpha and a (supplement B.2).",
                             choices=("fixed", "max"))
    first_columns: str = option("unused", "Columns where a task's masks start: the sticks' first ones, or unused ones.",
                                choices=("sticks", "unused"))
    hold_used: bool = option(True, "Hold weights that earlier tasks use; else their posterior is the prior (Eq. 11).")
    start_spread: float = option(1.0, "Spread of the random means of unused weights, times sqrt(2 / D).", above=0)
    beta: float = option(1.0, "Weight of the codes' divergence; the ELBO's is 1 (Eq. 10).", at_least=0)
    warm_up: float = option(0.3, "Share of each phase in which that weight rises from 0 (not in the paper).",
                            at_least=0)

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

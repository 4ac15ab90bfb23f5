"""Settings of NPBCL, each with one sentence and its place in the paper, and the named presets.

``Settings`` and ``PRESETS`` are for tasks with labels, ``ImageSettings`` and ``IMAGE_PRESETS`` for
images without labels.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.coresets import FROM, SELECTIONS
from ibpcl.inference.binary_masks import ESTIMATORS
from ibpcl.methods import Training
from ibpcl.methods.settings_docs import documented
from ibpcl.models.architecture import line_option, parse
from ibpcl.models.layers import ACTIVATIONS
from ibpcl.models.likelihoods import OF_CLASSES, OF_PIXELS
from ibpcl.models.masked import MASK_KLS, MASK_LINKS, MaskModel
from ibpcl.options import OrOwn, option

# Rules for the concentration alpha of the next task, see npbcl.next_alpha.
ALPHA_RULES = ("fixed", "max", "increment", "learned")

# First settings of this implementation: temperatures, concentration and link of the paper, and
# guesses for values that the paper does not print.
FIRST = {
    "tau_start": 10.0,
    "tau_end": 0.25,
    "alpha": 30.0,
    "mask_link": "logit",
    "prior_sigma": 0.1**0.5,
    "start_sigma": 0.05,
    "start_spread": 0.01,
}
# Named settings; each entry lists its changes to the defaults.
PRESETS = {
    "default": {},
    # Every setting that the paper prints.  Of the others, the batch is the default; sigma_0 and the
    # initial weights are those of the released code, or close to them.
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
    # The settings of the released code with our way of sampling, which differs from that code:
    # sticks are independent and shared by all inputs; both concrete temperatures are equal; the KL
    # divergence of a bias counts once; weights of the first task have no prior either.
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
    # Every KL divergence at weight one, and the paper's link.  The objective is not a lower bound:
    # the likelihood uses relaxed masks, but the KL divergence is that of binary masks.  With
    # mask_kl = "concrete" both belong to the relaxed model.
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
# Named settings for images.
IMAGE_PRESETS = {
    "default": {},
    # Every setting that the paper prints; the others are the defaults.
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
        "reset_unused": False,
        "warm_up": 0.0,
        "weight_kl_weight": 1.0,
        "mask_kl_weight": 1.0,
    },
    # The settings of the released code with our way of sampling.  That code sums the KL divergence
    # of the codes over the minibatch and divides it by all examples, so its weight is 128 / 6000
    # approximately.  Differences from the released code: rho starts at 0 (there at logit(0.05), so
    # far fewer masks start open); the KL divergence of the masks is Bernoulli and has weight
    # 1 / 784, as in the first layer, in all layers (there 1 / rows of each layer, so 1 / 100 in the
    # decoder's first); Adam is the usual one (there AMSGrad with epsilon 1e-3); sticks are shared
    # by all rows; the scales of the codes have a separate layer.
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
        "reset_unused": False,
        "beta": 128 / 6000,
        "warm_up": 0.0,
        "weight_kl_weight": 1.0,
        "mask_kl_weight": 1 / 784,
    },
    # Every KL divergence at weight one, and Eq. 11 for used weights.
    "unweighted": {"hold_used": False, "weight_kl_weight": 1.0, "mask_kl_weight": 1.0},
}


@documented
@dataclass(frozen=True, init=False)
class MaskedSettings(Training):
    """Settings that NPBCL has for labels and for images."""

    hidden: tuple[int, ...] = option(
        (200,), "Units of each hidden layer: the truncation level K (Sec. 3.1)."
    )
    activation: str = option(
        "relu", "Activation of hidden units (Sec. 6.1: ReLU).", choices=ACTIVATIONS
    )
    samples: int = option(
        4, "Monte Carlo samples S per training step (supplement D: 10).", at_least=1, at_most=1000
    )
    epochs: int = option(10, "Epochs of masked training per task (supplement B.1: 5).")
    finetune_epochs: int = option(
        40, "Epochs of selective fine-tuning per task (Sec. 4.5; supplement B.1: 5).", at_least=0
    )
    batch: int = option(256, "Examples in a minibatch (not in the paper).")
    weight_rate: float = option(
        0.0038,
        "Learning rate of weights in masked training (supplement B.1: 0.001).",
        at_least=0,
    )
    mask_rate: float = option(
        0.25, "Learning rate of rho, the sticks and alpha (supplement B.1: 0.01).", at_least=0
    )
    finetune_rate: float = option(
        0.0037, "Learning rate in fine-tuning (supplement B.1: 0.0001).", at_least=0
    )
    rate_end: float = option(
        1.0,
        "Factor of all learning rates at the last step of a phase; they decay geometrically "
        "(not in the paper).",
        above=0,
    )
    tau_start: float = option(
        2.0, "Temperature of the relaxed masks at the first step (supplement B.1: 10).", above=0
    )
    tau_end: float = option(
        0.5, "Temperature of the relaxed masks at the last step (supplement B.1: 0.25).", above=0
    )
    alpha: float = option(
        69.0, "Concentration alpha of the IBP for the first task (supplement B.1: 30).", above=0
    )
    prior_sigma: float = option(
        0.8, "Standard deviation sigma_0 of the initial prior p0 of a weight (Sec. 3.1).", above=0
    )
    start_sigma: float = option(
        0.13, "Initial standard deviation of an unused weight in each task.", above=0
    )
    mask_kl: str = option(
        "bernoulli",
        "KL divergence of the masks (Eq. 7; supplement D.3: concrete).",
        choices=MASK_KLS,
    )
    mask_link: str = option(
        "log",
        "Log-odds of the mask prior as a function of pi (Sec. 3.2: logit; released code: log).",
        choices=MASK_LINKS,
    )
    mask_gradient: str = option(
        "concrete",
        "Gradient of the masks: concrete relaxes them (Sec. 4.4); the others draw binary masks, "
        "and all of these but straight_through are unbiased.",
        choices=ESTIMATORS,
    )
    rebar_eta: float = option(
        1.0,
        "Weight of the control variate of mask_gradient = rebar; 0 is the score function.",
        at_least=0,
    )
    structured: bool = option(
        True,
        "Mask posterior theta = sigma(rho + logit pi) depends on the sticks; else it is sigma(rho) "
        "(Sec. 3.2).",
    )
    weight_kl_weight: float = option(
        1.0, "Factor of the KL divergence of the weights; 1 in the ELBO (Eq. 8).", at_least=0
    )
    mask_kl_weight: float = option(
        0.0021, "Factor of the KL divergence of the masks; 1 in the ELBO (Eq. 8).", at_least=0
    )
    stick_kl_weight: float = option(
        1.0, "Factor of the KL divergence of the sticks; 1 in the ELBO (Eq. 8).", at_least=0
    )
    reset_unused: bool = option(
        True,
        "Reset weights that a mask drops to their prior, where the ELBO is largest (not in the "
        "paper).",
    )
    expand: bool = option(False, "Grow the hidden layers while they are trained (Sec. 4.6).")
    growth: str = option(
        "empty_columns",
        "Rule of growth (Sec. 4.6): empty_columns keeps empty_units trailing units empty (Eq. 12), "
        "greedy adds empty_units units at every look until the objective saturates.",
        choices=("empty_columns", "greedy"),
    )
    grow_by: str = option(
        "mean",
        "Mask whose empty columns are counted during training: mean is on where on is more likely "
        "than off, sampled is drawn from the posterior (Sec. 4.6).",
        choices=("mean", "sampled"),
    )
    empty_units: int = option(
        10,
        "Number T of trailing units that growth keeps empty (Sec. 4.6 gives no value).",
        at_least=1,
    )
    expand_every: int = option(
        50, "Steps of masked training between looks at the empty units (Sec. 4.6).", at_least=1
    )

    @property
    def widths(self):
        """Units of each hidden layer of the first network."""
        return self.hidden

    def __post_init__(self):
        super().__post_init__()
        plain_score = self.mask_gradient == "score" or (
            self.mask_gradient == "rebar" and self.rebar_eta == 0
        )
        if plain_score and self.samples < 2:
            raise ValueError(
                f"{self.method}: mask_gradient {self.mask_gradient!r} without a control variate "
                "needs samples of at least 2, because the baseline of a sample is the mean loss of "
                "the others, got samples 1"
            )


@documented
@dataclass(frozen=True, init=False)
class Settings(MaskedSettings):
    """Settings of NPBCL for classification and regression.

    The class attribute ``presets`` lists named settings; ``Settings.preset("paper")`` returns one.
    """

    method = "npbcl"
    presets = PRESETS

    likelihood: str = option(
        "softmax",
        "Likelihood of the labels; logistic and probit need two classes (Sec. 3).",
        choices=OF_CLASSES,
    )
    single_head: bool = option(False, "One head for all tasks instead of one per task (Sec. 4.2).")
    full_head: bool = option(
        False,
        "Full covariance of the weights of a head, which needs a head per task and a network that "
        "does not grow (not in the paper).",
    )
    prediction_samples: int = option(
        100, "Monte Carlo samples per prediction (supplement D: 100).", at_least=1, at_most=100_000
    )
    likelihood_epochs: int = option(
        0, "Maximum-likelihood epochs before the first task (supplement B.1).", at_least=0
    )
    max_steps: int = option(
        3600,
        "Approximate maximum of steps per task; large tasks get fewer epochs (not in the paper).",
        at_least=1,
    )
    finetune_average: float = option(
        0.8,
        "Share of the fine-tuning steps, the last ones, whose parameters are averaged (not in the "
        "paper).",
        at_least=0,
        at_most=1,
    )
    alpha_rule: str = option(
        "max",
        "Rule for alpha of the next task (supplement E): fixed keeps it, max takes the maximum of "
        "alpha and the stick parameters a, increment adds alpha_increment, learned infers it.",
        choices=ALPHA_RULES,
    )
    alpha_increment: float = option(
        0.0, "Increase of alpha per task under the rule increment (supplement E.1).", at_least=0
    )
    alpha_prior_shape: float = option(
        2.0,
        "Shape of the Gamma prior of a learned alpha; its mean is alpha (supplement E.2).",
        above=0,
    )
    masked_prior: bool = option(
        True,
        "Weights that no task uses yet have the prior p0; if false, they have the last posterior "
        "(Eq. 11).",
    )
    unused_prior: str = option(
        "none",
        "Prior p0 of weights that no task uses yet (Sec. 4.1: flat): gaussian is "
        "N(0, prior_sigma^2), none drops their KL divergence, package.module:Prior is a custom "
        "prior (docs/own-prior.md).",
        choices=OrOwn(("gaussian", "flat", "none")),
    )
    start_spread: float = option(
        0.052, "Standard deviation of the random initial means of unused weights.", above=0
    )
    start_rho: float = option(
        0.0, "Initial rho of all masks in each task; with 0 they follow the sticks alone."
    )
    row_sticks: bool = option(
        False, "Each input of a layer has its own sticks; if false, all share them (Sec. 3.1)."
    )
    shared_mask: bool | str = option(
        False,
        "One mask for all tasks (ablation, Sec. 6.3): first, or true, is the mask of the first "
        "task, joint is learned further with every task, ones keeps all weights; false is a mask "
        "per task.",
        choices=(False, True, "first", "joint", "ones"),
    )
    network: str = line_option()
    coreset: str = option(
        "none",
        "Selection of the coreset of a task (Sec. 4.3); k_center spreads it over the inputs.",
        choices=("none", *SELECTIONS),
    )
    coreset_selection: str = option(
        "per_task",
        "Source of the coresets (supplement C): per_task chooses one from each task, reselected "
        "one for all tasks from the new task and the old coreset.",
        choices=FROM,
    )
    coreset_size: int = option(
        50,
        "Coreset examples per task, or in all tasks if reselected, taken out of the training data "
        "(supplement B.1: 50).",
        at_least=1,
    )
    coreset_epochs: int = option(
        100,
        "Epochs on a task's coreset before its predictions, and on points that leave it.",
        at_least=0,
    )
    coreset_rate: float = option(0.001, "Learning rate on a coreset.", at_least=0)
    coreset_tasks: str = option(
        "all",
        "Tasks that are refined on their coresets before predictions: all, or earlier, which "
        "leaves out the newest (Sec. 4.3).",
        choices=("all", "earlier"),
    )
    noise_sigma: float = option(
        0.1, "Initial standard deviation of the noise of a regression (Sec. 3.2).", above=0
    )
    learn_noise: bool = option(
        True, "Learn the noise of a regression instead of keeping noise_sigma (Sec. 3.2)."
    )

    def __post_init__(self):
        super().__post_init__()
        if self.full_head and (self.single_head or self.expand):
            raise ValueError(
                "npbcl: full_head needs single_head = false and expand = false, because a shared "
                "head would have to be cut and to grow, got "
                f"single_head {self.single_head} and expand {self.expand}"
            )
        if self.network:
            plan = parse(self.network, "npbcl")
            masks = plan.masks
            if self.expand and plan.norm:
                raise ValueError(
                    "npbcl: expand must be false with norm:layer in network, because an empty "
                    f"filter would change the mean of the others, got {self.network!r}"
                )
            if masks != "weight" and self.mask_model != MaskModel(self.mask_kl, self.mask_link):
                raise ValueError(
                    "npbcl: masks that weights share need structured = true, row_sticks = false, "
                    "a given alpha and one mask per task"
                )
        if self.mask_gradient != "concrete" and self.shared_mask == "ones":
            raise ValueError(
                "npbcl: mask_gradient must be 'concrete' with shared_mask 'ones', because no mask "
                f"is learned, got {self.mask_gradient!r}"
            )
        if self.shared_mask == "joint" and not self.structured:
            raise ValueError(
                "npbcl: shared_mask 'joint' needs structured = true, because its prior is an "
                "earlier posterior given the sticks"
            )

    def epochs_for(self, examples):
        """Return the epochs of both training phases for a task, within ``max_steps``.

        Parameters
        ----------
        examples : int
            Number of training examples, >= 0.

        Returns
        -------
        epochs : int
            Epochs of masked training.
        finetune_epochs : int
            Epochs of fine-tuning.

        Examples
        --------
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
    def widths(self):
        """Units of each hidden layer of the first network, or filters and units of its line."""
        return parse(self.network).widths if self.network else self.hidden

    @property
    def mask_model(self):
        """Model of the masks: KL divergence, link, and use of the sticks."""
        return MaskModel(
            self.mask_kl,
            self.mask_link,
            self.structured,
            self.row_sticks,
            self.alpha_rule == "learned",
            self.shared_mask == "joint",
        )

    @property
    def mask_samples(self):
        """Number of stick samples from which hard masks are cut."""
        return self.prediction_samples

    @property
    def alphas(self):
        """Concentration of each masked layer for the first task, shape (L,)."""
        count = parse(self.network).masked if self.network else len(self.hidden)
        return np.full(count, self.alpha)


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(MaskedSettings):
    """Settings of NPBCL for images without labels.

    The class attribute ``presets`` lists named settings; ``ImageSettings.preset("paper")`` returns
    one.
    """

    method = "vae_npbcl"
    presets = IMAGE_PRESETS

    hidden: tuple[int, ...] = option(
        (500, 500), "Units of the encoder's hidden layers; the decoder has them in reverse order."
    )
    activation: str = option("leaky_relu", "Activation of hidden units (as in the released code).")
    samples: int = option(1, "Monte Carlo samples per training step.")
    epochs: int = option(5, "Epochs of masked training per task (not in the paper).")
    finetune_epochs: int = option(45, "Epochs of selective fine-tuning per task (Sec. 4.5).")
    batch: int = option(128, "Images in a minibatch (not in the paper; the released code has 128).")
    weight_rate: float = 0.003
    mask_rate: float = option(0.1, "Learning rate of rho and the sticks (supplement B.1: 0.01).")
    finetune_rate: float = 0.01
    rate_end: float = 0.1
    tau_start: float = option(
        10.0, "Temperature of the relaxed masks at the first step (supplement B.2: 10)."
    )
    tau_end: float = option(
        0.25, "Temperature of the relaxed masks at the last step (supplement B.2: 0.25)."
    )
    alpha: float = option(
        60.0,
        "Concentration alpha of the IBP in hidden layers for the first task (supplement B.2: 40).",
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
        "Output layer: own for each task (Fig. 2b) or shared (released code).",
        choices=("own", "shared"),
    )
    latent_prior: str = option(
        "per_task",
        "Prior of the codes (supplement G): standard is N(0, I), learned is one learned Gaussian "
        "for all tasks, per_task is one per task.",
        choices=("standard", "learned", "per_task"),
    )
    mask_samples: int = option(
        100, "Stick samples from which hard masks are cut.", at_least=1, at_most=100_000
    )
    latent_alpha: float = option(
        60.0,
        "Concentration alpha of the IBP in the two layers of the codes (supplement B.2: 20).",
        above=0,
    )
    alpha_rule: str = option(
        "max",
        "Rule for alpha of the next task per layer (supplements B.2 and E): fixed keeps it, max "
        "takes the maximum of alpha and the stick parameters a, increment adds alpha_increment, "
        "learned infers it.",
        choices=ALPHA_RULES,
    )
    alpha_increment: float = option(
        0.0,
        "Increase of alpha per task and layer under the rule increment (supplement E.1).",
        at_least=0,
    )
    alpha_prior_shape: float = option(
        2.0,
        "Shape of the Gamma prior of a learned alpha; its mean is alpha, or latent_alpha "
        "(supplement E.2).",
        above=0,
    )
    first_columns: str = option(
        "unused",
        "Columns where the masks of a task are likely to start: the first ones, as the sticks "
        "prefer, or unused ones (not in the paper).",
        choices=("sticks", "unused"),
    )
    hold_used: bool = option(
        True,
        "Hold weights that earlier tasks use (not in the paper); if false, their posterior is the "
        "prior (Eq. 11).",
    )
    start_spread: float = option(
        1.0,
        "Standard deviation of the random initial means of unused weights, divided by sqrt(2 / D).",
        above=0,
    )
    beta: float = option(
        1.0, "Factor of the KL divergence of the codes; 1 in the ELBO (Eq. 10).", at_least=0
    )
    warm_up: float = option(
        0.3,
        "Share of each phase in which that factor rises from 0 to beta (not in the paper).",
        at_least=0,
    )

    # Settings that only tasks with labels can choose; fixed for images.
    masked_prior = True
    shared_mask = False
    likelihood_epochs = finetune_average = 0
    unused_prior = "gaussian"
    coreset = "none"

    @property
    def mask_model(self):
        """Model of the masks: KL divergence, link, and use of the sticks."""
        return MaskModel(
            self.mask_kl,
            self.mask_link,
            self.structured,
            learns_alpha=self.alpha_rule == "learned",
        )

    @property
    def alphas(self):
        """Concentration of each masked layer for the first task, encoder first, shape (L,)."""
        side = [self.alpha] * len(self.hidden)
        return np.array([*side, self.latent_alpha, self.latent_alpha, *side])

    def epochs_for(self, examples):
        """Return the epochs of both training phases.

        Parameters
        ----------
        examples : int
            Number of training examples; not used.

        Returns
        -------
        epochs : int
            Epochs of masked training.
        finetune_epochs : int
            Epochs of fine-tuning.
        """
        return self.epochs, self.finetune_epochs

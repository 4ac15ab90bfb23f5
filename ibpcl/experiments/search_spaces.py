"""Search spaces: the settings of each method that a search draws, and their distributions.

Settings that methods share come first and are drawn first, so a trial with the same number has the
same epochs and rates for all methods. Widths, batch sizes and storage are not searched: they are
the same for all.
"""

import math
from typing import NamedTuple

OUT = "search"  # default folder of the records
# Trials of every record in benchmarks/settings: the same budget for all methods.
TRIALS = 12
# Upper limit for the trials of a search, and for the learners of a trial.
MOST = 10**6
# Significant digits of a drawn number; more would not matter.
DIGITS = 2


class Choice(NamedTuple):
    """A uniform distribution over some values.

    Attributes
    ----------
    values : tuple
        The values.
    """

    values: tuple

    def draw(self, rng):
        """Return one of the values, all equally likely.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the randomness.

        Returns
        -------
        value : object
            One of ``values``.
        """
        return self.values[rng.integers(len(self.values))]

    def __str__(self):
        return " or ".join(map(str, self.values))


class LogUniform(NamedTuple):
    """A log-uniform distribution, rounded to two digits.

    Attributes
    ----------
    low, high : float
        The range, both > 0.

    Examples
    --------
    >>> [LogUniform(0.1, 10.0).draw(np.random.default_rng(seed)) for seed in range(3)]
    [1.9, 1.1, 0.33]
    """

    low: float
    high: float

    def draw(self, rng):
        """Return a number whose logarithm is uniform.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the randomness.

        Returns
        -------
        value : float
            In ``low`` .. ``high``, with two significant digits.
        """
        return float(f"{math.exp(rng.uniform(math.log(self.low), math.log(self.high))):.{DIGITS}g}")

    def __str__(self):
        return f"{self.low:g} to {self.high:g}"


EPOCHS = Choice((5, 15, 50))  # up to the number that NPBCL has
# On permuted MNIST a task has five times as many examples, and ``max_steps`` limits NPBCL to 15
# epochs.
FEWER = {"permuted-mnist": Choice((2, 5, 15))}
TRAINING = {"epochs": EPOCHS, "rate": LogUniform(1e-4, 1e-2)}
FALLING = {**TRAINING, "rate_end": Choice((1.0, 0.1))}
SPACES = {
    "npbcl": {
        "epochs": EPOCHS,
        "weight_rate": LogUniform(1e-3, 3e-2),
        "mask_rate": LogUniform(1e-2, 0.3),
        "finetune_rate": LogUniform(1e-4, 1e-2),
        "alpha": LogUniform(10.0, 100.0),
        "prior_sigma": LogUniform(0.3, 3.0),
        "mask_kl_weight": LogUniform(1e-4, 1.0),
    },
    "independent": {**TRAINING, "start": Choice(("uniform", "he"))},
    "naive": FALLING,
    "joint": FALLING,
    "rehearsal": {
        **FALLING,
        "buffer": Choice(("random", "k_center")),
        "weight": LogUniform(1e-3, 1.0),
    },
    "agem": {**FALLING, "buffer": Choice(("random", "k_center"))},
    "gem": {**FALLING, "buffer": Choice(("random", "k_center"))},
    "ewc": {**FALLING, "weight": LogUniform(1.0, 1e5), "variant": Choice(("online", "separate"))},
    "imm": {**FALLING, "transfer": LogUniform(1e-6, 1e-1)},
    "vcl": {
        **FALLING,
        "likelihood_epochs": Choice((0, 5)),
        "prior_sigma": LogUniform(0.1, 10.0),
        "start_sigma": LogUniform(1e-3, 0.1),
    },
    "gvcl": {
        **FALLING,
        "beta": LogUniform(1e-3, 1.0),
        "weight": LogUniform(1.0, 1e3),
        "prior_sigma": LogUniform(0.1, 10.0),
        "start_sigma": LogUniform(1e-3, 0.1),
    },
    "den": {
        **FALLING,
        "sparsity": LogUniform(1e-6, 1e-3),
        "drift": LogUniform(1e-2, 10.0),
        "loss_threshold": LogUniform(1e-3, 1e-1),
        "split_threshold": LogUniform(1e-2, 1.0),
    },
    "rcl": {
        **FALLING,
        "unit_cost": LogUniform(1e-5, 1e-2),
        "controller_rate": LogUniform(1e-3, 1e-1),
    },
    "si": {**FALLING, "weight": LogUniform(1e-2, 1e2), "damping": LogUniform(1e-4, 1e-1)},
    "laplace": {**FALLING, "weight": LogUniform(0.1, 1e3), "prior_sigma": LogUniform(0.1, 10.0)},
    "hat": {
        **FALLING,
        "scale": LogUniform(10.0, 1000.0),
        "sparsity": LogUniform(1e-2, 3.0),
        "embedding_rate": LogUniform(5e-3, 0.5),
    },
    "ibp_vcl": {
        **FALLING,
        "mask_rate": LogUniform(1e-2, 0.3),
        "alpha": LogUniform(10.0, 100.0),
        "prior_sigma": LogUniform(0.1, 10.0),
        "start_sigma": LogUniform(1e-3, 0.1),
    },
    "hibp_vcl": {
        **FALLING,
        "mask_rate": LogUniform(1e-2, 0.3),
        "alpha": LogUniform(10.0, 100.0),
        "prior_sigma": LogUniform(0.1, 10.0),
        "start_sigma": LogUniform(1e-3, 0.1),
    },
    "bgd": {
        "epochs": EPOCHS,
        "rate": LogUniform(0.1, 10.0),
        "rate_end": Choice((1.0, 0.1)),
        "start_sigma": LogUniform(1e-2, 0.1),
    },
    "replay": {
        **FALLING,
        "ratio": Choice((None, 0.5)),
        "labels": Choice(("argmax", "drawn")),
        "generator_epochs": EPOCHS,
    },
    "pruning": {
        **FALLING,
        "sparsity": LogUniform(1e-5, 1e-2),
        "margin": LogUniform(1e-3, 3e-2),
    },
    "horseshoe": {
        **FALLING,
        "scales": Choice(("units", "weights")),
        "scale_rate": LogUniform(3e-3, 0.1),
        "prior_sigma": LogUniform(0.1, 10.0),
        "start_sigma": LogUniform(1e-3, 0.1),
        "threshold": LogUniform(1e-3, 0.3),
    },
    "frcl": {
        **FALLING,
        "start": Choice(("uniform", "he")),
        "selection": Choice(("trace", "random")),
        "prior_sigma": LogUniform(0.1, 10.0),
        "start_sigma": LogUniform(1e-2, 1.0),
    },
    "claw": {
        **FALLING,
        "likelihood_epochs": Choice((0, 5)),
        "probability": LogUniform(1e-2, 0.5),
        "adaptation_rate": LogUniform(1e-3, 0.1),
        "prior_sigma": LogUniform(0.1, 10.0),
        "start_sigma": LogUniform(1e-3, 0.1),
    },
    "kronecker": {
        **FALLING,
        "weight": LogUniform(0.1, 1e3),
        "prior_sigma": LogUniform(0.1, 10.0),
    },
    "progress": {
        **FALLING,
        "compress_epochs": EPOCHS,
        "weight": LogUniform(1.0, 1e5),
        "decay": Choice((1.0, 0.9)),
        "reset": Choice((False, True)),
    },
    "ucb": {
        **FALLING,
        "sigma_rate": LogUniform(1e-3, 3e-2),
        "kl_weight": LogUniform(1e-4, 1.0),
        "prior_sigma": LogUniform(0.1, 10.0),
        "start_sigma": LogUniform(1e-3, 0.1),
    },
    "gpm": {**FALLING, "threshold": LogUniform(0.5, 1.0), "start": Choice(("uniform", "he"))},
    "m2": {
        "epochs": Choice((2, 5, 10)),
        "finetune_epochs": Choice((10, 20, 45)),
        "weight_rate": LogUniform(1e-3, 1e-2),
        "finetune_rate": LogUniform(1e-3, 1e-2),
        "label_weight": LogUniform(0.01, 10.0),
        "latent": Choice((10, 20, 50)),
    },
    "ivon": {
        "epochs": EPOCHS,
        "rate": LogUniform(1e-3, 0.1),
        "rate_end": Choice((1.0, 0.1)),
        "curvature_rate": LogUniform(1e-3, 0.1),
        "rule": Choice(("ivon", "von")),
        "prior_sigma": LogUniform(0.1, 10.0),
        "start_sigma": LogUniform(1e-3, 0.1),
    },
}

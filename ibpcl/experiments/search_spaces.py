"""Where a search for settings looks, and how often: for every method, which settings are drawn, and
from what.

The settings that methods share come first and are drawn first, so the same trial of the same search
has the same epochs and rates for all of them.  Widths, batches and what a method may store are not
searched: they are the same for all.
"""

import math
from typing import NamedTuple

OUT = "search"  # folder of the records
# of every record in docs/search: the same budget for all
TRIALS = 12
# trials of a search, and learners of a trial
MOST = 10**6
# of a drawn number: more would not matter
DIGITS = 2


class Choice(NamedTuple):
    """One of some values, each as likely."""

    values: tuple

    def draw(self, rng):
        """Draw a value."""
        return self.values[rng.integers(len(self.values))]

    def __str__(self):
        return " or ".join(map(str, self.values))


class LogUniform(NamedTuple):
    """A number whose logarithm is uniform, rounded to two digits.

    >>> [LogUniform(0.1, 10.0).draw(np.random.default_rng(seed)) for seed in range(3)]
    [1.9, 1.1, 0.33]
    """

    low: float
    high: float

    def draw(self, rng):
        """Draw a number."""
        return float(f"{math.exp(rng.uniform(math.log(self.low), math.log(self.high))):.{DIGITS}g}")

    def __str__(self):
        return f"{self.low:g} to {self.high:g}"


EPOCHS = Choice((5, 15, 50))  # up to those of NPBCL
# On permuted MNIST a task has five times the examples, and NPBCL has at most 15 by its
# ``max_steps``.
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
    "ewc": {**FALLING, "weight": LogUniform(1.0, 1e5), "variant": Choice(("online", "separate"))},
    "imm": {**FALLING, "transfer": LogUniform(1e-6, 1e-1)},
    "vcl": {
        **FALLING,
        "likelihood_epochs": Choice((0, 5)),
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
}

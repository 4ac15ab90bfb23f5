"""The experiments that have a name: what each changes in the defaults of the run and of the methods.

All hyperparameters that an experiment sets are here; the defaults are those of the methods' ``Settings``.
"""

from typing import NamedTuple

DEFAULT = "split-glyphs"


class Preset(NamedTuple):
    """An experiment: one sentence on it, its keys of the run, and for each method the settings it changes."""

    sentence: str
    run: dict
    methods: dict


NO_PRESET = Preset("The defaults alone.", {}, {})
PRESETS = {
    "split-glyphs": Preset(
        "Letters A/B to I/J, five tasks; drawn here, no files.",
        {"dataset": "glyphs", "stream": "split"},
        {"npbcl": {"samples": 4}},
    ),
    "split-mnist": Preset(
        "Handwritten digits 0/1 to 8/9, five tasks.",
        {"dataset": "mnist", "stream": "split"},
        {"npbcl": {}},
    ),
    "split-notmnist": Preset(
        "Letters A/B to I/J from public fonts, five tasks.",
        {"dataset": "notmnist", "stream": "split"},
        {"npbcl": {}},
    ),
    "split-fashion-mnist": Preset(
        "Clothes, T-shirt/Trouser to Bag/Ankle boot, five tasks.",
        {"dataset": "fashion_mnist", "stream": "split"},
        {"npbcl": {}},
    ),
    "permuted-mnist": Preset(
        "All ten digits, five tasks, each with its pixel order.",
        {"dataset": "mnist", "stream": "permuted"},
        {"npbcl": {}},
    ),
    "terrain": Preset(
        "Regression: land and sea floor heights, five tasks.",
        {"dataset": "terrain", "stream": "strips"},
        {"npbcl": {"samples": 2, "batch": 128, "epochs": 60, "finetune_epochs": 30, "start_sigma": 0.002,
                   "noise_sigma": 0.3}},
    ),
}

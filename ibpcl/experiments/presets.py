"""Named experiments: the keys in which each differs from the defaults.

All hyperparameters of the experiments are in this module. The defaults are those of
:class:`ibpcl.experiments.config.RunConfig` and of the methods' ``Settings``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

DEFAULT = "split-glyphs"
SEEDS = 5  # default number of seeds per row of a table
# The abilities that an experiment can require of a method, with the settings that they imply.
SETTINGS_OF = {
    "task": {},
    "domain": {"single_head": True},
    "blended": {"single_head": True},
    "regression": {},
    "images": {},
}


class Preset(NamedTuple):
    """A named experiment.

    Attributes
    ----------
    sentence : str
        One sentence on the tasks.
    run : dict of str to object
        Keys of the run that differ from the defaults.
    methods : mapping of str to dict
        For some methods, the settings that differ from the defaults.
    asks : str
        The ability that a method needs: "task" (one head per task), "domain" (one head for all
        tasks, or one softmax over all classes so far), "blended" (a single head, one minibatch at
        a time), "regression", or "images" (a generative model); see
        :class:`ibpcl.methods.About`.
    """

    sentence: str
    run: dict
    methods: Mapping = MappingProxyType({})
    asks: str = "task"


# The other methods for images, by name only: the command line lists the experiments without
# importing the methods.
AUTOENCODERS = ("vae_naive", "vae_ewc", "vae_imm", "vae_vcl", "vae_si", "vae_laplace")
SMALL_AUTOENCODER = {
    "hidden": (100, 100, 100),
    "latent": 10,
    "activation": "tanh",
    "batch": 64,
    "epochs": 60,
}
NO_PRESET = Preset("The defaults alone.", {})
PRESETS = {
    "split-glyphs": Preset(
        "Letters A/B to I/J, five tasks; needs no files.", {"dataset": "glyphs", "stream": "split"}
    ),
    "split-cluttered-glyphs": Preset(
        "Letters anywhere among pieces of others, five tasks.",
        {"dataset": "cluttered_glyphs", "stream": "split"},
    ),
    "split-cifar10": Preset(
        "Colour images, plane/car to ship/truck, five tasks.",
        {"dataset": "cifar10", "stream": "split"},
    ),
    "split-cifar100": Preset(
        "Colour images of 100 classes, twenty tasks of five.",
        {"dataset": "cifar100", "stream": "split", "tasks": 20},
    ),
    "split-mnist": Preset(
        "Handwritten digits 0/1 to 8/9, five tasks.", {"dataset": "mnist", "stream": "split"}
    ),
    "split-notmnist": Preset(
        "Letters A/B to I/J from public fonts, five tasks.",
        {"dataset": "notmnist", "stream": "split"},
    ),
    "split-fashion-mnist": Preset(
        "Clothes, T-shirt/Trouser to Bag/Boot, five tasks.",
        {"dataset": "fashion_mnist", "stream": "split"},
    ),
    "fashion-resplit": Preset(
        "The same, with a new split of all 70,000 images.",
        {"dataset": "fashion_mnist", "stream": "resplit"},
    ),
    "permuted-mnist": Preset(
        "All ten digits, five tasks with a pixel order each.",
        {"dataset": "mnist", "stream": "permuted"},
    ),
    "permuted-mnist-10-domain": Preset(
        "All ten digits, ten pixel orders, one head for all.",
        {"dataset": "mnist", "stream": "permuted", "tasks": 10},
        asks="domain",
    ),
    "domain-mnist": Preset(
        "First or second of a pair, 0/1 to 8/9, one head.",
        {"dataset": "mnist", "stream": "split"},
        asks="domain",
    ),
    "domain-glyphs": Preset(
        "The same with rendered letters, A/B to I/J.",
        {"dataset": "glyphs", "stream": "split"},
        asks="domain",
    ),
    "domain-fashion-mnist": Preset(
        "The same with clothes, T-shirt/Trouser to Bag/Boot.",
        {"dataset": "fashion_mnist", "stream": "split"},
        asks="domain",
    ),
    "domain-notmnist": Preset(
        "The same with letters from public fonts, A/B to I/J.",
        {"dataset": "notmnist", "stream": "split"},
        asks="domain",
    ),
    "class-mnist": Preset(
        "Digits 0/1 to 8/9, one softmax for all so far.",
        {"dataset": "mnist", "stream": "incremental"},
        asks="domain",
    ),
    "class-fashion-mnist": Preset(
        "The same with clothes, T-shirt/Trouser to Bag/Boot.",
        {"dataset": "fashion_mnist", "stream": "incremental"},
        asks="domain",
    ),
    "class-notmnist": Preset(
        "The same with letters from public fonts, A/B to I/J.",
        {"dataset": "notmnist", "stream": "incremental"},
        asks="domain",
    ),
    "class-glyphs": Preset(
        "The same with rendered letters, A/B to I/J.",
        {"dataset": "glyphs", "stream": "incremental"},
        asks="domain",
    ),
    "blended-permuted-mnist": Preset(
        "Five pixel orders, each fading into the next.",
        {"dataset": "mnist", "stream": "blended", "blend_of": "permuted"},
        asks="blended",
    ),
    "blended-glyphs": Preset(
        "Pairs of letters, each fading into the next.",
        {"dataset": "glyphs", "stream": "blended", "blend_of": "split"},
        asks="blended",
    ),
    "terrain": Preset(
        "Regression: land and sea floor heights, five tasks.",
        {"dataset": "terrain", "stream": "strips"},
        {
            "npbcl": {
                "samples": 2,
                "batch": 128,
                "epochs": 60,
                "finetune_epochs": 30,
                "weight_rate": 0.01,
                "mask_rate": 0.1,
                "finetune_rate": 0.001,
                "finetune_average": 0.0,
                "tau_start": 10.0,
                "tau_end": 0.25,
                "alpha": 30.0,
                "mask_link": "logit",
                "mask_kl_weight": 1 / 784,
                "start_sigma": 0.002,
                "start_spread": 0.01,
                "noise_sigma": 0.3,
                "prior_sigma": 3.0,
                "unused_prior": "gaussian",
                "rate_end": 0.1,
            }
        },
        "regression",
    ),
    "vae-glyphs": Preset(
        "Generative: rendered letters A to E, one per task.",
        {"dataset": "glyphs", "stream": "classes", "tasks": 5, "method": "vae_npbcl"},
        {
            "vae_npbcl": {
                "hidden": (100, 100),
                "latent": 10,
                "activation": "tanh",
                "batch": 64,
                "epochs": 15,
                "finetune_epochs": 45,
                "alpha": 20.0,
                "latent_alpha": 20.0,
                "prior_sigma": 0.3,
                "start_sigma": 0.01,
                "start_spread": 2.0,
            },
            **dict.fromkeys(AUTOENCODERS, SMALL_AUTOENCODER),
        },
        "images",
    ),
    "vae-mnist": Preset(
        "Generative: digits 0 to 9, no labels, one per task.",
        {"dataset": "mnist", "stream": "classes", "tasks": 10, "method": "vae_npbcl"},
        asks="images",
    ),
    "vae-notmnist": Preset(
        "Generative: letters A to J, no labels, one per task.",
        {"dataset": "notmnist", "stream": "classes", "tasks": 10, "method": "vae_npbcl"},
        asks="images",
    ),
}

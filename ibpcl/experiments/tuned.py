"""The preset "tuned": for each method and experiment, the settings that a search found.

Each is the best trial of a record in benchmarks/settings, which ``ibpcl tune`` made on validation
data; a test compares them. The default settings of NPBCL come from a separate search,
benchmarks/settings/npbcl.md.
"""

# Experiments without a search of their own use the settings of a similar experiment.
LIKE = {
    "fashion-resplit": "split-fashion-mnist",
    "split-mnist-3": "split-mnist",
    "permuted-mnist": "split-mnist",
    "domain-mnist": "split-mnist",
    "domain-fashion-mnist": "split-fashion-mnist",
    "class-mnist": "split-mnist",
    "class-fashion-mnist": "split-fashion-mnist",
    "permuted-mnist-10-domain": "permuted-mnist",
}
TUNED = {
    "split-notmnist": {
        "npbcl": {
            "epochs": 10,
            "weight_rate": 0.0038,
            "mask_rate": 0.25,
            "finetune_rate": 0.0037,
            "alpha": 69.0,
            "prior_sigma": 0.8,
            "mask_kl_weight": 0.0021,
        },
        "independent": {"epochs": 15, "rate": 0.0053, "start": "he"},
        "naive": {"epochs": 50, "rate": 0.0012, "rate_end": 1.0},
        "joint": {"epochs": 50, "rate": 0.0036, "rate_end": 1.0},
        "rehearsal": {
            "epochs": 50,
            "rate": 0.0036,
            "rate_end": 1.0,
            "buffer": "k_center",
            "weight": 0.027,
        },
        "ewc": {
            "epochs": 50,
            "rate": 0.0036,
            "rate_end": 1.0,
            "weight": 9900.0,
            "variant": "separate",
        },
        "imm": {"epochs": 15, "rate": 0.0013, "rate_end": 0.1, "transfer": 0.01},
        "vcl": {
            "epochs": 5,
            "rate": 0.001,
            "rate_end": 1.0,
            "likelihood_epochs": 5,
            "prior_sigma": 1.0,
            "start_sigma": 0.049787068367863944,
        },
        "den": {
            "epochs": 5,
            "rate": 0.001,
            "rate_end": 1.0,
            "sparsity": 1e-05,
            "drift": 0.5,
            "loss_threshold": 0.01,
            "split_threshold": 0.05,
        },
        "rcl": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "unit_cost": 0.00017,
            "controller_rate": 0.0055,
        },
        "si": {"epochs": 50, "rate": 0.0012, "rate_end": 1.0, "weight": 0.44, "damping": 0.0013},
        "laplace": {
            "epochs": 15,
            "rate": 0.0013,
            "rate_end": 0.1,
            "weight": 160.0,
            "prior_sigma": 8.2,
        },
        "hat": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "scale": 67.0,
            "sparsity": 0.082,
            "embedding_rate": 0.0095,
        },
        "ibp_vcl": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "mask_rate": 0.041,
            "alpha": 23.0,
            "prior_sigma": 0.19,
            "start_sigma": 0.017,
        },
        "agem": {"epochs": 15, "rate": 0.0013, "rate_end": 0.1, "buffer": "random"},
        "bgd": {"epochs": 10, "rate": 1.0, "rate_end": 1.0, "start_sigma": 0.02},
        "gem": {"epochs": 50, "rate": 0.0036, "rate_end": 1.0, "buffer": "k_center"},
        "pruning": {
            "epochs": 15,
            "rate": 0.0053,
            "rate_end": 0.1,
            "sparsity": 9.2e-05,
            "margin": 0.0029,
        },
        "replay": {
            "epochs": 50,
            "rate": 0.00064,
            "rate_end": 1.0,
            "ratio": None,
            "labels": "drawn",
            "generator_epochs": 50,
        },
        "claw": {
            "epochs": 50,
            "rate": 0.0036,
            "rate_end": 1.0,
            "likelihood_epochs": 5,
            "probability": 0.065,
            "adaptation_rate": 0.048,
            "prior_sigma": 7.9,
            "start_sigma": 0.0018,
        },
        "gpm": {
            "epochs": 50,
            "rate": 0.00064,
            "rate_end": 1.0,
            "threshold": 0.76,
            "start": "he",
        },
        "gvcl": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "beta": 0.017,
            "weight": 13.0,
            "prior_sigma": 0.19,
            "start_sigma": 0.017,
        },
        "hibp_vcl": {
            "epochs": 5,
            "rate": 0.001,
            "rate_end": 1.0,
            "mask_rate": 0.1,
            "alpha": 30.0,
            "prior_sigma": 1.0,
            "start_sigma": 0.049787068367863944,
        },
    },
    "permuted-mnist": {
        "npbcl": {
            "epochs": 50,
            "weight_rate": 0.0039,
            "mask_rate": 0.077,
            "finetune_rate": 0.0002,
            "alpha": 13.0,
            "prior_sigma": 0.64,
            "mask_kl_weight": 0.0003,
        },
        "independent": {"epochs": 15, "rate": 0.0012, "start": "uniform"},
        "naive": {"epochs": 5, "rate": 0.0013, "rate_end": 0.1},
        "rehearsal": {
            "epochs": 15,
            "rate": 0.00064,
            "rate_end": 1.0,
            "buffer": "random",
            "weight": 0.0027,
        },
        "ewc": {
            "epochs": 5,
            "rate": 0.0053,
            "rate_end": 0.1,
            "weight": 40.0,
            "variant": "separate",
        },
        "imm": {"epochs": 15, "rate": 0.0012, "rate_end": 1.0, "transfer": 0.00011},
        "vcl": {
            "epochs": 15,
            "rate": 0.0012,
            "rate_end": 1.0,
            "likelihood_epochs": 0,
            "prior_sigma": 0.55,
            "start_sigma": 0.0019,
        },
        "den": {
            "epochs": 15,
            "rate": 0.00064,
            "rate_end": 1.0,
            "sparsity": 6.4e-05,
            "drift": 0.027,
            "loss_threshold": 0.0017,
            "split_threshold": 0.045,
        },
        "rcl": {
            "epochs": 15,
            "rate": 0.0012,
            "rate_end": 1.0,
            "unit_cost": 0.00017,
            "controller_rate": 0.0055,
        },
        "si": {"epochs": 2, "rate": 0.0093, "rate_end": 0.1, "weight": 0.087, "damping": 0.01},
        "laplace": {
            "epochs": 15,
            "rate": 0.0012,
            "rate_end": 1.0,
            "weight": 4.4,
            "prior_sigma": 0.55,
        },
        "hat": {
            "epochs": 15,
            "rate": 0.0012,
            "rate_end": 1.0,
            "scale": 67.0,
            "sparsity": 0.082,
            "embedding_rate": 0.0095,
        },
        "ibp_vcl": {
            "epochs": 5,
            "rate": 0.0053,
            "rate_end": 0.1,
            "mask_rate": 0.03,
            "alpha": 21.0,
            "prior_sigma": 0.4,
            "start_sigma": 0.024,
        },
        "agem": {"epochs": 2, "rate": 0.0093, "rate_end": 0.1, "buffer": "random"},
        "gem": {"epochs": 2, "rate": 0.0093, "rate_end": 0.1, "buffer": "random"},
        "pruning": {
            "epochs": 15,
            "rate": 0.0012,
            "rate_end": 1.0,
            "sparsity": 0.00017,
            "margin": 0.0035,
        },
        "bgd": {"epochs": 15, "rate": 3.6, "rate_end": 1.0, "start_sigma": 0.063},
    },
    "split-mnist": {
        "independent": {"epochs": 15, "rate": 0.0053, "start": "he"},
        "naive": {"epochs": 5, "rate": 0.00026, "rate_end": 1.0},
        "joint": {"epochs": 50, "rate": 0.0036, "rate_end": 1.0},
        "rehearsal": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "buffer": "random",
            "weight": 0.013,
        },
        "ewc": {
            "epochs": 50,
            "rate": 0.0036,
            "rate_end": 1.0,
            "weight": 9900.0,
            "variant": "separate",
        },
        "imm": {"epochs": 50, "rate": 0.0012, "rate_end": 1.0, "transfer": 0.00011},
        "vcl": {
            "epochs": 5,
            "rate": 0.001,
            "rate_end": 1.0,
            "likelihood_epochs": 5,
            "prior_sigma": 1.0,
            "start_sigma": 0.049787068367863944,
        },
        "den": {
            "epochs": 50,
            "rate": 0.00064,
            "rate_end": 1.0,
            "sparsity": 6.4e-05,
            "drift": 0.027,
            "loss_threshold": 0.0017,
            "split_threshold": 0.045,
        },
        "rcl": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "unit_cost": 0.00017,
            "controller_rate": 0.0055,
        },
        "si": {"epochs": 50, "rate": 0.0012, "rate_end": 1.0, "weight": 0.44, "damping": 0.0013},
        "laplace": {
            "epochs": 15,
            "rate": 0.0013,
            "rate_end": 0.1,
            "weight": 160.0,
            "prior_sigma": 8.2,
        },
        "hat": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "scale": 67.0,
            "sparsity": 0.082,
            "embedding_rate": 0.0095,
        },
        "ibp_vcl": {
            "epochs": 5,
            "rate": 0.001,
            "rate_end": 1.0,
            "mask_rate": 0.1,
            "alpha": 30.0,
            "prior_sigma": 1.0,
            "start_sigma": 0.049787068367863944,
        },
        "npbcl": {
            "epochs": 50,
            "weight_rate": 0.014,
            "mask_rate": 0.15,
            "finetune_rate": 0.0009,
            "alpha": 69.0,
            "prior_sigma": 2.7,
            "mask_kl_weight": 0.00031,
        },
        "agem": {"epochs": 15, "rate": 0.0013, "rate_end": 0.1, "buffer": "random"},
        "gem": {"epochs": 15, "rate": 0.0013, "rate_end": 0.1, "buffer": "random"},
        "pruning": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "sparsity": 0.00017,
            "margin": 0.0035,
        },
        "bgd": {"epochs": 10, "rate": 1.0, "rate_end": 1.0, "start_sigma": 0.02},
        "replay": {
            "epochs": 50,
            "rate": 0.00064,
            "rate_end": 1.0,
            "ratio": None,
            "labels": "drawn",
            "generator_epochs": 50,
        },
    },
    "split-fashion-mnist": {
        "independent": {"epochs": 50, "rate": 0.00064, "start": "uniform"},
        "naive": {"epochs": 5, "rate": 0.001, "rate_end": 1.0},
        "joint": {"epochs": 15, "rate": 0.0053, "rate_end": 0.1},
        "rehearsal": {
            "epochs": 5,
            "rate": 0.001,
            "rate_end": 1.0,
            "buffer": "random",
            "weight": 1.0,
        },
        "ewc": {
            "epochs": 50,
            "rate": 0.00064,
            "rate_end": 1.0,
            "weight": 1000.0,
            "variant": "separate",
        },
        "imm": {"epochs": 50, "rate": 0.00064, "rate_end": 1.0, "transfer": 0.001},
        "vcl": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "likelihood_epochs": 0,
            "prior_sigma": 0.55,
            "start_sigma": 0.0019,
        },
        "den": {
            "epochs": 50,
            "rate": 0.00064,
            "rate_end": 1.0,
            "sparsity": 6.4e-05,
            "drift": 0.027,
            "loss_threshold": 0.0017,
            "split_threshold": 0.045,
        },
        "rcl": {
            "epochs": 15,
            "rate": 0.0053,
            "rate_end": 0.1,
            "unit_cost": 9.2e-05,
            "controller_rate": 0.0043,
        },
        "si": {"epochs": 50, "rate": 0.00064, "rate_end": 1.0, "weight": 2.5, "damping": 0.00027},
        "laplace": {
            "epochs": 15,
            "rate": 0.0013,
            "rate_end": 0.1,
            "weight": 160.0,
            "prior_sigma": 8.2,
        },
        "hat": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "scale": 67.0,
            "sparsity": 0.082,
            "embedding_rate": 0.0095,
        },
        "ibp_vcl": {
            "epochs": 50,
            "rate": 0.00064,
            "rate_end": 1.0,
            "mask_rate": 0.077,
            "alpha": 14.0,
            "prior_sigma": 0.17,
            "start_sigma": 0.0045,
        },
        "npbcl": {
            "epochs": 10,
            "weight_rate": 0.0038,
            "mask_rate": 0.25,
            "finetune_rate": 0.0037,
            "alpha": 69.0,
            "prior_sigma": 0.8,
            "mask_kl_weight": 0.0021,
        },
        "agem": {"epochs": 15, "rate": 0.0013, "rate_end": 0.1, "buffer": "random"},
        "pruning": {
            "epochs": 50,
            "rate": 0.0012,
            "rate_end": 1.0,
            "sparsity": 0.00017,
            "margin": 0.0035,
        },
        "gem": {"epochs": 15, "rate": 0.0053, "rate_end": 0.1, "buffer": "k_center"},
        "bgd": {"epochs": 10, "rate": 1.0, "rate_end": 1.0, "start_sigma": 0.02},
        "replay": {
            "epochs": 50,
            "rate": 0.00064,
            "rate_end": 1.0,
            "ratio": None,
            "labels": "drawn",
            "generator_epochs": 50,
        },
    },
}


def tuned(experiment, method):
    """Return the settings that a search found for a method, on the experiment or on a similar one.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    method : str
        Name of the method.

    Returns
    -------
    settings : dict of str to object, or None
        None if there was no search.

    Examples
    --------
    >>> tuned("fashion-resplit", "imm") == TUNED["split-fashion-mnist"]["imm"]
    True
    >>> tuned("split-glyphs", "imm") is None
    True
    """
    while experiment is not None:
        if method in TUNED.get(experiment, {}):
            return TUNED[experiment][method]
        experiment = LIKE.get(experiment)
    return None

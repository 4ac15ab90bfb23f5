"""The settings that a search has found for a method on an experiment: its preset "tuned".

Each is the best trial of a record under docs/search/, made by ``ibpcl tune`` on validation data; a test compares.  The
default settings of NPBCL come from a search of their own, docs/npbcl_search.md.
"""

# An experiment on which a method has not been searched takes what was found on another.
LIKE = {
    "split-notmnist": "split-mnist", "split-fashion-mnist": "split-mnist", "fashion-resplit": "split-mnist",
    "permuted-mnist": "split-mnist", "domain-mnist": "split-mnist", "permuted-mnist-10-domain": "permuted-mnist",
}
TUNED = {
    "split-notmnist": {
        "npbcl": {"epochs": 10, "weight_rate": 0.0038, "mask_rate": 0.25, "finetune_rate": 0.0037, "alpha": 69.0,
                  "prior_sigma": 0.8, "mask_kl_weight": 0.0021},
        "independent": {"epochs": 15, "rate": 0.0053, "start": "he"},
        "naive": {"epochs": 50, "rate": 0.0012, "rate_end": 1.0},
        "joint": {"epochs": 50, "rate": 0.0036, "rate_end": 1.0},
        "rehearsal": {"epochs": 50, "rate": 0.0036, "rate_end": 1.0, "buffer": "k_center", "weight": 0.027},
        "ewc": {"epochs": 50, "rate": 0.0036, "rate_end": 1.0, "weight": 9900.0, "variant": "separate"},
        "imm": {"epochs": 15, "rate": 0.0013, "rate_end": 0.1, "transfer": 0.01},
        "vcl": {"epochs": 5, "rate": 0.001, "rate_end": 1.0, "likelihood_epochs": 5, "prior_sigma": 1.0,
                "start_sigma": 0.049787068367863944},
        "den": {"epochs": 5, "rate": 0.001, "rate_end": 1.0, "sparsity": 1e-05, "drift": 0.5, "loss_threshold": 0.01,
                "split_threshold": 0.05},
        "rcl": {"epochs": 50, "rate": 0.0012, "rate_end": 1.0, "unit_cost": 0.00017, "controller_rate": 0.0055},
        "si": {"epochs": 50, "rate": 0.0012, "rate_end": 1.0, "weight": 0.44, "damping": 0.0013},
        "laplace": {"epochs": 15, "rate": 0.0013, "rate_end": 0.1, "weight": 160.0, "prior_sigma": 8.2},
        "hat": {"epochs": 50, "rate": 0.0012, "rate_end": 1.0, "scale": 67.0, "sparsity": 0.082,
                "embedding_rate": 0.0095},
        "ibp_vcl": {"epochs": 50, "rate": 0.0012, "rate_end": 1.0, "mask_rate": 0.041, "alpha": 23.0,
                    "prior_sigma": 0.19, "start_sigma": 0.017},
    },
    "permuted-mnist": {
        "independent": {"epochs": 15, "rate": 0.0012, "start": "uniform"},
        "naive": {"epochs": 5, "rate": 0.0013, "rate_end": 0.1},
        "rehearsal": {"epochs": 15, "rate": 0.00064, "rate_end": 1.0, "buffer": "random", "weight": 0.0027},
        "ewc": {"epochs": 5, "rate": 0.0053, "rate_end": 0.1, "weight": 40.0, "variant": "separate"},
        "imm": {"epochs": 15, "rate": 0.0012, "rate_end": 1.0, "transfer": 0.00011},
        "vcl": {"epochs": 15, "rate": 0.0012, "rate_end": 1.0, "likelihood_epochs": 0, "prior_sigma": 0.55,
                "start_sigma": 0.0019},
        "si": {"epochs": 2, "rate": 0.0093, "rate_end": 0.1, "weight": 0.087, "damping": 0.01},
        "laplace": {"epochs": 15, "rate": 0.0012, "rate_end": 1.0, "weight": 4.4, "prior_sigma": 0.55},
        "hat": {"epochs": 15, "rate": 0.0012, "rate_end": 1.0, "scale": 67.0, "sparsity": 0.082,
                "embedding_rate": 0.0095},
        "ibp_vcl": {"epochs": 5, "rate": 0.0053, "rate_end": 0.1, "mask_rate": 0.03, "alpha": 21.0, "prior_sigma": 0.4,
                    "start_sigma": 0.024},
    },
    "split-mnist": {
        "independent": {"epochs": 10, "rate": 0.0053, "start": "he"},
        "naive": {"epochs": 10, "rate": 0.00029, "rate_end": 0.1},
        "joint": {"epochs": 15, "rate": 0.0036, "rate_end": 1.0},
        "rehearsal": {"epochs": 15, "rate": 0.0012, "rate_end": 1.0, "buffer": "random", "weight": 0.013},
        "ewc": {"epochs": 15, "rate": 0.0036, "rate_end": 1.0, "weight": 9900.0, "variant": "separate"},
        "imm": {"epochs": 10, "rate": 0.0053, "rate_end": 0.1, "transfer": 4e-05},
        "vcl": {"epochs": 5, "rate": 0.001, "rate_end": 1.0, "likelihood_epochs": 5, "prior_sigma": 1.0,
                "start_sigma": 0.049787068367863944},
        "den": {"epochs": 15, "rate": 0.00064, "rate_end": 1.0, "sparsity": 6.4e-05, "drift": 0.027,
                "loss_threshold": 0.0017, "split_threshold": 0.045},
        "rcl": {"epochs": 15, "rate": 0.0036, "rate_end": 1.0, "unit_cost": 0.0025, "controller_rate": 0.009},
        "si": {"epochs": 10, "rate": 0.0053, "rate_end": 0.1, "weight": 0.19, "damping": 0.00089},
        "laplace": {"epochs": 10, "rate": 0.0013, "rate_end": 0.1, "weight": 160.0, "prior_sigma": 8.2},
        "hat": {"epochs": 15, "rate": 0.0036, "rate_end": 1.0, "scale": 400.0, "sparsity": 0.15,
                "embedding_rate": 0.24},
        "ibp_vcl": {"epochs": 5, "rate": 0.001, "rate_end": 1.0, "mask_rate": 0.1, "alpha": 30.0, "prior_sigma": 1.0,
                    "start_sigma": 0.049787068367863944},
    },
}


def tuned(experiment, method):
    """Return the settings that were found for a method, on the experiment or on one that is like it; None without any.

    >>> tuned("split-fashion-mnist", "imm") == TUNED["split-mnist"]["imm"], tuned("split-glyphs", "imm")
    (True, None)
    """
    while experiment is not None:
        if method in TUNED.get(experiment, {}):
            return TUNED[experiment][method]
        experiment = LIKE.get(experiment)
    return None

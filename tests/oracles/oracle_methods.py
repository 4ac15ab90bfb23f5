"""Small runs of every method: their history and final predictions.

A case is a function of a backend's name that returns named arrays.
"""

from functools import partial

import numpy as np
from fingerprints import values

from ibpcl.continual.task import Task
from ibpcl.methods import ABOUT, GENERATIVE, method

LENGTHS = {
    "epochs": 3,
    "finetune_epochs": 2,
    "likelihood_epochs": 1,
    "coreset_epochs": 3,
    "compress_epochs": 2,
    "head_epochs": 2,
    "generator_epochs": 5,
}
SMALL = {
    "hidden": (9, 7),
    "batch": 25,
    "samples": 2,
    "prediction_samples": 10,
    "fisher_examples": 30,
    "trials": 3,
    "most_units": 3,
    "controller_units": 5,
    "expand_units": 3,
    "buffer_size": 9,
    "coreset_size": 11,
    "generator_hidden": (9,),
    "generator_latent": 4,
}


def blobs(t, classes=3):
    rng = np.random.default_rng(t)
    parts = []
    for count in (60, 20):
        y = rng.integers(0, classes, count)
        x = rng.normal(0.5, 0.3, size=(count, 12))
        x[np.arange(count), (2 * t + y) % 12] += 1.5
        parts += [x, y]
    return Task(f"blobs {t}", *parts, classes, tuple("abcd"[:classes]))


def curves(t):
    rng = np.random.default_rng(t)
    parts = []
    for count in (60, 20):
        x = rng.normal(size=(count, 3))
        parts += [x, np.sin(x @ rng.normal(size=(3, 2)) + t)]
    return Task(f"curves {t}", *parts)


def bars(t):
    rng = np.random.default_rng(t)
    parts = []
    for count in (60, 10):
        images = rng.uniform(0, 0.1, (count, 5, 5))
        images[np.arange(count), rng.integers(0, 5, count)] = 0.9
        parts.append((images if t % 2 == 0 else images.swapaxes(1, 2)).reshape(count, 25))
    return Task(f"bars {t}", x_train=parts[0], x_test=parts[1], image_shape=(5, 5), label=t)


def learner_of(name, backend_name, options, small=SMALL):
    found = method(name)
    known = found.settings.__dataclass_fields__
    settings = {key: value for key, value in (LENGTHS | small | options).items() if key in known}
    return found.learner(found.settings(**settings), 5, backend_name)


def history(t, records):
    return {
        f"history{t}.{name}": np.array([getattr(record, name) for record in records])
        for name in (
            "elbo",
            "log_likelihood",
            "kl_weights",
            "kl_masks",
            "kl_sticks",
            "penalty",
            "tau",
        )
    }


def supervised(name, tasks, backend_name, **options):
    learner = learner_of(name, backend_name, options)
    found = {}
    for t, task in enumerate(tasks):
        found |= history(t, learner.learn(task, progress=False))
    found |= {f"predicted{t}": learner.predict(task.x_test, t) for t, task in enumerate(tasks)}
    if hasattr(learner, "masks"):
        found["masks"] = np.array(
            [mask.sum() for t in range(len(tasks)) for mask in learner.masks(t)]
        )
    return found


def generative(name, backend_name, **options):
    learner = learner_of(name, backend_name, {"latent": 4, **options}, {**SMALL, "samples": 1})
    found = {}
    tasks = [bars(t) for t in range(2)]
    for t, task in enumerate(tasks):
        found |= history(t, learner.learn(task, progress=False))
    for t, task in enumerate(tasks):
        model = learner.latent_model(t)
        mean, log_sigma = model.encode(task.x_test)
        z = values("z.mu", (2, 10, 4), np.float32)
        found |= {
            f"mean{t}": mean,
            f"scale{t}": log_sigma,
            f"likelihood{t}": model.log_likelihood(task.x_test, z),
            f"prior{t}": np.array(model.prior()),
        }
    return found


BLOBS = [blobs(0), blobs(1, 2), blobs(2)]
ONE_HEAD = [blobs(0), blobs(1), blobs(2)]
# Settings besides the defaults, one for each branch of a method.
VARIANTS = {
    "npbcl": {
        "none, reset": {"alpha": 5.0, "mask_link": "logit"},
        "flat": {"alpha": 6.0, "start_rho": 1.0, "unused_prior": "flat"},
        "gaussian": {
            "alpha": 5.0,
            "mask_link": "logit",
            "unused_prior": "gaussian",
            "alpha_rule": "learned",
            "rate_end": 0.1,
        },
        "not reset": {
            "alpha": 5.0,
            "mask_link": "logit",
            "unused_prior": "gaussian",
            "reset_unused": False,
        },
        "shared mask": {
            "alpha": 5.0,
            "mask_link": "logit",
            "shared_mask": True,
            "likelihood_epochs": 0,
        },
        "unmasked prior": {
            "alpha": 5.0,
            "mask_link": "logit",
            "masked_prior": False,
            "mask_kl": "concrete",
        },
        "coreset": {"alpha": 5.0, "mask_link": "logit", "coreset": "k_center"},
        "rows": {
            "alpha": 5.0,
            "mask_link": "logit",
            "row_sticks": True,
            "structured": False,
            "start_rho": 0.2,
        },
        "growing": {
            "alpha": 4.0,
            "mask_link": "logit",
            "expand": True,
            "empty_units": 4,
            "expand_every": 2,
        },
        "disarm": {"alpha": 5.0, "mask_link": "logit", "mask_gradient": "disarm"},
        "rebar": {"alpha": 5.0, "mask_link": "logit", "mask_gradient": "rebar"},
    },
    "gvcl": {"film": {"film": True, "film_rate": 0.01}, "drawn": {"local": False}},
    "ewc": {
        "separate": {"variant": "separate", "fisher": "empirical"},
        "decay": {"decay": 0.7, "fisher": "sampled"},
    },
    "imm": {"mean": {"merge": "mean"}},
    "vcl": {"drawn": {"local": False}, "coreset": {"coreset": "random"}},
    "si": {"weight": {"weight": 10.0}},
    "den": {"growing": {"loss_threshold": 0.0, "split_threshold": 0.001}},
    "ibp_vcl": {"offsets": {"offsets": True, "mask_kl": "concrete"}},
    "joint": {"going on": {"restart": False}},
    "horseshoe": {"weights": {"scales": "weights"}},
    "ivon": {"von": {"rule": "von", "curvature_rate": 0.002}},
    "kronecker": {"added": {"sums": "added", "factors": "diagonal"}},
    "progress": {"reset": {"reset": True, "decay": 0.7}},
    "vae_npbcl": {
        "shared": {"output": "shared", "hold_used": False, "latent_prior": "learned"},
        "standard": {
            "latent_prior": "standard",
            "likelihood": "gaussian",
            "first_columns": "sticks",
        },
    },
    "vae_ewc": {"separate": {"variant": "separate", "fisher": "empirical"}},
}
START = {
    "m2": {"likelihood": "gaussian", "alpha": 20.0, "latent_alpha": 20.0},
    "npbcl": {"start_rho": 1.0, "likelihood_epochs": 1, "alpha": 6.0},
    "vae_npbcl": {"alpha": 20.0, "latent_alpha": 20.0},
}


def cases():
    found = {}
    for name, about in ABOUT.items():
        for variant, options in {"": {}, **VARIANTS.get(name, {})}.items():
            chosen = {**(START.get(name, {}) if not variant else {}), **options}
            found[f"{name} {variant}".strip()] = partial(supervised, name, BLOBS, **chosen)
            if "domain" in about.can and not variant:
                found[f"{name}, one head"] = partial(
                    supervised, name, ONE_HEAD, **chosen, single_head=True
                )
    found["npbcl, regression"] = partial(
        supervised, "npbcl", [curves(0), curves(1)], start_rho=1.0, alpha=6.0
    )
    for name in GENERATIVE:
        for variant, options in {"": {}, **VARIANTS.get(name, {})}.items():
            found[f"{name} {variant}".strip()] = partial(
                generative, name, **{**START.get(name, {}), **options}
            )
    return found

"""The settings that a search has found for a method on an experiment: its preset "tuned".

Each is the best trial of a record under docs/search/, made by ``ibpcl tune`` on validation data; a test compares.
"""

TUNED = {
    "split-mnist": {
        "naive": {"epochs": 10, "rate": 0.00029, "rate_end": 0.1},
        "rehearsal": {"epochs": 15, "rate": 0.0012, "rate_end": 1.0, "buffer": "random"},
        "ewc": {"epochs": 15, "rate": 0.0012, "rate_end": 1.0, "weight": 110.0, "variant": "online"},
        "imm": {"epochs": 10, "rate": 0.0053, "rate_end": 0.1, "transfer": 4e-05},
        "si": {"epochs": 10, "rate": 0.0053, "rate_end": 0.1, "weight": 0.19, "damping": 0.00089},
    },
}

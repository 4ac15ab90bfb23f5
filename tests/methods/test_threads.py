"""Every method, on both backends: the same bits for any number of threads."""

import os
import subprocess
import sys
import textwrap

import pytest

from ibpcl.methods import GENERATIVE, METHODS

CHILD = """
    import hashlib
    import numpy as np
    from ibpcl.continual.task import Task
    from ibpcl.methods import GENERATIVE, METHODS, method

    small = {"hidden": (120,), "epochs": 1, "batch": 300, "samples": 1, "prediction_samples": 2,
             "finetune_epochs": 1, "likelihood_epochs": 1, "start_rho": 9.0, "latent": 20,
             "trials": 2, "coreset_size": 20, "alpha": 90.0,
             "latent_alpha": 90.0}
    rng = np.random.default_rng(0)
    x = rng.random((2, 300, 300))
    y = (x[:, :, :3].sum(axis=2) > 1.5).astype(int)
    for name in [*METHODS, *GENERATIVE]:
        for who in ("numpy", "numba"):
            found = method(name)
            fields = found.settings.__dataclass_fields__
            known = {key: value for key, value in small.items() if key in fields}
            learner, digest = found.learner(found.settings(**known), 0, who), hashlib.sha256()
            for t in range(2):
                learner.learn(Task(f"{t}", x_train=x[t], x_test=x[t, :5]) if name in GENERATIVE else
                              Task(f"{t}", x[t], y[t], x[t], y[t], 2), progress=False)
            values = dict(learner.state())
            values |= {f"p{t}": learner.predict(x[t], t) for t in range(2)}
            for key, value in sorted(values.items()):
                digest.update(key.encode() + np.ascontiguousarray(value).tobytes())
            print(name, who, digest.hexdigest())
    """


def digests(threads):
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": str(threads),
        "NUMBA_NUM_THREADS": str(threads),
    }
    command = [sys.executable, "-c", textwrap.dedent(CHILD)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow(reason="two processes that train every method")
def test_one_thread_and_two_learn_the_same_bits():
    one = digests(1)
    two = digests(2)
    assert len(one) == 2 * len((*METHODS, *GENERATIVE))
    assert [line for line, other in zip(one, two, strict=True) if line != other] == []

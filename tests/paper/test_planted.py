"""Every check of a gradient sees a wrong entry, and a gradient that is wrong only near by."""

import numpy as np
import pytest
from quick import quick

from ibpcl import verify
from ibpcl.paper import catalogue, networks
from ibpcl.verify import conclusion
from ibpcl.verify.reports.kinds import Finding

GRADIENTS = [check for check in catalogue.select(["gradients"]) if not catalogue.is_compiled(check)]
right = verify.check_pair


def flat(point):
    values = map(np.asarray, point)
    return np.concatenate([np.ravel(v.real) for v in values if v.dtype.kind in "fc"])


def one_entry(gradients, moved):
    """Change the largest gradient in one entry by a thousandth."""
    worst = max(gradients, key=np.size)
    worst.flat[worst.size // 2] += 1e-3 * np.abs(worst).max()


def near_by(gradients, moved):
    """Change all gradients by one per cent, but not at the given point."""
    for gradient in gradients:
        gradient *= 1.01 if moved else 1.0


def planted(fault):
    """Return a checker that plants a fault in the gradients that it is given."""

    def check_pair(f, f_vjp, inputs, *arguments, **options):
        given = flat(inputs.values())

        def forward(*point):
            out, cache = f(*point)
            return out, (np.abs(flat(point) - given).max() > 1e-3 * np.abs(given).max(), cache)

        def backward(dout, cache):
            found = f_vjp(dout, cache[1])
            several = isinstance(found, tuple)
            gradients = [np.array(part) for part in (found if several else (found,))]
            fault(gradients, cache[0])
            gradients = [part[()] for part in gradients]
            return tuple(gradients) if several else gradients[0]

        return right(forward, backward, inputs, *arguments, **options)

    return check_pair


@pytest.mark.parametrize("fault", [one_entry, near_by])
@pytest.mark.parametrize(
    "check",
    quick(
        [
            "gradients/gaussian.kl",
            "gradients/activations.relu",
            "gradients/masked.Masked.forward",
            "gradients/elbo.log-link",
            "gradients/pruning.absolute",
        ],
        GRADIENTS,
        "each way of comparing is there: entries and directions, with a kink, and by differences",
    ),
)
def test_a_planted_mistake_is_caught(monkeypatch, check, fault):
    for module in (verify, networks):
        monkeypatch.setattr(module, "check_pair", planted(fault))
    # its name is of no interest here, and takes time
    monkeypatch.setattr(
        conclusion, "_findings", lambda evidence, wrong: {j: Finding("wrong", "") for j in wrong}
    )
    assert catalogue.run(check, seed=1).verdict == "wrong"

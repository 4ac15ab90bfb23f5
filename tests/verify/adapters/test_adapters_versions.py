"""A second gradient function of one forward, such as ``norm_backward_alt``, is judged as well."""

import pytest

from ibpcl.verify.running.checking import results_here
from ibpcl.verify.running.user import Request

SOURCE = """
import numpy as np
def norm_forward(x):
    return x - x.mean(axis=0), x
def norm_backward(dout, cache):
    return dout - dout.mean(axis=0)
def norm_backward_alt(dout, cache):
    return dout {sign} dout.mean(axis=0)
def other_alt(x):
    return x
"""


@pytest.mark.parametrize(("sign", "verdict"), [("-", "ok"), ("+", "wrong")])
def test_another_version_of_a_gradient_is_judged(tmp_path, sign, verdict):
    path = tmp_path / "mine.py"
    path.write_text(SOURCE.format(sign=sign), encoding="utf-8")
    found = {
        item.title.rpartition(":")[2]: item.verdict for item in results_here(Request(str(path)))
    }
    assert found == {"norm_forward": "ok", "norm_backward_alt": verdict}


@pytest.mark.parametrize(("sign", "verdict"), [("+", "ok"), ("-", "wrong")])
def test_a_name_may_contain_of(tmp_path, sign, verdict):
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\n"
        "def sum_of_exp(x):\n    return np.exp(x).sum()\n"
        "def sum_of_exp_grad(x):\n    return np.exp(x)\n"
        f"def sum_of_exp_hvp(x, v):\n    return {sign}np.exp(x) * v\n"
        "def check_inputs():\n    return {'x': np.array([0.3, -0.5])}\n",
        encoding="utf-8",
    )
    found = [item.verdict for item in results_here(Request(str(path)))]
    assert found == ["ok", verdict]

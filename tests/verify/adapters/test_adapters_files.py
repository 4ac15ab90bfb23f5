"""Files and notebooks: search for targets, sources of inputs, and code that cannot be run."""

import json
import sys

import numpy as np
import pytest

from ibpcl import verify
from ibpcl.codeview.notebook import as_python, place
from ibpcl.errors import UserError
from ibpcl.verify.adapters import discovery, layouts, loading
from ibpcl.verify.adapters.inputs import ready
from ibpcl.verify.running import checking, trap, user


def verdicts(path, names=(), shapes=None):
    """Check a file in this process: {name: verdict or state}."""
    request = user.Request(str(path), list(names), shapes or {}, timeout=300.0)
    loaded = loading.load(str(path))
    found = {}
    for target in checking.choose(loaded, discovery.targets_in(loaded.module), request):
        content = checking.verdict_on(loaded, target, request)
        found[target.name] = (
            content["report"]["verdict"] if "report" in content else content["state"]
        )
    return found


def ready_report(path):
    """Check a file with one target in this process, and return the report."""
    loaded = loading.load(str(path))
    (target,) = discovery.targets_in(loaded.module).values()
    return checking.verdict_on(loaded, target, user.Request(str(path), timeout=300.0))["report"]


@pytest.fixture
def file(tmp_path):
    def write(text, name="mine.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


NAMES = [
    ("f", "f_vjp"),
    ("affine_forward", "affine_backward"),
    ("forward_affine", "backward_affine"),
    ("forward", "backward"),
    ("conv_forward_naive", "conv_backward_naive"),
    ("f", "grad_f"),
    ("f", "f_grad"),
    ("f", "f_prime"),
    ("f", "df"),
    ("f", "d_f"),
    ("f", "f_derivative"),
    ("sigmoid", "sigmoid_deriv"),
    ("sigmoid", "dsigmoid"),
    ("sigmoid", "sigmoidPrime"),
    ("relu_fwd", "relu_bwd"),
    ("relu", "relu_backward"),
    ("cost", "gradient"),
    ("rosen", "rosen_der"),
]


@pytest.mark.parametrize(("forward", "gradient"), NAMES, ids=lambda name: name)
def test_pairs_are_found_by_their_names(file, forward, gradient):
    path = file(
        f"import numpy as np\ndef {forward}(x):\n    return np.sin(x)\n"
        f"def {gradient}(x):\n    return np.cos(x)\ndef helper(x):\n    return x\n"
    )
    assert verdicts(path) == {forward: "ok"}
    assert verdicts(path, [gradient]) == verdicts(path, [forward]) == {forward: "ok"}


@pytest.mark.parametrize(
    ("cost", "gradient"),
    [
        ("compute_cost", "compute_gradient"),
        ("costFunctionReg", "gradReg"),
        ("logistic_loss", "logistic_grad"),
        ("objective_function", "gradient_function"),
        ("calculate_loss", "calculate_gradient"),
        ("compute_logistic_loss", "compute_logistic_gradient"),
        ("cost", "compute_gradient"),
    ],
)
def test_costs_and_their_gradients_are_pairs(file, cost, gradient):
    path = file(
        f"def {cost}(w):\n    return (w**2).sum()\ndef {gradient}(w):\n    return 2 * w\n"
        "def compute_accuracy(w):\n    return 0.0\n"
    )
    assert verdicts(path, shapes={"w": (4,)}) == {cost: "ok"}


def test_private_helpers_take_no_gradient_away(file):
    """`sample_vjp` belongs to `sample` although `_sample` comes first, and `_sample_vjp` to it."""
    text = "def _draw(x):\n    return x\ndef draw(x):\n    return _draw(x)\n"
    public = "def draw_vjp(d, x):\n    return d\n"
    private = "def _draw_vjp(d, x):\n    return d\n"

    def pairs(text):
        targets = discovery.targets_in(loading.load(file(text)).module)
        return {name: target.gradient.__name__ for name, target in targets.items()}

    assert pairs(text + public) == {"draw": "draw_vjp"}
    both = {"draw": "draw_vjp", "_draw": "_draw_vjp"}
    assert pairs(text + public + private) == pairs(text + private + public) == both


def test_a_statement_may_have_more_time(file, monkeypatch):
    monkeypatch.setattr(trap, "LAG", 0.0)
    path = file("import time\ntime.sleep(0.2)\nx = 1\n")
    assert len(loading.load(path, 0.05).failures) == 1
    assert loading.load(path, 20.0).failures == []


def test_functions_that_only_sound_alike_are_no_pair(file):
    path = file(
        "def data(x):\n    return x\ndef dat(x):\n    return x\ndef descent(x):\n    return x\n"
        "def gradient_descent(x):\n    return x\ndef train(x):\n    return x\n"
        "def compute_data(x):\n    return x\ndef compute_gradient(x):\n    return x\n"
    )
    assert list(discovery.targets_in(loading.load(path).module)) == ["descent"]
    with pytest.raises(UserError, match="nothing to check"):
        verdicts(file("def data(x):\n    return x\n"))


EVERYTHING = '''
import numpy as np

class Base:
    def forward(self, x):
        raise NotImplementedError
    def backward(self, dout):
        raise NotImplementedError

class Dense(Base):
    def __init__(self, n_in, n_out):
        self.W = np.random.randn(n_in, n_out)
    def forward(self, x):
        self.x = x
        return x @ self.W
    def backward(self, dout):
        self.dW = self.x.T @ dout
        return dout @ self.W.T

class Tanh(Base):
    def forward(self, x):
        self.y = np.tanh(x)
        return self.y
    def backward(self, dout):
        return dout * (1 - self.y)

def squared(w, x, y):
    d = x @ w - y
    loss = (d ** 2).sum()
    dw = 2 * x.T @ d
    return loss, dw

def cube(x):
    return x ** 3
def cube_prime(x):
    return 3 * x ** 2
def cube_hvp(x, v):
    return 6 * x * v
'''


def test_classes_losses_and_pairs_of_one_file(file):
    assert verdicts(file(EVERYTHING)) == {
        "Dense": "ok",
        "Tanh": "wrong",
        "squared": "ok",
        "cube": "ok",
        "cube_hvp": "ok",
    }


def test_an_object_of_the_file_is_taken_before_a_guess(file):
    path = file(EVERYTHING + "\nlayer = Dense(2, 7)\n")
    assert verdicts(path, ["layer"]) == {"Dense": "ok"}
    loaded = loading.load(path)
    assert discovery.targets_in(loaded.module)["Dense"].forward.W.shape == (2, 7)


INPUTS = '''
import numpy as np
def square(x):
    assert x.shape == (2,), x.shape
    return x ** 2
def square_prime(x):
    return 2 * x
def double(y):
    assert y.shape == (3,), y.shape
    return 2 * y
def double_prime(y):
    return 2 + 0 * y
'''


@pytest.mark.parametrize(
    "given",
    [
        (
            "def check_inputs_square():\n    return np.ones(2) + 0.5\ndef "
            "check_inputs_double():\n    return (np.ones(3),)\n"
        ),
        "check_inputs = {'square': np.ones(2), 'double': {'y': np.ones(3)}}\n".replace(
            "np.ones(2)", "(np.ones(2) * 3,)"
        ),
        "def check_inputs():\n    return dict(x=np.ones(2) + 1, y=np.ones(3))\n",
    ],
)
def test_inputs_may_be_given_for_each_function(file, given):
    assert verdicts(file(INPUTS + given)) == {"square": "ok", "double": "ok"}


DOCUMENTED = '''
import numpy as np
def scale(x, gamma):
    """Inputs:
    - x: data, of shape (N, T, D)
    - gamma: scale, of shape (D,)
    """
    assert x.ndim == 3
    return x * gamma, (x, gamma)
def scale_vjp(dout, cache):
    x, gamma = cache
    return dout * gamma, (dout * x).sum((0, 1))
def picked(scores, labels):
    return scores[np.arange(len(labels)), labels].sum()
def picked_grad(scores, labels):
    d = np.zeros_like(scores)
    d[np.arange(len(labels)), labels] = 1
    return d
'''


def test_missing_inputs_are_guessed_from_names_and_docstrings(file):
    assert verdicts(file(DOCUMENTED)) == {"scale": "ok", "picked": "ok"}


def test_a_guess_is_not_chosen_by_the_gradient(file):
    path = file(
        "import numpy as np\ndef total(x):\n    return np.sum(x ** 2)\n"
        "def total_grad(x):\n    return 2 * x if x.ndim == 1 else 3 * x\n"
        "def twice(x):\n    return 2 * x\ndef twice_prime(x):\n    return 3 + 0 * x\n"
    )
    assert verdicts(path) == {"total": "wrong", "twice": "wrong"}
    assert verdicts(path, ["total"], {"x": (3,)}) == {"total": "ok"}


LABEL_FIRST = """
import numpy as np
def stable_bce_cost(Y, Z):
    m = Y.shape[1]
    cost = np.sum(np.logaddexp(0, Z) - Z * Y) / m
    dZ_last = (1 / (1 + np.exp(-Z)) - Y) / m
    return cost, dZ_last
def bce_cost(Y, P_hat):
    '''Args:
        Y: the labels
        P_hat: estimated probabilities of the last layer
    '''
    m = Y.shape[1]
    cost = np.sum(-Y * np.log(P_hat) - (1 - Y) * np.log(1 - P_hat)) / m
    dP = ((1 - Y) / (1 - P_hat) - Y / P_hat) / m
    return cost, dP
"""


def test_an_unnamed_gradient_belongs_to_the_input_for_which_it_is_right(file):
    assert verdicts(file(LABEL_FIRST)) == {"stable_bce_cost": "ok", "bce_cost": "ok"}
    wrong = LABEL_FIRST.replace("- Y) / m", "+ Y) / m").replace("- Y / P_hat)", "+ Y / P_hat)")
    path = file(wrong)
    assert set(verdicts(path).values()) == {"wrong"}
    loaded = loading.load(str(path))
    for target in discovery.targets_in(loaded.module).values():
        request = user.Request(str(path), timeout=300.0)
        report = checking.verdict_on(loaded, target, request)["report"]
        assert [item["name"] for item in report["inputs"]] in (["Z"], ["P_hat"])


SETTINGS = """
import numpy as np
def dropout_forward(X, p_dropout):
    mask = np.random.binomial(1, p_dropout, size=X.shape) / p_dropout
    return X * mask, mask
def dropout_backward(dout, mask):
    return dout * mask
def scale_forward(X, scale):
    return X * scale, (X, scale)
def scale_backward(dout, cache):
    return dout * cache[1]
"""


def test_a_setting_needs_no_gradient_but_a_parameter_does(file):
    assert verdicts(file(SETTINGS)) == {"dropout_forward": "ok", "scale_forward": "undecided"}
    assert (
        verdicts(file(SETTINGS.replace("dout * mask", "2 * dout * mask")))["dropout_forward"]
        == "wrong"
    )


CACHE_AS_INPUT = """
import numpy as np
def norm_forward(x, cache):
    mean, scale = cache
    out = (x - x.mean(0)) * scale
    cache = (scale, len(x))
    return out, cache, x.mean(0)
def norm_backward(dout, cache):
    scale, n = cache
    return (dout - dout.mean(0)) * scale
def check_inputs():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3, 4)), (np.zeros(4), 2.0 + np.arange(4.0))
"""


def test_a_cache_of_the_forward_is_passed_even_if_an_input_has_its_name(file):
    # the arrays in the input `cache` have no gradient, so the whole is never ok
    assert verdicts(file(CACHE_AS_INPUT)) == {"norm_forward": "undecided"}
    wrong = CACHE_AS_INPUT.replace("dout - dout.mean(0)", "dout")
    assert verdicts(file(wrong)) == {"norm_forward": "wrong"}


CELL = """
import numpy as np
class Cell:
    def __init__(self, input_size, hidden_size):
        self.W = np.random.randn(hidden_size, input_size)
        self.V = np.random.randn(hidden_size, hidden_size)
        self.dW, self.dV = np.zeros_like(self.W), np.zeros_like(self.V)
    def forward(self, x, h_prev_t):
        h_t = np.tanh(x @ self.W.T + h_prev_t @ self.V.T)
        return h_t
    def backward(self, delta, h_t, h_prev_l, h_prev_t):
        dz = (1 - h_t**2) * delta
        self.dW += dz.T @ h_prev_l
        self.dV += dz.T @ h_prev_t
        return dz @ self.W, dz @ self.V
"""


def test_a_backward_gets_the_output_by_its_name_in_the_forward(file):
    assert verdicts(file(CELL)) == {"Cell": "ok"}
    assert verdicts(file(CELL.replace("dz.T @ h_prev_t", "dz.T @ h_t"))) == {"Cell": "wrong"}


def test_a_class_whose_forward_never_runs_is_refused_with_the_forwards_error(file):
    path = file(CELL.replace("h_t = np", "assert x.ndim == 7, 'seven axes'\n        h_t = np"))
    with pytest.raises(UserError, match=r"hidden_size=5.*forward raises AssertionError"):
        loaded = loading.load(str(path))
        target = discovery.targets_in(loaded.module)["Cell"]
        ready(loaded.module, target, {"x": (3, 4), "h_prev_t": (3, 5)}, 0, None)


BINARY = """
import numpy as np
class Likelihood:
    def forward(self, p, t):
        self.p, self.t = p, t
        return -np.mean(t * np.log(p) + (1 - t) * np.log(1 - p))
    def backward(self):
        return (self.p - self.t) / (self.p * (1 - self.p)) / self.t.shape[0]
"""


def test_a_loss_that_is_right_for_one_column_only_is_undecided(file):
    assert verdicts(file(BINARY)) == {"Likelihood": "undecided"}
    shapes = {"p": (4,), "t": (4,)}
    assert verdicts(file(BINARY.replace("t *", "0.3 *")), [], shapes)
    assert verdicts(file(BINARY.replace("t.shape[0]", "t.shape[0] / 2"))) == {"Likelihood": "wrong"}


def test_layouts_give_inputs_that_fit_together():
    step = next(
        found
        for found in layouts.fitting(["x", "W", "b"], "", {}, ())
        if found["W"].shape == (5, 4)
    )
    assert step["x"].shape == (4, 3) and step["b"].shape == (5, 1)
    documented = layouts.fitting(["x", "something_else"], "", {"x": (7, 2)}, ())
    assert all(found["x"].shape == (7, 2) for found in documented)


def test_a_statement_that_raises_costs_itself_only(file):
    path = file(
        "import numpy as np\nimport no_such_module\ndata = open('no such file')\n"
        "print(data.read())\n"
        "def f(x):\n    return np.sin(x)\ndef f_prime(x):\n    return np.cos(x)\n"
    )
    assert verdicts(path) == {"f": "ok"}
    failures = loading.load(path).failures
    assert len(failures) == 2 and "line 2" in failures[0] and "line 3" in failures[1]
    with pytest.raises(UserError, match="SystemExit"):
        loading.load(file("import sys\nsys.exit(0)\n"))
    with pytest.raises(UserError, match=r"nothing to check .line 1"):
        verdicts(file("import no_such_module\n"))


def test_relative_imports_find_the_files_beside(tmp_path):
    package = tmp_path / "net" / "core"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("raise RuntimeError('not needed')\n")
    (package / "tools.py").write_text("def twice(x):\n    return 2 * x\n")
    (package / "layer.py").write_text(
        "from .tools import twice\nfrom net.core import tools\n"
        "def f(x):\n    return twice(x)\ndef f_prime(x):\n    return 2 + 0 * x\n"
    )
    assert verdicts(package / "layer.py") == {"f": "ok"}


def test_a_package_comes_before_a_file_of_its_name_inside(tmp_path):
    modules = tmp_path / "nets" / "modules"
    modules.mkdir(parents=True)
    for folder in (tmp_path, modules.parent, modules):
        (folder / "__init__.py").write_text("")
    (modules / "__init__.py").write_text("from .module import twice\n")
    (modules.parent / "nets.py").write_text("")
    (modules.parent / "tools.py").write_text("TWO = 2\n")
    (modules / "module.py").write_text(
        "from nets.tools import TWO\ndef twice(x):\n    return TWO * x\n"
    )
    path = modules / "linear.py"
    path.write_text(
        "from nets.modules import twice\n"
        f"def f(x):\n    return twice(x)\ndef f_prime(x):\n    return {2} + 0 * x\n"
    )
    assert verdicts(path) == {"f": "ok"}


def test_relative_imports_from_folders_above_need_no_package(tmp_path):
    folder = tmp_path / "net" / "layers" / "dense"
    folder.mkdir(parents=True)
    (folder.parent / "tools.py").write_text("def twice(x):\n    return 2 * x\n")
    (folder / "layer.py").write_text(
        "from ..tools import twice\n"
        "def f(x):\n    return twice(x)\ndef f_prime(x):\n    return 2 + 0 * x\n"
    )
    assert verdicts(folder / "layer.py") == {"f": "ok"}


def notebook(*cells):
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [
                {
                    "cell_type": "code" if not cell.startswith("#markdown") else "markdown",
                    "metadata": {},
                    "outputs": [],
                    "source": cell.splitlines(keepends=True),
                }
                for cell in cells
            ],
        }
    )


def test_a_notebook_is_checked_by_its_code_cells(file, tmp_path):
    path = file(
        notebook(
            "#markdown here",
            "%matplotlib inline\n!pip install things\nimport numpy as np\nnp?\n",
            "%%bash\nls | wc\n",
            "def square(x):\n    return x ** 2, (7 * x\n        % 5)\n",
            "undefined.plot()\nplt.show()\n",
            "def square_vjp(d, c):\n    x = c\n    return 3 * d\n",
            "square(np.ones(3)",
        ),
        "home.ipynb",
    )
    loaded = loading.load(str(path))
    assert list(discovery.targets_in(loaded.module)) == ["square"]
    assert verdicts(path, ["square"]) == {"square": "wrong"}
    assert place(path.resolve(), 1) == "cell 1, line 1"


def test_a_line_of_a_notebook_is_named_by_its_cell(file):
    path = file(
        notebook(
            "import numpy as np\n\n",
            "def cube(x):\n    return x ** 3, x",
            "# the gradient\ndef cube_vjp(d, x):\n    return 2 * d * x ** 2\n",
        ),
        "home.ipynb",
    )
    request = user.Request(str(path), ["cube"], {"x": (3,)}, timeout=300.0)
    loaded = loading.load(str(path))
    (target,) = checking.choose(loaded, discovery.targets_in(loaded.module), request)
    where = checking.verdict_on(loaded, target, request)["report"]["inputs"][0]["where"]
    assert where is None or (where["cell"], where["line"]) == (3, 3)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("x = 1\n%timeit x\n", "x = 1\npass\n"),
        ("if True:\n    !ls\n", "if True:\n    pass\n"),
        ("s = '''\n%not a command\n'''\n!ls", "s = '''\n%not a command\n'''\npass"),
        ("y = (8\n% 3)\n%time y", "y = (8\n% 3)\ny"),
        ("files = !ls\nn = %env HOME\n", "files = None\nn = None\n"),
        ("%%time\nx = 2", "\nx = 2"),
        ("%%html\n<b>no</b>\n", "\n\n"),
        ("x = 5 % 3\n", "x = 5 % 3\n"),
    ],
)
def test_commands_of_ipython_are_taken_out_where_statements_begin(cell, expected):
    lines = [line.partition("#")[0].rstrip() for line in as_python(cell)[0].split("\n")]
    assert lines == [line.rstrip() for line in expected.split("\n")]


@pytest.mark.parametrize("content", ["print(1)", '{"cells": [', '{"cells": 3}', "{}", "[1, 2]"])
def test_a_file_that_is_no_notebook_is_refused_once_and_in_words(file, content):
    with pytest.raises(UserError, match="not a notebook") as refusal:
        loading.load(str(file(content, "broken.ipynb")))
    assert str(refusal.value).count("check:") == 1
    assert "Error" not in str(refusal.value)


RAISING = """
import sys
def ends(x):
    sys.exit(2)
def ends_vjp(dout, cache):
    return dout
def product(x, w):
    return x @ w
def product_backward(dout, x, w):
    return dout @ w.T, x.T @ dout.T
"""


def test_a_guess_is_no_excuse_for_a_gradient_that_raises(file):
    assert verdicts(file(RAISING)) == {"ends": "refused", "product": "wrong"}
    request = user.Request("mine.py", timeout=300.0)
    loaded = loading.load(str(file(RAISING)))
    ends, product = (
        checking.verdict_on(loaded, target, request)
        for target in discovery.targets_in(loaded.module).values()
    )
    assert "SystemExit: 2 (line 4" in ends["words"] and "\n" not in ends["words"]
    kinds = {item["name"]: item["kind"] for item in product["report"]["inputs"]}
    assert kinds == {"x": "transposed", "w": "transposed"}
    assert all("\n" not in item["words"] for item in product["report"]["inputs"])


TWO_OBJECTS = """
import numpy as np

class Scale:
    def __init__(self, w, bug=False):
        self.w, self.bug = np.array(w, float), bug

    def forward(self, x):
        self.x = x
        return x * self.w

    def backward(self, dout):
        self.dw = (dout * self.x).sum(0)
        return dout * (self.w.sum() if self.bug else self.w)

good = Scale([1.0, 2.0, 3.0])
bad = Scale([1.0, 2.0, 3.0], bug=True)
"""


def test_every_object_of_a_class_is_checked_by_its_name(file):
    path = file(TWO_OBJECTS)
    shapes = {"x": (4, 3)}
    assert verdicts(path, shapes=shapes) == {"good": "ok", "bad": "wrong"}
    assert verdicts(path, ["bad"], shapes) == {"bad": "wrong"}
    assert verdicts(path, ["good"], shapes) == {"good": "ok"}


def test_an_init_that_fails_in_part_still_gives_the_names_that_it_defines(tmp_path):
    package = tmp_path / "halfnet"
    package.mkdir()
    (package / "__init__.py").write_text("import no_such_module\nfrom .tools import twice\n")
    (package / "tools.py").write_text("def twice(x):\n    return 2 * x\n")
    (package / "layer.py").write_text(
        "from halfnet import twice\n"
        "def f(x):\n    return twice(x)\ndef f_prime(x):\n    return 2 + 0 * x\n"
    )
    assert verdicts(package / "layer.py") == {"f": "ok"}


PICKY = """
class Picky:
    def __init__(self, n, w):
        if w.shape != (n, n + 7):
            raise ValueError('n and w do not fit')
        self.w = w
    def forward(self, x):
        self.x = x
        return x @ self.w
    def backward(self, dout):
        return dout @ self.w.T
"""


def test_a_constructor_that_refuses_guessed_arguments_is_not_wrong(file):
    assert verdicts(file(PICKY)) == {"Picky": "refused"}
    made = PICKY + "\nimport numpy as np\npicky = Picky(4, np.ones((4, 11)))\n"
    assert verdicts(file(made)) == {"Picky": "undecided"}  # w has no gradient


def test_only_the_first_lines_that_the_code_prints_are_shown(file, capsys):
    path = file(
        "def f(x):\n    print('called')\n    return x**2\ndef f_prime(x):\n    return 2 * x\n"
    )
    assert verdicts(path) == {"f": "ok"}
    assert capsys.readouterr().out.count("called") == checking.LINES


def test_a_file_with_the_name_of_its_package_does_not_hide_the_package(tmp_path):
    folder = tmp_path / "deepnet_shadow" / "layers"
    folder.mkdir(parents=True)
    (folder.parent / "deepnet_shadow.py").write_text("from deepnet_shadow.layers import tools\n")
    (folder / "tools.py").write_text("def twice(x):\n    return 2 * x\n")
    (folder / "layer.py").write_text(
        "from deepnet_shadow.layers.tools import twice\n"
        "def f(x):\n    return twice(x)\ndef f_prime(x):\n    return 2 + 0 * x\n"
    )
    assert verdicts(folder / "layer.py") == {"f": "ok"}


LAYERS = """
import numpy as np

def swish(x):
    s = 1 / (1 + np.exp(-x))
    return x * s, (x, s)

def swish_backward(dout, cache):
    x, s = cache
    return dout * s
"""
CALLS = {
    "attribute": ("import swish_layers as layers", "layers.swish", "layers.swish_backward"),
    "other-name": ("from swish_layers import swish as f, swish_backward as b", "f", "b"),
}


@pytest.mark.parametrize("way", CALLS)
def test_a_mistake_in_another_file_is_named_however_its_function_is_called(way, file):
    opening, forward, backward = CALLS[way]
    file(LAYERS, "swish_layers.py")
    path = file(
        f"{opening}\n\ndef net(x, w):\n    y, cache = {forward}(x @ w)\n"
        "    return y, (x, w, cache)\n\ndef net_backward(dout, cache):\n    x, w, inner = cache\n"
        f"    da = {backward}(dout, inner)\n    return da @ w.T, x.T @ da\n"
    )
    loaded = loading.load(str(path))
    report = verify.check(
        loaded.module.net, loaded.module.net_backward, {"x": np.eye(3) + 1, "w": np.eye(3) - 2}
    )
    assert {one.kind for one in report.inputs} == {"missing_term"}, str(report)
    assert report["x"].where.file.endswith("swish_layers.py")


def test_an_imported_file_is_read_without_its_statements_that_raise(file):
    file(
        "import numpy as np\nimport no_such_extension\nno_such_extension.install()\n"
        "def scale(x):\n    return 3 * x\n",
        "tools_with_extension.py",
    )
    path = file(
        "from tools_with_extension import *\n"
        "def f(x):\n    return scale(x)\ndef f_prime(x):\n    return 3 + 0 * x\n"
    )
    assert verdicts(path) == {"f": "ok"}


def test_the_file_of_a_skipped_statement_is_named(file):
    file("import no_such_extension\n", "extended_tools.py")
    (failure,) = loading.load(file("import extended_tools\nx = 3\n", "imports.py")).failures
    assert "line 1 of extended_tools.py" in failure


EVIDENCE = """
import numpy as np

def evidence(alpha, beta, Phi, Y):
    C = alpha * Phi @ Phi.T + beta * np.eye(len(Phi))
    fit = Y.T @ np.linalg.solve(C, Y)
    return -0.5 * np.log(np.linalg.det(C)) - 0.5 * fit[0, 0]

def grad_evidence(alpha, beta, Phi, Y):
    inverse = np.linalg.inv(alpha * Phi @ Phi.T + beta * np.eye(len(Phi)))
    inner = inverse @ (Y @ Y.T) @ inverse - inverse
    return np.array([0.5 * np.trace(inner @ Phi @ Phi.T), 0.5 * np.trace(inner)])

def check_inputs():
    rng = np.random.default_rng(0)
    Phi, Y = rng.normal(size=(3, 5)), rng.normal(size=(3, 1))
    return {"alpha": 0.3, "beta": 0.8, "Phi": Phi, "Y": Y}
"""


def test_one_vector_may_hold_the_gradients_of_numbers(file):
    assert verdicts(file(EVIDENCE)) == {"evidence": "ok"}
    assert verdicts(file(EVIDENCE.replace("- inverse\n", "+ inverse\n"), "wrong.py")) == {
        "evidence": "wrong"
    }


def test_a_gradient_documents_the_inputs_of_its_forward(file):
    text = (
        "import numpy as np\nB = np.array([[3.0, -1.0], [-1.0, 3.0]])\ndef f(x):\n"
        "    return x @ B @ x\ndef grad_f(x):\n"
        "    ''':param x: input array with shape (2, )'''\n    return 2 * B @ x\n"
    )
    assert verdicts(file(text)) == {"f": "ok"}


COST = """
import numpy as np

def costFunction(theta, X, y):
    h = 1 / (1 + np.exp(-X @ theta))
    return -(y @ np.log(h) + (1 - y) @ np.log(1 - h)) / len(y)

def gradient(theta, X, y):
    h = 1 / (1 + np.exp(-X @ theta))
    return (h - y) @ X / len(y)
"""


def test_a_gradient_without_a_name_belongs_to_the_only_objective(file):
    assert verdicts(file(COST)) == {"costFunction": "ok"}


def test_right_numbers_in_another_shape_are_seen_before_other_inputs_are_guessed(file):
    row = COST.replace("(h - y) @ X / len(y)", "(h - y).reshape(1, -1) @ X / len(y)")
    report = ready_report(file(row))
    assert report["verdict"] == "wrong" and "right numbers in the wrong shape" in str(report)


def test_a_class_may_have_a_function_and_its_prime(file):
    text = (
        "import numpy as np\nclass Tanh:\n    def function(self, x):\n        return np.tanh(x)\n"
        "    def function_prime(self, x):\n        return 1 - np.tanh(x) ** 2\n"
    )
    assert verdicts(file(text)) == {"Tanh": "ok"}
    assert verdicts(file(text.replace("** 2", ""), "wrong.py")) == {"Tanh": "wrong"}


def test_probabilities_are_guessed_if_the_output_is_not_finite(file):
    text = (
        "import numpy as np\n"
        "def loss(activation, label):\n"
        "    return -(label * np.log(activation) + (1 - label) * np.log(1 - activation))\n"
        "def loss_prime(activation, label):\n"
        "    return -label / activation + (1 - label) / (1 - activation)\n"
    )
    assert verdicts(file(text)) == {"loss": "ok"}


CHARACTERS = '''
import argparse
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=3)
hidden_size = 7
steps = parser.parse_args().steps
rng = np.random.default_rng(0)
W = rng.normal(size=(hidden_size, 5))
U = rng.normal(size=(hidden_size, hidden_size))

def loss_and_gradients(input_indices, previous_state):
    """Args:
    input_indices: list[int] of length T
    previous_state: ndarray (hidden_size, 1)
    """
    state = [previous_state]
    for n in input_indices:
        state.append(np.tanh(W[:, [n]] + U @ state[-1]))
    loss = (state[-1] ** 2).sum()
    dW = np.zeros_like(W)
    dU = np.zeros_like(U)
    d = 2 * state[-1]
    for t in reversed(range(len(input_indices))):
        d = d * (1 - state[t + 1] ** 2)
        dW[:, [input_indices[t]]] += d
        dU += d @ state[t].T
        d = U.T @ d
    return loss, dW, dU
'''


def test_indices_and_global_sizes_give_inputs_of_a_network_over_characters(file, monkeypatch):
    monkeypatch.setattr("sys.argv", ["mine.py"])
    assert verdicts(file(CHARACTERS)) == {"loss_and_gradients": "ok"}
    wrong = CHARACTERS.replace("state[t + 1] ** 2", "state[t] ** 2")
    assert verdicts(file(wrong, "wrong.py")) == {"loss_and_gradients": "wrong"}


@pytest.mark.processes(reason="a file runs in a process")
def test_a_file_may_read_its_command_line(file):
    (checked,) = user.FileRun(str(file(CHARACTERS)))
    assert checked.verdict == "ok", checked.words


def test_a_notebook_may_run_another_file(file):
    cells = [
        "%run '/home/me/rooted_tools.py'",
        "def f(x):\n    return root(x)",
        "def f_prime(x):\n    return 2 * x",
    ]
    file("def root(x):\n    return x**2\n", "rooted_tools.py")
    notebook = {"cells": [{"cell_type": "code", "source": source} for source in cells]}
    assert verdicts(file(json.dumps(notebook), "mine.ipynb")) == {"f": "ok"}


def test_a_function_may_have_a_flag_for_its_derivative(file):
    text = (
        "import numpy as np\n"
        "def sigmoid(x, deriv=False):\n    s = 1 / (1 + np.exp(-x))\n"
        "    return s * (1 - s) if deriv else s\n"
        "def tanh(x, derivative=False):\n    if derivative:\n        return (1 - np.tanh(x)) ** 2\n"
        "    return np.tanh(x)\n"
        "def train(x, grad=True):\n    return x\n"
    )
    assert verdicts(file(text)) == {"sigmoid": "ok", "tanh": "wrong"}


STATIC = """
import numpy as np

class Tanh:
    @staticmethod
    def function(x):
        return np.tanh(x)

    @staticmethod
    def first_derivative(x):
        t = np.tanh(x)
        return np.square(1 - t)
"""


def test_a_mistake_in_a_static_method_has_a_line(file):
    report = ready_report(file(STATIC))
    assert "`np.square(1 - t)` should be `1 - t ** 2`" in str(report)
    assert report["inputs"][0]["where"]["line"] == 12


def test_an_embedding_takes_indices(file):
    text = (
        "import numpy as np\nclass Embedding:\n    def __init__(self, vocabulary, width):\n"
        "        self.weights = np.random.randn(vocabulary, width)\n"
        "    def forward(self, inputs):\n        self.inputs = inputs.astype(int)\n"
        "        return self.weights[self.inputs]\n"
        "    def backward(self, dout):\n        self.dweights = np.zeros_like(self.weights)\n"
        "        np.add.at(self.dweights, self.inputs, dout)\n"
    )
    assert verdicts(file(text)) == {"Embedding": "ok"}


def test_a_name_that_another_function_sets_is_no_mistake(file):
    source = """
import numpy as np
def configure(slope):
    global SLOPE
    SLOPE = slope
def leaky(x, deriv=False):
    if deriv:
        return np.where(x > 0, 1.0, SLOPE)
    return np.where(x > 0, x, SLOPE * x)
def other(x, deriv=False):
    return np.ones_like(x) if deriv else x + MISSING
"""
    path = file(source)
    assert verdicts(path, ["leaky"]) == {"leaky": "refused"}
    assert verdicts(path, ["other"]) == {"other": "undecided"}  # the forward cannot run


def test_a_misspelt_attribute_of_an_array_is_named_where_inputs_are_asked_for(file):
    source = """
def loss(w, x):
    n = x.shapep[0]
    value = (x @ w).sum() / n
    dw = x.sum(axis=0) / n
    return value, dw
"""
    [result] = checking.results_here(user.Request(str(file(source))))
    assert result.verdict == "refused" and "shapep" in result.words


def test_an_argument_called_y_is_no_label_if_its_gradient_is_returned(file):
    source = """
def valley(x, y):
    return (1 - x) ** 2 + 5 * (y - x**2) ** 2
def grad_valley(x, y):
    df_dx = -2 * (1 - x) - 20 * x * (y - x**2)
    del_y = 10 * (y - x**2)
    return df_dx, del_y
"""
    report = ready_report(file(source))
    assert report["verdict"] == "ok" and [one["name"] for one in report["inputs"]] == ["x", "y"]


def test_the_matrix_of_a_quadratic_form_may_be_symmetric(file):
    source = """
def quadratic(A, b, x):
    loss = 0.5 * x @ A @ x - b @ x
    grad = A @ x - {factor} * b
    return loss, grad
"""
    right = ready_report(file(source.format(factor=1), "right.py"))
    assert right["verdict"] == "undecided" and "symmetric" in right["inputs"][0]["words"]
    assert verdicts(file(source.format(factor=2), "wrong.py")) == {"quadratic": "wrong"}
    given = "\ndef check_inputs():\n    a = np.array([[2.0, 1.0], [1.0, 3.0]])\n"
    given += "    return {'A': a, 'b': np.array([0.3, -1.0]), 'x': np.array([0.7, 0.2])}\n"
    declared = "import numpy as np" + source.format(factor=1) + given
    assert verdicts(file(declared, "given.py")) == {"quadratic": "ok"}


def test_symmetry_does_not_hide_a_missing_transpose(file):
    source = """
def squares(A, b, x):
    r = A @ x - b
    loss = 0.5 * r @ r
    grad = A @ r
    return loss, grad
"""
    assert verdicts(file(source)) == {"squares": "wrong"}


def test_a_class_that_is_fitted_is_no_distribution(file):
    source = """
class Scaler:
    def __init__(self, width):
        self.width = width
    def {name}(self, x):
        self.mean = x.mean(axis=0)
    def transform(self, x):
        return x - self.mean
    def inverse_transform(self, z):
        return z + self.mean
"""
    found = {}
    for name in ("fit", "other"):
        module = loading.load(str(file(source.format(name=name), f"{name}.py"))).module
        groups = checking.groups_of(module, {}, user.Request(""))
        found[name] = [group.title for group in groups]
    assert found == {"fit": [], "other": ["Scaler"]}


def test_an_objective_is_judged_where_it_is_one_number(file):
    source = """
import numpy as np
def fun(x, a):
    return a * np.sum(x**4)
def jac(x, a):
    return {factor} * a * x**3
class Quadratic:
    def __call__(self, x):
        return 0.5 * x @ x
    def grad(self, x):
        return x
"""
    right = verdicts(file(source.format(factor=4), "right.py"))
    assert right == {"fun": "ok", "Quadratic": "ok"}
    assert verdicts(file(source.format(factor=3), "wrong.py"))["fun"] == "wrong"


def test_a_gradient_may_be_returned_beside_an_error(file):
    source = """
import numpy as np
def compute_loss(y, tx, w):
    e = y - tx.dot(w)
    return 0.5 * np.mean(e**2)
def compute_gradient(y, tx, w):
    e = y - tx.dot(w)
    grad = {sign}tx.T.dot(e) / len(e)
    return grad, e
"""
    report = ready_report(file(source.format(sign="-"), "right.py"))
    assert report["verdict"] == "ok" and [one["name"] for one in report["inputs"]] == ["w"]
    assert verdicts(file(source.format(sign=""), "wrong.py")) == {"compute_loss": "wrong"}


def test_all_weights_of_a_network_may_be_one_vector(file):
    source = """
import numpy as np
def sigmoid(z):
    return 1 / (1 + np.exp(-z))
def network(nn_params, input_layer_size, hidden_layer_size, num_labels, X, y, lambda_):
    cut = hidden_layer_size * (input_layer_size + 1)
    U = nn_params[:cut].reshape(hidden_layer_size, input_layer_size + 1)
    V = nn_params[cut:].reshape(num_labels, hidden_layer_size + 1)
    m = len(X)
    Y = {labels}
    one = np.ones((m, 1))
    A = np.hstack([one, X])
    H = np.hstack([one, sigmoid(A @ U.T)])
    P = sigmoid(H @ V.T)
    J = -np.sum(Y * np.log(P) + (1 - Y) * np.log(1 - P)) / m
    J += lambda_ / (2 * m) * (np.sum(U[:, 1:] ** 2) + np.sum(V[:, 1:] ** 2))
    D = P - Y
    E = ((D @ V) * H * (1 - H))[:, 1:]
    gU, gV = E.T @ A / m, D.T @ H / m
    gU[:, 1:] += lambda_ / m * U[:, 1:]
    gV[:, 1:] += {factor} * lambda_ / m * V[:, 1:]
    grad = np.concatenate([gU.ravel(), gV.ravel()])
    return J, grad
def check_inputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 4))
    y = {inputs}
    return {{"network": (rng.normal(size=49), 4, 5, 4, X, y, 0.1)}}
"""
    for labels, inputs in (
        ("np.eye(num_labels)[y]", "np.array([0, 3, 1])"),
        ("y", "np.eye(4)[:3]"),
    ):
        right = source.format(labels=labels, inputs=inputs, factor=1)
        assert verdicts(file(right, "right.py"), ["network"]) == {"network": "ok"}
    wrong = source.format(labels="y", inputs="np.eye(4)[:3]", factor=2)
    assert verdicts(file(wrong, "wrong.py"), ["network"]) == {"network": "wrong"}


def test_a_statement_that_does_not_end_is_skipped(file, monkeypatch):
    monkeypatch.setattr(loading, "SECONDS", 0.2)
    path = file(
        "while True:\n    pass\ndef f(x):\n    return x**2\ndef f_prime(x):\n    return 2 * x"
    )
    assert "line 1" in loading.load(str(path)).failures[0]
    assert verdicts(path) == {"f": "ok"}


def test_a_derivative_of_an_unknown_name_is_undecided(file):
    source = """
import numpy as np
def sigmoid(x):
    return 1 / (1 + np.exp(-x))
def sigmoid_derivative(values):
    return values * ({one} - values)
"""
    assert verdicts(file(source.format(one=1), "right.py")) == {"sigmoid": "undecided"}
    assert verdicts(file(source.format(one=2), "wrong.py")) == {"sigmoid": "wrong"}
    named = source.format(one=1).replace("values", "out")
    assert verdicts(file(named, "named.py")) == {"sigmoid": "ok"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Write the files of a package; its modules are forgotten afterwards."""
    monkeypatch.setattr("sys.path", list(sys.path))
    before = set(sys.modules)

    def write(**sources):
        folder = tmp_path / "studentpackage"
        folder.mkdir()
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(source, encoding="utf-8")
        return folder

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_the_names_of_a_package_are_those_of_its_init(project):
    folder = project(
        __init__="from .layers import f\ndef doubled(x):\n    return 2 * x\n",
        layers="import studentpackage\ndef f(x):\n    return x**2\n"
        "def f_prime(x):\n    return studentpackage.doubled(x)\n",
    )
    assert verdicts(folder / "layers.py") == {"f": "ok"}


def test_other_files_of_a_project_see_the_classes_of_the_checked_file(project):
    folder = project(
        numbers_="class Number:\n    def __init__(self, x):\n        self.x = x\n"
        "def f(x):\n    from operations import square\n    return square(Number(x))\n"
        "def f_prime(x):\n    return 2 * x\n",
        operations="from numbers_ import Number\ndef square(one):\n"
        "    assert isinstance(one, Number)\n    return one.x**2\n",
    )
    assert verdicts(folder / "numbers_.py") == {"f": "ok"}


def test_a_prediction_is_guessed_as_a_probability_and_not_as_a_label(file):
    source = """
import numpy as np
class BinaryCrossEntropy:
    def forward(self, y_pred, y_true):
        self.p, self.y = np.clip(y_pred, 1e-7, 1 - 1e-7), y_true
        return -np.mean(y_true * np.log(self.p) + (1 - y_true) * np.log(1 - self.p))
    def backward(self):
        self.dinputs = -(self.y / self.p - (1 - self.y) / (1 - self.p)) / len(self.y)
"""
    assert verdicts(file(source)) == {"BinaryCrossEntropy": "ok"}


def test_a_flag_that_asks_for_no_derivative_makes_no_function_a_target(file):
    text = """
import numpy as np

def ones(shape, requires_grad=False):
    return np.ones(shape)

def square(x, derivative=False):
    return 2 * x if derivative else x * x
"""
    assert verdicts(file(text)) == {"square": "ok"}


OPEN = """
import numpy as np

class Product:
    def forward(self, *inputs):
        self.left, self.right = inputs
        return self.left * self.right

    def backward(self, dout):
        return dout * self.right, dout * self.left
"""


def test_a_forward_with_any_number_of_inputs_is_refused_until_they_are_given(file):
    assert verdicts(file(OPEN)) == {"Product": "refused"}
    given = "\ndef check_inputs():\n    return (np.array([1.0, 2.0]), np.array([0.5, -0.3]))\n"
    assert verdicts(file(OPEN + given)) == {"Product": "ok"}
    wrong = OPEN.replace("dout * self.right,", "dout * self.left,")
    assert verdicts(file(wrong + given)) == {"Product": "wrong"}


CONTEXT = """
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Tuple

def first(values: Tuple[np.ndarray]) -> np.ndarray:
    return values[0]

class Function:
    @classmethod
    def _forward(cls, ctx, *inputs):
        return cls.forward(ctx, *inputs)

    @classmethod
    def _backward(cls, ctx, dout):
        return cls.backward(ctx, dout)

class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.exp(x)

    @staticmethod
    def backward(ctx, dout: np.ndarray) -> Tuple[np.ndarray]:
        return dout * np.exp(first(ctx.saved_values))
"""


def test_a_base_class_whose_functions_others_define_is_no_target(file):
    assert verdicts(file(CONTEXT)) == {"Exp": "ok"}


def test_annotations_may_name_what_only_a_type_checker_imports(file):
    report = ready_report(file(CONTEXT.replace("np.exp(first", "np.exp(2 * first")))
    (verdict,) = report["inputs"]
    assert verdict["kind"] == "constant_factor"
    assert verdict["where"]["text"].endswith("np.exp(2 * first(ctx.saved_values))")


PROPAGATED = """
import numpy as np

class Dense:
    def __init__(self, units=2):
        self.units = units
        self.params = {"W": np.random.randn(units, 3)}
        self.cache, self.grads = {}, {}

    def forward_propagate(self, X, train_mode=False):
        if train_mode:
            self.cache["A"] = X
        return self.params["W"] @ X

    def back_propagate(self, dZ):
        self.grads["dW"] = dZ @ self.cache["A"].T
        return self.params["W"].T @ dZ

class Kept:
    def __init__(self):
        self.params = {"w": np.array([[0.5, -0.3], [0.2, 0.9]])}
        self.grads = {}
        self.w = None

    def forward(self, x):
        self.x = x
        self.w = self.params["w"].reshape(2, 2)  # for the backward, not a second parameter
        return x @ self.w

    def backward(self, dout):
        self.grads["w"] = self.x.T @ dout
        return dout @ self.w.T

def check_inputs():
    return {"X": np.ones((3, 4)), "x": np.array([[1.0, 2.0], [0.5, -1.0]])}
"""


def test_a_forward_may_be_asked_to_keep_its_cache_and_may_keep_its_weights(file):
    assert verdicts(file(PROPAGATED)) == {"Dense": "ok", "Kept": "ok"}
    wrong = PROPAGATED.replace("self.x.T @ dout", "self.x.T @ dout / 2")
    assert verdicts(file(wrong)) == {"Dense": "ok", "Kept": "wrong"}


def test_a_package_whose_modules_name_each_other_by_its_attributes_is_read(tmp_path):
    package = tmp_path / "looped"
    (package / "ops").mkdir(parents=True)
    files = {
        "__init__.py": "from . import ops\n",
        "core.py": (
            "import looped\nfrom looped import start\n"
            "def f(x):\n    return looped.ops.square(x)\n"
            "def f_prime(x):\n    return 2 * x * looped.core.ONE\nONE = 1\n"
        ),
        "start.py": "",
        # it needs the names of the core, which are not there when the package is run first
        "ops/__init__.py": "from ..core import ONE\ndef square(x):\n    return ONE * x**2\n",
    }
    for name, text in files.items():
        (package / name).write_text(text, encoding="utf-8")
    try:
        assert verdicts(package / "core.py") == {"f": "ok"}
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] in ("looped", "core")]:
            del sys.modules[name]


AVERAGED = """
import numpy as np

class Linear:
    def __init__(self, n_inp, n_out):
        self.weights = np.random.uniform(-1, 1, (n_inp, n_out))
        self.bias = np.zeros(n_out)

    def forward(self, x):
        self.x = x
        return x @ self.weights + self.bias

    def backward(self, grad):
        self.grad_w = (self.x[:, :, None] @ grad[:, None, :]).mean(axis=0)
        self.grad_b = grad.mean(axis=0)
        return grad @ self.weights.T
"""


def test_inputs_for_which_parameters_have_no_gradient_excuse_no_mistake(file):
    assert verdicts(file(AVERAGED)) == {"Linear": "wrong"}
    assert verdicts(file(AVERAGED.replace(".mean(axis=0)", ".sum(axis=0)"))) == {"Linear": "ok"}


ONE_EXAMPLE = """
import numpy as np
class Dense:
    def __init__(self, n_in, n_out):
        self.W = np.random.randn(n_in, n_out)
        self.b = np.random.randn(1, n_out)

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dout, learning_rate):
        dx = dout @ self.W.T
        self.W -= learning_rate * (self.x.T @ dout)
        self.b -= learning_rate * dout
        return dx
"""


def test_a_layer_that_is_right_for_one_example_only_is_undecided(file):
    assert verdicts(file(ONE_EXAMPLE)) == {"Dense": "undecided"}
    wrong = ONE_EXAMPLE.replace("learning_rate * (self.x.T", "learning_rate * 2 * (self.x.T")
    assert verdicts(file(wrong)) == {"Dense": "wrong"}
    summed = ONE_EXAMPLE.replace("learning_rate * dout", "learning_rate * dout.sum(axis=0)")
    assert verdicts(file(summed)) == {"Dense": "ok"}


BOOK = """
import numpy as np
class Loss_MeanSquaredError:
    def forward(self, y_pred, y_true):
        return np.mean((y_true - y_pred) ** 2, axis=-1)

    def backward(self, dvalues, y_true):
        self.dinputs = -2 * (y_true - dvalues) / len(dvalues[0])


def U(x, delta=1.0, slope=False):
    if slope:
        return delta * np.cos(x)
    return delta * np.sin(x)


def V(x):
    return x**2


def dVdx(x):
    return 2.0 * x


class Scaled:
    def __init__(self):
        self.cache = {"x": None}

    def forward(self, x):
        self.cache["x"] = x
        return x**3

    def backward(self, dZ, lr):
        '''dZ: d(loss)/d(output of this layer)'''
        return dZ * 3 * self.cache["x"] ** 2
"""


def test_names_of_a_book_and_of_physics_are_read(file):
    right = {"Loss_MeanSquaredError": "ok", "V": "ok", "Scaled": "ok"}
    assert verdicts(file(BOOK)) == right
    wrong = BOOK.replace("-2 * (", "-3 * (").replace("2.0 * x", "x").replace("3 * self", "2 * self")
    assert verdicts(file(wrong)) == dict.fromkeys(right, "wrong")

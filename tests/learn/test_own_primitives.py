"""Runs on a student's functions."""

import numpy as np
import pytest
from quick import quick

import ibpcl
from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.inference.backend import OwnPrimitives, public, reference
from ibpcl.learn import own
from ibpcl.learn.folder import written_in
from ibpcl.learn.milestones import MILESTONES, algorithm_1
from ibpcl.paper.pairs import documented_pairs

pytestmark = pytest.mark.usefixtures("no_figures")

SMALL = {
    "tasks": 1,
    "train_limit": 60,
    "test_limit": 20,
    "epochs": 2,
    "finetune_epochs": 1,
    "hidden": (10,),
    "samples": 2,
}


class Opaque:
    """A cache that nobody but the gradient can read."""

    def __init__(self, value):
        self.value = value


def opaque(module, name, calls):
    """Return a pair with another cache, which counts its calls."""
    original = reference(module)
    forward = getattr(original, name)
    pull = getattr(original, f"{name}_vjp")

    def f(*inputs, **options):
        calls.append(f"{module}.{name}")
        out, cache = forward(*inputs, **options)
        return out, Opaque(cache)

    def f_vjp(dout, cache, *rest, **options):
        return pull(dout, cache.value, *rest, **options)

    return {name: f, f"{name}_vjp": f_vjp}


LEAVES = [
    ("gaussian", "sample"),
    ("gaussian", "kl"),
    ("kumaraswamy", "sample"),
    ("kumaraswamy", "kl_to_beta"),
    ("stick_breaking", "log_probabilities"),
    ("stick_breaking", "logit_probabilities"),
    ("concrete", "sample"),
    ("bernoulli", "kl"),
    ("masked_linear", "column_activity"),
    ("linear", "apply"),
    ("likelihoods", "categorical"),
    ("activations", "relu"),
    ("local_linear", "masked_moments"),
    ("local_linear", "apply"),
]
IMAGES = [("convolution", "patches"), ("pooling", "max_pool2d"), ("residual", "add")]


@pytest.mark.usefixtures("judged_here")
def test_compositions_call_the_replaced_parts_and_nothing_else_changes():
    calls = []
    functions = {}
    for module, name in LEAVES:
        functions.setdefault(module, {}).update(opaque(module, name, calls))
    made = OwnPrimitives(functions, "here", "hash")
    keys = SMALL | {"mask_link": "logit"}
    mine = ibpcl.run("split-glyphs", backend=made, **keys)
    theirs = ibpcl.run("split-glyphs", backend="numpy", **keys)
    missing = {f"{module}.{name}" for module, name in LEAVES} - set(calls)
    assert missing <= {"local_linear.masked_moments"}  # fine-tuning gathers the kept weights
    for key, value in theirs.learner.state().items():
        np.testing.assert_array_equal(mine.learner.state()[key], value)
    assert mine.result["primitives"] == made.names


def test_networks_of_images_call_replaced_functions():
    calls = []
    functions = {}
    for module, name in IMAGES:
        functions.setdefault(module, {}).update(opaque(module, name, calls))
    keys = SMALL | {"network": "conv:3;dense:8;blocks:2"}
    keys.pop("hidden")
    mine = ibpcl.run("split-glyphs", backend=OwnPrimitives(functions, "here", "hash"), **keys)
    theirs = ibpcl.run("split-glyphs", backend="numpy", **keys)
    assert set(calls) == {f"{module}.{name}" for module, name in IMAGES}
    for key, value in theirs.learner.state().items():
        np.testing.assert_array_equal(mine.learner.state()[key], value)


def test_every_primitive_can_be_replaced():
    for pair in documented_pairs():
        module = pair.f.__module__.rpartition(".")[2]
        if pair.f.__module__.startswith("ibpcl.primitives"):
            made = OwnPrimitives({module: public(reference(module))})
            assert getattr(getattr(made, module), pair.f.__name__) is pair.f


def test_the_order_of_the_files_does_not_matter(student):
    student.file("gaussian").write_text(
        "from my_ibpcl import activations\n\n\ndef kl():\n    return activations.relu()\n"
    )
    student.file("activations").write_text("def relu():\n    return 'mine'\n")
    made = own.load(student, {"gaussian": ["kl"], "activations": ["relu"]})
    assert made.gaussian.kl() == "mine"


@pytest.mark.usefixtures("judged_here")
def test_a_right_folder_runs_and_the_report_names_its_functions(student, gaussian, tmp_path):
    student.file("gaussian").write_text(gaussian, encoding="utf-8")
    keys = [f"{key}={value}" for key, value in SMALL.items() if key != "hidden"]
    sets = [word for key in [*keys, "hidden=10"] for word in ("--set", key)]
    out = tmp_path / "run"
    code = main(["run", "--primitives", "my_ibpcl", *sets, "--quiet", "--out", str(out)])
    assert code == 0
    result = ibpcl.load_run(out).result
    assert result["primitives"] == ["gaussian.sample", "gaussian.log_density", "gaussian.kl"]
    assert "gaussian.log_density" in (out / "report.html").read_text(encoding="utf-8")
    again = main(["run", "--resume", str(out), "--primitives", "my_ibpcl", "--quiet"])
    assert again == 0


@pytest.mark.usefixtures("judged_here")
def test_a_wrong_function_is_refused_with_its_verdict(student, gaussian, capsys):
    wrong = gaussian.replace("(dv * noise).sum(axis=0)", "2 * (dv * noise).sum(axis=0)")
    student.file("gaussian").write_text(wrong, encoding="utf-8")
    assert main(["run", "--primitives", "my_ibpcl", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert "gaussian.sample" in error and "constant factor 2" in error and "--unchecked" in error
    made = own.backend("my_ibpcl", unchecked=True)
    assert "gaussian.sample" in made.names


@pytest.mark.usefixtures("judged_here")
def test_blank_functions_are_passed_over(student, gaussian):
    with pytest.raises(UserError, match="filled in"):
        own.backend("my_ibpcl")
    kept = gaussian[: gaussian.index("def log_density(")]
    student.file("gaussian").write_text(kept, encoding="utf-8")
    made = own.backend("my_ibpcl")
    assert made.names == ["gaussian.sample"]
    assert made.gaussian.kl is not None
    assert "kl" not in written_in(kept)


@pytest.mark.slow(reason="checks a chapter twice and trains")
def test_other_functions_make_another_run(student, gaussian, tmp_path):
    student.file("gaussian").write_text(gaussian, encoding="utf-8")
    first = own.backend("my_ibpcl")
    ibpcl.run("split-glyphs", out=tmp_path / "run", backend=first, **SMALL)
    student.file("gaussian").write_text(
        gaussian.replace("noise = np.exp(log_sigma) * eps", "noise = eps * np.exp(log_sigma)"),
        encoding="utf-8",
    )
    second = own.backend("my_ibpcl")
    assert second.sha256 != first.sha256
    with pytest.raises(UserError):
        ibpcl.run("split-glyphs", out=tmp_path / "run", backend=second, **SMALL)


@pytest.mark.parametrize(
    "name",
    quick(
        ["bayes_by_backprop", "masked_layer"],
        [name for name in MILESTONES if name != "algorithm_1"],
        "trainings with a student's functions, which come in by one way",
    ),
)
def test_milestones_run_on_replaced_functions(name, tmp_path):
    calls = []
    functions = {}
    for module, function in [*LEAVES, ("masked_linear", "apply")]:
        functions.setdefault(module, {}).update(opaque(module, function, calls))
    made = OwnPrimitives(functions, "here", "hash")
    done = MILESTONES[name](made)
    assert set(done.uses) <= set(calls)
    assert calls and done.lines
    from ibpcl.evaluation.figures import canvas

    axes = canvas.new_axes()
    done.draw(axes)


@pytest.mark.slow(reason="two trainings")
def test_algorithm_1_reaches_the_accuracy_of_the_package():
    functions = {}
    for module, function in LEAVES:
        functions.setdefault(module, {}).update(opaque(module, function, []))
    done = algorithm_1(OwnPrimitives(functions, "here", "hash"))
    mine, theirs = (line.rpartition(": ")[2] for line in done.lines[:2])
    assert mine == theirs


@pytest.mark.usefixtures("judged_here")
def test_a_milestone_checks_only_the_functions_that_it_uses(student, gaussian, monkeypatch, capsys):
    student.file("gaussian").write_text(gaussian, encoding="utf-8")
    student.file("quadratic").write_text("def penalty(w, mean, precision):\n    return 0, 0\n")
    seen = []
    judge_file = own.judge_file

    def judged(*arguments):
        seen.append(arguments[-2:])
        return judge_file(*arguments)

    monkeypatch.setattr(own, "judge_file", judged)
    assert main(["learn", "milestone", "2"]) in (None, 0)
    assert seen == [("gaussian", ["2.1", "2.3"])]
    assert "your functions: gaussian.sample, gaussian.kl" in capsys.readouterr().out
    wrong = gaussian.replace("v = mu + noise", "v = mu - noise")
    wrong = wrong if wrong != gaussian else gaussian.replace("return mu + ", "return mu - ")
    assert wrong != gaussian
    student.file("gaussian").write_text(wrong, encoding="utf-8")
    assert main(["learn", "milestone", "2"]) == 1
    assert "gaussian.sample" in capsys.readouterr().err

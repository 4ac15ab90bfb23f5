"""The benchmark: that it measures what it says, not how fast anything is."""

import json

import numpy as np
import pytest

from ibpcl.bench import (
    autoencoder,
    convolution,
    figure,
    frameworks,
    fresh,
    measure,
    timing,
    workers,
)
from ibpcl.bench.problem import MNIST_DENSITY, Problem, Sizes, images, random_images
from ibpcl.cli.bench import TARGETS, table
from ibpcl.data.dataset import DataError
from ibpcl.inference.backend import backend

SMALL = Sizes(S=2, N=12, D=30, K=6, C=3)
# The keys that stand at the top of the JSON file.
FIRST = (
    "step_ms",
    "products_ms",
    "step_over_products",
    "step_over_products_dense",
    "torch_eager_over_step",
    "torch_compile_over_step",
    "jax_over_step",
    "noise_speedup",
    "peak_step_mb",
)


def small_convolutions():
    sizes = SMALL._replace(D=64)
    data = random_images(sizes, 0.3)
    return Problem(sizes, data, backend("numpy"), pack=False, line="conv:3,4;dense:5")


@pytest.fixture
def no_pause(monkeypatch):
    monkeypatch.setattr(timing, "PAUSE", 0.0)


def test_functions_are_timed_in_turns(no_pause):
    now = [0.0]
    calls = []

    def takes(name, seconds):
        def work():
            calls.append(name)
            now[0] += seconds

        return work

    times = timing.interleave({"a": takes("a", 1.0), "b": takes("b", 3.0)}, 4, clock=lambda: now[0])
    assert calls[-4:] == ["a", "a", "b", "b"]  # one unmeasured call, one measured
    assert times.median("b") == 3000.0 and times.ratio("b", "a") == 3.0
    calls.clear()
    times = timing.interleave({"short": takes("short", 1e-3)}, 1, clock=lambda: now[0])
    assert times.median("short") == pytest.approx(1.0) and len(calls) >= 2 * timing.SHORTEST / 1e-3


def test_the_products_are_those_of_the_step(monkeypatch):
    problem = Problem(SMALL, random_images(SMALL, 0.5), backend("numpy"), pack=False)
    shapes = []
    multiply = np.matmul
    products = problem.products()
    monkeypatch.setattr(
        np, "matmul", lambda a, b, out: shapes.append((a.shape, b.shape)) or multiply(a, b, out=out)
    )
    products()
    S, N, D, K, C = SMALL
    flops = sum(2 * S * a[-2] * a[-1] * b[-1] for a, b in shapes)
    assert len(shapes) == 5 and flops == S * (4 * N * D * K + 6 * N * K * C)


def test_the_autoencoder_s_products_are_those_of_its_layers(monkeypatch):
    shapes = []
    multiply = np.matmul
    products = autoencoder.products([(7, 5), (5, 3)], 4)
    monkeypatch.setattr(
        np, "matmul", lambda a, b, out: shapes.append((a.shape, b.shape)) or multiply(a, b, out=out)
    )
    products()
    assert shapes == [
        ((4, 7), (7, 5)),
        ((7, 4), (4, 5)),
        ((4, 5), (5, 3)),
        ((5, 4), (4, 3)),
        ((4, 3), (3, 5)),
    ]


def test_an_epoch_is_compared_with_what_is_measured_right_after_it():
    clock = autoencoder.Clock(lambda: 1.0)
    clock.seconds = {
        "masked": [(9.0, 1.0), (4.0, 1.0)],
        "finetune": [(9.0, 1.0), (10.0, 2.0), (30.0, 3.0), (8.0, 4.0)],
    }
    assert clock.medians("masked") == (4.0, 1.0, 4.0) and clock.medians("finetune") == (
        10.0,
        3.0,
        5.0,
    )


def test_backends_take_the_same_step():
    problems = [
        Problem(SMALL, random_images(SMALL, MNIST_DENSITY), backend(name))
        for name in ("numba", "numpy")
    ]
    for problem in problems:
        for _ in range(3):
            problem.step()
    np.testing.assert_allclose(problems[0].vector, problems[1].vector, atol=2e-3)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_framework_computes_the_same_elbo_and_gradient(name, monkeypatch):
    if reason := frameworks.missing(name):
        pytest.skip(reason)
    module = frameworks.load(name)
    problem = Problem(SMALL, random_images(SMALL, 0.3), backend("numpy"), pack=False)
    assert frameworks.disagreement(module, problem) < frameworks.TOLERANCE
    # another temperature is noticed
    monkeypatch.setattr(frameworks, "TAU", 1.01 * frameworks.TAU)
    assert frameworks.disagreement(module, problem) > frameworks.TOLERANCE


def test_the_products_of_convolutions_are_those_of_all_patches(monkeypatch):
    problem = small_convolutions()
    shapes = []
    multiply = np.matmul
    products = convolution.products(problem)
    monkeypatch.setattr(
        np, "matmul", lambda a, b, out: shapes.append((a.shape, b.shape)) or multiply(a, b, out=out)
    )
    products()
    flops = sum(2 * SMALL.S * a[-2] * a[-1] * b[-1] for a, b in shapes)
    S, N = SMALL.S, SMALL.N
    of_layers = (2 * 64 * 9 * 3, 3 * 16 * 27 * 4, 3 * 16 * 5, 3 * 5 * 3)  # positions, patch, units
    assert len(shapes) == 11 and flops == 2 * S * N * sum(of_layers)


def test_pytorch_computes_the_same_elbo_and_gradient_with_convolutions(monkeypatch):
    if reason := frameworks.missing("torch"):
        pytest.skip(reason)
    module = frameworks.load("torch_convolution")
    problem = small_convolutions()
    assert frameworks.disagreement(module, problem) < frameworks.TOLERANCE
    monkeypatch.setattr(frameworks, "TAU", 1.01 * frameworks.TAU)
    assert frameworks.disagreement(module, problem) > frameworks.TOLERANCE


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    assert "not installed" in frameworks.missing("no_such_framework")
    monkeypatch.setattr(frameworks.importlib.util, "find_spec", lambda name: object())
    assert "benchmarks/speed" in frameworks.missing("torch", tmp_path)


@pytest.mark.slow(reason="compiles in a new process")
def test_a_new_process_measures_import_compilation_and_memory(tmp_path):
    measured = fresh.measure(SMALL, tmp_path)
    assert set(measured) == {"import_s", "compile_s", "peak_step_mb"} and list(tmp_path.iterdir())
    assert measured["import_s"] >= 0 and measured["compile_s"] > 0


@pytest.mark.slow(reason="a whole benchmark")
def test_everything_small(no_pause, monkeypatch, tmp_path):
    monkeypatch.setattr(
        fresh, "cold_and_cached", lambda sizes: [{"compile_s": 2.0, "peak_step_mb": 1.0}] * 2
    )
    monkeypatch.setattr(fresh, "import_seconds", lambda rounds: 0.1)
    monkeypatch.setattr(convolution, "LINE", "conv:2;dense:3")
    plan = measure.QUICK._replace(
        sizes=Sizes(2, 16, 784, 10, 10), axes={"S": (1, 2)}, densities=(0.1,), examples=40
    )
    said = []
    found = measure.everything(plan, say=said.append)
    assert tuple(found)[: len(FIRST)] == FIRST and len(said) == 8
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["torch_eager_over_step"] is None  # left out by a quick plan
    assert all(key in found for key, *_ in TARGETS) and all(
        text in table(found) for _, text, *_ in TARGETS
    )
    # a quick run has no verdicts, and a reason that two frameworks share appears once
    assert "missed" not in table(found, judged=False) and ">=" in table(found)
    assert table(found).count(found["frameworks_left_out"]["jax"]) == 1
    assert min(found["milliseconds"].values()) > 0
    figure.draw(found, tmp_path / "bench.png")
    assert (tmp_path / "bench.png").stat().st_size > 10_000


@pytest.mark.slow(reason="starts clusters with one and two workers")
def test_workers_are_timed_on_the_same_runs(tmp_path):
    pytest.importorskip("distributed", reason="needs the extra cluster")
    found = workers.measure(
        [1, 2],
        tmp_path,
        seeds=2,
        rounds=1,
        assignments={"train_limit": "50", "tasks": "2", "ewc.epochs": "1"},
    )
    assert [len(found[number]) for number in (1, 2)] == [1, 1] and min(found[1] + found[2]) > 0
    learners = [
        {
            path.parent.name: path.read_bytes()
            for path in tmp_path.glob(f"0-{number}/timed/cells/*/learner.npz")
        }
        for number in (1, 2)
    ]
    assert len(learners[0]) == 2 and learners[0] == learners[1]


def test_letters_take_the_place_of_mnist_unless_its_folder_was_named(tmp_path, monkeypatch):
    monkeypatch.setenv("IBPCL_DATA", str(tmp_path))
    assert images((3,)).name == "glyphs"
    with pytest.raises(DataError, match="missing"):
        images((3,), tmp_path)

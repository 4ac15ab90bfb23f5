"""Threads and the cache of machine code: they change no result, and nothing that is wrong with them ends a run."""

import hashlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pytest

from ibpcl import openblas
from ibpcl.adam import State
from ibpcl.kernels import (
    activations,
    adam,
    compilation,
    gaussian,
    likelihoods,
    linear,
    local_linear,
    masked_weights,
    noise,
    threads,
)


@pytest.fixture(autouse=True)
def default_threads():
    yield
    threads.set_count(None)


@pytest.fixture
def many_cores(monkeypatch):
    """Let there be as many threads as a test likes."""
    monkeypatch.setattr(threads, "available", lambda: 64)


def everything():
    """Run each kernel on inputs of several pieces and return all results."""
    eps, logistic = noise.normal((1, 0, 0, 0), (3, 300, 120)), noise.logistic((1, 0, 0, 1), (3, 300, 120))
    mu, scale, rho = (noise.normal((1, 0, 0, i), (300, 120)) for i in (2, 3, 4))
    results = [eps, logistic, noise.uniform((1, 0, 0, 5), 500_000)]
    for mask_kl in ("bernoulli", "concrete"):
        out, cache = masked_weights.sample(eps, logistic, mu, scale, rho, eps[:, 0], 0.7, mask_kl)
        results += [*out, *masked_weights.sample_vjp(out, cache)]
    big = noise.normal((1, 0, 0, 6), (4, 70_000))
    divergence, cache = gaussian.kl(*big)
    results += [divergence, *gaussian.kl_vjp(1.0, cache)]
    vector, state = adam.update(big[0], big[1], State(big[2], big[3] ** 2, 3), big[0] ** 2)
    results += [vector, state.first, state.second]
    for x in (np.where(mu > 1, mu, 0).T, mu.T, logistic.swapaxes(1, 2)):       # sparse, dense, of each sample its own
        h, cache = linear.apply(x, results[3], out[1])
        results += [h, *linear.apply_vjp(h, cache)]
    for columns, x in ((120, np.where(mu > 1, mu, 0)), (50, logistic), (10, logistic)):
        noise_of, weights = np.ascontiguousarray(eps[..., :columns]), (mu[:120, :columns], scale[:120, :columns])
        h, cache = local_linear.sample(noise_of, x, *weights, mu[0, :columns], scale[0, :columns], None, "relu")
        results += [h, *local_linear.sample_vjp(h, cache)]
    kept = rho > 1
    h, cache = local_linear.sample(eps[:, :120], mu.T, mu[kept], scale[kept], mu[0], scale[0], kept)
    results += [h, *local_linear.sample_vjp(h, cache)]
    log_p, cache = likelihoods.categorical(eps, np.arange(300) % 120)
    results += [log_p, likelihoods.categorical_vjp(log_p, cache)]
    log_p, cache = likelihoods.bernoulli_logistic(eps, scale)
    results += [log_p, likelihoods.bernoulli_logistic_vjp(log_p, cache)]
    h, cache = activations.relu(eps)
    return [*results, h, activations.relu_vjp(logistic, cache)]


def test_the_same_bits_for_any_number_of_threads(many_cores):
    threads.set_count(1)
    expected = everything()
    for count in (2, 3, 8):
        threads.set_count(count)
        assert all(np.array_equal(a, b) for a, b in zip(everything(), expected, strict=True))


def test_four_callers_at_once(many_cores):
    threads.set_count(3)
    expected, found = everything(), {}
    callers = [threading.Thread(target=lambda i=i: found.update({i: everything()})) for i in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=120)
    assert len(found) == 4
    for results in found.values():
        assert all(np.array_equal(a, b) for a, b in zip(results, expected, strict=True))


@numba.njit(nogil=True)
def count_pieces(job, done, rounds, who):
    """Count how often each piece is done, and take a while for it; fail on a helper (1), on the caller (0), or not."""
    for i in threads.taken(job):
        if job[0] == who:
            raise FloatingPointError
        x = 1.0
        for _ in range(rounds):
            x = np.sin(x)
        done[i] += 1 if x < 2 else 0


@pytest.mark.parametrize("count", [1, 2, 8])
def test_each_piece_is_done_once(count, many_cores):
    threads.set_count(count)
    for pieces in (0, 1, 2, 7, 100):
        for rounds in (0, 1000):
            for _ in range(20):
                done = np.zeros(pieces, np.int64)
                threads.run(count_pieces, pieces, done, rounds, -1)
                assert (done == 1).all()


def test_helpers_that_have_fallen_asleep_are_woken(many_cores):
    threads.set_count(3)
    for nap in (0, 1e-4, 2e-3, 0.1) * 5:
        done = np.zeros(9, np.int64)
        threads.run(count_pieces, 9, done, 1000, -1)
        assert (done == 1).all()
        time.sleep(nap)


@pytest.mark.parametrize("who", [0, 1])
def test_an_error_is_not_lost_and_does_no_harm(who, many_cores):
    threads.set_count(3)
    with pytest.raises(FloatingPointError):
        for _ in range(200):                                 # a helper may come too late to fail
            threads.run(count_pieces, 20, np.zeros(20, np.int64), 20_000, who)
    for _ in range(20):
        done = np.zeros(20, np.int64)
        threads.run(count_pieces, 20, done, 1000, -1)
        assert (done == 1).all()


def test_without_a_thread_to_be_had_the_caller_does_it_all(many_cores, monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    threads.set_count(7)
    monkeypatch.setattr(threading.Thread, "start", start)
    threads._team.cache_clear()
    done = np.zeros(9, np.int64)
    threads.run(count_pieces, 9, done, 1000, -1)
    threads._team.cache_clear()
    assert (done == 1).all()


def test_never_more_threads_than_cores_that_may_be_used(monkeypatch, tmp_path):
    threads.available.cache_clear()
    threads.set_count(5)
    assert threads.count() == min(5, threads.available()) <= len(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(6))
    for words, cores in (("max 100000", 6), ("400000 100000", 4), ("150000 100000", 2), ("10000 100000", 1), ("", 6)):
        (tmp_path / "cpu.max").write_text(words)
        monkeypatch.setattr(threads, "QUOTA", tmp_path / "cpu.max")
        threads.available.cache_clear()
        assert threads.available() == cores
    threads.available.cache_clear()
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        threads.set_count(0)


def python(code, check=True, **environment):
    """Run code in another process and return what it printed to both outputs."""
    return subprocess.run([sys.executable, "-c", code], check=check, text=True, capture_output=True, timeout=300,
                          env=os.environ | {"PYTHONWARNINGS": "ignore"} | environment)


DRAW = ("import hashlib; from ibpcl.kernels import noise; draw = lambda: "
        "hashlib.sha256(noise.normal((1, 2, 3, 4), 500_000).tobytes()).hexdigest(); ")


def test_a_forked_child_has_threads_of_its_own():
    code = (DRAW + "import os; from ibpcl.kernels import threads; threads.available = lambda: 2; threads.set_count(2); "
            "a = draw(); child = os.fork(); same = draw() == a; "
            "os._exit(not same) if child == 0 else print(same and os.waitpid(child, 0)[1] == 0)")
    assert python(code).stdout.strip() == "True"


LOAD = "from ibpcl.inference.backend import backend; b = backend('numba'); print(b.name, b.compile_seconds > 0)"


@pytest.mark.parametrize(("environment", "words"), [
    ({"NUMBA_NUM_THREADS": "0"}, "Numba cannot be imported"), ({"NUMBA_NUM_THREADS": "-1"}, "Numba cannot be imported"),
    ({"NUMBA_DISABLE_JIT": "1"}, "NUMBA_DISABLE_JIT is set"),
])
def test_where_numba_cannot_be_used_numpy_computes_and_a_line_says_why(environment, words):
    done = python(LOAD, **environment)
    assert done.stdout == "numpy False\n" and len(done.stderr.splitlines()) == 1 and words in done.stderr


def test_without_numba_numpy_computes_and_a_line_says_why():
    done = python("import sys; sys.modules['numba'] = None; " + LOAD)
    assert done.stdout == "numpy False\n" and done.stderr.startswith("ibpcl: Numba is not installed: the NumPy backend")


FEW = ("from types import SimpleNamespace; import ibpcl.kernels.compilation as few; few.ELSEWHERE = ('adam',); "
       "few.pkgutil.iter_modules = lambda path: [SimpleNamespace(name=name) for name in ('activations', 'adam')]; ")


@pytest.mark.parametrize("kernels", [FEW, pytest.param("", marks=pytest.mark.slow)], ids=["two modules", "all"])
def test_the_first_process_says_that_it_compiles_and_the_next_one_does_not(kernels, tmp_path):
    first, second = (python(kernels + LOAD, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout == "numba True\n" and first.stderr.startswith("compiling the kernels, once after installing")
    assert len(first.stderr.splitlines()) == 1
    assert second.stdout == "numba False\n" and second.stderr == ""


# The kernels that are compiled in the least time.
BEND = ("import numpy as np; from ibpcl.kernels import activations, compilation; bend = lambda: "
        "activations.relu_vjp(*activations.relu(np.sin(np.arange(9, dtype=np.float32)).reshape(1, 3, 3)))"
        ".tobytes().hex(); ")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Return a folder with machine code of one module and its record, and what the module computed."""
    folder = tmp_path_factory.mktemp("cache")
    done = python(BEND + "compilation.record(); print(bend())", NUMBA_CACHE_DIR=str(folder))
    return folder, done.stdout


SAY = BEND + "print(bend(), compilation.COMPLETE)"


@pytest.mark.parametrize(("kind", "damage"), [
    ("nbi", b""), ("nbc", b"nonsense" * 1000),
    *(pytest.param(kind, damage, marks=pytest.mark.slow) for kind, damage in (
        ("nbi", None), ("nbi", b"nonsense" * 1000), ("nbc", b""), ("nbc", None)))])
def test_damaged_machine_code_is_found_and_compiled_again(cache, kind, damage):
    folder, expected = cache
    paths = sorted(folder.glob(f"**/*.{kind}"))
    assert paths
    before = python(SAY, NUMBA_CACHE_DIR=str(folder))
    assert before.stdout.split() == [expected.strip(), "True"]
    for path in paths:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if damage is None else damage)
    damaged = python(SAY + "; compilation.record()", NUMBA_CACHE_DIR=str(folder))
    assert damaged.stdout.split() == [expected.strip(), "False"]


def test_a_folder_that_cannot_be_written_is_said_once_and_costs_only_time(cache):
    done = python(BEND + "print(bend())", NUMBA_CACHE_DIR=os.devnull + "/folder",
                  NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator")
    assert done.stdout == cache[1]
    assert len(done.stderr.splitlines()) == 1 and "compiled kernels cannot be kept in" in done.stderr


def test_a_record_that_cannot_be_written_costs_only_time(monkeypatch):
    monkeypatch.setattr(compilation, "RECORD", Path(os.devnull, "folder", "digests.json"))
    compilation.record()
    assert not compilation.RECORD.exists()


def test_a_full_disk_is_said_once_and_costs_only_time(cache, tmp_path):
    fill = ("import errno, os; import numba; keep = os.replace\n"
            "def full(*names):\n"
            "    if '.nb' in str(names[-1]): raise OSError(errno.ENOSPC, 'No space left on device')\n"
            "    return keep(*names)\n"
            "os.replace = full\n")
    done = python(fill + BEND + "print(bend())", NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout == cache[1]
    assert len(done.stderr.splitlines()) == 1 and "there is no room" in done.stderr


def test_a_new_cache_folder_takes_the_place_of_those_of_other_versions(tmp_path, monkeypatch):
    stale = [tmp_path / "ibpcl-0123456789ab", tmp_path / "ibpcl-ba9876543210"]
    others = [tmp_path / "ibpcl-mine", tmp_path / "ibpcl-0123456789abc", tmp_path / "numba"]
    for folder in stale + others:
        (folder / "inside").mkdir(parents=True)
    for name, path in (("BELOW", tmp_path), ("FOLDER", tmp_path / f"ibpcl-{compilation.DIGEST}"),
                       ("RECORD", tmp_path / f"ibpcl-{compilation.DIGEST}" / "digests.json")):
        monkeypatch.setattr(compilation, name, path)
    assert not compilation.complete()
    assert not any(old.exists() for old in stale) and all(other.is_dir() for other in others)
    compilation.FOLDER.mkdir()
    stale[0].mkdir()                                         # another process still works with it
    assert not compilation.complete() and stale[0].exists()


def test_one_thread_gives_what_several_give_in_another_process(many_cores):
    threads.set_count(2)
    here = hashlib.sha256(noise.normal((1, 2, 3, 4), 500_000).tobytes()).hexdigest()
    assert python(DRAW + "print(draw())", NUMBA_NUM_THREADS="1").stdout.strip() == here


@pytest.fixture
def two_blas_threads():
    at_first = [get() for get, _ in openblas._libraries()]
    for _, choose in openblas._libraries():
        choose(2)
    yield
    for (_, choose), number in zip(openblas._libraries(), at_first, strict=True):
        choose(number)


def test_dense_products_leave_blas_as_it_was(two_blas_threads):
    a, b, c = (noise.normal((1, 0, 0, i), shape) for i, shape in enumerate(((3, 300, 40), (3, 40, 50), (3, 50))))
    before = [get() for get, _ in openblas._libraries()]
    linear.apply_vjp(*linear.apply(a, b, c))
    assert [get() for get, _ in openblas._libraries()] == before


@pytest.mark.skipif(not openblas._libraries(), reason="a BLAS whose threads cannot be counted")
def test_blas_has_one_thread_from_the_first_to_the_last_who_wants_it_so_and_then_what_it_had(two_blas_threads):
    count, _ = openblas._libraries()[0]
    with openblas.one_thread():
        with openblas.one_thread():
            assert count() == 1
        assert count() == 1
        with openblas.all_threads():
            assert count() == 2
        assert count() == 1
    with openblas.all_threads():
        assert count() == 2
    assert count() == 2

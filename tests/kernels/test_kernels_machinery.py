"""The results do not depend on the number of threads, of the kernels or of BLAS."""

import hashlib
import os
import subprocess
import sys
import threading
import time

import numba
import numpy as np
import pytest

from ibpcl import blas_threads, processors
from ibpcl.adam import State
from ibpcl.kernels import (
    activations,
    adam,
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
    """Allow as many threads as a test needs."""
    monkeypatch.setattr(threads, "available", lambda: 64)


def everything():
    """Run each kernel on inputs of several pieces and return all results."""
    eps = noise.normal((1, 0, 0, 0), (3, 300, 120))
    logistic = noise.logistic((1, 0, 0, 1), (3, 300, 120))
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
    # sparse, dense, and one per sample
    for x in (np.where(mu > 1, mu, 0).T, mu.T, logistic.swapaxes(1, 2)):
        h, cache = linear.apply(x, results[3], out[1])
        results += [h, *linear.apply_vjp(h, cache)]
    for columns, x in ((120, np.where(mu > 1, mu, 0)), (50, logistic), (10, logistic)):
        noise_of = np.ascontiguousarray(eps[..., :columns])
        weights = (mu[:120, :columns], scale[:120, :columns])
        h, cache = local_linear.sample(
            noise_of, x, *weights, mu[0, :columns], scale[0, :columns], None, "relu"
        )
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
    expected = everything()
    found = {}
    callers = [
        threading.Thread(target=lambda i=i: found.update({i: everything()})) for i in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=600)
    assert len(found) == 4
    for results in found.values():
        assert all(np.array_equal(a, b) for a, b in zip(results, expected, strict=True))


@numba.njit(nogil=True)
def count_pieces(job, done, rounds, who):
    """Count how often each piece is done, and take a while for it; fail on a helper (1), on the
    caller (0), or not.
    """
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


def test_sleeping_helpers_are_woken(many_cores):
    threads.set_count(3)
    for nap in (0, 1e-4, 2e-3, 0.1) * 5:
        done = np.zeros(9, np.int64)
        threads.run(count_pieces, 9, done, 1000, -1)
        assert (done == 1).all()
        time.sleep(nap)


@pytest.mark.parametrize("who", [0, 1])
def test_an_error_is_raised_and_does_no_harm(who, many_cores):
    threads.set_count(3)
    with pytest.raises(FloatingPointError):
        for _ in range(200):  # a helper may come too late to fail
            threads.run(count_pieces, 20, np.zeros(20, np.int64), 20_000, who)
    for _ in range(20):
        done = np.zeros(20, np.int64)
        threads.run(count_pieces, 20, done, 1000, -1)
        assert (done == 1).all()


def test_without_threads_the_caller_does_all_pieces(many_cores, monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    threads.set_count(7)
    monkeypatch.setattr(threading.Thread, "start", start)
    threads._team.cache_clear()
    done = np.zeros(9, np.int64)
    threads.run(count_pieces, 9, done, 1000, -1)
    threads._team.cache_clear()
    assert (done == 1).all()


def test_never_more_threads_than_usable_cores(monkeypatch, tmp_path):
    threads.available.cache_clear()
    threads.set_count(5)
    assert threads.count() == min(5, threads.available()) <= len(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(6), raising=False)
    for words, cores in (
        ("max 100000", 6),
        ("400000 100000", 4),
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("", 6),
    ):
        (tmp_path / "cpu.max").write_text(words)
        monkeypatch.setattr(processors, "SETTINGS", tmp_path)
        threads.available.cache_clear()
        assert threads.available() == cores
    threads.available.cache_clear()
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        threads.set_count(0)


@pytest.mark.parametrize(
    "groups, files, quotas",
    [
        ("0::/a/b", {"a/cpu.max": "150000 100000", "a/b/cpu.max": "max 100000"}, [1.5]),
        ("0::/a/b", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "50000 100000"}, [0.5, 3]),
        ("0::/a", {"b/cpu.max": "50000 100000"}, []),  # another group's
        ("4:cpu,cpuacct:/job", {"cpu,cpuacct/job/cpu.cfs_quota_us": "200000"}, [2]),
        ("4:cpu:/docker/1a", {"cpu/cpu.cfs_quota_us": "50000"}, [0.5]),
        ("4:cpu:/job", {"cpu/job/cpu.cfs_quota_us": "-1"}, []),
        ("5:memory:/job", {"cpu/job/cpu.cfs_quota_us": "50000"}, []),
        ("nonsense", {"cpu.max": "0 0"}, []),
    ],
)
def test_the_quotas_of_nested_groups_and_of_both_versions_are_seen(
    groups, files, quotas, tmp_path, monkeypatch
):
    for name, words in files.items():
        file = tmp_path / "settings" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(words)
        file.with_name("cpu.cfs_period_us").write_text("100000")
    (tmp_path / "groups").write_text(groups)
    monkeypatch.setattr(processors, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(processors, "SETTINGS", tmp_path / "settings")
    assert sorted(processors.quotas()) == quotas


def python(code, check=True, **environment):
    """Run code in another process and return what it printed to both outputs."""
    return subprocess.run(
        [sys.executable, "-c", code],
        check=check,
        text=True,
        capture_output=True,
        timeout=600,
        env=os.environ | {"PYTHONWARNINGS": "ignore"} | environment,
    )


DRAW = (
    "import hashlib; from ibpcl.kernels import noise; draw = lambda: "
    "hashlib.sha256(noise.normal((1, 2, 3, 4), 500_000).tobytes()).hexdigest(); "
)


@pytest.mark.processes(reason="a process is forked")
def test_a_forked_child_has_its_own_threads():
    code = (
        DRAW + "import os; from ibpcl.kernels import threads; threads.available = lambda: 2; "
        "threads.set_count(2); "
        "a = draw(); child = os.fork(); same = draw() == a; "
        "os._exit(not same) if child == 0 else print(same and os.waitpid(child, 0)[1] == 0)"
    )
    assert python(code).stdout.strip() == "True"


@pytest.mark.processes(reason="Numba reads the number of threads once")
def test_one_thread_gives_what_several_give_in_another_process(many_cores):
    threads.set_count(2)
    here = hashlib.sha256(noise.normal((1, 2, 3, 4), 500_000).tobytes()).hexdigest()
    assert python(DRAW + "print(draw())", NUMBA_NUM_THREADS="1").stdout.strip() == here


@pytest.fixture
def two_blas_threads():
    at_first = [library.get() for library in blas_threads.libraries()]
    for library in blas_threads.libraries():
        library.set(2)
    yield
    for library, number in zip(blas_threads.libraries(), at_first, strict=True):
        library.set(number)


def counts():
    return [library.get() for library in blas_threads.libraries()]


def test_dense_products_leave_blas_as_it_was(two_blas_threads):
    a, b, c = (
        noise.normal((1, 0, 0, i), shape)
        for i, shape in enumerate(((3, 300, 40), (3, 40, 50), (3, 50)))
    )
    before = counts()
    linear.apply_vjp(*linear.apply(a, b, c))
    assert counts() == before


limited = pytest.mark.skipif(
    not blas_threads.libraries(), reason="a BLAS whose threads cannot be counted"
)


@limited
def test_blas_regains_its_threads_after_the_last_user(
    two_blas_threads,
):
    two = counts()
    one = [1] * len(counts())
    with blas_threads.one_thread():
        with blas_threads.one_thread():
            assert counts() == one
        assert counts() == one
        with blas_threads.all_threads():
            assert counts() == two
        assert counts() == one
    with blas_threads.all_threads():
        assert counts() == two
    assert counts() == two


@pytest.mark.slow(reason="a process for one import")
@limited
def test_a_second_blas_is_found_if_loaded_later():
    code = (
        "from ibpcl import blas_threads; a = blas_threads.libraries(); import "
        "scipy.linalg.cython_blas; print(len(a), len(blas_threads.libraries()))"
    )
    first, second = map(int, python(code).stdout.split())
    assert 1 <= first <= second


def test_a_blas_that_counts_by_thread_is_limited_in_the_helper(monkeypatch):
    here = threading.local()
    found = []
    library = blas_threads.Library(
        "libopenblas.so",
        True,
        lambda: getattr(here, "number", 2),
        lambda number: setattr(here, "number", number),
    )
    monkeypatch.setattr(blas_threads, "libraries", lambda: [library])
    helper = threading.Thread(
        target=lambda: (blas_threads.limit_helper(), found.append(library.get()))
    )
    helper.start()
    helper.join()
    assert found == [1] and library.get() == 2


@limited
def test_any_thread_limits_blas(two_blas_threads):
    """threadpoolctl 3.7 sets the limit for the first thread only."""
    found = []
    two = counts()

    def limit():
        with blas_threads.one_thread():
            found.append(counts())

    limit()
    other = threading.Thread(target=limit)
    other.start()
    other.join()
    assert found == [[1] * len(two)] * 2 and counts() == two


def test_each_helper_limits_blas_as_it_begins(monkeypatch):
    began = threading.Semaphore(0)
    monkeypatch.setattr(threads, "limit_helper", began.release)
    threads._Team(2)
    assert began.acquire(timeout=300) and began.acquire(timeout=300)


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"])
def test_a_blas_that_cannot_be_limited_is_named_once_unless_it_has_one_thread(
    variable, monkeypatch
):
    for name in blas_threads.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(blas_threads, "libraries", list)
    assert blas_threads.name_of_blas() in blas_threads.why_unlimited()
    monkeypatch.setenv(variable, "1")
    assert blas_threads.why_unlimited() is None

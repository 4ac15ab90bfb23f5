"""Threads, memory and the cache of machine code: none of them changes a result."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from ibpcl.adam import State
from ibpcl.kernels import adam, compilation, gaussian, masked_weights, memory, noise, sparse_linear, threads

SINGLE = np.dtype(np.float32)


@pytest.fixture(autouse=True)
def default_threads():
    yield
    threads.set_count(None)


def everything(dtype=np.float32):
    """Run each kernel on inputs of several pieces and return all results."""
    eps, logistic = noise.normal((1, 0, 0, 0), (3, 300, 50), dtype), noise.logistic((1, 0, 0, 1), (3, 300, 50), dtype)
    mu, scale, rho = (noise.normal((1, 0, 0, i), (300, 50), dtype) for i in (2, 3, 4))
    results = [eps, logistic, noise.uniform((1, 0, 0, 5), 500_000, dtype)]
    for mask_kl in ("bernoulli", "concrete"):
        out, cache = masked_weights.sample(eps, logistic, mu, scale, rho, eps[:, 0], 0.7, mask_kl)
        results += [*out, *masked_weights.sample_vjp(out, cache)]
    big = noise.normal((1, 0, 0, 6), (4, 70_000), dtype)
    divergence, cache = gaussian.kl(*big)
    results += [divergence, *gaussian.kl_vjp(1.0, cache)]
    vector, state = adam.update(big[0], big[1], State(big[2], big[3] ** 2, 3), big[0] ** 2)
    results += [vector, state.first, state.second]
    h, cache = sparse_linear.apply(np.where(mu > 1, mu, 0).T, results[3], out[1])
    return [*results, h, *sparse_linear.apply_vjp(h, cache, needs_dx=False)[1:]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_for_any_number_of_threads(dtype):
    threads.set_count(1)
    expected = everything(dtype)
    for count in (2, 3, 7):
        threads.set_count(count)
        assert all(np.array_equal(a, b) for a, b in zip(everything(dtype), expected, strict=True))


def test_several_callers_at_once():
    threads.set_count(3)
    expected, found = noise.normal((1, 2, 3, 4), 600_000), {}
    callers = [threading.Thread(target=lambda i=i: found.update({i: noise.normal((1, 2, 3, 4), 600_000)}))
               for i in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 4 and all(np.array_equal(value, expected) for value in found.values())


def test_each_piece_runs_once_and_an_error_is_not_lost():
    threads.set_count(3)
    done = []
    threads.run(lambda begin, end, text: done.extend((piece, text) for piece in range(begin, end)), 20, "x")
    assert sorted(done) == [(piece, "x") for piece in range(20)]

    def fail(begin, end):
        raise FloatingPointError(begin, end)

    for pieces in (1, 8):
        with pytest.raises(FloatingPointError):
            threads.run(fail, pieces)
    threads.run(fail, 0)


def test_the_number_of_threads():
    threads.set_count(5)
    assert threads.count() == 5
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        threads.set_count(0)


def test_live_arrays_never_share_memory_and_dead_ones_are_used_again():
    arrays = [memory.empty((1 << 16,), SINGLE) for _ in range(5)]
    for i, array in enumerate(arrays):
        assert array.ctypes.data % memory.LINE == 0 and array.flags.c_contiguous and array.flags.writeable
        array[:] = i
    view = arrays[2][10:20].reshape(2, 5)
    addresses = {array.ctypes.data for array in arrays if array is not arrays[2]}
    del array, arrays
    again = [memory.empty((1 << 8, 1 << 8), SINGLE) for _ in range(6)]
    assert addresses <= {array.ctypes.data for array in again}
    for array in again:
        array[:] = -1
    assert (view == 2).all()                                 # its memory was not handed out: a view is alive


def test_free_memory_is_bounded():
    arrays = [memory.empty((1 << 24,), SINGLE) for _ in range(3)]
    del arrays
    memory.empty((1 << 17,), SINGLE)
    kept = sum(block.nbytes for blocks in memory._free.blocks.values() for block in blocks)
    assert kept == memory._free.total <= memory.KEPT


def test_a_new_cache_folder_takes_the_place_of_those_of_other_versions(tmp_path):
    stale = [tmp_path / "ibpcl-0123456789ab", tmp_path / "ibpcl-ba9876543210"]
    others = [tmp_path / "ibpcl-mine", tmp_path / "ibpcl-0123456789abc", tmp_path / "numba"]
    for folder in stale + others:
        (folder / "inside").mkdir(parents=True)
    folder = compilation.cache_folder(str(tmp_path))
    assert folder.parent == tmp_path and compilation.DIGEST in folder.name
    assert not any(old.exists() for old in stale) and all(other.is_dir() for other in others)
    folder.mkdir()
    stale[0].mkdir()                                         # another process still works with it
    compilation.cache_folder(str(tmp_path))
    assert stale[0].exists()


@pytest.mark.parametrize("environment", [
    {"NUMBA_NUM_THREADS": "1"},
    {"NUMBA_CACHE_DIR": os.devnull + "/folder", "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"},
], ids=["one thread", "no cache folder"])
def test_in_another_process(environment):
    code = ("import hashlib; from ibpcl.kernels import noise; "
            "print(hashlib.sha256(noise.normal((1, 2, 3, 4), 500_000).tobytes()).hexdigest())")
    found = {subprocess.run([sys.executable, "-c", code], check=True, text=True, capture_output=True,
                            env=os.environ | extra).stdout for extra in ({}, environment)}
    assert len(found) == 1 and "".join(found).strip()

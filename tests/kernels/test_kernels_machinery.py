"""Threads, memory and the cache of machine code: none of them changes a result."""

import itertools
import os
import subprocess
import sys
import threading
import time

import numba
import numpy as np
import pytest

from ibpcl import openblas
from ibpcl.adam import State
from ibpcl.kernels import (
    adam,
    blas,
    compilation,
    gaussian,
    latent,
    linear,
    local_linear,
    loops,
    masked_weights,
    memory,
    noise,
    sticks,
    subnormals,
    threads,
)
from ibpcl.kernels.turns import BEGIN, END
from ibpcl.kernels.turns import another as another_turn

SINGLE = np.dtype(np.float32)
another = numba.njit(another_turn)                           # for kernels in Python: it is compiled into others alone


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
    h, cache = linear.apply(np.where(mu > 1, mu, 0).T, results[3], out[1])
    results += [h, *linear.apply_vjp(h, cache, needs_dx=False)[1:]]
    for columns in (50, 10):                                 # dense products, and a head
        noise_of, weights = np.ascontiguousarray(eps[..., :columns]), (mu[:50, :columns], scale[:50, :columns])
        h, cache = local_linear.sample(noise_of, logistic, *weights, mu[0, :columns], scale[0, :columns])
        results += [h, *local_linear.sample_vjp(h, cache)]
    u = noise.uniform((1, 0, 0, 7), (3, 300, 50), dtype)
    h, cache = sticks.log_odds(u, mu, scale)
    return [*results, h, *sticks.log_odds_vjp(h, cache), latent.kl(eps, logistic, mu[0], scale[0])[0]]


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


def collect(turns, done, text):
    while another(turns):
        done.extend((piece, text) for piece in range(turns[BEGIN], turns[END]))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_piece_runs_once(count):
    threads.set_count(count)
    for pieces in (0, 1, 2, 7, 100):
        for _ in range(20):                                  # helpers that are early, late, awake and asleep
            done = []
            threads.run(collect, pieces, done, "x")
            assert sorted(done) == [(piece, "x") for piece in range(pieces)]


def test_an_error_is_not_lost_and_does_no_harm():
    threads.set_count(3)

    def fail(turns, who):
        while another(turns):
            if who == "all" or (threading.current_thread() is threading.main_thread()) == (who == "caller"):
                raise FloatingPointError(who)
            time.sleep(1e-4)                                 # so that each thread gets a turn

    for who in ("all", "caller", "helper"):
        with pytest.raises(FloatingPointError, match=who):
            for _ in range(200):                             # a helper may come too late to fail
                threads.run(fail, 8, who)
        done = []
        threads.run(collect, 8, done, who)
        assert sorted(done) == [(piece, who) for piece in range(8)]
    threads.run(fail, 0, "all")


@pytest.mark.skipif(subnormals.BITS == 0, reason="a processor whose control register is not known")
@pytest.mark.parametrize("count", [1, 3])
def test_kernels_take_subnormal_numbers_as_zero_and_numpy_still_does_not(count):
    threads.set_count(count)
    tiny, smaller = np.full((40, 900, 30), 1e-30, np.float32), np.full((40, 30, 20), 1e-10, np.float32)
    subnormal, smallest = np.full((40, 30, 20), 1e-40, np.float32), np.finfo(np.float32).smallest_normal
    nothing = np.zeros((40, 20), np.float32)
    for factors in ((tiny, smaller), (tiny * 1e30, subnormal)):      # as a result, and as an operand
        assert (blas.product(*factors, nothing) == 0).all()
        expected = factors[0] @ factors[1]
        assert (expected > 0).all() and (expected < smallest).all()
    np.testing.assert_allclose(blas.product(tiny, smaller * 1e4, nothing), tiny @ (smaller * 1e4), rtol=1e-5)

    def fail(turns):
        while another(turns):
            raise FloatingPointError

    with pytest.raises(FloatingPointError):
        threads.run(fail, 8)
    assert tiny[0, 0, 0] * smaller[0, 0, 0] > 0


def test_a_forked_child_has_threads_of_its_own():
    code = ("import os, hashlib; from ibpcl.kernels import noise; draw = lambda: noise.normal((1, 2, 3, 4), 500_000); "
            "a = draw(); child = os.fork(); same = (draw() == a).all(); "
            "os._exit(not same) if child == 0 else print(same and os.waitpid(child, 0)[1] == 0)")
    environment = os.environ | {"NUMBA_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", code], check=True, text=True, capture_output=True, env=environment)
    assert done.stdout.strip() == "True"


def test_dense_products_do_not_depend_on_threads_and_leave_blas_as_it_was():
    a, b, c = (noise.normal((1, 0, 0, i), shape) for i, shape in enumerate(((3, 300, 40), (3, 40, 50), (3, 50))))
    before = [get() for get, _ in openblas._libraries()]
    found = []
    for count in (1, 2, 3):
        threads.set_count(count)
        h = blas.product(a, b, c)
        found.append((h, blas.product(a[0], b, c), *blas.gradients(h, a, b), *blas.gradients(h, a[0], b)))
    for one, other in itertools.product(found, found):
        assert all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))
    bias = c[:, None, :]
    h, total = a @ b + bias, (a @ b + bias).sum(axis=1)
    back = h @ np.swapaxes(b, 1, 2)
    expected = (h, a[0] @ b + bias, back, np.swapaxes(a, 1, 2) @ h, total, back, a[0].T @ h, total)
    for x, y in zip(found[0], expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-3)
    assert blas.gradients(h, a, b, needs_dw=False)[1] is None and blas.gradients(h, a, b, needs_dx=False)[0] is None
    assert [get() for get, _ in openblas._libraries()] == before


@pytest.mark.skipif(not openblas._libraries(), reason="a BLAS whose threads cannot be counted")
def test_blas_has_one_thread_from_the_first_to_the_last_who_wants_it_so_and_then_what_it_had():
    (count, choose), at_first = openblas._libraries()[0], [get() for get, _ in openblas._libraries()]
    try:
        choose(2)
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
    finally:
        for (_, choose), number in zip(openblas._libraries(), at_first, strict=True):
            choose(number)


@numba.njit
def _strip(array, begin, end):
    return loops.flat(array, begin, end)


@pytest.mark.parametrize("shape", [(24,), (4, 6), (2, 3, 4)])
def test_a_strip_is_a_view_of_a_contiguous_array(shape):
    array = np.arange(24.0).reshape(shape)
    for begin, end in ((0, 24), (5, 7), (3, 3), (23, 24)):
        strip = _strip(array, begin, end)
        np.testing.assert_array_equal(strip, array.reshape(-1)[begin:end])
        strip += 1.0
        np.testing.assert_array_equal(strip, array.reshape(-1)[begin:end])
    kept = _strip(np.full(1000, 3.0), 10, 20)                # the strip keeps the memory
    np.testing.assert_array_equal(kept, 3.0)
    for other in (array.T[:, ::2] if array.ndim > 1 else array[::2], 1.0):
        with pytest.raises(numba.TypingError):
            _strip(other, 0, 1)


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


def test_arrays_of_one_block_do_not_overlap_and_keep_it_while_one_is_alive():
    shapes = ((3, 700), (5,), (0,), (1 << 16,), (7, 11))
    arrays = memory.several(shapes, SINGLE)
    for i, array in enumerate(arrays):
        assert array.shape == shapes[i] and array.flags.c_contiguous and array.flags.writeable
        assert array.ctypes.data % memory.LINE == 0
        array[...] = i
    assert all((array == i).all() for i, array in enumerate(arrays))
    address, last = arrays[0].ctypes.data, arrays[-1]
    del array, arrays
    for _ in range(3):
        again = memory.several(shapes, SINGLE)
        assert again[0].ctypes.data != address
        again[-1][...] = -1
    assert (last == 4).all()
    del last
    found = [memory.several(shapes, SINGLE) for _ in range(3)]
    assert address in {arrays[0].ctypes.data for arrays in found}


def test_memory_that_is_kept_is_bounded():
    pool = memory._Pool()

    def kept():
        sizes = [size for size, blocks in pool.blocks.items() for _ in blocks]
        assert all(block.memory.nbytes == size + memory.LINE for size, blocks in pool.blocks.items()
                   for block in blocks)
        assert sum(sizes) == pool.total <= memory.KEPT
        return sorted(sizes)

    size, small = memory.KEPT // 4, memory.KEPT // 8
    in_use = [pool.array((size,), memory.BYTE, size) for _ in range(3)]
    assert kept() == [size] * 3
    in_use.append(pool.array((2 * size,), memory.BYTE, 2 * size))    # no room: its own
    assert kept() == [size] * 3
    del in_use[1]
    assert kept() == [size] * 3                              # idle, for the next one
    again = [pool.array((small,), memory.BYTE, small) for _ in range(3)]
    assert kept() == [small] * 3 + [size] * 2                # the third one took its place
    for i, array in enumerate([*in_use, *again]):
        array[:] = i
    assert all((array == i).all() for i, array in enumerate([*in_use, *again]))


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

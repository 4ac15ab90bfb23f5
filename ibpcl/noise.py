r"""Noise as a function of (seed, task, step, stream), without a generator state.

A counter-based generator encrypts a counter instead of advancing a state.  So a resumed run
continues bit for bit, and the results depend neither on the number of threads nor on the order of
the calls.  The cipher is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011, "Parallel random
numbers: as easy as 1, 2, 3"), which passes the test suite BigCrush of TestU01.

**Which word becomes which element.**  The cipher maps the counter (block, step, task, stream), with
the low and high half of the seed as its key, to four 32-bit words.  The flat output is divided into
chunks of 2048 elements, and each chunk into four strips of 512:

.. math:: x_{2048 q + 512 j + r} \leftarrow \text{word } j \text{ of block } 512 q + r

Neighbouring elements come from neighbouring blocks, so all loops run over contiguous memory, with
one vector lane per block.  An element does not depend on the size of the output: a longer array
begins with the shorter one.

**One word per element, in float32 and in float64.**  Both types use :math:`u = (\text{word} +
\frac12) / 2^{32}`, which lies strictly inside (0, 1) and is symmetric about one half.  So a run
that is repeated in float64 has the noise of the float32 run, with less rounding.  The grid of
:math:`2^{32}` points bounds the tails: no normal exceeds 6.77 and no logistic 22.88 in absolute
value.  The exact distributions exceed these bounds with probability 1.3e-11 and 2.3e-10.
"""

import operator
from math import prod
from typing import NamedTuple

import numpy as np

STRIP = 512  # blocks per chunk
CHUNK = 4 * STRIP  # elements per chunk
# chunks that are computed at once: arrays of 64 KB stay in the cache
GROUP = 16
ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)  # Salmon et al. (2011), Sec. 3.3
# golden ratio and sqrt(3) - 1, as 32-bit fractions: the increment of the key per round
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = 0xFFFFFFFF
LONG = 0xFFFFFFFFFFFFFFFF
BELOW_ONE = np.float32(1 - 2.0**-24)  # the largest float32 below 1


class Key(NamedTuple):
    """Key of the noise: the same key always gives the same noise.

    Attributes
    ----------
    seed : int
        Seed of the run, 0 <= seed < 2**64.
    task : int
        Number of the task, 0 <= task < 2**32.
    step : int
        Number of the gradient step, 0 <= step < 2**32.
    stream : int
        Purpose of the noise within the step, such as a layer's weights or its masks,
        0 <= stream < 2**32.
    """

    seed: int
    task: int
    step: int
    stream: int


def check_key(caller, key):
    """Return a key with plain integers, after checking its four numbers.

    Parameters
    ----------
    caller : str
        Name of the function, which begins the message of an error.
    key : Key
        The key.

    Returns
    -------
    key : Key
        The same key.

    Raises
    ------
    TypeError
        If a number is not an integer.
    ValueError
        If a number is out of range.
    """
    if (
        type(key) is Key
        and all(type(number) is int for number in key)
        and (
            0 <= key.seed <= LONG
            and 0 <= key.task <= LOW
            and 0 <= key.step <= LOW
            and 0 <= key.stream <= LOW
        )
    ):
        return key  # the usual case, without a copy
    numbers = []
    for name, value in zip(Key._fields, key, strict=True):
        bits = 64 if name == "seed" else 32
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"{caller}: key.{name} must be an integer, got {value!r}") from None
        if not 0 <= number < 1 << bits:
            raise ValueError(f"{caller}: key.{name} must be in 0 ... 2**{bits} - 1, got {number}")
        numbers.append(number)
    return Key(*numbers)


def check_dtype(caller, dtype):
    """Return a floating-point type as a NumPy type, after checking it.

    Parameters
    ----------
    caller : str
        Name of the function, which begins the message of an error.
    dtype : dtype
        float32 or float64.

    Returns
    -------
    dtype : numpy.dtype
        The type.

    Raises
    ------
    TypeError
        If it is any other type.
    """
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"{caller}: dtype must be float32 or float64, got {dtype}")
    return dtype


def philox(counter, key):
    r"""Encrypt counters with Philox4x32-10.

    With the multipliers :math:`M_0, M_1`, each of the ten rounds computes

    .. math::

        (c_0, c_1, c_2, c_3) \leftarrow (\mathrm{hi}(M_1 c_2) \oplus c_1 \oplus k_0,\;
            \mathrm{lo}(M_1 c_2),\;
              \mathrm{hi}(M_0 c_0) \oplus c_3 \oplus k_1,\; \mathrm{lo}(M_0 c_0))

    and then adds :math:`(W_0, W_1)` to the key.  Salmon et al. (2011), Sec. 3.3.

    Parameters
    ----------
    counter : sequence of four int or uint64 ndarray
        Words, each below 2**32, that broadcast together.
    key : sequence of two int
        Words, each below 2**32.

    Returns
    -------
    words : tuple of four ndarray of uint64
        Words, each below 2**32.

    Examples
    --------
    >>> [hex(word) for word in philox((0, 0, 0, 0), (0, 0))]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    c0, c1, c2, c3 = (np.asarray(word, np.uint64) for word in counter)
    k0, k1 = (int(word) for word in key)
    for _ in range(ROUNDS):
        # 64 bits: high half, low half
        product0 = MULTIPLIERS[0] * c0
        product1 = MULTIPLIERS[1] * c2
        c0 = (product1 >> 32) ^ c1 ^ k0
        c1 = product1 & LOW
        c2 = (product0 >> 32) ^ c3 ^ k1
        c3 = product0 & LOW
        k0 = (k0 + WEYL[0]) & LOW
        k1 = (k1 + WEYL[1]) & LOW
    return c0, c1, c2, c3


def check_shape(caller, shape):
    """Return a shape as a tuple, with the sizes that it implies, after checking it.

    Parameters
    ----------
    caller : str
        Name of the function, which begins the message of an error.
    shape : int or tuple of int
        Shape of an array.

    Returns
    -------
    shape : tuple of int
        The shape.
    size : int
        Number of elements.
    chunks : int
        Number of chunks that contain them.

    Raises
    ------
    ValueError
        If an entry is negative, or there are 2**34 elements or more.
    """
    shape = tuple(shape) if np.iterable(shape) else (shape,)
    size = prod(shape)
    chunks = -(-size // CHUNK)
    if any(n < 0 for n in shape) or chunks * STRIP > LOW:
        raise ValueError(
            f"{caller}: shape must have no negative entry and fewer than 2**34 elements, got "
            f"{shape}"
        )
    return shape, size, chunks


def _fill(caller, key, shape, dtype, transform):
    """Make an array of noise: ``transform`` maps uniform numbers (chunks, 4, 512) to values."""
    key = check_key(caller, key)
    dtype = check_dtype(caller, dtype)
    shape, size, chunks = check_shape(caller, shape)
    out = np.empty(chunks * CHUNK, dtype)
    strips = out.reshape(chunks, 4, STRIP)
    for first in range(0, chunks, GROUP):
        last = min(first + GROUP, chunks)
        block = np.arange(first * STRIP, last * STRIP, dtype=np.uint64)
        words = philox((block, key.step, key.task, key.stream), (key.seed & LOW, key.seed >> 32))
        u = np.stack([word.reshape(last - first, STRIP) for word in words], axis=1)
        strips[first:last] = transform((u + 0.5) * 2.0**-32)  # exact in float64
    return out[:size].reshape(shape)


def uniform(key, shape, dtype=np.float32):
    r"""Draw uniform noise, strictly inside (0, 1).

    .. math:: u = (\text{word} + \tfrac12) / 2^{32}

    In float32, the few numbers that would round to 1 become the largest number below it.

    Parameters
    ----------
    key : Key
        Key that determines the noise.
    shape : int or tuple of int
        Shape of the output.
    dtype : dtype
        float32 or float64; both have the same noise up to rounding.

    Returns
    -------
    u : ndarray
        Noise of this shape and type.

    Raises
    ------
    TypeError
        If a number of the key is not an integer, or the type is not allowed.
    ValueError
        If a number of the key is out of range, or the shape is negative or too large.

    Examples
    --------
    >>> uniform(Key(seed=1, task=0, step=0, stream=0), 3).round(3)
    array([0.89 , 0.672, 0.247], dtype=float32)
    """
    u = _fill("noise.uniform", key, shape, dtype, lambda u: u)
    return np.minimum(u, BELOW_ONE) if u.dtype == np.float32 else u


def _box_muller(u):
    """Return normal numbers from uniform ones: strips 0 and 1 form a pair, as do 2 and 3."""
    radius = np.sqrt(-2 * np.log(u[:, 0::2]))
    angle = 2 * np.pi * u[:, 1::2]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=2).reshape(u.shape)


def normal(key, shape, dtype=np.float32):
    r"""Draw standard normal noise.

    .. math:: (x, x') = \sqrt{-2 \log u}\, (\cos 2\pi u', \sin 2\pi u')

    Box and Muller (1958); u and u' are the words 0 and 1, or 2 and 3, of a block.  No absolute
    value exceeds 6.77.

    Parameters
    ----------
    key : Key
        Key that determines the noise.
    shape : int or tuple of int
        Shape of the output.
    dtype : dtype
        float32 or float64; both have the same noise up to rounding.

    Returns
    -------
    eps : ndarray
        Noise of this shape and type.

    Raises
    ------
    TypeError
        If a number of the key is not an integer, or the type is not allowed.
    ValueError
        If a number of the key is out of range, or the shape is negative or too large.

    Examples
    --------
    >>> bool(abs(normal(Key(seed=1, task=0, step=0, stream=0), 10_000).mean()) < 0.03)
    True
    """
    return _fill("noise.normal", key, shape, dtype, _box_muller)


def logistic(key, shape, dtype=np.float32):
    r"""Draw standard logistic noise.

    .. math:: \ell = \log\frac{u}{1 - u}

    Both u and 1 - u are exact, so the tails are as accurate as the centre.  No absolute value
    exceeds 22.88.

    Parameters
    ----------
    key : Key
        Key that determines the noise.
    shape : int or tuple of int
        Shape of the output.
    dtype : dtype
        float32 or float64; both have the same noise up to rounding.

    Returns
    -------
    logistic : ndarray
        Noise of this shape and type.

    Raises
    ------
    TypeError
        If a number of the key is not an integer, or the type is not allowed.
    ValueError
        If a number of the key is out of range, or the shape is negative or too large.

    Examples
    --------
    >>> bool(abs(logistic(Key(seed=1, task=0, step=0, stream=0), 10_000).mean()) < 0.05)
    True
    """
    return _fill("noise.logistic", key, shape, dtype, lambda u: np.log(u / (1 - u)))


def draw(wanted, dtype=np.float32):
    """Draw several arrays of noise.

    Parameters
    ----------
    wanted : sequence of tuple
        Kind, key and shape of each array; the kind is "uniform", "normal" or "logistic".
    dtype : dtype
        float32 or float64; both have the same noise up to rounding.

    Returns
    -------
    drawn : list of ndarray
        The arrays, as returned by :func:`uniform`, :func:`normal` and :func:`logistic`.

    Examples
    --------
    >>> key = Key(seed=1, task=0, step=0, stream=0)
    >>> [array.shape for array in draw([("normal", key, (2, 3)), ("logistic", key, 4)])]
    [(2, 3), (4,)]
    """
    functions = {"uniform": uniform, "normal": normal, "logistic": logistic}
    return [functions[kind](key, shape, dtype) for kind, key, shape in wanted]


def generator(key):
    """Return a NumPy generator for the same key, for permutations and choices.

    It uses NumPy's own Philox4x64, a different cipher from the one above.  Seed, task and step form
    its key, and the stream is the start of its counter.

    Parameters
    ----------
    key : Key
        Key that determines the random numbers.

    Returns
    -------
    rng : numpy.random.Generator
        A new generator at the start of its sequence.

    Raises
    ------
    TypeError
        If a number of the key is not an integer.
    ValueError
        If a number of the key is out of range.

    Examples
    --------
    >>> one, two = (generator(Key(seed=1, task=0, step=0,
    ...     stream=0)).permutation(5) for _ in range(2))
    >>> bool((one == two).all())
    True
    """
    key = check_key("noise.generator", key)
    words = np.array([key.seed, key.task << 32 | key.step], np.uint64)
    return np.random.Generator(
        np.random.Philox(key=words, counter=np.array([0, 0, 0, key.stream], np.uint64))
    )

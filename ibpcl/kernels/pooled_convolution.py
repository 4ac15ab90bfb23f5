r"""A convolution with its pool: the compiled version of ``primitives.pooled_convolution``.

The reference stores the patches, the pre-activations and the activations of the whole minibatch.
The patches alone have I J times the size of the images.  Here a thread cuts the patches of a few
images, multiplies them by the weights, and keeps only the largest number of each window, with its
place in the window.  Patches and pre-activations stay in the second-level cache.  The backward pass
cuts the patches again, which takes less time than reading them from memory.

If all samples share the images, their filters are joined to one matrix (I J D, S K), so that one
product serves all samples.

ReLU and leaky ReLU never decrease.  So they commute with the maximum, and are applied to the
outputs only.  Other activations are a separate step.

Below, L = I J D is the size of a patch, P = H' W' the number of its positions in an image, Q = H''
W'' the number of outputs of a filter, and M the number of columns of the matrix of filters, S K or
K.
"""

from math import prod
from typing import NamedTuple

import numpy as np
from numba import uint8

from ibpcl.blas_threads import one_thread
from ibpcl.kernels import pooling
from ibpcl.kernels.compilation import (
    boolean,
    compiled,
    cube,
    float32,
    inlined,
    int64,
    matrix,
    twin_of,
    void,
)
from ibpcl.kernels.local_linear import LEAN
from ibpcl.kernels.patches import cut_image, frame, put_back_image
from ibpcl.kernels.threads import JOB, parts, run, taken
from ibpcl.primitives import activations as all_activations
from ibpcl.primitives import convolution
from ibpcl.primitives import pooled_convolution as reference

IMAGES = 16  # images per piece
# Numbers of a thread's patches and pre-activations: 512 KB, half of a usual second-level cache.
ROOM = 2**17
LARGEST = 15  # window, whose places fit into a byte
ONE = np.float32(1)
ZERO = np.float32(0)
TWO = np.float32(2)
THREE = np.float32(3)

outputs = float32[:, :, :, ::1]
places_type = uint8[:, :, :, ::1]
SIZES = int64[::1]


class Geometry(NamedTuple):
    """Sizes of a convolution and its pool.

    Attributes
    ----------
    channels : int
        Number D of channels of the images.
    height : int
        Number I of rows of a kernel.
    width : int
        Number J D of neighbouring numbers that a row of a kernel reads.
    stride, padding : int
        Step of the kernel, and rows and columns of zeros around an image.
    down, across : int
        Numbers H' and W' of positions.
    window : int
        Size of the windows.
    """

    channels: int
    height: int
    width: int
    stride: int
    padding: int
    down: int
    across: int
    window: int


class Fused(NamedTuple):
    """Cache of a pass in one kernel.

    Attributes
    ----------
    images : ndarray, shape (B, H, W D)
        The images, B = N if all samples share them, else S N.
    matrices : ndarray, shape (1, L, M) or (S, L, M)
        The filters.
    h : ndarray, shape (S, N, Q, K)
        The outputs.
    places : ndarray of uint8, shape (S, N, Q, K)
        Place of the largest number in its window, row by row; empty for windows of one number.
    geometry : Geometry
        The sizes.
    lean : float
        Slope of the activation where it is not 1.
    x_shape, w_shape : tuple of int
        Shapes of images and filters.
    """

    images: np.ndarray
    matrices: np.ndarray
    h: np.ndarray
    places: np.ndarray
    geometry: Geometry
    lean: float
    x_shape: tuple
    w_shape: tuple


class Steps(NamedTuple):
    """Cache of a pass whose activation is a separate step.

    Attributes
    ----------
    convolved : object
        Cache of the convolution.
    active : object
        Cache of the activation.
    pooled : object
        Cache of the pool; None for windows of one number.
    activation : str
        Name of the activation.
    """

    convolved: object
    active: object
    pooled: object
    activation: str


@inlined
def _wins(new, old):
    """Return whether a number replaces an earlier one: it is larger, or the first NaN."""
    return (new > old) | ((new != new) & (old == old))


@inlined
def _larger(row, place, best, where):
    """Keep the larger of a row and ``best``, and its place.

    The old numbers are read first: the compiler then chooses between two numbers, and does not make
    a masked store.
    """
    for k in range(best.size):
        new = row[k]
        old = best[k]
        before = where[k]
        wins = _wins(new, old)
        best[k] = new if wins else old
        where[k] = place if wins else before


@inlined
def _largest_of_four(zero, one, two, three, best, where):
    """Write the largest of four rows, and its place: :func:`_larger` three times, in one pass."""
    for k in range(best.size):
        a = zero[k]
        b = one[k]
        c = two[k]
        d = three[k]
        right_above = _wins(b, a)
        right_below = _wins(d, c)
        above = b if right_above else a
        below = d if right_below else c
        is_below = _wins(below, above)
        best[k] = below if is_below else above
        place_above = ONE if right_above else ZERO
        place_below = THREE if right_below else TWO
        where[k] = place_below if is_below else place_above


@inlined
def _activate(best, bias, lean, h):
    for k in range(h.size):
        a = best[k] + bias[k]
        h[k] = a * (ONE if a > ZERO else lean)


@inlined
def _copy(values, out):
    for k in range(out.size):
        out[k] = values[k]


@inlined
def _slopes(dh, h, lean, slopes, dbias):
    for k in range(slopes.size):
        slopes[k] = dh[k] * (ONE if h[k] > ZERO else lean)
        dbias[k] += slopes[k]


@inlined
def _choose(slopes, where, place, row):
    for k in range(row.size):
        slope = slopes[k]
        row[k] = slope if where[k] == place else ZERO


@inlined
def _add(values, total):
    for i in range(total.size):
        total[i] += values[i]


@compiled(void(JOB, cube, cube, matrix, SIZES, float32, int64, outputs, places_type))
def _forward(job, x, w, b, sizes, lean, together, h, places):
    """Write outputs h (S, N, Q, K) and places of images x (B, H, W D) with filters w (., L, M)."""
    channels, height, width, stride, padding, down, across, window = sizes
    _, N, Q, K = h.shape
    P = down * across
    _, L, M = w.shape
    columns = across // window
    rows = np.empty((together, down, across, height, width), np.float32)
    patches = rows.reshape(together * P, L)
    a = np.empty((together * P, M), np.float32)
    best = np.empty(M, np.float32)
    where = np.empty(M, np.float32)
    framed = frame(x, channels, padding)
    cuts = parts(N, IMAGES)
    for piece in taken(job):
        own = piece // cuts  # the sample, if each has its own images
        begin = piece % cuts * IMAGES
        end = min(begin + IMAGES, N)
        for n in range(begin, end, together):
            count = min(together, end - n)
            for i in range(count):
                cut_image(x[own * N + n + i], channels, stride, padding, framed, rows[i])
            np.dot(patches[: count * P], w[own], a[: count * P])
            for i in range(count):
                for q in range(Q):
                    first = i * P + (q // columns * across + q % columns) * window
                    if window == 2:
                        below = first + across
                        _largest_of_four(
                            a[first], a[first + 1], a[below], a[below + 1], best, where
                        )
                    else:
                        _copy(a[first], best)
                        where[:] = 0
                        for place in range(1, window * window):
                            row = a[first + place // window * across + place % window]
                            _larger(row, np.float32(place), best, where)
                    for j in range(M // K):
                        s = own + j
                        _activate(best[j * K : (j + 1) * K], b[s], lean, h[s, n + i, q])
                        if window > 1:
                            _copy(where[j * K : (j + 1) * K], places[s, n + i, q])


@compiled(
    void(
        JOB,
        outputs,
        outputs,
        places_type,
        cube,
        cube,
        SIZES,
        float32,
        int64,
        boolean,
        cube,
        matrix,
        cube,
    )
)
def _backward(job, dh, h, places, x, w, sizes, lean, together, needs_dx, dw, db, dx):
    """Write the gradients at filters (pieces, L, M), biases (pieces, M) and images (B, H, W D)."""
    channels, height, width, stride, padding, down, across, window = sizes
    _, N, Q, K = h.shape
    P = down * across
    _, L, M = w.shape
    columns = across // window
    rows = np.empty((together, down, across, height, width), np.float32)
    patches = rows.reshape(together * P, L)
    da = np.zeros((together * P, M), np.float32)
    of_group = np.empty((L, M), np.float32)
    slopes = np.empty(M, np.float32)
    where = np.empty(M, np.float32)
    framed = frame(x, channels, padding)
    cuts = parts(N, IMAGES)
    for piece in taken(job):
        own = piece // cuts
        begin = piece % cuts * IMAGES
        end = min(begin + IMAGES, N)
        dw[piece] = 0
        db[piece] = 0
        for n in range(begin, end, together):
            count = min(together, end - n)
            for i in range(count):
                cut_image(x[own * N + n + i], channels, stride, padding, framed, rows[i])
                for q in range(Q):
                    first = i * P + (q // columns * across + q % columns) * window
                    for j in range(M // K):
                        s = own + j
                        part = slice(j * K, (j + 1) * K)
                        _slopes(
                            dh[s, n + i, q], h[s, n + i, q], lean, slopes[part], db[piece, part]
                        )
                        if window > 1:
                            _copy(places[s, n + i, q], where[part])
                    if window == 1:
                        _copy(slopes, da[first])
                    else:
                        for place in range(window * window):
                            row = first + place // window * across + place % window
                            _choose(slopes, where, np.float32(place), da[row])
            group = slice(0, count * P)
            np.dot(patches[group].T, da[group], of_group)
            _add(of_group.reshape(-1), dw[piece].reshape(-1))
            if needs_dx:
                np.dot(da[group], w[own].T, patches[group])
                for i in range(count):
                    image = dx[own * N + n + i]
                    put_back_image(rows[i], channels, stride, padding, framed, image)
                framed[:] = 0


def _together(geometry, columns):
    """Return the number of images of which a thread holds patches and pre-activations."""
    size = geometry.down * geometry.across * (geometry.height * geometry.width + columns)
    return max(1, min(IMAGES, ROOM // size))


@twin_of(reference)
def apply(x, w, b, stride=1, padding=0, activation=None, window=1):
    """Convolve and pool: the compiled :func:`ibpcl.primitives.pooled_convolution.apply`."""
    if x.ndim not in (4, 5) or x.size == 0 or w.size == 0 or window > LARGEST:
        return reference.apply(x, w, b, stride, padding, activation, window)
    convolution.check_filters(x, w, b)
    if activation not in LEAN:
        h, convolved = apply(x, w, b, stride, padding)
        h, active = getattr(all_activations, activation)(h)
        h, pooled = pooling.max_pool2d(h, window) if window > 1 else (h, None)
        return h, Steps(convolved, active, pooled, activation)
    S, height, width, channels, K = w.shape
    N, rows, columns = x.shape[-4:-1]
    down = convolution.positions(rows, height, stride, padding, "height of the kernel")
    across = convolution.positions(columns, width, stride, padding, "width of the kernel")
    convolution.positions(min(down, across), window, name="window of a pool")
    geometry = Geometry(channels, height, width * channels, stride, padding, down, across, window)
    matrices = w.reshape(S, -1, K)
    if x.ndim == 4:  # one matrix for all samples
        matrices = matrices.transpose(1, 0, 2).reshape(1, -1, S * K)
    matrices = np.ascontiguousarray(matrices)
    images = x.reshape(-1, rows, columns * channels)
    pooled = (down // window, across // window)
    h = np.empty((S, N, prod(pooled), K), np.float32)
    places = np.empty(h.shape if window > 1 else (0, 0, 0, 0), np.uint8)
    lean = np.float32(LEAN[activation])
    with one_thread():
        run(
            _forward,
            len(matrices) * parts(N, IMAGES),
            images,
            matrices,
            b,
            np.array(geometry),
            lean,
            _together(geometry, matrices.shape[2]),
            h,
            places,
        )
    cache = Fused(images, matrices, h, places, geometry, lean, x.shape, w.shape)
    return h.reshape(S, N, *pooled, K), cache


@twin_of(reference)
def apply_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back: compiled :func:`ibpcl.primitives.pooled_convolution.apply_vjp`."""
    if isinstance(cache, Steps):
        if cache.pooled is not None:
            dh = pooling.max_pool2d_vjp(dh, cache.pooled)
        dh = getattr(all_activations, f"{cache.activation}_vjp")(dh, cache.active)
        return apply_vjp(dh, cache.convolved, needs_dx)
    if not isinstance(cache, Fused):
        return reference.apply_vjp(dh, cache, needs_dx)
    S, N, _, K = cache.h.shape
    _, L, M = cache.matrices.shape
    pieces = len(cache.matrices) * parts(N, IMAGES)
    dw = np.empty((pieces, L, M), np.float32)
    db = np.empty((pieces, M), np.float32)
    dx = np.empty(cache.images.shape if needs_dx else (0, 0, 0), np.float32)
    with one_thread():
        run(
            _backward,
            pieces,
            dh.reshape(cache.h.shape),
            cache.h,
            cache.places,
            cache.images,
            cache.matrices,
            np.array(cache.geometry),
            cache.lean,
            _together(cache.geometry, M),
            needs_dx,
            dw,
            db,
            dx,
        )
    dw = dw.reshape(len(cache.matrices), -1, L, M).sum(axis=1)
    db = db.reshape(len(cache.matrices), -1, M).sum(axis=1)
    # shared images: the columns of the joined matrix are those of all samples
    dw = dw.reshape(-1, L, M // K, K).transpose(0, 2, 1, 3).reshape(cache.w_shape)
    return dx.reshape(cache.x_shape) if needs_dx else None, dw, db.reshape(S, K)

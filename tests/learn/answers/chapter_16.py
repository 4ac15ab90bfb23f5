"""Wrong answers to the exercises of chapter 16: text of the reference, wrong text, its name."""

from answering import letters, numbers

ROWS = "rows = windows.reshape(*windows.shape[:-3], height * width * x.shape[-1])"
MOVED = "windows = np.moveaxis(windows[..., ::stride, ::stride, :, :, :], -3, -1)"
CONV2D = "return dx, dmatrix.reshape(shape), db"
CONV1D = 'return np.convolve(dh, taps, "full"), np.correlate(sequence, dh, "valid")'
STRIDED = "return dframed[padding : height - padding, padding : width - padding], dkernel"
MASKED = "return (v * dw).sum(axis=(0, 1, 2)) + b * dscaled, z * dw, z * dscaled"
DENSE = "return x.reshape(len(x), -1) @ w.reshape(-1, w.shape[-1])"
WINS = "return np.array([0.0, 1.0, 3.0, 2.0, 1.0])"

WRONG = {
    "16.1": [
        (
            "padding : padding + rows, padding : padding + columns, :]",
            "padding:-padding, padding:-padding, :]",
        ),
        (MOVED, "windows = windows[..., ::stride, ::stride, :, :, :]", "transposed"),
        (
            ROWS,
            "rows = np.swapaxes(windows, -3, -2).reshape(*windows.shape[:-3], -1)",
            "transposed",
        ),
        (
            ROWS,
            "rows = np.moveaxis(windows, -1, -3).reshape(*windows.shape[:-3], -1)",
            "transposed",
            "the numbers of a row are in the order d, i, j; they must be in the order i, j, d",
        ),
        (MOVED, MOVED.replace("::stride, ::stride", ":, ::stride")),
        (ROWS, ROWS + "[..., ::-1]"),
        ("[(padding, padding)] * 2", "[(0, 2 * padding)] * 2"),
        (
            "j : j + stride * across : stride, :] += (",
            "j : j + stride * across : stride, :] = (",
            "missing_term",
        ),
        ("padding : padding + rows, padding : padding + columns, :]", ":rows, :columns, :]"),
        ("dwindows[..., i, j, :]", "dwindows[..., height - 1 - i, j, :]"),
    ],
    "16.2": [
        (CONV2D, "return dx, dmatrix.reshape(shape), -db", "sign"),
        (CONV2D, "return -dx, dmatrix.reshape(shape), db", "sign"),
        (CONV2D, "return dx, dmatrix.reshape(shape) / len(dmatrix), db", "constant_factor"),
        (CONV2D, "return dx, dmatrix.reshape(shape)[:, ::-1, ::-1], db"),
        (CONV2D, "return dx, dmatrix.reshape(shape), db / dh[0, ..., 0].size", "constant_factor"),
        (
            "linear.apply(one_axis(rows), matrix, b)",
            "linear.apply(one_axis(rows), matrix, 0 * b)",
            "ignored_input",
        ),
    ],
    "16.3": [
        (
            'return np.correlate(sequence, taps, "valid")',
            'return np.convolve(sequence, taps, "valid")',
            "other_input",
        ),
        (
            'return np.correlate(sequence, taps, "valid")',
            'return np.correlate(sequence, taps, "full")',
        ),
        (
            CONV1D,
            CONV1D.replace("np.convolve(dh, taps", "np.correlate(dh, taps"),
            "shifted",
            "the kernel runs in reversed order; the gradient of a correlation is a convolution "
            "with the kernel as it is",
        ),
        (
            'return np.correlate(sequence, taps, "valid")',
            'return np.append(np.correlate(sequence, taps, "valid")[:-1], 0.0)',
        ),
        (CONV1D, CONV1D.replace("np.correlate(sequence, dh,", "np.convolve(sequence, dh,")),
        (CONV1D, CONV1D.replace("return ", "return -"), "sign"),
        (CONV1D, CONV1D + " / len(dh)", "mean"),
    ],
    "16.4": [
        (STRIDED, "return dframed[padding:-padding, padding:-padding], dkernel"),
        (
            "            b = q * stride\n            h[p",
            "            b = q\n            h[p",
            "elementwise_factor",
        ),
        ("np.sum(framed[a", "np.mean(framed[a", "mean"),
        ("] += dh[p, q] * kernel", "] = dh[p, q] * kernel", "missing_term"),
        (
            STRIDED,
            STRIDED.replace("padding : height - padding", ": height - 2 * padding"),
            "shifted",
        ),
        (STRIDED, STRIDED + "[::-1, ::-1]"),
        (STRIDED, STRIDED.replace("return ", "return -"), "sign"),
    ],
    "16.5": [
        ("return (z * v, z * b), (z", "return (z * v, b), (z", "elementwise_factor"),
        (MASKED, MASKED.replace(" + b * dscaled", ""), "missing_term"),
        (MASKED, MASKED.replace("sum(axis", "mean(axis"), "constant_factor"),
        (MASKED, MASKED.replace("z * dw", "dw")),
        (MASKED, MASKED.replace("z * dw", "v * dw"), "other_quantity"),
        (MASKED, MASKED.replace("z * dscaled", "dscaled")),
        (MASKED, MASKED.replace(".sum(axis=(0, 1, 2))", ".sum(axis=(0, 1))[0]"), "missing_term"),
    ],
    "16.6": numbers(
        "return 36.0",
        (1 / 36, "this is the factor by which the variance is multiplied: take its inverse"),
        (6.0, "this is the factor of the standard deviation"),
        (9.0, "this is the number of weights, not of positions"),
        (64.0, "this is the number of pixels, not of positions"),
        (-36, "minus the right value"),
        "a",
    ),
    "16.7": [
        (DENSE, DENSE.replace("x.reshape", "x.swapaxes(1, 2).reshape")),
        (DENSE, DENSE + ".T"),
        (DENSE, DENSE + " / w.shape[0]", "mean"),
        (DENSE, DENSE.replace("w.reshape", "w[::-1, ::-1].reshape")),
        (DENSE, "return x.mean(axis=(1, 2)) @ w.sum(axis=(0, 1))"),
        (DENSE, DENSE.replace("return ", "return -"), "sign"),
    ],
    "16.8": letters("c", "abc"),
    "16.9": [
        (
            WINS,
            "return np.arange(5.0)",
            "window_max_overwriting_vjp: the given gradient is right at these inputs",
        ),
        (
            WINS,
            "return np.arange(5.0)[::-1]",
            "window_max_overwriting_vjp: the given gradient is right at these inputs",
        ),
        (
            WINS,
            "return np.array([1.0, 5.0, 2.0])",
            "window_max_overwriting_vjp: the given gradient is right at these inputs",
        ),
        (
            WINS,
            "return np.array([1.0, 5.0])",
            "window_max_overwriting_vjp: the given gradient is right at these inputs",
        ),
        (
            WINS,
            "return np.array([0.0, 1.0, 4.0, 9.0])",
            "window_max_overwriting_vjp: the given gradient is right at these inputs",
        ),
        (WINS, "return 'x'", "wins_twice must return x: numbers or arrays of numbers"),
    ],
}

"""Wrong answers to the exercises of chapter 0: text of the reference, wrong text, its name."""

from answering import letters, numbers

SOFTMAX = "return cache * (dy - (dy * cache).sum())"
MOMENTS = "return np.sum(x * mu), np.sqrt(np.sum((x * sigma) ** 2))"
STANDARD = "return dx, -dx.sum(axis=0), -(dx * y).sum(axis=0)"
POINTS = "return 16 * p * (1 - p) / 0.001**2"

WRONG = {
    "0.1": [
        (SOFTMAX, "return cache * (dy - dy * cache)", "missing_term"),
        (SOFTMAX, "return cache * dy", "missing_term"),
        (SOFTMAX, "return cache * (1 - cache) * dy", "missing_term"),
        (SOFTMAX, "return dy - (dy * cache).sum()", "elementwise_factor"),
        (SOFTMAX, "return -cache * (dy - (dy * cache).sum())", "sign"),
        (SOFTMAX, "return cache * (dy - dy.sum())", "elementwise_factor"),
        ("y = e / e.sum()", "y = e / e.max()", "elementwise_factor"),
        ("y = e / e.sum()", "y = np.log(e / e.sum())", "other_result"),
        ("y = e / e.sum()", "y = e", "elementwise_factor"),
        ("e = np.exp(x - x.max())", "e = np.exp(x)"),
        ("e = np.exp(x - x.max())", "e = np.exp(np.minimum(x, 700))"),
        (SOFTMAX, "return (cache * (dy - (dy * cache).sum()))[None]"),
    ],
    "0.2": [
        (MOMENTS, "return np.sum(x * mu), np.sum((x * sigma) ** 2)", "other_result"),
        (MOMENTS, "return np.sum(x * mu), np.sum(np.abs(x) * sigma)"),
        (MOMENTS, "return np.sum(x * mu), np.sum(x * sigma)"),
        (MOMENTS, "return np.sum(x * mu), np.sqrt(np.sum(np.abs(x) * sigma**2))"),
        (MOMENTS, "return np.sum(x * mu), np.sqrt(np.sum(x**2 * sigma))", "other_input"),
        (MOMENTS, "return np.mean(x * mu), np.sqrt(np.mean((x * sigma) ** 2))"),
        (MOMENTS, "return np.sqrt(np.sum((x * sigma) ** 2)), np.sum(x * mu)", "swapped"),
        (MOMENTS, "return np.sum(mu), np.sqrt(np.sum((x * sigma) ** 2))", "elementwise_factor"),
    ],
    "0.3": letters("b", "abcd"),
    "0.4": [
        *numbers(POINTS, 10_000, 160_000.0, 1000, 2.6e6, -3.0, 0, float("inf"), "many"),
        (
            POINTS,
            "return p * (1 - p) / 0.001**2",
            "this is the number for the share p itself: pi is four times p",
        ),
        (
            POINTS,
            "return 4 * p * (1 - p) / 0.001**2",
            "the factor 4 must be squared: it multiplies a standard error",
        ),
        (POINTS, "return np.sqrt(16 * p * (1 - p)) / 0.001", "the square root of the right value"),
    ],
    "0.5": [
        (STANDARD, "return dx, -dx.sum(axis=0, keepdims=True), -(dx * y).sum(axis=0)"),
        (STANDARD, "return dx, -dx.sum(axis=0), -(dx * y).sum(axis=0)[None, :, None]"),
        (STANDARD, "return dx, dx.sum(axis=0), -(dx * y).sum(axis=0)", "sign"),
        (STANDARD, "return dx, -dx.sum(axis=0), (dx * y).sum(axis=0)", "sign"),
        (STANDARD, "return dx, -dx, -(dx * y)", "not_summed"),
        (STANDARD, "return dx, -dx.sum(axis=1), -(dx * y).sum(axis=1)"),
        (STANDARD, "return dx, -dx.mean(axis=0), -(dx * y).mean(axis=0)", "mean"),
        (STANDARD, "return dx, -dx.sum(axis=0), -(dx * y / s).sum(axis=0)", "elementwise_factor"),
        ("dx = dy / s", "dx = dy", "elementwise_factor"),
        ("dx = dy / s", "dx = dy * s", "elementwise_factor"),
        ("y = (x - m) / s", "y = (x - m) / s**2", "elementwise_factor, other_input"),
        ("y = (x - m) / s", "y = x - m / s", "elementwise_factor"),
        ("y = (x - m) / s", "y = (x + m) / s", "other_input"),
    ],
}

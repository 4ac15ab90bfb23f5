"""Wrong answers to the exercises of chapter 19: text of the reference, wrong text, its name."""

from answering import letters, numbers

SLOPE = "return change @ dout.ravel() / (2 * h)"
ERROR = "return np.abs(claimed - slopes).max() / np.abs(slopes).max()"
COTANGENT = "return x, np.array([[1.0], [2.0], [0.0], [-1.0]])"
ROWS = "return np.array([[1.0, 2.0], [3.0, -1.0]])"
SHIFTED = "return bool(agree((dx, dgain, dshift), expected))"
PLACES = "return [(draw((4, 3)), draw(3), draw(3), draw((4, 3)))]"
SOFT = "return bool(agree((dx,), differences(softmax, (x,), dout)))"
SCORES = "return [(rng.standard_normal((3, 4)), rng.standard_normal((3, 4)))]"
ROUNDING = (
    "objective_slip_vjp: the gradients differ there only by rounding: both are zero, so the given "
    "one is right at these inputs"
)
UNDEFINED = (
    "row_norms_slip_vjp: the right gradient is not finite at these inputs, so they are not in the "
    "domain of the function"
)
RIGHT_REJECTED = "it rejects a right gradient, so it earns nothing"
LEAST = "return (h**2 / 6 + 2.2e-16 / h) / 1e-11"
NO_PAIR = "seen_by_another_cotangent must return a tuple (x, dout): numbers or arrays of numbers"
NO_ROWS = "seen_by_more_rows must return x: numbers or arrays of numbers"

WRONG = {
    "19.1": [
        (SLOPE, SLOPE.replace("2 * h", "h"), "constant_factor"),
        (SLOPE, f"return -{SLOPE.removeprefix('return ')}", "sign"),
        (SLOPE, "return change.sum(axis=1) / (2 * h)", "ignored_input"),
        (SLOPE, "return change @ dout.ravel()", "constant_factor"),
        (SLOPE, "return (change @ dout.ravel()).mean() / (2 * h)"),
    ],
    "19.2": [
        (ERROR, ERROR.replace("np.abs(slopes)", "np.abs(claimed)"), "swapped"),
        (ERROR, "return np.abs(claimed - slopes).max()", "elementwise_factor"),
        (ERROR, "return np.abs(claimed - slopes).mean() / np.abs(slopes).max()", "other_function"),
        (ERROR, "return (claimed - slopes).max() / np.abs(slopes).max()", "other_function"),
        (ERROR, "return np.abs((claimed - slopes) / slopes).max()", "other_quantity"),
    ],
    "19.3": [
        (
            COTANGENT,
            "return x, np.ones((4, 1))",
            "objective_slip_vjp: the given gradient is right at these inputs",
        ),
        (
            COTANGENT,
            "return x, np.full((4, 1), 3.0)",
            "objective_slip_vjp: the given gradient is right at these inputs",
        ),
        (
            COTANGENT,
            "return x, np.zeros((4, 1))",
            "objective_slip_vjp: the given gradient is right at these inputs",
        ),
        (
            COTANGENT,
            "return np.sin(3.0 * np.arange(15)).reshape(5, 3), np.ones((5, 3))",
            ROUNDING,
        ),
        (
            COTANGENT,
            "return np.cos(5.0 * np.arange(8)).reshape(4, 2), np.ones((4, 2), int)",
            ROUNDING,
        ),
        (
            COTANGENT,
            "return 10 * np.sin(np.arange(9.0)).reshape(3, 3) ** 3, 2 * np.ones((3, 3))",
            ROUNDING,
        ),
        (COTANGENT, "return x", NO_PAIR),
        (COTANGENT, "return x, 'ones'", NO_PAIR),
    ],
    "19.4": [
        (
            ROWS,
            "return np.array([[1.0, 2.0]])",
            "row_norms_slip_vjp: the given gradient is right at these inputs",
        ),
        (ROWS, "return np.array([[0.0, 0.0], [3.0, -1.0]])", UNDEFINED),
        (
            ROWS,
            "return np.eye(3)",
            "row_norms_slip_vjp: the given gradient is right at these inputs",
        ),
        (
            ROWS,
            "return np.array([[1.0, 2.0], [2.0, 1.0]])",
            "row_norms_slip_vjp: the given gradient is right at these inputs",
        ),
        (ROWS, "return 'rows'", NO_ROWS),
        (ROWS, "return (1.0, 2.0)", NO_ROWS),
    ],
    "19.5": [
        (SHIFTED, "return True"),
        (SHIFTED, "return False", RIGHT_REJECTED),
        (SHIFTED, "return bool(np.shape(dx) == x.shape)"),
        (SHIFTED, "return bool(np.array_equal(dx, expected[0]))", RIGHT_REJECTED),
        (SHIFTED, "return bool(agree((dx,), expected[:1]))"),
        (
            SHIFTED,
            "return all(np.shape(a) == b.shape and np.abs(a - b).max() < 1e-2 * np.abs(b).max() "
            "for a, b in zip((dx, dgain, dshift), expected))",
        ),
        (PLACES, "return [(draw((1, 1)), draw(1), draw(1), draw((1, 1)))]"),
        (PLACES, "return [(draw((4, 3)), draw(3), draw(3), np.ones((4, 3)))]"),
        (PLACES, "return []", "points_scale_shift must return a list of 1 to 20 tuples"),
    ],
    "19.6": [
        (SOFT, "return True"),
        (SOFT, "return False", RIGHT_REJECTED),
        (SOFT, "return bool(np.abs(dx.sum(axis=1)).max() < 1e-9)"),
        (SOFT, "return 1.0"),
        (
            SOFT,
            "return bool(np.allclose(dx, differences(softmax, (x,), dout)[0], rtol=1e-2))",
        ),
        (SCORES, "return [(rng.standard_normal((3, 4)), np.ones((3, 4)))]", RIGHT_REJECTED),
        (
            SCORES,
            "return [(rng.standard_normal((3, 1)), rng.standard_normal((3, 1)))]",
            RIGHT_REJECTED,
        ),
    ],
    "19.7": numbers(LEAST, 1.27, 2.54, 3.8e-11, 0.87, 1500.0),
    "19.8": letters("b", "abc"),
    "19.9": letters("b", "abc"),
}

"""Wrong answers to the exercises of chapter 1: text of the reference, wrong text, its name."""

from answering import letters

CURVE = "return (plus - 2 * zero + minus) / (h * h)"
VALUE = "return (precision * shift * shift).sum() / 2, (shift, precision)"
PULL = "return dw, -dw, dvalue * shift * shift / 2"

WRONG = {
    "1.1": letters("c", ""),
    "1.2": letters("b", "abc"),
    "1.3": [
        (CURVE, "return (plus - zero + minus) / (h * h)", "other_input"),
        (CURVE, "return (plus - 2 * zero + minus) / h", "other_quantity"),
        (CURVE, "return (plus - 2 * zero + minus) / (2 * h * h)", "constant_factor"),
        (CURVE, "return (plus - minus) / (2 * h)", "other_quantity"),
        (CURVE, "return -(plus - 2 * zero + minus) / (h * h)", "sign"),
        (CURVE, "return (plus + 2 * zero + minus) / (h * h)", "other_input"),
        (CURVE, "return (plus - 2 * zero + minus) / (4 * h * h)", "constant_factor"),
        (CURVE, "return plus - 2 * zero + minus", "ignored_input"),
    ],
    "1.4": letters("b", ""),
    "1.5": [
        (VALUE, "return (precision * shift * shift).sum(), (shift, precision)", "constant_factor"),
        (VALUE, "return (precision * shift).sum() / 2, (shift, precision)", "elementwise_factor"),
        (VALUE, "return (shift * shift).sum() / 2, (shift, precision)", "ignored_input"),
        (VALUE, "return (precision * shift * shift).mean() / 2, (shift, precision)", "mean"),
        (VALUE, "return precision * shift * shift / 2, (shift, precision)", "other_function"),
        (VALUE, "return (shift * shift / precision).sum() / 2, (shift, precision)", "other_input"),
        (PULL, "return dw, dw, dvalue * shift * shift / 2", "sign"),
        (PULL, "return dw, -dw, dvalue * shift * shift", "constant_factor"),
        (PULL, "return dw, -dw, dvalue * shift / 2", "elementwise_factor"),
        (PULL, "return dw, -dw"),
        (PULL, "return -dw, dw, dvalue * shift * shift / 2", "sign"),
        ("dw = dvalue * precision * shift", "dw = dvalue * shift", "elementwise_factor"),
        (
            "dw = dvalue * precision * shift",
            "dw = 2 * dvalue * precision * shift",
            "constant_factor",
        ),
        ("dw = dvalue * precision * shift", "dw = precision * shift", "elementwise_factor"),
    ],
}

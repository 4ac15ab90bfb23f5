"""Solutions to the exercises of tutorial 4.

`ibpcl check tutorials/solutions/04_verifying_a_derivation.py` checks the pairs of
functions. Run as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np

from ibpcl.verify import check

# Exercise 1: A mean.
#
# Without the 1 / N the report says "constant factor N". It takes the forward as the
# definition, because the forward is all that it can measure. Only the author knows
# whether a mean or a sum was meant.


def mean_log_likelihood(x, w, labels):
    """Return the mean log likelihood of a linear classifier."""
    logits = x @ w
    log_norm = np.log(np.exp(logits).sum(axis=-1))
    return (logits[np.arange(len(labels)), labels] - log_norm).mean(), (
        x,
        w,
        logits,
        log_norm,
        labels,
    )


def mean_log_likelihood_vjp(dmean, cache):
    """Pull the gradient back to ``x`` and ``w``; labels have none."""
    x, w, logits, log_norm, labels = cache
    dlogits = (
        (np.eye(w.shape[1])[labels] - np.exp(logits - log_norm[:, None]))
        * dmean
        / len(labels)
    )
    return dlogits @ w.T, x.T @ dlogits


def forgetful_mean_vjp(dmean, cache):
    dx, dw = mean_log_likelihood_vjp(dmean, cache)
    return dx * len(cache[-1]), dw * len(cache[-1])


# Exercise 2: Overflow.
#
# exp(logits) is infinite, so the forward returns NaN or infinity. The report says so:
# the gradient is not to blame. With the largest logit subtracted, the forward is
# finite, and the gradient is the same formula as before.


def safe_log_likelihood(x, w, labels):
    """Return the log likelihood of each example; the largest logit is subtracted."""
    logits = x @ w
    largest = logits.real.max(axis=-1, keepdims=True)
    log_norm = largest[:, 0] + np.log(np.exp(logits - largest).sum(axis=-1))
    return logits[np.arange(len(labels)), labels] - log_norm, (
        x,
        w,
        logits,
        log_norm,
        labels,
    )


def safe_log_likelihood_vjp(dlog_p, cache):
    """Pull the gradient back to ``x`` and ``w``."""
    x, w, logits, log_norm, labels = cache
    dlogits = dlog_p[:, None] * (
        np.eye(w.shape[1])[labels] - np.exp(logits - log_norm[:, None])
    )
    return dlogits @ w.T, x.T @ dlogits


# Exercise 3: The forgotten temperature, found.
#
# At a high temperature all classes tend to the same probability, 1 / C. A function
# that forgets the temperature does not.


def ignores_temperature(probabilities):
    """Return whether ``probabilities(tau)``, (N, C), stay uneven as tau grows."""
    p = probabilities(1e6)
    return bool(np.abs(p - 1 / p.shape[1]).max() > 1e-3)


def check_inputs():
    rng = np.random.default_rng(4)
    return {
        "x": rng.standard_normal((6, 4)),
        "w": rng.standard_normal((4, 3)),
        "labels": rng.integers(0, 3, 6),
    }


def main():
    inputs = check_inputs()
    report = check(mean_log_likelihood, forgetful_mean_vjp, inputs)
    print("1. without 1 / N:", report["w"].words)
    with np.errstate(over="ignore"):
        lost = mean_log_likelihood(inputs["x"], 400 * inputs["w"], inputs["labels"])[0]
    kept = safe_log_likelihood(inputs["x"], 400 * inputs["w"], inputs["labels"])[0]
    print(
        "2. mean log likelihood with weights times 400: "
        f"plain {lost}, safe {kept.mean():.1f}"
    )

    def softmax(logits):
        return np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)

    logits = inputs["x"] @ inputs["w"]
    print(
        "3. ignores the temperature: right forward",
        ignores_temperature(lambda tau: softmax(logits / tau)),
        "cold forward",
        ignores_temperature(lambda tau: softmax(logits)),
    )


if __name__ == "__main__":
    main()

"""Solutions to the exercises of tutorial 10.

`ibpcl check tutorials/solutions/10_reading_a_run.py` checks the pair of functions.
Run as a script, the file prints the numbers that the comments refer to.
"""

from dataclasses import replace

import numpy as np

# Exercise 1: Entropy.
#
# H = -sum p log p and dp_c / df_j = p_c (1[c = j] - p_j) give dH / df_c = -p_c (log
# p_c + H). It is zero where all p are equal (the maximum). It also tends to zero
# where one p tends to one (the minimum).


def entropy(logits):
    """Return the entropy of the softmax of each row, in nats."""
    shifted = logits - logits.real.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    h = -(np.exp(log_p) * log_p).sum(axis=-1)
    return h, (log_p, h)


def entropy_vjp(dh, cache):
    """Pull the gradient back to ``logits``."""
    log_p, h = cache
    return -dh[:, None] * np.exp(log_p) * (log_p + h[:, None])


# Exercise 2: Coresets for VCL.
#
# With one head and without a coreset the second task suffers most. Forty kept
# examples per task restore part of it, at the cost of a few points on the first task.

# Exercise 3: How much is shared?
#
# It is the share of a task's weights that belong to the union of the earlier masks.


def shared_with_earlier(masks):
    """Return the share of each later task's weights that an earlier task used."""
    union, shares = masks[0].copy(), []
    for mask in masks[1:]:
        shares.append(float((mask & union).sum() / mask.sum()))
        union |= mask
    return shares


# Exercise 4: A threshold for unfamiliar images.
#
# The threshold is a quantile of the mutual information on A and B. On these small
# images nearly half of the noise is below it. The threshold helps, but it does not
# reliably detect images of another kind.


def accepted(own, other, share=0.95):
    """Return the threshold that accepts a share of `own`, and its share of `other`."""
    threshold = np.quantile(own, share)
    return threshold, np.mean(other <= threshold)


def check_inputs():
    return {"logits": np.random.default_rng(10).standard_normal((5, 3))}


def main():
    import ibpcl
    from ibpcl.data import registry
    from ibpcl.data.subsets import limited
    from ibpcl.data.tasks import SplitStream

    def shrink(x):
        return x.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)

    tasks = [
        replace(
            task,
            x_train=shrink(task.x_train),
            x_test=shrink(task.x_test),
            image_shape=(7, 7),
        )
        for task in limited(
            SplitStream(registry.load("glyphs"), ((0, 1), (4, 5), (6, 7))), 300, 200
        )
    ]
    for p in ([1 / 3, 1 / 3, 1 / 3], [0.9, 0.05, 0.05]):
        h, cache = entropy(np.log([p]))
        print(
            f"1. p = {np.round(p, 2)}: entropy {h[0]:.3f}, gradient "
            f"{entropy_vjp(np.ones(1), cache)[0].round(3)}"
        )
    for coreset in ("none", "random"):
        learner = ibpcl.learner(
            "vcl",
            backend="numpy",
            hidden=(30,),
            single_head=True,
            epochs=30,
            rate=0.02,
            batch=100,
            prediction_samples=20,
            coreset=coreset,
            coreset_size=40,
        )
        for task in tasks:
            learner.learn(task, progress=False)
        accuracies = [
            np.mean(learner.predict(task.x_test, t).argmax(axis=1) == task.y_test)
            for t, task in enumerate(tasks)
        ]
        print(
            f"2. VCL, one head, coreset {coreset}: accuracies "
            f"{np.round(accuracies, 3).tolist()}"
        )
    learner = ibpcl.learner(
        "npbcl",
        backend="numpy",
        hidden=(30,),
        samples=2,
        prediction_samples=30,
        epochs=30,
        finetune_epochs=5,
        batch=100,
        alpha=10.0,
        start_sigma=0.05,
        start_spread=0.1,
    )
    for task in tasks:
        learner.learn(task, progress=False)
    shares = shared_with_earlier([learner.masks(t)[0] for t in range(3)])
    print(
        "3. shared with an earlier task: "
        + ", ".join(f"{share:.0%}" for share in shares)
    )
    noise = (
        np.random.default_rng(10).uniform(size=tasks[0].x_test.shape).astype(np.float32)
    )
    own, strange = (
        learner.predict_with_uncertainty(x, 0).mutual_information
        for x in (tasks[0].x_test, noise)
    )
    print(
        "4. threshold {:.4f} accepts {:.0%} of the noise".format(
            *accepted(own, strange)
        )
    )


if __name__ == "__main__":
    main()

"""Milestones: at the end of a part, the student's functions run something real.

Each milestone takes a backend, computes with its functions, and returns lines of text and a figure.
``backend.gaussian.kl`` is the student's function if it has passed its check, and the reference
otherwise.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.adam import start, update
from ibpcl.data import registry
from ibpcl.data.subsets import limited
from ibpcl.data.tasks import SplitStream
from ibpcl.errors import UserError
from ibpcl.evaluation.figures import canvas
from ibpcl.experiments import door
from ibpcl.learn.chapters import chapter_of, chapters
from ibpcl.learn.own import backend

SEED = 0
LETTERS = (0, 1)  # A and B
EXAMPLES = 400
HIDDEN = 30
STEPS = 200
BATCH = 100
RATE = 0.01
ALPHA = 5.0
UNITS = 40
INPUTS = 60
RELEVANT = 5  # inputs that the target depends on, in the masked layer


class Milestone(NamedTuple):
    """The results of a milestone.

    Attributes
    ----------
    title : str
    lines : list of str
        Results, with the reference's beside them where there are any.
    draw : callable
        ``draw(axes)`` draws the figure on Matplotlib axes.
    uses : tuple of str
        Functions that the milestone calls, such as ``gaussian.kl``.
    """

    title: str
    lines: list
    draw: object
    uses: tuple


def _letters():
    """Return the task A or B: images of 7 by 7 pixels and labels, for training and test."""
    (task,) = limited(SplitStream(registry.load("glyphs"), (LETTERS,)), EXAMPLES, 200)

    def small(x):
        return x.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)

    return small(task.x_train), task.y_train, small(task.x_test), task.y_test


def bayes_by_backprop(backend):
    r"""Learn to tell two letters apart by Bayes by Backprop.

    A network with one hidden layer has Gaussian weights.  Each step draws the weights, and ascends
    the gradient of the ELBO per example.

    Parameters
    ----------
    backend : ibpcl.inference.backend.Backend

    Returns
    -------
    milestone : Milestone
    """
    x, labels, x_test, y_test = _letters()
    rng = np.random.default_rng(SEED)
    shapes = [(x.shape[1], HIDDEN), (HIDDEN, 2)]
    sizes = [2 * d * k for d, k in shapes]
    vector = np.concatenate(
        [
            np.concatenate([0.1 * rng.standard_normal(d * k), np.full(d * k, -3.0)])
            for d, k in shapes
        ]
    )

    def layers(values):
        parts = np.split(values, np.cumsum(sizes)[:-1])
        return [
            tuple(half.reshape(shape) for half in np.split(part, 2))
            for part, shape in zip(parts, shapes, strict=True)
        ]

    def outputs(weights, inputs):
        (h,), first = backend.linear.apply(inputs, weights[0], np.zeros((1, HIDDEN)))
        hidden, active = backend.activations.relu(h[None])
        logits, second = backend.linear.apply(hidden, weights[1], np.zeros((1, 2)))
        return logits, (first, active, second)

    state = start(vector)
    losses = []
    misfits = []
    for _ in range(STEPS):
        rows = rng.choice(len(x), BATCH, replace=False)
        draws = [
            backend.gaussian.sample(rng.standard_normal((1, *mu.shape)), mu, log_sigma)
            for mu, log_sigma in layers(vector)
        ]
        logits, (first, active, second) = outputs([draw[0] for draw in draws], x[rows])
        log_p, data = backend.likelihoods.categorical(logits, labels[rows])
        dlogits = backend.likelihoods.categorical_vjp(np.full_like(log_p, -1 / BATCH), data)
        dhidden, dsecond, _ = backend.linear.apply_vjp(dlogits, second)
        dh = backend.activations.relu_vjp(dhidden, active)
        dfirst = backend.linear.apply_vjp(dh, first)[1]
        gradient = []
        total = -float(log_p.mean())
        misfits.append(total)
        for draw, dweight, (mu, log_sigma) in zip(
            draws, (dfirst, dsecond), layers(vector), strict=True
        ):
            prior = np.zeros_like(mu)
            divergence, cache = backend.gaussian.kl(mu, log_sigma, prior, prior)
            by_data = backend.gaussian.sample_vjp(dweight, draw[1])
            by_prior = backend.gaussian.kl_vjp(1 / len(x), cache)[:2]
            total += float(divergence) / len(x)
            gradient += [(a + b).ravel() for a, b in zip(by_data, by_prior, strict=True)]
        losses.append(total)
        vector, state = update(vector, np.concatenate(gradient), state, RATE)
    weights = [
        mu + np.exp(log_sigma) * rng.standard_normal((20, *mu.shape))
        for mu, log_sigma in layers(vector)
    ]
    votes = np.mean(
        [
            _softmax(outputs([w1[None], w2[None]], x_test)[0][0])
            for w1, w2 in zip(*weights, strict=True)
        ],
        axis=0,
    )
    accuracy = np.mean(votes.argmax(axis=1) == y_test)
    lines = [
        f"negative ELBO per example: {losses[0]:.2f} at the start, {losses[-1]:.2f} after "
        f"{STEPS} steps",
        f"accuracy on {len(y_test)} test letters, averaged over 20 draws: {accuracy:.1%}",
        f"uncertainty: entropy {_entropy(votes[y_test == votes.argmax(axis=1)]):.2f} nats where "
        f"the network is right, {_entropy(votes[y_test != votes.argmax(axis=1)]):.2f} where it is "
        "wrong",
    ]

    def draw(axes):
        steps = np.arange(1, STEPS + 1)
        axes.plot(steps, losses, label="negative ELBO")
        axes.plot(steps, misfits, label="negative log likelihood")
        axes.axhline(np.log(2), color="0.6", linestyle=":", label="a coin: log 2")
        axes.set(xlabel="step", ylabel="nats per example")
        axes.legend()

    uses = USES["bayes_by_backprop"]
    return Milestone("Bayes by Backprop on the letters A and B", lines, draw, uses)


def _softmax(logits):
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def _entropy(p):
    """Return the mean entropy of probabilities (N, C), in nats; NaN without any."""
    if not len(p):
        return np.nan
    return float(-(p * np.log(np.maximum(p, 1e-12))).sum(axis=1).mean())


def buffet(backend):
    r"""Draw masks from the stick-breaking construction of the Indian buffet process.

    .. math:: \pi_k = \prod_{i \le k} v_i, \quad v_i \sim \mathrm{Beta}(\alpha, 1)
              = \mathrm{Kumaraswamy}(\alpha, 1)

    Parameters
    ----------
    backend : ibpcl.inference.backend.Backend

    Returns
    -------
    milestone : Milestone
    """
    rng = np.random.default_rng(SEED)
    draws = 2000
    a = np.full(UNITS, ALPHA)
    log_v, _ = backend.kumaraswamy.sample(rng.uniform(size=(draws, UNITS)), a, np.ones(UNITS))
    log_pi, _ = backend.stick_breaking.log_probabilities(log_v)
    masks = rng.uniform(size=(draws, INPUTS, UNITS)) < np.exp(log_pi)[:, None, :]
    active = masks.any(axis=1).sum(axis=1)
    weights = masks.sum(axis=2).mean()
    expected_units = float(backend.stick_breaking.expected_active_units(ALPHA, UNITS, INPUTS))
    expected_weights = float(backend.stick_breaking.expected_weights(ALPHA, UNITS))
    lines = [
        f"{draws} draws of a mask with {INPUTS} inputs and {UNITS} units, alpha = {ALPHA:g}",
        f"units with at least one weight: {active.mean():.2f} "
        f"+- {active.std() / np.sqrt(draws):.2f} (expected {expected_units:.2f})",
        f"weights of one input: {weights:.3f} (expected {expected_weights:.3f})",
    ]

    def draw(axes):
        axes.imshow(masks[0], cmap="Greys", aspect="auto", interpolation="nearest")
        axes.set(xlabel="unit", ylabel="input", title="one draw from your buffet (black: on)")

    uses = USES["buffet"]
    return Milestone("Masks from your own buffet", lines, draw, uses)


def masked_layer(backend):
    """Learn which inputs matter with a layer of relaxed masks.

    The target depends on a few inputs only.  The masks of the others must close.

    Parameters
    ----------
    backend : ibpcl.inference.backend.Backend

    Returns
    -------
    milestone : Milestone
    """
    rng = np.random.default_rng(SEED)
    inputs = 20
    truth = np.where(np.arange(inputs) < RELEVANT, 2.0, 0.0)
    x = rng.standard_normal((EXAMPLES, inputs))
    y = x @ truth + 0.1 * rng.standard_normal(EXAMPLES)
    weights = 0.1 * rng.standard_normal(inputs)
    vector = np.concatenate([weights, np.zeros(inputs)])  # weights, then log-odds of the masks
    state = start(vector)
    prior = np.full((1, inputs, 1), -3.0)  # log-odds: few weights are on
    for step in range(600):
        tau = 2.0 * 0.25 ** (step / 600)
        v, rho = (half.reshape(1, inputs, 1) for half in np.split(vector, 2))
        noise = rng.logistic(size=(1, inputs, 1))
        z, mask_cache = backend.concrete.sample(noise, rho, tau)
        rows = rng.choice(EXAMPLES, BATCH, replace=False)
        h, layer_cache = backend.masked_linear.apply(x[rows][None], v, z, np.zeros((1, 1)))
        residual = h[0, :, 0] - y[rows]
        dh = residual[None, :, None] / BATCH
        _, dv, dz, _ = backend.masked_linear.apply_vjp(dh, layer_cache)
        _, kl_cache = backend.bernoulli.kl(rho, prior)
        drho = backend.concrete.sample_vjp(dz, mask_cache)
        drho = drho + backend.bernoulli.kl_vjp(np.full(1, 0.02), kl_cache)[0]
        gradient = np.concatenate([dv.ravel(), drho.ravel()])
        vector, state = update(vector, gradient, state, 0.05)
    theta = 1 / (1 + np.exp(-vector[inputs:]))
    lines = [
        f"{inputs} inputs, the target depends on the first {RELEVANT}",
        f"probability of their masks: {theta[:RELEVANT].min():.2f} at least",
        f"probability of the other masks: {theta[RELEVANT:].max():.2f} at most",
    ]

    def draw(axes):
        axes.bar(np.arange(1, inputs + 1), theta)
        axes.axhline(0.5, color="0.6", linestyle=":")
        axes.set(xlabel="input", ylabel="probability that its mask is on", ylim=(0, 1))

    uses = USES["masked_layer"]
    return Milestone("A masked layer that finds the inputs that matter", lines, draw, uses)


def one_task(backend):
    """Learn one task with the whole objective: masks, sticks and Gaussian weights.

    Parameters
    ----------
    backend : ibpcl.inference.backend.Backend

    Returns
    -------
    milestone : Milestone
    """
    return _run(backend, 1, "One task with your own ELBO")


def algorithm_1(backend):
    """Learn five tasks one after another, and compare with the package's functions.

    Parameters
    ----------
    backend : ibpcl.inference.backend.Backend

    Returns
    -------
    milestone : Milestone
    """
    return _run(backend, 5, "Algorithm 1 on five tasks")


def _run(backend, tasks, title):
    """Run the method on letters with a backend and with the reference functions."""
    keys = {
        "tasks": tasks,
        "train_limit": 400,
        "test_limit": 200,
        "hidden": (40,),
        "epochs": 20,
        "finetune_epochs": 10,
        "seed": SEED,
    }
    yours = door.run("split-glyphs", backend=backend, **keys).result
    reference = door.run("split-glyphs", backend="numpy", **keys).result
    matrix = np.array(yours["accuracy_matrix"])
    lines = [
        f"average accuracy with your functions: {yours['average_accuracy']:.2%}",
        f"with the package's functions: {reference['average_accuracy']:.2%}",
        f"your functions: {', '.join(yours['primitives'])}",
    ]

    def draw(axes):
        for task in range(tasks):
            axes.plot(np.arange(task, tasks) + 1, 100 * matrix[task:, task], marker="o")
        axes.set(xlabel="tasks learned", ylabel="accuracy (%)", xticks=np.arange(tasks) + 1)

    return Milestone(title, lines, draw, ())


# What is checked before a milestone runs: the functions that it calls, or the parts of the method.
USES = {
    "bayes_by_backprop": (
        "gaussian.sample",
        "gaussian.kl",
        "linear.apply",
        "likelihoods.categorical",
    ),
    "buffet": ("kumaraswamy.sample", "stick_breaking.log_probabilities"),
    "masked_layer": ("concrete.sample", "bernoulli.kl", "masked_linear.apply"),
}
PARTS = (
    "activations",
    "bernoulli",
    "concrete",
    "gaussian",
    "kumaraswamy",
    "likelihoods",
    "linear",
    "local_linear",
    "masked_linear",
    "masked_weights",
    "stick_breaking",
    "sticks",
)
MILESTONES = {
    "bayes_by_backprop": bayes_by_backprop,
    "buffet": buffet,
    "masked_layer": masked_layer,
    "one_task": one_task,
    "algorithm_1": algorithm_1,
}


def run(student, number=None):
    """Run the milestone of a chapter on a student's functions, and draw its figure.

    Parameters
    ----------
    student : ibpcl.learn.folder.Folder
    number : int or str, optional
        Chapter; by default the last started one that has a milestone.

    Returns
    -------
    milestone : Milestone
    figure : pathlib.Path
        PNG file in the student's folder.

    Raises
    ------
    UserError
        If the chapter has no milestone, or a function fails its check.
    """
    student.require()
    having = [chapter for chapter in chapters() if chapter.milestone]
    if number is None:
        started = [chapter for chapter in having if chapter.number in student.started]
        if not started:
            raise UserError(
                "learn: no chapter with a milestone has been started; the first is chapter "
                f"{having[0].number}"
            )
        chapter = started[-1]
    else:
        chapter = chapter_of(number)
    if not chapter.milestone:
        numbers = ", ".join(str(each.number) for each in having)
        raise UserError(
            f"learn: chapter {chapter.number} has no milestone; these have one: {numbers}"
        )
    made = backend(student.path, only=USES.get(chapter.milestone, PARTS))
    done = MILESTONES[chapter.milestone](made)
    own = [name for name in done.uses if name in made.names]
    if done.uses:
        others = [name for name in done.uses if name not in made.names]
        done.lines.append(f"your functions: {', '.join(own) or 'none'}")
        if others:
            done.lines.append(f"the package's functions: {', '.join(others)}")
    path = student.path / f"{chapter.milestone}.png"
    axes = canvas.new_axes(width=120, height=80)
    done.draw(axes)
    axes.set_title(axes.get_title() or done.title)
    canvas.save(axes, path)
    return done, path

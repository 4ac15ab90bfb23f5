r"""M2: NPBCL's autoencoder with a class per image, of which a task tells only a few.

Kingma, Rezende, Mohamed and Welling (2014), "Semi-supervised Learning with Deep Generative Models".
Kumar et al. (2021), Sec. 7, name semi-supervised continual learning as an extension.  Each task has
images of C classes, and labels for a few of them.  The model of a task is

.. math:: p(x, y, z) = p(y)\, p(z)\, p(x | y, z), \qquad
          q(y, z | x) = q(y | x)\, q(z | x, y)

with uniform classes and Gaussian codes.  Encoder and decoder are those of
:mod:`ibpcl.methods.npbcl_images`, with the masks of the task; all tasks share their weights.  Task
t maximizes, with :math:`L(x, y)` the ELBO of an image with a known class,

.. math:: \sum_{\text{labelled}} \bigl(L(x, y) + \alpha_t \log q(y | x)\bigr)
          + \sum_{\text{others}} \Bigl(\sum_y q(y | x)\, L(x, y) + H[q(y | x)]\Bigr)
          - KL[\text{weights, masks, sticks}].

The sum over classes is exact: every image is encoded and decoded once per class
(:mod:`ibpcl.models.class_codes`).  Without its second term, a labelled image would not train
:math:`q(y | x)`, which predicts.  All labels of a task together have the weight ``label_weight``
times its number of images: :math:`\alpha_t = \alpha N / N_{\text{labelled}}`.  The paper has
:math:`\alpha = 0.1`.  Here the labelled images are few and rare in the minibatches, and with this
value some tasks end with their classes exchanged, so the default is 1.

**Classes start alike**: all vectors of a class start at 0.  Then the images without labels do not
prefer any class at first, and the labels decide which class becomes which.

The algorithm is that of :mod:`ibpcl.methods.npbcl`.  A task keeps what it keeps there, and its own
layer of the classes' logits.  With one class per task this is the autoencoder without labels, bit
for bit.  Labels are chosen by the seed and the number of the task, the same number of each class;
the others are not read.

Tasks are told: masks and logits belong to a task.  So there is no single head for all tasks.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.continual.learner import Saved, check_inputs, check_task, check_task_id
from ibpcl.methods.npbcl import Context, learn_task
from ibpcl.methods.npbcl_images import ImageModel
from ibpcl.methods.npbcl_settings import ImageSettings
from ibpcl.methods.settings_docs import documented
from ibpcl.models.class_codes import EXTRA, LABEL, WEIGHT, with_classes
from ibpcl.models.layers import Gaussian, Pass
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import Network
from ibpcl.noise import Key, generator
from ibpcl.options import option

# Stream of the choice of the labelled images, apart from all streams of the learners.
CHOICE = 1 << 20


@documented
@dataclass(frozen=True, init=False)
class Settings(ImageSettings):
    """Settings of M2."""

    method = "m2"

    hidden: tuple[int, ...] = option(
        (200,), "Units of the encoder's hidden layers; the decoder has them in reverse order."
    )
    latent: int = option(20, "Width of the codes z.", at_least=1)
    labels: int = option(
        10, "Labelled images of each class in a task; 0 uses no label.", at_least=0
    )
    label_weight: float = option(
        1.0,
        "Weight alpha of log q(y | x) of all labelled images together, in units of the images of "
        "the task.",
        at_least=0,
    )


class PartlyLabelled(NamedTuple):
    """A task with few labels, as the steps of NPBCL read it.

    Attributes
    ----------
    name : str
        Name of the task.
    x_train : ndarray, shape (N, D)
        Training images.
    targets : ndarray, shape (N, 2 + D)
        Label of each image, or -1; weight of its log probability; pixels.
    inputs : int
        Number of pixels D.
    outputs : int
        Number of classes C.
    """

    name: str
    x_train: np.ndarray
    targets: np.ndarray
    inputs: int
    outputs: int


def choose(y, per_class, seed, task_id):
    """Choose the labelled images of a task, the same number of each class.

    Those of a smaller number are among those of a larger one.

    Parameters
    ----------
    y : ndarray of int, shape (N,)
        Labels.
    per_class : int
        Labelled images of each class; all of a class that has fewer.
    seed : int
        Seed of the learner.
    task_id : int
        Number of the task.

    Returns
    -------
    rows : ndarray of int
        Rows of the labelled images, ascending.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> y[choose(y, 2, 0, 0)].tolist()
    [0, 0, 1, 1]
    """
    rng = generator(Key(seed, task_id, 0, CHOICE))
    rows = [rng.permutation(np.flatnonzero(y == label))[:per_class] for label in np.unique(y)]
    return np.sort(np.concatenate(rows))


def partly_labelled(task, rows, label_weight):
    """Return a task with the labels of some images only.

    Parameters
    ----------
    task : ibpcl.continual.task.Task
        A classification of images.
    rows : ndarray of int
        Rows of the labelled images.
    label_weight : float
        Weight of the log probability of all labels together, in units of the images.

    Returns
    -------
    task : PartlyLabelled
        Without any other label.
    """
    count = len(task.x_train)
    targets = np.empty((count, EXTRA + task.inputs), np.float32)
    targets[:, LABEL] = -1
    targets[rows, LABEL] = task.y_train[rows]
    targets[:, WEIGHT] = label_weight * count / max(1, len(rows))
    targets[:, EXTRA:] = task.x_train
    return PartlyLabelled(task.name, task.x_train, targets, task.inputs, task.outputs)


@dataclass(frozen=True)
class LabelledImageModel(ImageModel):
    """Autoencoder of M2, and its split into shared and own parameters.

    Each task has its own layer of the classes' logits, besides what it has in
    :class:`ibpcl.methods.npbcl_images.ImageModel`.

    Parameters
    ----------
    settings : Settings
        Settings of the learner.

    Attributes
    ----------
    streams : dict of str to int
        Number of the random key of each phase of a task.
    stride : int
        Number of keys reserved for a task.
    """

    def accept(self, task, state):
        """Return the number of classes of a task, and the state with the width of its images.

        Parameters
        ----------
        task : PartlyLabelled
            The next task, which :meth:`M2.learn` has checked.
        state : ibpcl.methods.npbcl.State
            State before the task.

        Returns
        -------
        outputs : int
            Number of classes C.
        state : ibpcl.methods.npbcl.State
            With the width of the images, which the first task decides.
        """
        return task.outputs, replace(state, inputs=task.inputs)

    def network(self, inputs, hidden, outputs, regression=False):
        """Return the autoencoder with the given widths.

        Parameters
        ----------
        inputs : int
            Number of pixels D.
        hidden : tuple of int
            Units of the encoder's hidden layers; the decoder has them in reverse order.
        outputs : int
            Number of classes C.
        regression : bool
            Not used.

        Returns
        -------
        network : ibpcl.models.class_codes.SemiSupervised
            Architecture only; pixels and logits have no masks.
        """
        plain = super().network(inputs, hidden, outputs, regression)
        return with_classes(plain, Gaussian, outputs)

    def is_own(self, name):
        """Return whether each task has its own copy of a Gaussian parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"label.weight.mu"``.

        Returns
        -------
        own : bool
            True for the layer of the logits, and as in an autoencoder without classes.
        """
        return name.startswith("label.") or super().is_own(name)


def classifier_of(network):
    """Return the classifier q(y | x) of an autoencoder with classes.

    Parameters
    ----------
    network : ibpcl.models.class_codes.SemiSupervised
        The autoencoder, with at least two classes.

    Returns
    -------
    classifier : ibpcl.models.network.Network
        Its encoder and the layer of the logits, with a softmax.
    """
    codes = network.codes
    encoder = network.stages[: network.stages.index(codes)]
    return Network((*encoder, codes.label), Softmax())


@on_one_thread
def probabilities(network, vector, masks, x, backend):
    """Return the class probabilities q(y | x) with all weights at their means.

    Parameters
    ----------
    network : ibpcl.models.class_codes.SemiSupervised
        The autoencoder of a task, with at least two classes.
    vector : ndarray, shape (P,)
        Its parameters.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard mask of each masked layer.
    x : ndarray, shape (N, D)
        Images.
    backend : ibpcl.inference.backend.Backend
        The functions that compute.

    Returns
    -------
    probabilities : ndarray, shape (N, C)
        Each row sums to 1.
    """
    encoder = classifier_of(network)
    whole = network.layout.views(vector)
    means = np.concatenate([whole[entry.name].ravel() for entry in encoder.layout.entries])
    used = {name: mask for name, mask in masks.items() if name in encoder.layers}
    # with 0 samples there is no noise, so the key does not matter
    noise = encoder.noise(Key(0, 0, 0, 0), 0, len(x), backend, relaxed=False)
    (logits, _), _ = encoder.forward(means, x, noise, Pass(backend, used))
    return encoder.likelihood.predict(encoder.layout.layers(means), logits).probabilities


class M2(Saved):
    """Learner of images with few labels: an autoencoder with a class, and separate masks per task.

    Kingma et al. (2014), with the encoder and decoder of Kumar et al. (2021).

    Parameters
    ----------
    settings : Settings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of all random numbers, in 0 .. 2**64 - 1.  Equal seeds, settings and tasks give equal
        results.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels: compiled loops, or plain NumPy.  NumPy also
        replaces Numba where Numba is not available.

    Attributes
    ----------
    settings : Settings
        The hyperparameters.
    seed : int
        The seed.
    backend : ibpcl.inference.backend.Backend
        The numerical backend.
    model : LabelledImageModel
        Builds the autoencoder of a task and selects the parameters that tasks share.
    knowledge : ibpcl.methods.npbcl.State
        Everything learned so far: posterior, masks, and alpha.
    name : str
        Name of the method, ``"m2"``.
    learned : int
        Number of tasks learned so far.
    inputs : int or None
        Number of pixels D; None before the first task.
    context : ibpcl.methods.npbcl.Context
        Inputs of every step of the algorithm, for the current state.

    Raises
    ------
    ValueError
        If ``backend_name`` is neither "numba" nor "numpy".

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> x = [[0, 1, 0, 1], [1, 0, 1, 0]] * 4
    >>> task = Task("bars", x, [0, 1] * 4, x[:2], [0, 1], image_shape=(2, 2))
    >>> settings = Settings(hidden=(8,), latent=2, epochs=1, finetune_epochs=1, labels=1)
    >>> learner = M2(settings, backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0, 0.0, 1.0]], task_id=0).shape
    (1, 2)
    """

    settings_type = Settings
    model_type = LabelledImageModel
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task by one turn of Algorithm 1.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification of images as wide as the earlier ones.  Only the labels of
            ``settings.labels`` images per class are read.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch: phase, temperature, and the parts of the objective in nats for the
            whole task.  ``kl_latent`` is that of classes and codes.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or not a classification.
        ValueError
            If its images have another number of pixels than those of earlier tasks, or pixels of a
            Bernoulli likelihood are not in 0 .. 1.
        TrainingError
            If the loss is not finite, or a layer has no weight left.
        """
        check_task("m2", task, "classification", self.inputs)
        x = task.x_train
        if self.settings.likelihood == "bernoulli" and (x.min() < 0 or x.max() > 1):
            raise ValueError(
                f"m2: task {task.name!r} must have pixels in 0 .. 1 with the bernoulli likelihood, "
                f"got {x.min():g} to {x.max():g}; use likelihood = 'gaussian'"
            )
        rows = choose(task.y_train, self.settings.labels, self.seed, self.learned)
        told = partly_labelled(task, rows, self.settings.label_weight)
        turn = learn_task(replace(self.context, progress=progress), told)
        self.become(turn.state)
        return turn.history

    def predict(self, x, task_id):
        """Return class probabilities q(y | x), with all weights at their posterior means.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Images, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        probabilities : ndarray, shape (N, C)
            Each row sums to 1.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        x = check_inputs("m2.predict", x, self.inputs, task_id, self.learned)
        network, vector, masks = self.assemble(task_id)
        if network.outputs == 1:
            return np.ones((len(x), 1), np.float32)
        return probabilities(network, vector, masks, x, self.backend)

    def masks(self, task_id):
        """Return the hard masks of a learned task.

        Parameters
        ----------
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        masks : tuple of ndarray of bool, shape (D, K)
            One mask per masked layer, from the encoder to the decoder; True keeps the weight.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer.
        ValueError
            If the task was not learned.
        """
        check_task_id("m2.masks", task_id, self.learned)
        return tuple(self.context.masks(task_id).values())

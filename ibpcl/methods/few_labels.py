"""References for few labels: the same labelled images without a model of the other images.

Both learners see the labels that :mod:`ibpcl.methods.m2` sees with the same seed.

* :class:`Supervised` is NPBCL trained on the labelled images alone.
* :class:`Nearest` is the autoencoder without labels, trained on all images.  An image gets the
  label of the labelled image whose code is nearest.

They are references of this package and not in the table of methods; they run by their full names::

    ibpcl run split-mnist --method ibpcl.methods.few_labels:Supervised
    ibpcl run split-mnist --method ibpcl.methods.few_labels:Nearest
"""

from dataclasses import dataclass, replace

import numpy as np

from ibpcl.continual.learner import check_inputs, check_task
from ibpcl.continual.task import Task
from ibpcl.inference.objectives import Data
from ibpcl.methods import m2, npbcl_settings
from ibpcl.methods.npbcl import NPBCL
from ibpcl.methods.npbcl_images import ImageNPBCL
from ibpcl.methods.settings_docs import documented
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class SupervisedSettings(npbcl_settings.Settings):
    """Settings of NPBCL on few labels."""

    labels: int = option(10, "Labelled images of each class in a task.", at_least=1)


@documented
@dataclass(frozen=True, init=False)
class NearestSettings(npbcl_settings.ImageSettings):
    """Settings of the nearest labelled code, of an autoencoder as large as that of M2."""

    hidden: tuple[int, ...] = option(
        (200,), "Units of the encoder's hidden layers; the decoder has them in reverse order."
    )
    latent: int = option(20, "Width of the codes z.", at_least=1)
    labels: int = option(10, "Labelled images of each class in a task.", at_least=1)


class Supervised(NPBCL):
    """NPBCL that learns from the labelled images of a task alone.

    Parameters
    ----------
    settings : SupervisedSettings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of all random numbers.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels.

    Attributes
    ----------
    can : tuple of str
        Abilities, as in :class:`ibpcl.methods.About`.

    Examples
    --------
    >>> x = [[0, 1, 0, 1], [1, 0, 1, 0]] * 4
    >>> task = Task("bars", x, [0, 1] * 4, x[:2], [0, 1])
    >>> settings = SupervisedSettings(hidden=(8,), epochs=1, finetune_epochs=1, labels=1)
    >>> learner = Supervised(settings, backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0, 0.0, 1.0]], task_id=0).shape
    (1, 2)
    """

    settings_type = SupervisedSettings
    can = ("task",)

    def learn(self, task, progress=None):
        """Learn the next task from its labelled images.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification.
        progress : bool or ibpcl.inference.loop.Watch, optional
            As in :meth:`ibpcl.methods.npbcl.NPBCL.learn`.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch.
        """
        check_task("few_labels.Supervised", task, "classification", self.inputs)
        rows = m2.choose(task.y_train, self.settings.labels, self.seed, self.learned)
        told = replace(task, x_train=task.x_train[rows], y_train=task.y_train[rows])
        return super().learn(told, progress)


class Nearest(ImageNPBCL):
    """Autoencoder without labels; an image gets the label of the nearest labelled code.

    Parameters
    ----------
    settings : NearestSettings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of all random numbers.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels.

    Attributes
    ----------
    can : tuple of str
        Abilities, as in :class:`ibpcl.methods.About`.

    Examples
    --------
    >>> x = [[0, 1, 0, 1], [1, 0, 1, 0]] * 4
    >>> task = Task("bars", x, [0, 1] * 4, x[:2], [0, 1])
    >>> settings = NearestSettings(hidden=(8,), latent=2, epochs=1, finetune_epochs=1, labels=1)
    >>> learner = Nearest(settings, backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict(x[:2], task_id=0).sum(axis=1).tolist()
    [1.0, 1.0]
    """

    settings_type = NearestSettings
    can = ("task",)

    def learn(self, task, progress=None):
        """Learn the images of the next task, and keep its labelled images.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification of images.
        progress : bool or ibpcl.inference.loop.Watch, optional
            As in :meth:`ibpcl.methods.npbcl_images.ImageNPBCL.learn`.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch.
        """
        check_task("few_labels.Nearest", task, "classification", self.inputs)
        rows = m2.choose(task.y_train, self.settings.labels, self.seed, self.learned)
        history = super().learn(Task(task.name, x_train=task.x_train, x_test=task.x_test), progress)
        state = self.knowledge
        labelled = Data(task.x_train[rows], task.y_train[rows])
        self.become(replace(state, coresets=(*state.coresets[:-1], labelled)))
        return history

    def predict(self, x, task_id):
        """Return 1 for the class of the nearest labelled code, and 0 for all others.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Images, pixels in 0 .. 1.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        probabilities : ndarray, shape (N, C)
            One 1 per row.
        """
        x = check_inputs("few_labels.Nearest.predict", x, self.inputs, task_id, self.learned)
        model = self.latent_model(task_id)
        labelled = self.knowledge.coresets[task_id]
        codes = model.encode(x)[0]
        known = model.encode(labelled.x)[0]
        # squared distances without the squares of the codes, which are the same in a row
        distances = (known * known).sum(axis=1) - 2 * codes @ known.T
        return np.eye(1 + labelled.y.max(), dtype=np.float32)[labelled.y[distances.argmin(axis=1)]]

"""NPBCL for images without labels: one autoencoder, with separate masks for each task.

Kumar et al. (2021), Sec. 3.3 and supplement B.2.  The algorithm is that of
:mod:`ibpcl.methods.npbcl`; this module defines the differences.  Every weight has a Gaussian prior,
so a weight that a task does not use returns exactly to this prior: to the posterior of the earlier
tasks if one of them uses the weight.

**The output layer** (last hidden layer to pixels) has no mask.  In Fig. 2b of the paper it is a
head, and each task has its own.  In the released code all tasks share it, so later tasks overwrite
it, which hurts the earlier ones.  Both variants are here.  With ``output = "own"`` a task keeps the
rows of the units that it uses; the other rows have no effect.  With ``output = "shared"`` Eq. 11
applies to rows, because a unit that a task has switched off outputs zero: rows of units that an
earlier task uses are known and have its posterior as prior, all others are free.  In both variants
each task has its own pixel biases, one number per pixel, because no other task needs its mean
image.

**Useless weights.**  Masks tend to open the first columns in all rows, even in rows whose input is
always zero.  Weights that change nothing are removed from a mask
(:func:`ibpcl.models.subnetwork.useful`), so that the next task can use them.

**Used weights.**  By Eq. 11 the posterior of a weight that an earlier task uses is its prior, so a
later task may move it at the expense of the earlier one.  With ``hold_used`` the weight stays
exactly where it is, which is the limit of a posterior without variance.  Then nothing is forgotten.
Later tasks still use held weights if their masks choose them, and learn all other weights.

**Initial masks.**  With rho = 0, the masks of every task would start with the same first columns,
because these have the largest stick probabilities.  After the first task all their weights are
held, and the second task could hardly learn.  So rho starts where the least used columns of a
hidden layer get the probabilities that the sticks give to the first columns (``first_columns``).
Prior and ELBO are unchanged.

**Prior of the codes** (supplement G: mean and standard deviation are "fixed or learned").  With
``latent_prior = "per_task"`` each task learns its own prior N(m_t, s_t^2), starting from a random
m_t ~ N(0, I), as in the released code.  Encoder and decoder can undo a shift of all codes of a
task, so p(x) hardly improves.  Its effect on the neighbours among the codes of different tasks is
described in docs/unsupervised.md.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ibpcl.continual import prior as priors
from ibpcl.continual.learner import Saved, check_task, check_task_id
from ibpcl.inference.objectives import Weighted
from ibpcl.methods.images import Generative
from ibpcl.methods.npbcl import Context, learn_task
from ibpcl.methods.npbcl_settings import IMAGE_PRESETS, ImageSettings
from ibpcl.models import starts, subnetwork
from ibpcl.models.elbo import Elbo
from ibpcl.models.likelihoods import of_pixels
from ibpcl.models.network import autoencoder
from ibpcl.models.parameters import write
from ibpcl.models.point_autoencoder import pixel_biases
from ibpcl.models.subnetwork import ZERO_AT_ZERO
from ibpcl.primitives.sticks import prior_log_odds

__all__ = ["IMAGE_PRESETS", "ImageNPBCL", "ImageSettings"]


@dataclass(frozen=True)
class ImageModel:
    """Autoencoder of NPBCL for tasks of images, and its split into shared and own parameters.

    Each task has its own pixel biases and offsets of the codes' means and log scales.  With
    ``output`` "own" it also has its own rows of the pixel weights, with ``latent_prior`` "per_task"
    its own prior of the codes.

    Parameters
    ----------
    settings : ibpcl.methods.npbcl_settings.ImageSettings
        Settings of the learner.

    Attributes
    ----------
    streams : dict of str to int
        Number of the random key of each phase of a task.
    stride : int
        Number of keys reserved for a task.
    """

    settings: object

    # A phase keeps its number forever, so that a new phase does not change published results.
    streams: ClassVar = {"initial": 0, "masked": 1, "cut": 2, "finetune": 3}
    stride = 4

    def accept(self, task, state):
        """Check that a task fits the earlier ones, and return the width of its images.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            The next task.
        state : ibpcl.methods.npbcl.State
            State before the task.

        Returns
        -------
        outputs : int
            Number of pixels D.
        state : ibpcl.methods.npbcl.State
            With the width of the images, which the first task decides.

        Raises
        ------
        TypeError
            If ``task`` is not a Task of images.
        ValueError
            If its images have another number of pixels than those of earlier tasks.
        """
        check_task(self.settings.method, task, "images", state.inputs)
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
            Not used: the outputs are as wide as the inputs.
        regression : bool
            Not used.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only; all layers except the last are masked.
        """
        settings = self.settings
        return autoencoder(
            inputs,
            hidden,
            settings.latent,
            self.pixels(),
            None,
            settings.activation,
            settings.latent_prior != "standard",
            model=settings.mask_model,
        )

    def pixels(self):
        """Return the likelihood of the pixels of an image."""
        return of_pixels(self.settings.likelihood, self.settings.pixel_sigma)

    def hidden(self, network):
        """Return the units of each hidden layer of the encoder.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of a task, from :meth:`network`.

        Returns
        -------
        hidden : tuple of int
            From the pixels to the codes.
        """
        return tuple(
            layer.units for name, layer in network.layers.items() if name.startswith("encoder")
        )

    def of_width(self, network):
        """Return the masked layers that have the width of each hidden layer of the encoder.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of a task, from :meth:`network`.

        Returns
        -------
        names : list of tuple of str
            A layer of the encoder and its mirror image in the decoder, for each entry of
            :meth:`hidden`.  The codes keep their width.
        """
        count = len(self.hidden(network))
        return [(f"encoder{i}", f"decoder{count - 1 - i}") for i in range(count)]

    def is_own(self, name):
        """Return whether each task has its own copy of a Gaussian parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"pixels.bias.mu"``.

        Returns
        -------
        own : bool
            True for pixel biases and offsets of the codes and, depending on the settings, for pixel
            weights and the prior of the codes.
        """
        own = ["codes.", "pixels.bias."]
        if self.settings.output == "own":
            own.append("pixels.weight.")
        if self.settings.latent_prior == "per_task":
            own.append("prior.")
        return name.startswith(tuple(own))

    def shares(self, name):
        """Return whether all tasks share a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"encoder0.weight.mu"``.

        Returns
        -------
        shared : bool
            True for means and log standard deviations that are not a task's own.
        """
        return name.endswith(("mu", "log_sigma")) and not self.is_own(name)

    def own_places(self, network, masks):
        """Return which parameters belong to one task only.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task, from :meth:`network`.
        masks : dict of str to ndarray of bool, shape (D, K)
            Hard mask of each masked layer.

        Returns
        -------
        own : ndarray of bool, shape (P,)
            True for the task's own parameters.  Among its own pixel weights, only rows of used
            units count.
        """
        chosen = np.zeros(network.layout.size, bool)
        for name, view in network.layout.views(chosen).items():
            view[...] = self.is_own(name)
        for parameter in ("weight.mu", "weight.log_sigma"):
            network.layout.layers(chosen)["pixels"][parameter][~_active(network, masks)] = False
        return chosen

    def known(self, network, known):
        """Return which weights earlier tasks use.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the next task, from :meth:`network`.
        known : dict of str to ndarray of bool, shape (D, K)
            Union of the earlier masks by layer.

        Returns
        -------
        known : dict of str to ndarray of bool, shape (D, K)
            The argument; shared pixel weights count by rows, one row for each unit that any task
            uses.
        """
        return self.used(network, known) if "pixels" in known else known

    def means(self, rng):
        """Return the initializer of the means of fresh weights.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the random means.

        Returns
        -------
        start : callable
            ``start(layer, parameters)`` writes normal means with standard deviation sqrt(2 / D)
            times ``settings.start_spread``, smaller in the layers of codes and pixels.
        """
        return starts.he(rng, self.settings.start_spread, starts.QUIET)

    def start_own(self, network, vector, x, rng, known, alpha, posterior):
        """Initialize masks, pixel biases and codes of a task, in place.

        Masks start at unused columns, pixel biases at the mean image, and codes at the task's
        prior.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task, from :meth:`network`.
        vector : ndarray, shape (P,)
            Parameters, modified in place.
        x : ndarray, shape (N, D), or None
            Training images; None for a network that has just grown, whose pixel biases are known.
        rng : numpy.random.Generator
            Source of the random mean of the task's prior.
        known : dict of str to ndarray of bool, shape (D, K)
            Weights that earlier tasks use, by layer.
        alpha : ndarray, shape (L,)
            Concentration of each masked layer.
        posterior : dict of str to dict of str to ndarray
            Shared parameters by layer and name.
        """
        views = network.layout.layers(vector)
        settings = self.settings
        if settings.first_columns == "unused":
            for (name, layer), concentration in zip(network.masked.items(), alpha, strict=True):
                if name not in ("mean", "scale"):  # all tasks use the same codes
                    used = known.get(name, np.zeros(layer.shape, bool))
                    views[name]["rho"][...] = _towards_unused(
                        used, concentration, settings.mask_model
                    )
        if x is not None:
            views["pixels"]["bias.mu"][...] = pixel_biases(x, self.pixels())
        views["pixels"]["bias.log_sigma"][...] = np.log(settings.start_sigma)
        write(views.get("prior", {}), posterior.get("prior", {}))
        # the codes of each task start around a different random mean
        if settings.latent_prior == "per_task":
            mean = rng.standard_normal(network.codes.units)
            views["prior"]["mu"][...] = mean
            views["codes"]["mu"][...] = mean

    def weighted(self, network, known):
        """Return the weights of the training objective.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task, from :meth:`network`.
        known : dict of str to ndarray of bool, shape (D, K)
            Weights that earlier tasks use, by layer.

        Returns
        -------
        weighted : ibpcl.inference.objectives.Weighted
            The ELBO with its KL divergences weighted as in the settings; that of the codes rises
            from 0.  With ``hold_used``, known weights are held.
        """
        settings = self.settings
        held = None
        if settings.hold_used:
            held = np.zeros(network.layout.size, bool)
            views = network.layout.layers(held)
            for name, used in known.items():
                unit = used.any(axis=0) & (name != "pixels")
                write(
                    views[name],
                    {
                        parameter: used if parameter.startswith("weight") else unit
                        for parameter in priors.GAUSSIAN
                    },
                )
        weights = Elbo(
            1.0,
            -settings.weight_kl_weight,
            -settings.mask_kl_weight,
            -settings.stick_kl_weight,
            -settings.stick_kl_weight,
            -settings.beta,
        )
        return Weighted(weights, settings.warm_up, held)

    def useful(self, network, masks, x):
        """Return the hard masks without weights that cannot change the output.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task, from :meth:`network`.
        masks : dict of str to ndarray of bool, shape (D, K)
            Hard mask of each masked layer.
        x : ndarray, shape (N, D)
            Training images.

        Returns
        -------
        masks : dict of str to ndarray of bool, shape (D, K)
            Smaller hard masks with the same outputs on ``x``.
        """
        return subnetwork.useful(network, masks, x)

    def used(self, network, masks):
        """Return which weights the hard masks of a task use.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task, from :meth:`network`.
        masks : dict of str to ndarray of bool, shape (D, K)
            Hard mask of each masked layer.

        Returns
        -------
        used : dict of str to ndarray of bool, shape (D, K)
            The masks, and for the pixels all weights of units that have an incoming weight.
        """
        return masks | {
            "pixels": np.repeat(
                _active(network, masks)[:, None], network.layers["pixels"].units, axis=1
            )
        }


class ImageNPBCL(Saved, Generative):
    """Learner of generative models: one autoencoder with separate masks for each task of images.

    Kumar et al. (2021), Algorithm 1 and Sec. 3.3.

    Parameters
    ----------
    settings : ibpcl.methods.npbcl_settings.ImageSettings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of all random numbers, in 0 .. 2**64 - 1.  Equal seeds, settings and tasks give equal
        results.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels: compiled loops, or plain NumPy.  NumPy also
        replaces Numba where Numba is not available.

    Attributes
    ----------
    settings : ibpcl.methods.npbcl_settings.ImageSettings
        The hyperparameters.
    seed : int
        The seed.
    backend : ibpcl.inference.backend.Backend
        The numerical backend.
    model : ImageModel
        Builds the autoencoder of a task and selects the parameters that tasks share.
    knowledge : ibpcl.methods.npbcl.State
        Everything learned so far: posterior, masks, and alpha.
    name : str
        Name of the method, ``"vae_npbcl"``.
    learned : int
        Number of tasks learned so far.
    inputs : int or None
        Number of pixels D; None before the first task.
    context : ibpcl.methods.npbcl.Context
        Inputs of every step of the algorithm, for the current state.
    alpha : ndarray, shape (L,)
        Concentration of the IBP in each masked layer, for the next task.
    posterior : dict of str to dict of str to ndarray
        Shared Gaussian parameters by layer and name; empty before the first task.

    Raises
    ------
    ValueError
        If ``backend_name`` is neither "numba" nor "numpy".

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("bar", x_train=[[0, 1, 0, 1]] * 4, x_test=[[0, 1, 0, 1]], image_shape=(2, 2))
    >>> settings = ImageSettings(hidden=(8,), latent=2, epochs=1, finetune_epochs=1)
    >>> learner = ImageNPBCL(settings, backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0, 0.0, 1.0]], task_id=0).shape
    (1, 4)
    """

    settings_type = ImageSettings
    model_type = ImageModel
    context_type = Context

    @property
    def alpha(self):
        """Concentration of the IBP in each masked layer for the next task, shape (L,)."""
        return self.knowledge.alpha

    @property
    def posterior(self):
        """Gaussian parameters that tasks share, by layer and name; empty before the first task."""
        return self.context.posterior()

    def learn(self, task, progress=None):
        """Learn the next task of images by one turn of Algorithm 1.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A task of images, without labels, as wide as the earlier ones.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch: phase, temperature, and the parts of the ELBO in nats for the whole
            task.

        Raises
        ------
        TypeError
            If ``task`` is not a Task of images.
        ValueError
            If its images have another number of pixels than those of earlier tasks.
        TrainingError
            If the loss is not finite, or a layer has no weight left.
        """
        turn = learn_task(replace(self.context, progress=progress), task)
        self.become(turn.state)
        return turn.history

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
        check_task_id("vae_npbcl.masks", task_id, self.learned)
        return tuple(self.context.masks(task_id).values())


def _towards_unused(known, alpha, mask_model):
    """Return the rho (K,) that gives the least used columns the largest stick probabilities.

    The probabilities are those that the sticks give to the first columns.

    >>> from ibpcl.models.masked import MaskModel
    >>> _towards_unused(np.array([[True, False, False]]), 1.0, MaskModel()).round(2) + 0.0
    array([-1.95,  1.1 ,  0.85])
    """
    # log pi_k if every stick is at its mean, alpha / (alpha + 1)
    log_pi = np.arange(1, known.shape[1] + 1) * np.log(alpha / (alpha + 1))
    log_odds, _ = prior_log_odds(log_pi, mask_model.link)
    ranked = log_odds[np.argsort(np.argsort(known.sum(axis=0), kind="stable"))]
    return ranked - log_odds if mask_model.structured else ranked


def _active(network, masks):
    """Return which units (K,) reach the pixels: those with any weight, or all if f(0) is not 0."""
    last = network.sources["pixels"]
    units = masks[last].any(axis=0)
    return units if network.layers[last].activation in ZERO_AT_ZERO else np.ones_like(units)

r"""NPBCL for images without labels: one autoencoder, each task with masks of its own in encoder and
decoder.

Kumar et al. (2021), Sec. 3.3 and supplement B.2.  The algorithm is that of
:mod:`ibpcl.methods.npbcl`; here is what differs.  Every weight has a Gaussian prior, so what a task
does not use returns exactly to it: to the posterior that earlier tasks left, where they use it.

**The output layer** (last hidden layer to pixels) has no mask.  In Fig. 2b of the paper it is a
head, of which each task has its own; in the released code all tasks share it, and what the last
task does to it the first one has to bear. Both are here.  ``own``: a task keeps the rows that lead
on from the units it uses; the others cannot be seen. ``shared``: Eq. 11 applies to rows, for a unit
that a task has switched off outputs zero.  The rows of units that an earlier task uses are known
and have its posterior as their prior, all others are free.  The biases of the pixels are each
task's own in both, one number a pixel: no other task needs this task's mean image.

**Useless weights.**  First columns are on for all rows, also where inputs are always zero; a mask
is cut without what changes nothing (:func:`ibpcl.models.subnetwork.useful`), so that it is free for
the next task.

**Used weights.**  By Eq. 11 the posterior of a weight that an earlier task uses is its prior: a
later task may move it, and the earlier one pays.  With ``hold_used`` it stays exactly where it is,
the limit of a posterior that is certain. Then nothing is forgotten; later tasks still use what is
held if their masks choose it, and learn all other weights.

**Where masks start.**  A posterior starts somewhere.  With rho = 0 every task's masks would start
as the sticks say, on the same first columns, all of whose weights are held after the first task:
the second one could hardly learn.  So rho starts where it gives the least used columns of a hidden
layer the probabilities that the sticks give to the first ones (``first_columns``).  Prior and ELBO
stay as they are.

**The codes' prior** (supplement G: its mean and standard deviation are "fixed or learned").  With
``per_task`` each task learns one, N(m_t, s_t^2), from a random m_t ~ N(0, I), as the released code
does.  A shift of all codes of a task can be undone in its encoder and decoder, so that p(x) hardly
gains; what it does to neighbours among codes of different tasks, docs/unsupervised.md says.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ibpcl.continual import prior as priors
from ibpcl.continual.learner import Saved, check_task
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
    """The autoencoder of tasks of images, and which of its parameters a task has for itself.

    A task's own are the pixels' biases, and what is added to its codes and their log s; with
    ``output`` "own" the rows of the pixels' weights that it uses, with ``latent_prior`` "per_task"
    its prior.  The methods are those of :class:`ibpcl.methods.npbcl_labels.LabelModel`.

    Parameters
    ----------
    settings : ibpcl.methods.npbcl_settings.ImageSettings
    """

    settings: object

    # The noise of each phase of a task: a name keeps its number, so that a new phase changes no
    # published result.
    streams: ClassVar = {"initial": 0, "masked": 1, "cut": 2, "finetune": 3}
    stride = 4  # numbers that are set aside for a task

    def accept(self, task, state):
        """Refuse a task that does not fit; return the width of its images, and the state with
        it.
        """
        check_task(self.settings.method, task, "images", state.inputs)
        return task.outputs, replace(state, inputs=task.inputs)

    def network(self, inputs, hidden, outputs, regression=False):
        """Return the autoencoder with given widths; its outputs are as wide as its inputs."""
        settings = self.settings
        return autoencoder(
            inputs,
            hidden,
            settings.latent,
            of_pixels(settings.likelihood, settings.pixel_sigma),
            None,
            settings.activation,
            settings.latent_prior != "standard",
            model=settings.mask_model,
        )

    def hidden(self, network):
        """Return the units of each hidden layer of the encoder."""
        return tuple(
            layer.units for name, layer in network.layers.items() if name.startswith("encoder")
        )

    def is_own(self, name):
        """Return whether each task has a parameter of this name for itself."""
        own = ["codes.", "pixels.bias."]
        if self.settings.output == "own":
            own.append("pixels.weight.")
        if self.settings.latent_prior == "per_task":
            own.append("prior.")
        return name.startswith(tuple(own))

    def shares(self, name):
        """Return whether all tasks share the parameters of a name."""
        return name.endswith(("mu", "log_sigma")) and not self.is_own(name)

    def own_places(self, network, masks):
        """Return which parameters (P,) a task has for itself: of the pixels' weights the rows that
        it uses.
        """
        chosen = np.zeros(network.layout.size, bool)
        for name, view in network.layout.views(chosen).items():
            view[...] = self.is_own(name)
        for part in ("weight.mu", "weight.log_sigma"):
            network.layout.layers(chosen)["pixels"][part][~_speaking(network, masks)] = False
        return chosen

    def known(self, network, known):
        """Return by layer which weights earlier tasks use; of the pixels' the rows of units that
        any uses.
        """
        return self.used(network, known) if "pixels" in known else known

    def means(self, rng):
        """Return how the means of fresh weights are drawn."""
        return starts.he(rng, self.settings.start_spread, starts.QUIET)

    def start_own(self, network, vector, x, rng, known, alpha, posterior):
        """Start masks at unused columns, pixels at their means, and codes where the task's prior
        is, in place.

        Parameters
        ----------
        network : Network
        vector : ndarray, shape (P,)
            Changed.
        x : ndarray, shape (N, D)
            The task's images.
        rng : numpy.random.Generator
        known : dict of str to ndarray of bool
            Which weights earlier tasks use, by layer.
        alpha : ndarray, shape (L,)
            The concentration of each masked layer.
        posterior : dict of str to dict
            What tasks share, by layer and name.
        """
        views = network.layout.layers(vector)
        settings = self.settings
        if settings.first_columns == "unused":
            for (name, layer), concentration in zip(network.masked.items(), alpha, strict=True):
                if name not in ("mean", "scale"):  # codes are shared
                    used = known.get(name, np.zeros(layer.shape, bool))
                    views[name]["rho"][...] = _towards_unused(
                        used, concentration, settings.mask_model
                    )
        views["pixels"]["bias.mu"][...] = pixel_biases(x, network.likelihood)
        views["pixels"]["bias.log_sigma"][...] = np.log(settings.start_sigma)
        write(views.get("prior", {}), posterior.get("prior", {}))
        # each task's codes start at a place of their own
        if settings.latent_prior == "per_task":
            place = rng.standard_normal(network.codes.units)
            views["prior"]["mu"][...] = place
            views["codes"]["mu"][...] = place

    def weighted(self, network, known):
        """Return what is maximized: the weight of the codes' divergence rises, and used weights may
        be held.
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
                    {part: used if part.startswith("weight") else unit for part in priors.GAUSSIAN},
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
        """Return hard masks without the weights that change nothing."""
        return subnetwork.useful(network, masks, x)

    def used(self, network, masks):
        """Return by layer which weights hard masks use: of the pixels' the rows of units with any
        weight.
        """
        return masks | {
            "pixels": np.repeat(_speaking(network, masks)[:, None], network.outputs, axis=1)
        }


class ImageNPBCL(Saved, Generative):
    """Learn generative models one after another in one autoencoder, each with its own masks.

    Parameters as in :class:`ibpcl.methods.npbcl.NPBCL`.

    Attributes
    ----------
    knowledge : ibpcl.methods.npbcl.State
        Everything that was learned.
    """

    settings_type = ImageSettings
    model_type = ImageModel
    context_type = Context

    @property
    def alpha(self):
        """The next task's concentration in each masked layer."""
        return self.knowledge.alpha

    @property
    def posterior(self):
        """The Gaussian parameters that tasks share, by layer and name."""
        return self.context.posterior()

    def learn(self, task, progress=None):
        """Run one turn of Algorithm 1 on a task of images, and return the history."""
        turn = learn_task(replace(self.context, progress=progress), task)
        self.become(turn.state)
        return turn.history

    def masks(self, task_id):
        """Return the hard masks of a task: a tuple of boolean arrays (D, K), one a masked layer."""
        return tuple(self.context.masks(task_id).values())


def _towards_unused(known, alpha, mask_model):
    """Return the rho (K,) that gives the least used columns the probabilities that the sticks give
    to the first ones.

    >>> from ibpcl.models.masked import MaskModel
    >>> _towards_unused(np.array([[True, False, False]]), 1.0, MaskModel()).round(2) + 0.0
    array([-1.95,  1.1 ,  0.85])
    """
    # at the mean of each stick
    log_pi = np.arange(1, known.shape[1] + 1) * np.log(alpha / (alpha + 1))
    log_odds, _ = prior_log_odds(log_pi, mask_model.link)
    ranked = log_odds[np.argsort(np.argsort(known.sum(axis=0), kind="stable"))]
    return ranked - log_odds if mask_model.structured else ranked


def _speaking(network, masks):
    """Return which units the pixels hear (K,): those with any weight, or all where f(0) is not
    0.
    """
    last = network.sources["pixels"]
    units = masks[last].any(axis=0)
    return units if network.layers[last].activation in ZERO_AT_ZERO else np.ones_like(units)

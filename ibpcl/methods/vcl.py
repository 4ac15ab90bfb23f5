r"""VCL, variational continual learning: each posterior is the prior of the next task.

Nguyen, Li, Bui and Turner (2018), "Variational Continual Learning", Eq. 4 and Algorithm 1.  The
posterior of every weight is Gaussian, and task t maximizes

.. math::

    \mathcal L_t(q_t) = \sum_n \mathbb E_{q_t}[\log p(y_n | x_n, V)] - KL[q_t(V) \| q_{t - 1}(V)],
          \qquad q_0 = \mathcal N(0, \sigma_0^2).

The first task starts from a maximum-likelihood fit (supplement of that paper), because the means
would leave 0 only slowly otherwise.  Later tasks start from the last posterior, means and
variances, and a new head starts afresh under the prior :math:`q_0`.  NPBCL with an all-ones mask is
VCL.  With one task, VCL is Bayes by Backprop (Blundell et al., 2015).

**Coresets** (Algorithm 1): some examples of each task are held out of its training.  Before the
task is predicted, a copy of the posterior is trained on them.  With a single head for all tasks the
coresets are merged.

**Correlated weights.**  The mean field underestimates how uncertain the weights are together.  With
``rank`` the covariance of the weights of each layer is :math:`\mathrm{diag}(\sigma^2) + U^\top U`
with so many rows U, and with ``full_head`` that of a head is full (:mod:`ibpcl.models.correlated`).
With a rank of 0 and without ``full_head`` the weights are independent.

With ``local``, pre-activations are drawn (Kingma, Salimans and Welling, 2015), with separate noise
for each example.  Without it, weights are drawn, as in the original code.

**Images** (Sec. 3.3 and 6.2): the last layers of the decoder are shared and Gaussian.  Encoders and
the first layers of the decoder belong to a task and are deterministic: under a flat prior, as in
the public code, a Gaussian would shrink to its mean.  Standard deviations restart at
``start_sigma`` in every task, as in the public code.  If they started at their learned values,
those of the prior, means could move only slowly.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from ibpcl.continual import coresets
from ibpcl.continual.learner import Saved, check_inputs
from ibpcl.inference import objectives
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import OneRate
from ibpcl.methods.frame import (
    documented_learner,
    documented_step,
    learning,
    mean_probabilities,
    predicting_classes,
)
from ibpcl.methods.images import AutoencoderSettings, Generative, PlainAutoencoder
from ibpcl.methods.sequential import (
    Context,
    accept,
    keep,
    of_task,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.models import correlated, prediction, starts
from ibpcl.models.architecture import from_line, line_option, parse
from ibpcl.models.correlated import FullCovariance, LowRank
from ibpcl.models.elbo import GRADIENT, Prior
from ibpcl.models.layers import ACTIVATIONS, Drawn, Gaussian
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.noise import generator
from ibpcl.options import called, option

# Size of the first common parts of the weights, relative to the standard deviation of the others.
START_COMMON = 0.1


@documented
@dataclass(frozen=True, init=False)
class PosteriorSettings(OneRate):
    """Settings of the methods with Gaussian weights."""

    activation: str = option("relu", "Activation of hidden units.", choices=ACTIVATIONS)
    single_head: bool = option(False, "One head for all tasks instead of one per task.")
    samples: int = option(1, "Monte Carlo samples per training step.", at_least=1, at_most=1000)
    prediction_samples: int = option(
        100, "Monte Carlo samples per prediction.", at_least=1, at_most=100_000
    )
    likelihood_epochs: int = option(
        5, "Maximum-likelihood epochs before the first task.", at_least=0
    )
    prior_sigma: float = option(
        1.0, "Standard deviation of the prior of a weight before the first task.", above=0
    )
    start_sigma: float = option(
        float(np.exp(-3.0)), "Initial standard deviation of a weight.", above=0
    )
    start_spread: float = option(
        0.1, "Standard deviation of the random initial means of weights.", above=0
    )

    # fixed settings, which only VCL lets a user choose
    rank = 0
    full_head = False


@documented
@dataclass(frozen=True, init=False)
class NetworkSettings(PosteriorSettings):
    """Settings of the methods with Gaussian weights whose network a line may describe."""

    network: str = line_option()
    local: bool = option(
        True, "Draw pre-activations, separately for each example, instead of weights."
    )

    def __post_init__(self):
        super().__post_init__()
        if self.network:
            parse(self.network, called(type(self)))


@documented
@dataclass(frozen=True, init=False)
class Settings(NetworkSettings):
    """Settings of VCL for classification."""

    method = "vcl"

    rank: int = option(
        0,
        "Common parts of the weights of a layer: their covariance is diagonal plus this rank.",
        at_least=0,
        at_most=1000,
    )
    full_head: bool = option(
        False, "Full covariance of the weights of a head, in place of that of the other layers."
    )
    coreset: str = option(
        "none",
        "Selection of the coreset of a task; k_center spreads it over the inputs.",
        choices=("none", *coresets.SELECTIONS),
    )
    coreset_selection: str = option(
        "per_task",
        "Source of the coresets: per_task chooses one from each task, reselected one for all tasks "
        "from the new task and the old coreset.",
        choices=coresets.FROM,
    )
    coreset_size: int = option(
        40,
        "Coreset examples per task, or in all tasks if reselected, taken out of the training data "
        "(as in the authors' code for Split MNIST; for Permuted MNIST it has 200).",
        at_least=1,
    )
    coreset_epochs: int = option(
        100, "Epochs on a coreset before predictions, and on points that leave it.", at_least=0
    )


@dataclass(frozen=True)
class GaussianClassifier:
    """Classifier with Gaussian weights: its network and its shared parameters.

    Parameters
    ----------
    settings : PosteriorSettings
        Settings of the learner.

    Attributes
    ----------
    kind : str
        Kind of the tasks, ``"classification"``.
    streams : dict of str to int
        Number of the random key of each phase of a task.
    stride : int
        Number of keys reserved for a task.
    given_masks : dict
        Hard masks by layer; empty, because no layer is masked.
    """

    settings: object

    kind = "classification"
    # A phase keeps its number forever, so that a new phase does not change published results.
    streams: ClassVar = {
        "initial": 0,
        "likelihood": 1,
        "train": 2,
        "coreset": 3,
        "predict": 4,
    }
    stride = 5
    given_masks: ClassVar = {}

    @property
    def samples(self):
        """Monte Carlo samples per training step."""
        return self.settings.samples

    @property
    def rates(self):
        """Learning rate of each block of parameters."""
        rate = self.settings.rate
        return {"mu": rate, "log_sigma": rate, "factor": correlated.RATE * rate}

    @property
    def temperatures(self):
        """Temperatures of sampled masks at the first and the last step; here without effect."""
        return (1.0, 1.0)

    def network(self, inputs, hidden, outputs, kind=Gaussian):
        """Return the network with the given widths and one kind of layers.

        Layers that draw weights have the same parameters as layers that draw pre-activations.  If
        the settings describe a network in a line, this replaces ``hidden``.  With ``settings.rank``
        or ``settings.full_head``, layers have correlated weights instead, drawn in the same way.

        Parameters
        ----------
        inputs : int
            Width D of the examples.
        hidden : tuple of int
            Units of each hidden layer.
        outputs : int
            Number of classes.
        kind : type
            :class:`ibpcl.models.layers.Gaussian` draws pre-activations,
            :class:`ibpcl.models.layers.Drawn` draws weights.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only.
        """
        settings = self.settings
        line = settings.network
        build = from_line if line else classifier
        options = {}
        head = kind
        if settings.rank:
            options = {"rank": settings.rank} | ({"local": False} if kind is Drawn else {})
            kind = LowRank
            head = partial(LowRank, **options)
        if settings.full_head:
            head = FullCovariance
        return build(
            inputs, line or hidden, Softmax(), outputs, kind, settings.activation, head, **options
        )

    def as_trained(self, network):
        """Return the network with the kind of layers that training uses.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of a task, from :meth:`network`.

        Returns
        -------
        network : ibpcl.models.network.Network
            The same network with ``settings.local``, else one whose layers draw weights.
        """
        if self.settings.local:
            return network
        hidden = tuple(stage.units for stage in network.stages[:-1])
        drawn = self.network(network.inputs, hidden, network.outputs, Drawn)
        return replace(drawn, likelihood=network.likelihood)

    def shares(self, name):
        """Return whether all tasks share a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"hidden0.weight.mu"`` or ``"head.bias.mu"``.

        Returns
        -------
        shared : bool
            False for the head, unless all tasks use a single head.
        """
        return self.settings.single_head or not name.startswith("head.")

    def start(self, context, network, task):
        """Return fresh parameters of a network.

        Parameters
        ----------
        context : ibpcl.methods.sequential.Context
            Gives the random key of the task: ``learner.context`` of a learner.
        network : ibpcl.models.network.Network
            Network to initialize, from :meth:`network`.
        task : ibpcl.continual.task.Task
            The task; not used.

        Returns
        -------
        vector : ndarray, shape (P,)
            Random means, and standard deviations ``settings.start_sigma``.  Common parts of the
            weights are random and small, and a head with a full covariance starts without
            correlations.
        """
        rng = generator(context.key())
        means = starts.normal(rng, self.settings.start_spread)
        vector = network.initial(means, self.settings.start_sigma)
        views = network.layout.layers(vector)
        for name, layer in network.layers.items():
            if isinstance(layer, LowRank):
                layer.start(views[name], rng, START_COMMON * self.settings.start_sigma)
        return vector

    def sticks_prior(self, network, vector, first):
        """Return the prior of the sticks by layer, which is empty without sticks.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task; not used.
        vector : ndarray, shape (P,)
            Last posterior; not used.
        first : bool
            Whether this is the first task; not used.

        Returns
        -------
        prior : dict
            Empty.
        """
        return {}


def last_posterior(context, network):
    """Return the prior of the next task.

    It is the last posterior for the shared parameters and the initial prior :math:`q_0` for new
    ones.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.

    Returns
    -------
    prior : ibpcl.models.elbo.Prior
        Prior of weights and sticks.
    """
    vector = np.zeros(network.layout.size, np.float32)
    vector[network.layout.block("log_sigma")] = np.log(context.settings.prior_sigma)
    shared = context.state.shared
    if shared is not None:
        vector[context.places(network)] = shared
    sticks = context.model.sticks_prior(network, vector, shared is None)
    return Prior.at(network.layout, vector, sticks)


def warm_up(context, network, vector, prior, data):
    """Maximize the likelihood before the first task.

    Nothing happens on later tasks or with ``settings.likelihood_epochs = 0``.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    vector : ndarray, shape (P,)
        Initial parameters, from :func:`ibpcl.methods.sequential.start`.
    prior : ibpcl.models.elbo.Prior
        Prior of the task, from :func:`last_posterior`.
    data : ibpcl.inference.objectives.Data
        Training examples, ``Data(task.x_train, task.targets)``.

    Returns
    -------
    vector : ndarray, shape (P,)
        Parameters with the means at the fit.
    history : list of ibpcl.inference.loop.Record
        One row per epoch; empty if nothing was trained.
    """
    settings = context.settings
    if context.state.learned or not settings.likelihood_epochs:
        return vector, []
    plan = context.fit(
        phase="likelihood", epochs=settings.likelihood_epochs, key=context.key("likelihood")
    )
    rate = context.model.rates["mu"]
    return objectives.maximize_likelihood(network, vector, prior, data, plan, rate)[1:]


def maximize(context, network, vector, prior, data, plan):
    """Maximize the ELBO of Eq. 4.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    vector : ndarray, shape (P,)
        Initial parameters, from :func:`ibpcl.methods.sequential.start`.
    prior : ibpcl.models.elbo.Prior
        Prior of the task, from :func:`last_posterior`.
    data : ibpcl.inference.objectives.Data
        Training examples, ``Data(task.x_train, task.targets)``.
    plan : ibpcl.inference.loop.Fit
        Training plan.

    Returns
    -------
    vector : ndarray, shape (P,)
        Trained parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    """
    model = context.model
    return objectives.train(
        model.as_trained(network),
        vector,
        prior,
        data,
        plan,
        model.rates,
        Weighted(GRADIENT),
        model.given_masks,
    )[1:]


def update_coresets(context, task):
    """Choose the coreset, and train on the points that leave it.

    With ``settings.coreset_selection = "per_task"`` the new task gets a coreset, and no point
    leaves.  With ``"reselected"``, the coreset C_t of all tasks is chosen from D_t and C_{t-1}
    (Nguyen et al., 2018, Algorithm 1; Kumar et al., 2021, supplement C).  The points of C_{t-1}
    that are not in C_t are trained on.  With a single head they join the data of the new task.
    With separate heads, the posterior takes them in before the new task, those of each task with
    its head (:func:`take_in`).

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The next task.

    Returns
    -------
    context : ibpcl.methods.sequential.Context
        With the coresets of all tasks, and the posterior that has taken in the points that leave.
    data : ibpcl.inference.objectives.Data
        Examples to train on.
    history : list of ibpcl.inference.loop.Record
        One row per epoch on points that leave, if they are trained separately.

    Raises
    ------
    TrainingError
        If the coreset would take all examples, or more than there are.
    """
    settings = context.settings
    state = context.state
    if settings.coreset == "none":
        return context, Data(task.x_train, task.targets), []
    selection = (settings.coreset, settings.coreset_size, generator(context.key("coreset")))
    if settings.coreset_selection == "per_task":
        data, coreset = coresets.take_out(context.name, task, *selection)
        return with_coresets(context, {state.learned: coreset}), data, []
    earlier = [coreset_of(state, s) for s in range(state.learned)]
    chosen = coresets.reselect(context.name, task, earlier, *selection)
    context = with_coresets(context, dict(enumerate(chosen.coresets)))
    released = {s: points for s, points in enumerate(chosen.released) if points is not None}
    if settings.single_head:
        parts = (*released.values(), chosen.data)
        data = Data(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        return context, data, []
    history = []
    for task_id, points in released.items():
        context, rows = take_in(context, task_id, points)
        history += rows
    return context, chosen.data, history


def coreset_of(state, task_id):
    """Return the coreset of a task, or its part of a coreset for all tasks.

    Parameters
    ----------
    state : ibpcl.methods.sequential.State
        State of the learner.
    task_id : int
        A learned task.

    Returns
    -------
    coreset : ibpcl.inference.objectives.Data or None
        None for a task without one.
    """
    if f"x{task_id}" not in state.memory:
        return None
    return Data(state.memory[f"x{task_id}"], state.memory[f"y{task_id}"])


def with_coresets(context, changed):
    """Return the context with other coresets.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        The context.
    changed : dict of int to ibpcl.inference.objectives.Data or None
        New coresets by task; None removes the one that the task has.

    Returns
    -------
    context : ibpcl.methods.sequential.Context
        With a new memory.
    """
    memory = dict(context.state.memory)
    for t, coreset in changed.items():
        for name, values in zip("xy", coreset or (None, None), strict=True):
            memory.pop(f"{name}{t}", None)
            if values is not None:
                memory[f"{name}{t}"] = values
    return replace(context, state=replace(context.state, memory=memory))


def take_in(context, task_id, released):
    r"""Train the posterior on points that leave the coreset, with the head of their task.

    The likelihood is a product over the examples, so Bayes' rule may take its factors one after
    another: first the points that leave, task by task, then the data of the new task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the new task.
    task_id : int
        The learned task of the points.
    released : ibpcl.inference.objectives.Data
        Its points in :math:`C_{t-1} \setminus C_t`.

    Returns
    -------
    context : ibpcl.methods.sequential.Context
        With the new posterior of the shared parameters and of the head of the task.
    history : list of ibpcl.inference.loop.Record
        One row per epoch, of the phase ``"released"``.
    """
    state = context.state
    network, vector = context.assemble(task_id)
    key = coresets.released_key(context.seed, state.learned, task_id)
    vector, history = project(context, network, vector, released, "released", key)
    places = context.places(network)
    own = list(state.own)
    own[task_id] = np.delete(vector, places)
    state = replace(state, shared=vector[places].copy(), own=tuple(own))
    return replace(context, state=state), history


def project(context, network, vector, data, phase, key):
    """Return the posterior given some examples of learned tasks.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the tasks.
    network : ibpcl.models.network.Network
        Network of the tasks, from ``context.assemble(task_id)``.
    vector : ndarray, shape (P,)
        Its parameters, also the prior.
    data : ibpcl.inference.objectives.Data
        The examples, one minibatch.
    phase : str
        Name of the phase in the history.
    key : ibpcl.noise.Key
        Key of the noise.

    Returns
    -------
    vector : ndarray, shape (P,)
        New parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    """
    plan = context.fit(
        phase=phase,
        epochs=context.settings.coreset_epochs,
        batch=len(data.x),
        key=key,
        progress=False,
        rate_end=1.0,
    )
    return maximize(context, network, vector, Prior.at(network.layout, vector), data, plan)


@documented_step
def learn_task(context, task):
    """Learn one more task with VCL."""
    context = accept(context, task)
    network = context.next_network(task.outputs)
    context, data, leaving = update_coresets(context, task)
    vector = start(context, network, task)
    prior = last_posterior(context, network)
    vector, warming = warm_up(context, network, vector, prior, data)
    plan = context.fit(tau=context.model.temperatures)
    vector, history = maximize(context, network, vector, prior, data, plan)
    return keep(context, network, vector), of_task(context, [*leaving, *warming, *history])


def refine(context, network, vector, task_id):
    """Return a copy of the posterior, trained on coresets, for predictions only.

    The coreset is that of the task; with a single head, it is the union of all coresets.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the task: ``learner.context`` of a learner.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    vector : ndarray, shape (P,)
        Posterior of the task, also the prior of this training.
    task_id : int
        A learned task.

    Returns
    -------
    vector : ndarray, shape (P,)
        Refined parameters; ``vector`` itself if the tasks have no coreset.
    """
    tasks = range(context.state.learned) if context.settings.single_head else [task_id]
    parts = [coreset_of(context.state, t) for t in tasks]
    parts = [part for part in parts if part is not None]
    if not parts:
        return vector
    data = Data(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    key = context.key("coreset", task_id)
    return project(context, network, vector, data, "coreset", key)[0]


def predict_classes(context, refined, x, task_id):
    """Return class probabilities, averaged over samples of the posterior.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the task: ``learner.context`` of a learner.
    refined : dict of int to ndarray
        Cache of the parameters by task, refined on the coreset; a missing task is added.
    x : array_like, shape (N, D)
        Inputs, finite real numbers.
    task_id : int
        A learned task.

    Returns
    -------
    predictions : ibpcl.models.likelihoods.Classes
        Probabilities (N, C), entropy (N,) and mutual information (N,), the last two in nats.

    Raises
    ------
    TypeError
        If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
    ValueError
        If the task was not learned, or ``x`` has another width or non-finite entries.
    """
    state = context.state
    x = check_inputs(f"{context.name}.predict", x, state.inputs, task_id, state.learned)
    # with a single head, all tasks have the same network and the same noise
    task_id = 0 if context.settings.single_head else task_id
    network, vector = context.assemble(task_id)
    if task_id not in refined:
        refined[task_id] = refine(context, network, vector, task_id)
    return prediction.predict(
        network,
        refined[task_id],
        context.model.given_masks,
        x,
        context.settings.prediction_samples,
        context.key("predict", task_id),
        context.backend,
    )


@documented_learner
class VCL(Saved):
    """Learner that applies Bayes' rule task by task, with Gaussian posteriors.

    Nguyen et al. (2018), "Variational Continual Learning".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``x{s}`` and ``y{s}``,
        the coreset of task s, if there are coresets.
    refined : dict of int to ndarray
        Parameters used for predictions, by task; computed at the first prediction.
    """

    settings_type = Settings
    model_type = GaussianClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = mean_probabilities
    predict_classes = predicting_classes(predict_classes)


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(AutoencoderSettings):
    """Settings of VCL for images."""

    method = "vae_vcl"
    shared_layer = "gaussian"

    prior_sigma: float = option(
        1.0, "Standard deviation of the prior of a shared weight before the first task.", above=0
    )
    start_sigma: float = option(
        float(np.exp(-6.0)), "Initial standard deviation of shared weights in each task.", above=0
    )
    weight_kl_weight: float = option(
        1.0, "Factor of the KL divergence of the shared weights; 1 in the ELBO.", at_least=0
    )


@documented_step
def learn_images(context, task):
    """Learn one more task of images with VCL.

    There is neither a maximum-likelihood fit nor a coreset.  Training starts at the means of the
    last posterior, with standard deviation ``start_sigma`` everywhere.
    """
    context = accept(context, task)
    settings = context.settings
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    vector[network.layout.block("log_sigma")] = np.log(settings.start_sigma)
    vector, history = train(
        context,
        network,
        vector,
        Data(task.x_train, task.targets),
        prior=last_posterior(context, network),
        weights=context.model.weights._replace(kl_weights=-settings.weight_kl_weight),
    )
    return keep(context, network, vector), history


class GaussianDecoder(PlainAutoencoder):
    """Autoencoder whose shared decoder layers are Gaussian.

    Parameters
    ----------
    settings : ImageSettings
        Settings of the learner.

    Attributes
    ----------
    kind : str
        Kind of the tasks, ``"images"``.
    streams : dict of str to int
        Number of the random key of each phase of a task.
    stride : int
        Number of keys reserved for a task.
    """

    def sticks_prior(self, network, vector, first):
        """Return the prior of the sticks by layer, which is empty without sticks.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task; not used.
        vector : ndarray, shape (P,)
            Last posterior; not used.
        first : bool
            Whether this is the first task; not used.

        Returns
        -------
        prior : dict
            Empty.
        """
        return {}


@documented_learner
class ImageVCL(Saved, Generative):
    """Learner of generative models that applies Bayes' rule to the shared decoder layers.

    Nguyen et al. (2018), "Variational Continual Learning", Sec. 6.2.

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` is empty.
    """

    settings_type = ImageSettings
    model_type = GaussianDecoder
    context_type = Context
    learn = learning(learn_images)

"""Independent NPBCL networks: a fresh NPBCL for each task, the control for transfer between tasks.

Every task is learned as the first task of :mod:`ibpcl.methods.npbcl`, with the same settings and
the same seed, in a separate network.  Nothing is shared, so nothing is transferred.  Plain networks
without any sharing (:mod:`ibpcl.methods.independent`) differ from NPBCL in more than that: they
have neither masks nor a posterior over weights.  So

* NPBCL minus this learner is what the tasks give to each other, or take from each other;
* this learner minus plain networks is what masks, priors and averages over weights are worth.

The first task is learned exactly as by NPBCL.  It is a reference of this package and not in the
table of methods; it runs by its full name::

    ibpcl run split-mnist --method ibpcl.methods.npbcl_independent:IndependentNPBCL
"""

from ibpcl.continual.learner import check_task_id, under
from ibpcl.methods.npbcl import NPBCL
from ibpcl.methods.npbcl_settings import Settings


class IndependentNPBCL:
    """Learner with a separate NPBCL for each task.

    Parameters
    ----------
    settings : ibpcl.methods.npbcl_settings.Settings, optional
        Hyperparameters of every network; all defaults if not given.
    seed : int, default 0
        Seed of every network, in 0 .. 2**64 - 1.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels.

    Attributes
    ----------
    settings_type : type
        Class of the settings.
    can : tuple of str
        Abilities, as in :class:`ibpcl.methods.About`: only a separate head for each task.
    settings : ibpcl.methods.npbcl_settings.Settings
        The hyperparameters.
    seed : int
        The seed.
    backend_name : str
        The numerical backend.
    learners : list of ibpcl.methods.npbcl.NPBCL
        One for each learned task.

    Raises
    ------
    ValueError
        If the settings have a single head, which separate networks cannot have.

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [[0, 0]], [0])
    >>> settings = Settings(hidden=(8,), epochs=1, finetune_epochs=1)
    >>> learner = IndependentNPBCL(settings, backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0]], task_id=0).shape
    (1, 2)
    """

    settings_type = Settings
    can = ("task",)

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        self.settings = settings or Settings()
        if self.settings.single_head:
            raise ValueError("npbcl_independent: single_head must be False, got True")
        self.seed = seed
        self.backend_name = backend_name
        self.learners = []

    @property
    def learned(self):
        """Number of tasks learned so far."""
        return len(self.learners)

    def fresh(self):
        """Return an NPBCL that has learned nothing."""
        return NPBCL(self.settings, self.seed, self.backend_name)

    def learn(self, task, progress=None):
        """Learn the next task in a new network.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification or a regression.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or is of another kind.
        TrainingError
            If the loss is not finite, a layer has no weight left, or the likelihood or the coreset
            does not fit the task.
        """
        learner = self.fresh()
        history = learner.learn(task, progress)
        self.learners.append(learner)
        return [record._replace(task=self.learned - 1) for record in history]

    def predict(self, x, task_id):
        """Return class probabilities, or the means of a regression.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        predictions : ndarray, shape (N, C)
            Probabilities that sum to 1 over the C classes, or means in the units of the C targets.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        return self.predict_with_uncertainty(x, task_id)[0]

    def predict_with_uncertainty(self, x, task_id):
        """Return predictions together with their uncertainty.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        predictions : ibpcl.models.likelihoods.Classes or ibpcl.models.likelihoods.Values
            As of :meth:`ibpcl.methods.npbcl.NPBCL.predict_with_uncertainty`.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        check_task_id("npbcl_independent.predict", task_id, self.learned)
        return self.learners[task_id].predict_with_uncertainty(x, 0)

    def masks(self, task_id):
        """Return the hard masks of a learned task.

        Parameters
        ----------
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        masks : tuple of ndarray of bool, shape (D, K)
            One mask per masked layer, from the inputs to the outputs; True keeps the weight.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer.
        ValueError
            If the task was not learned.
        """
        check_task_id("npbcl_independent.masks", task_id, self.learned)
        return self.learners[task_id].masks(0)

    def state(self):
        """Return everything that was learned.

        Returns
        -------
        state : dict of str to ndarray
            The arrays of each network, with names that begin with ``network{t}.``; empty before the
            first task.
        """
        return {
            f"network{t}.{name}": array
            for t, learner in enumerate(self.learners)
            for name, array in learner.state().items()
        }

    def load_state(self, state):
        """Replace everything that was learned by a saved state.

        Parameters
        ----------
        state : dict of str to ndarray
            Result of :meth:`state` of a learner with the same settings.
        """
        count = len({name.partition(".")[0] for name in state})
        self.learners = [self.fresh() for _ in range(count)]
        for t, learner in enumerate(self.learners):
            learner.load_state(under(state, f"network{t}."))

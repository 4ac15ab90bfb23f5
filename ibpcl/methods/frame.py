r'''The frame that all learners share: their methods, and the common parts of their docstrings.

A method is a module with three parts: its settings, a function ``learn_task(context, task)``, and a
learner that joins both.  What is the same in every method stands here once::

    @documented_step
    def learn_task(context, task):
        """Learn one more task with ..."""
        context = accept(context, task)
        network = context.next_network(task.outputs)
        vector = start(context, network, task)
        vector, history = train(context, network, vector, Data(task.x_train, task.targets))
        return keep(context, network, vector), history


    @documented_learner
    class Method(Saved):
        """Learner that ...

        Attributes
        ----------
        knowledge : ibpcl.methods.sequential.State
            Everything learned so far.  ``knowledge.memory`` holds ...
        """

        settings_type = Settings
        model_type = PlainClassifier
        context_type = Context
        learn = learning(learn_task)
        predict = class_probabilities

With sampled weights the last line is ``predict = mean_probabilities``, and there is also
``predict_classes = predicting_classes(predict_classes)``.
'''

import inspect

from ibpcl.methods.sequential import predict

STEP = """
Parameters
----------
context : ibpcl.methods.sequential.Context
    Settings, and the state before the task: ``learner.context`` of a learner.
task : ibpcl.continual.task.Task
    The next task.

Returns
-------
state : ibpcl.methods.sequential.State
    State with the task added.
history : list of ibpcl.inference.loop.Record
    One row per epoch.

Raises
------
TypeError
    If the task is of another kind than the model learns.
ValueError
    If the task does not fit the network.
TrainingError
    If the loss is not finite, or the task has too few examples for what the settings ask.
"""

PARAMETERS = """
Parameters
----------
settings : {settings}, optional
    Hyperparameters; all defaults if not given.
seed : int, default 0
    Seed of all random numbers, in 0 .. 2**64 - 1.  Equal seeds, settings and tasks give equal
    results.
backend_name : {{"numba", "numpy"}}, default "numba"
    Library that runs the numerical kernels: compiled loops, or plain NumPy.  NumPy also
    replaces Numba where Numba is not available.

Attributes
----------
settings : {settings}
    The hyperparameters.
seed : int
    The seed.
backend : ibpcl.inference.backend.Backend
    The numerical backend.
model : {model}
    Builds the network of a task and selects the parameters that tasks share.
"""

ATTRIBUTES = """
name : str
    Name of the method, ``"{name}"``.
learned : int
    Number of tasks learned so far.
inputs : int or None
    {inputs}; None before the first task.
context : ibpcl.methods.sequential.Context
    Inputs of every step of the method, for the current state.

Raises
------
ValueError
    If ``backend_name`` is neither "numba" nor "numpy".

Examples
--------
"""

EXAMPLES = {
    "classification": """
>>> from ibpcl.continual.task import Task
>>> task = Task("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [[0, 0]], [0])
>>> learner = {learner}({settings}(hidden=(8,), epochs=1), backend_name="numpy")
>>> history = learner.learn(task, progress=False)
>>> learner.predict([[0.0, 1.0]], task_id=0).shape
(1, 2)
""",
    "images": """
>>> from ibpcl.continual.task import Task
>>> task = Task("bar", x_train=[[0, 1, 0, 1]] * 4, x_test=[[0, 1, 0, 1]], image_shape=(2, 2))
>>> learner = {learner}({settings}(hidden=(8,), latent=2, epochs=1), backend_name="numpy")
>>> history = learner.learn(task, progress=False)
>>> learner.predict([[0.0, 1.0, 0.0, 1.0]], task_id=0).shape
(1, 4)
""",
}
INPUTS = {"classification": "Width D of the examples", "images": "Number of pixels D"}


def documented_step(learn_task):
    r"""Add the Parameters, Returns and Raises sections to the docstring of ``learn_task``.

    Parameters
    ----------
    learn_task : callable
        ``learn_task(context, task)`` returns the state with the task, and the history.

    Returns
    -------
    learn_task : callable
        The same function.

    Examples
    --------
    >>> from ibpcl.methods.naive import learn_task
    >>> "task : ibpcl.continual.task.Task\n    The next task." in learn_task.__doc__
    True
    """
    if learn_task.__doc__:  # without docstrings under python -OO
        learn_task.__doc__ = f"{inspect.cleandoc(learn_task.__doc__)}\n{STEP}"
    return learn_task


def documented_learner(learner):
    """Complete the docstring of a learner by what all learners have.

    Parameters
    ----------
    learner : type
        A subclass of :class:`ibpcl.continual.learner.Saved`.  Its docstring may have the sections
        Attributes, with ``knowledge`` and what the method alone has, and Examples.

    Returns
    -------
    learner : type
        The same class; its docstring has the sections Parameters, Attributes, Raises and Examples.

    Examples
    --------
    >>> from ibpcl.methods.naive import Naive
    >>> [line for line in Naive.__doc__.splitlines() if line.startswith("model")]
    ['model : ibpcl.methods.sequential.PlainClassifier']
    """
    if not learner.__doc__:  # without docstrings under python -OO
        return learner
    text = inspect.cleandoc(learner.__doc__)
    text, _, example = text.partition("\n\nExamples\n--------\n")
    summary, _, special = text.partition("\n\nAttributes\n----------\n")
    model = learner.model_type
    names = {
        "learner": learner.__name__,
        "settings": learner.settings_type.__name__,
        "model": f"{model.__module__}.{model.__name__}",
        "name": learner.settings_type.method,
        "inputs": INPUTS[model.kind],
    }
    example = example or EXAMPLES[model.kind].format(**names).strip()
    learner.__doc__ = (
        f"{summary}\n{PARAMETERS.format(**names)}{special}{ATTRIBUTES.format(**names)}{example}\n"
    )
    return learner


def learning(learn_task):
    """Return the method ``learn`` of a learner.

    Parameters
    ----------
    learn_task : callable
        ``learn_task(context, task)`` returns the state with the task, and the history.

    Returns
    -------
    learn : callable
        ``learn(self, task, progress=None)`` replaces the state of the learner and returns the
        history.
    """

    def learn(self, task, progress=None):
        """Learn the next task.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A task of the kind that the method learns, with inputs as wide as those of the earlier
            tasks.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch, with the parts of the objective in nats for the whole task.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or of another kind.
        ValueError
            If its inputs are wider or narrower than those of earlier tasks, or it does not fit the
            single head.
        TrainingError
            If the loss is not finite, or the task has too few examples for what the settings ask.
        """
        return self.turn(learn_task, task, progress)

    return learn


def class_probabilities(self, x, task_id):
    """Return class probabilities for inputs of a learned task.

    Parameters
    ----------
    x : array_like, shape (N, D)
        Inputs, finite real numbers.
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
    return predict(self.context, self.assemble, x, task_id)


def mean_probabilities(self, x, task_id):
    """Return class probabilities for inputs of a learned task, averaged over the posterior.

    Parameters
    ----------
    x : array_like, shape (N, D)
        Inputs, finite real numbers.
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
    return self.predict_classes(x, task_id).probabilities


def predicting_classes(predict_classes):
    """Return the method ``predict_classes`` of a learner with sampled weights.

    Parameters
    ----------
    predict_classes : callable
        ``predict_classes(context, refined, x, task_id)`` returns the predictions.

    Returns
    -------
    predict_classes : callable
        ``predict_classes(self, x, task_id)``.
    """

    def of_learner(self, x, task_id):
        """Return class probabilities together with their uncertainty.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        predictions : ibpcl.models.likelihoods.Classes
            Named tuple of ``probabilities`` (N, C), ``entropy`` (N,) and ``mutual_information``
            (N,), both in nats.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        return predict_classes(self.context, self.refined, x, task_id)

    return of_learner

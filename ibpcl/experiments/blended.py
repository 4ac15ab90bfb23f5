"""Learning from a blended stream: a learner of its minibatches that finds the tasks itself."""

import numpy as np

from ibpcl.blas_threads import one_thread
from ibpcl.continual import detection
from ibpcl.evaluation.confidence import classes_by_task, infer_tasks
from ibpcl.evaluation.metrics import accuracy
from ibpcl.inference.loop import Watch, epoch_record, progress_bar
from ibpcl.methods.online import LEARNERS, passes

# Attributes of Blended that are saved besides the learner, with the type of their elements.
FOUND = {"scores": float, "ends": int, "alarms": int, "learned": int}


class Blended:
    """Learner of the segments of a blended stream, for :func:`ibpcl.continual.loop.learn_stream`.

    If the boundaries are known, it begins a new task with each segment.  If not, and if the method
    needs boundaries, it begins a new task where :mod:`ibpcl.continual.detection` finds one.

    Parameters
    ----------
    learner : ibpcl.continual.learner.Saved
        A new learner of a method of ``LEARNERS``.
    stream : ibpcl.data.blended.BlendedStream
        The stream.
    config : ibpcl.experiments.config.RunConfig
        The configuration.

    Attributes
    ----------
    stream, config
        As given.
    online : ibpcl.methods.online.Online
        The learner of minibatches.
    learner : ibpcl.continual.learner.Saved
        A learner with everything up to the end of the last segment, ready to predict.
    scores : list of float
        Score of each minibatch before it was learned: the expected log likelihood of its labels, in
        nats per example.
    ends : list of int
        Number of minibatches up to the end of each segment.
    alarms : list of int
        Numbers of the minibatches with which the learner began a new task.
    learned : list of int
        For each segment, the number of the learned task that was current during most of it; its
        masks predict for the segment's task.

    Raises
    ------
    ibpcl.errors.UserError
        If a setting of the learner needs all examples of a task in advance.
    """

    def __init__(self, learner, stream, config):
        self.stream = stream
        self.config = config
        known = config.boundaries == "known"
        examples = len(stream[0].x_train) if known else stream.examples()
        self.online = LEARNERS[learner.name](learner, stream[0], examples)
        self.learner = learner
        self.scores = []
        self.ends = []
        self.alarms = []
        self.learned = []
        self._rule = None
        if self.online.needs_boundaries and not known:
            self._rule = detection.Rule(detection.threshold(config.run_length))
        self._sums = detection.Sums()

    def learn(self, task, progress=None):
        """Learn the minibatches of the next segment.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            The task of the segment.
        progress : bool or ibpcl.inference.loop.Watch, optional
            Whether to show a progress bar.  By default it is shown on a terminal only.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per pass over the examples of the task.

        Raises
        ------
        ibpcl.errors.NonFiniteError
            If the objective is NaN or infinite.
        """
        t = len(self.ends)
        watch = Watch.of(progress)
        if self.config.boundaries == "known" and t:
            self.online.begin(len(task.x_train))
        batch = self.online.learner.settings.batch
        rounds = passes(self.online.learner.settings, len(task.x_train))
        total = rounds * -(-len(task.x_train) // batch)
        current = []
        history = []
        steps = []
        with one_thread(), progress_bar(total, watch.task or f"segment {t + 1}", watch.bar) as bar:
            for minibatch in self.stream.minibatches(t, batch, rounds):
                phase = self.online.phase
                steps.append(self._step(minibatch)._replace(gradient=None))
                current.append(self.online.learner.learned)
                bar.update()
                if minibatch.last:
                    history.append(epoch_record(t, phase, len(history), steps))
                    steps = []
                    if watch.on_epoch is not None:
                        watch.on_epoch(history[-1], self.online.fitting.vector)
        self.ends.append(len(self.scores))
        self.learned.append(int(np.bincount(current).argmax()))
        self.learner = self.online.snapshot()
        return history

    def predict(self, x, task_id):
        """Return class probabilities for inputs of the task of a segment.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs.
        task_id : int
            Number of a learned segment, from 0.

        Returns
        -------
        probabilities : ndarray, shape (N, C)
            Each row sums to 1.
        """
        return self.learner.predict(x, self.learned[task_id])

    def state(self):
        """Return everything that was learned and found.

        Returns
        -------
        state : dict of str to ndarray
            Arrays by name, ready for a file.
        """
        found = {name: np.array(getattr(self, name), kind) for name, kind in FOUND.items()}
        return self.online.state() | found | {"sums": np.array(self._sums, float)}

    def load_state(self, state):
        """Replace everything by a saved state.

        Parameters
        ----------
        state : dict of str to ndarray
            Result of :meth:`state` of a learner of the same configuration.
        """
        self.online.load_state(state)
        for name in FOUND:
            setattr(self, name, state[name].tolist())
        self._sums = detection.Sums(*state["sums"].tolist())
        self.learner = self.online.snapshot()

    def measured(self):
        """Return the measurements of a blended stream, besides those of every classifier.

        Returns
        -------
        values : dict
            ``scores``, ``ends``, ``alarms``, ``learned``: as the attributes, the scores rounded.
            ``starts``: for each task after the first, the first minibatch that can contain its
            examples.  ``false_alarms``, ``misses``, ``delays``: see
            :class:`ibpcl.continual.detection.Errors`; None for a learner that detects nothing.  An
            alarm after the middle of a segment is too late.  ``learned_tasks``: the number of
            learned tasks.  ``accuracy_inferred``: accuracy on each task at the end, with the
            learned task of the least entropy for each example.
        """
        lengths = np.diff(self.ends, prepend=0)
        begins = self.ends - lengths
        fades = self.config.blend_width / 2 * lengths[:-1]
        starts = np.floor(begins[1:] - fades).astype(int).tolist()
        errors = dict.fromkeys(detection.Errors._fields)
        if self._rule is not None:
            middles = (begins + lengths // 2)[1:].tolist()
            errors = detection.errors(self.alarms, starts, middles)._asdict()
        return {
            **{name: getattr(self, name) for name in FOUND},
            "scores": [round(score, 4) for score in self.scores],
            "starts": starts,
            **errors,
            "learned_tasks": self.learner.learned,
            "accuracy_inferred": [self._inferred(self.stream[t]) for t in range(len(self.stream))],
        }

    def _step(self, minibatch):
        """Score a minibatch, begin a new task if one is detected, and take a step."""
        online = self.online
        step = online.evaluate(minibatch.x, minibatch.y)
        score = float(step.parts.log_likelihood) / online.examples
        if self._rule is not None:
            self._sums = detection.update(self._sums, score, self._rule)
            if self._sums.fall > self._rule.threshold:
                self.alarms.append(len(self.scores))
                online.begin(online.examples)
                self._sums = detection.Sums()
                step = online.evaluate(minibatch.x, minibatch.y)
        self.scores.append(score)
        # the scores of another phase are another distribution
        if online.advance(step):
            self._sums = detection.Sums()
        return step

    def _inferred(self, task):
        """Return the accuracy on a task if the learned task of each example must be inferred."""
        if not hasattr(self.learner, "masks"):
            return float(accuracy(self.learner.predict(task.x_test, 0), task.y_test))
        heads = [
            self.learner.predict_with_uncertainty(task.x_test, k)
            for k in range(self.learner.learned)
        ]
        chosen = infer_tasks(heads, "entropy")
        return float(np.mean(classes_by_task(heads, chosen) == task.y_test))

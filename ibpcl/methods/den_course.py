"""One task of DEN under way: its phases, one after another, and the network as it grows."""

import numpy as np

from ibpcl.inference import sparsity
from ibpcl.inference.loop import Fit, fit
from ibpcl.inference.schedules import geometric
from ibpcl.models import expandable, plain
from ibpcl.models.elbo import Elbo
from ibpcl.noise import Key, generator
from ibpcl.primitives import quadratic

# Streams of the start of a task, and of what it adds; the order of the examples has a stream of its own.
START, GROWTH = 0, 1


class Course:
    """The phases of one task.

    Parameters
    ----------
    learner : DEN
        As the last task left it; it is not changed.
    task : Task
        What is learned.
    progress : bool, Watch or None
        As of :class:`ibpcl.inference.loop.Fit`.

    Attributes
    ----------
    network : Network
        As it is now.
    vector : ndarray, shape (P,)
        Its parameters.
    units : tuple of ndarray of bool, or None
        The selected units, once they are.
    history : list of Record
        Of the phases that are over.
    """

    def __init__(self, learner, task, progress):
        self.learner, self.task, self.progress, self.settings = learner, task, progress, learner.settings
        self.key = Key(learner.seed, len(learner.own), 0, START)
        self.before = learner.shared
        self.widths = learner.widths[-1] if learner.own else self.settings.hidden
        self.network, self.units, self.history = plain.network(task.inputs, self.widths, task.outputs), None, []
        self.vector = self._start(self.network, START)

    def first(self):
        """Train the whole network, sparsely."""
        every = np.ones(self.network.layout.size, bool)
        self._fit("whole", every, self._sparsity(every))

    def later(self):
        """Go through the four phases."""
        settings = self.settings
        head = expandable.added(self.network, self.widths)
        self._fit("head", head, self._sparsity(head), epochs=settings.head_epochs)
        self.units = expandable.reached(self.network.weights(self.vector))
        self._fit("selected", expandable.between(self.network, self.units), held=True)
        if self._loss() >= settings.loss_threshold:
            self._expand()
            groups = expandable.incoming(self.network, self.widths)
            self._fit_new("expanded", groups)
            self._drop(groups)
        if self._split():
            self._fit_new("split")

    def _start(self, network, stream):
        """Return what earlier tasks left, in a network with a fresh head, and fresh units if it is larger."""
        vector = network.start(generator(self.key._replace(stream=stream)), self.settings.start)
        for (weight, bias), (old_weight, old_bias) in zip(network.weights(vector), self.before, strict=False):
            rows, columns = old_weight.shape
            weight[:rows, :columns], bias[:columns] = old_weight, old_bias
        return vector

    def _loss(self):
        """Return the mean negative log likelihood of the training data, nats per example."""
        total, _ = self.network.log_likelihood(self.vector, self.task.x_train, self.task.y_train, self.learner.backend)
        return -total / len(self.task.x_train)

    def _expand(self):
        """Add units to every layer."""
        more = tuple(width + self.settings.expand_units for width in self.widths)
        larger = self.network.resized(more)
        vector = self._start(larger, GROWTH)
        self.network.layout.transfer(self.vector, larger.layout, vector)
        self.network, self.vector = larger, vector

    def _drop(self, groups):
        """Remove the new units that nothing enters."""
        keep = tuple(np.append(np.ones(width, bool), self.vector[places].any(axis=0))
                     for width, places in zip(self.widths, groups, strict=True))
        self.network, self.vector = expandable.kept_units(self.network, self.vector, keep)

    def _split(self):
        """Put back the units that moved too far, and copy them; return how many."""
        distances = expandable.drift(self.network.weights(self.vector)[:-1], self.before)
        moved = [np.flatnonzero(distance > self.settings.split_threshold) for distance in distances]
        self.network, self.vector = expandable.split(self.network, self.vector, self.before, moved)
        return sum(map(len, moved))

    def _sparsity(self, trained, groups=()):
        """Return the penalties with a kink: of each weight that is trained, biases excepted, and of groups."""
        single = np.zeros(len(trained), np.float32)
        for weight, _ in self.network.weights(single):
            weight[...] = self.settings.sparsity
        return sparsity.Sparsity(single * trained, groups, self.settings.group_sparsity)

    def _pulls(self, trained):
        """Return where held parameters are drawn to, and how strongly: to 0, and to what the last task left."""
        decay, drift = (np.float32(weight) * trained for weight in (self.settings.decay, self.settings.drift))
        drift[-self.network.head_size:] = 0                 # the new head was nowhere
        return (np.zeros_like(decay), decay), (self._start(self.network, START), drift)

    def _fit(self, phase, trained, kinks=None, held=False, epochs=None):
        """Train some of the parameters."""
        settings, task, examples = self.settings, self.task, len(self.task.x_train)
        network, computing, rates = self.network, self.learner.backend, np.float32(settings.rate) * trained
        pulls = self._pulls(trained) if held else ()

        def objective(vector, rows, step, steps):
            total, cache = network.log_likelihood(vector, task.x_train[rows], task.y_train[rows], computing)
            gradient, penalty = network.log_likelihood_vjp(-1 / len(rows), cache), 0.0
            for mean, precision in pulls:
                value, quadratic_cache = quadratic.penalty(vector, mean, precision)
                gradient += quadratic.penalty_vjp(1.0, quadratic_cache)[0]
                penalty += value
            penalty += kinks.value(vector) if kinks else 0.0
            return Elbo(total * examples / len(rows), penalty * examples), gradient, 0.0

        def shrink(step, vector, state, rates):
            factor = np.float32(geometric(1.0, settings.rate_end, step, steps))
            return kinks.shrink(vector, sparsity.step_sizes(state, rates * factor)), state, rates

        epochs = settings.epochs if epochs is None else epochs
        how = Fit(phase, epochs, settings.batch, 1, self.key, computing, self.progress, settings.rate_end)
        steps = epochs * -(-examples // settings.batch)
        adapt = None if kinks is None or kinks.is_zero else shrink
        self.vector, records = fit(self.vector, objective, rates, examples, how, adapt)
        self.history += records

    def _fit_new(self, phase, groups=()):
        """Train what the last task did not have, sparsely."""
        new = expandable.added(self.network, self.widths)
        self._fit(phase, new, self._sparsity(new, groups))

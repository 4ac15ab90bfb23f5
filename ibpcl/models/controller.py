r"""A policy that chooses one number per layer, trained by REINFORCE: two LSTM layers, a softmax.

The choice for a layer depends on the choices before it,

.. math:: \pi(a) = \prod_l \pi(a_l | a_1, \dots, a_{l - 1}).

The input of the LSTM at step l is the number chosen at step l - 1, one-hot encoded; at the first
step it is zero.  The gradient of the expected reward needs no derivative of the reward (Williams,
1992, "Simple statistical gradient-following algorithms for connectionist reinforcement learning",
Theorem 1):

.. math:: \nabla\, \mathbb E_\pi[R] = \mathbb E_\pi\bigl[(R - B)\, \nabla \log \pi(a)\bigr]

for any baseline B that does not depend on a.  Here the baseline is the value V, a parameter that is
fitted to the mean reward by least squares.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ibpcl.models.parameters import Entry, Layout, write
from ibpcl.numerics import logsumexp
from ibpcl.primitives import likelihoods, linear, lstm

# Zoph and Le (2017), Sec. 4.1: parameters start uniform within +-0.08
SPREAD = 0.08


@dataclass(frozen=True)
class Controller:
    """Policy over sequences of L numbers in 0 .. A - 1, with a learned value as baseline.

    Parameters
    ----------
    layers : int
        Length L of a sequence: one number for each layer of the controlled network.
    actions : int
        Number A of choices at each step.
    units : int
        Width of both LSTM layers.
    """

    layers: int
    actions: int
    units: int = 100

    @cached_property
    def layout(self):
        """Order of the parameters: two LSTM layers, the softmax's linear layer, and the value."""
        widths = (self.actions, self.units)
        entries = [
            Entry(f"lstm{i}.{name}", shape, "policy")
            for i, inputs in enumerate(widths)
            for name, shape in (
                ("w", (4, inputs, self.units)),
                ("r", (4, self.units, self.units)),
                ("b", (4, self.units)),
            )
        ]
        return Layout(
            [
                *entries,
                Entry("head.w", (self.units, self.actions), "policy"),
                Entry("head.b", (self.actions,), "policy"),
                Entry("value", (), "value"),
            ]
        )

    def initial(self, rng):
        """Draw the initial parameters of a nearly uniform policy with value 0.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the random numbers.

        Returns
        -------
        vector : ndarray of float64, shape (P,)
            The parameters, in the order of ``layout``.
        """
        vector = rng.uniform(-SPREAD, SPREAD, self.layout.size)
        vector[self.layout.block("value")] = 0.0
        return vector

    def logits(self, vector, actions):
        """Evaluate the policy's logits along given sequences.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.
        actions : ndarray of int, shape (N, L)
            Sequences of numbers in 0 .. A - 1.

        Returns
        -------
        logits : ndarray, shape (L, N, A)
            Logits of every choice at every step, given the earlier numbers of the sequence.
        cache : tuple
            Caches of the LSTM layers and the linear layer.
        """
        views = self.layout.layers(vector)
        x = np.zeros((self.layers, len(actions), self.actions), vector.dtype)
        x[1:] = np.eye(self.actions)[
            actions[:, :-1].T
        ]  # the input of a step is the choice before it
        h, first = lstm.unroll(x, **views["lstm0"])
        h, second = lstm.unroll(h, **views["lstm1"])
        logits, head = linear.apply(h, views["head"]["w"][None], views["head"]["b"][None])
        return logits, (vector, first, second, head)

    def log_probabilities(self, vector, actions):
        r"""Evaluate :math:`\log \pi(a)` for given sequences.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.
        actions : ndarray of int, shape (N, L)
            Sequences of numbers in 0 .. A - 1.

        Returns
        -------
        log_p : ndarray, shape (N,)
            Log probabilities in nats, summed over the steps.
        cache : tuple
            Input of :meth:`log_probabilities_vjp`.

        Examples
        --------
        >>> controller = Controller(2, 3, 4)
        >>> controller.log_probabilities(np.zeros(controller.layout.size),
        ...     np.array([[0, 2]]))[0].round(4)
        array([-2.1972])
        """
        logits, network = self.logits(vector, actions)
        flat = logits.reshape(1, -1, self.actions)  # all steps as examples, (1, L N, A)
        log_p, likelihood = likelihoods.categorical(flat, actions.T.ravel())
        return log_p.reshape(actions.T.shape).sum(axis=0), (network, likelihood, actions.T.shape)

    def log_probabilities_vjp(self, dlog_p, cache):
        """Pull the gradient at the log probabilities (N,) back to ``vector``.

        The gradient of the value is 0.
        """
        (vector, first, second, head), likelihood, shape = cache
        gradient = np.zeros_like(vector)
        views = self.layout.layers(gradient)
        dflat = likelihoods.categorical_vjp(
            np.broadcast_to(dlog_p, shape).reshape(1, -1), likelihood
        )
        dh, dw, db = linear.apply_vjp(dflat.reshape(*shape, self.actions), head)
        # all steps share the head
        write(views["head"], {"w": dw.sum(axis=0), "b": db.sum(axis=0)})
        for name, steps in (("lstm1", second), ("lstm0", first)):
            dh, *dparameters = lstm.unroll_vjp(dh, steps)
            write(views[name], dict(zip("wrb", dparameters, strict=True)))
        return gradient

    def loss(self, vector, actions, rewards, baseline):
        r"""Evaluate the surrogate loss whose gradient trains policy and value.

        Its gradient is that of REINFORCE for the policy and that of least squares for the value:

        .. math:: -\frac1N \sum_n (R_n - B) \log \pi(a_n) + \frac1{2 N} \sum_n (R_n - V)^2

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.
        actions : ndarray of int, shape (N, L)
            Sequences that were drawn from the policy.
        rewards : ndarray, shape (N,)
            Their rewards R.
        baseline : float
            The baseline B, a constant: the value V at the time of the draw.

        Returns
        -------
        loss : float
            The loss.  Only its gradient is meaningful.
        cache : tuple
            Input of :meth:`loss_vjp`.
        """
        log_p, policy = self.log_probabilities(vector, actions)
        advantage = rewards - baseline
        error = rewards - self.value(vector)
        return (error * error / 2 - advantage * log_p).mean(), (policy, advantage, error)

    def loss_vjp(self, dloss, cache):
        """Pull the gradient at the loss, a float, back to ``vector``."""
        policy, advantage, error = cache
        gradient = self.log_probabilities_vjp(-dloss * advantage / len(advantage), policy)
        gradient[self.layout.block("value")] = -dloss * error.mean()
        return gradient

    def value(self, vector):
        """Return the value V, the reward that is expected of the policy.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.

        Returns
        -------
        value : float
            The value, in the units of the reward.
        """
        return vector[self.layout.block("value")][0]

    def probabilities(self, vector, actions):
        """Return the probability of every choice along given sequences.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.
        actions : ndarray of int, shape (N, L)
            Sequences of numbers in 0 .. A - 1.

        Returns
        -------
        probabilities : ndarray, shape (L, N, A)
            Probability of every choice at every step, given the earlier numbers of the sequence.
        """
        logits, _ = self.logits(vector, actions)
        return np.exp(logits - logsumexp(logits, axis=-1, keepdims=True))

    def sample(self, vector, u):
        """Draw one sequence from the policy by inverting its distribution function.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters.
        u : ndarray, shape (L,)
            Uniform noise in [0, 1), one number per step.

        Returns
        -------
        actions : ndarray of int, shape (L,)
            The sequence, numbers in 0 .. A - 1.
        """
        actions = np.zeros((1, self.layers), np.int64)
        # a step depends on the choices before it only, not on the zeros after it
        for step in range(self.layers):
            below = np.cumsum(self.probabilities(vector, actions)[step, 0])
            # the cumulative sum may end just below 1 by rounding
            actions[0, step] = min(np.searchsorted(below, u[step], side="right"), self.actions - 1)
        return actions[0]

"""Variational inference: the objective of a task, the minibatch loop, and the choice of backend."""

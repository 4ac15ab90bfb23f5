"""Fitting: the optimizer, the schedule of the temperature, and the minibatch loop."""

"""Fitting: what is fitted, the minibatch loop, and which backend computes."""

"""Names for what is wrong with a gradient, from evidence to one sentence."""

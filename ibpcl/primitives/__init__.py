"""The derivations: one random variable, layer or loss a file, every function with its gradient right below it.

``out, cache = f(*inputs)`` and ``d_inputs = f_vjp(dout, cache)``: the vector-Jacobian product returns the gradient at
each differentiable input, in input order, as a tuple if there are several.  Noise, labels, temperatures and masks given
from outside are inputs without a gradient.  The functions are pure: nothing is drawn, kept or changed in place.

Axes: ``S`` samples, ``N`` examples, ``D`` inputs, ``K`` units, ``C`` outputs; the sample axis comes first.
"""

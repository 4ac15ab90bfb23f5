"""Exact sequential Bayesian inference on small or linear models, beside the approximations.

A continual learner that carries a posterior from task to task can forget for two reasons: its
posterior is approximate, or its model cannot fit all tasks at once.  Here the exact posterior is
available, so the two can be separated: on networks with 2 to 20 weights, and for a linear output
layer of any size.

===================  ===============================================================================
module               content
===================  ===============================================================================
``tiny``             a network, its log joint density and the gradient
``points``           weighted weight vectors: moments, predictions, Bayes' rule on a grid
``hmc``              Hamiltonian Monte Carlo, and the diagnostics of its chains
``approximations``   Laplace, EWC, VCL, GVCL and BGD as recursions on 2 or 3 weights
``forgetting``       what is forgotten because of the model, and what because of the approximation
``linear``           linear regression with Gaussian noise: sequential and joint are the same
``random_features``  a learner with it on random ReLU features, for every data set
``mask_gradients``   gradients of means over binary masks: exact, and six estimators
``mask_study``       their bias and variance: ``python -m ibpcl.exact.mask_study``
``study``            the comparison with the package's learners: ``python -m ibpcl.exact.study``
===================  ===============================================================================

The question is that of Kessler, Cobb, Rudner, Zohren and Roberts (2023), "On Sequential Bayesian
Inference for Continual Learning".
"""

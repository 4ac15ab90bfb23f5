"""Explanations of a wrong gradient: from measurements to one sentence that names the mistake.

Each module has one idea; :mod:`~ibpcl.verify.explain.naming` tries them in this order:

- :mod:`~ibpcl.verify.explain.whole`: a mistake in the whole gradient.
- :mod:`~ibpcl.verify.explain.rewrites`: one change of the gradient's source makes it right.
- :mod:`~ibpcl.verify.explain.missing_path`: a path of the forward was held constant.
- :mod:`~ibpcl.verify.explain.missing_factor`: a factor or term is missing in one place, made of
  :mod:`~ibpcl.verify.explain.known_arrays`.

Beside it stand the reasons that come from how code computes
(:mod:`~ibpcl.verify.explain.reasons`, with :mod:`~ibpcl.verify.explain.details` and
:mod:`~ibpcl.verify.explain.constants`), and gradient functions that raise
(:mod:`~ibpcl.verify.explain.raising`).
"""

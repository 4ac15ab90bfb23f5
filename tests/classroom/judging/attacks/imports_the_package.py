# base: stub; most: 0; expect: not graded: line \d+ of \S+ imports ibpcl.primitives.gaussian; allowed are numpy
from ibpcl.primitives.gaussian import kl_vjp  # noqa

# base: stub; most: 0; expect: not graded: line \d+ of \S+ is not Python
def sample(eps, mu, scale)
    return eps

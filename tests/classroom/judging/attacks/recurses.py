# base: stub; most: 0; expect: 1a.*(raises RecursionError|ends without an answer)
def sample(eps, mu, scale):
    return sample(eps, mu, scale)

# base: stub; most: 0; expect: 1a.*raises SystemExit
def sample(eps, mu, scale):
    raise SystemExit(0)

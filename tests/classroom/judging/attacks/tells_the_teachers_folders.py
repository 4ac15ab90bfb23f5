# base: stub; most: 0; never: site-packages; expect: 1a.*raises ValueError: I am in __init__.py
def sample(eps, mu, scale):
    raise ValueError(f"I am in {np.__file__}")

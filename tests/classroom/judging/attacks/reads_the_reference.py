# base: stub; most: 0; expect: raises (PermissionError|FileNotFoundError)
def sample(eps, mu, scale):
    text = open("@package@/ibpcl/classroom/assignments/01_gaussian_weights/reference.py").read()
    raise ValueError(text)

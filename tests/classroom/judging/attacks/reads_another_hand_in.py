# base: stub; most: 0; expect: raises (PermissionError|FileNotFoundError)
def sample(eps, mu, scale):
    raise ValueError(open("@secret@").read())

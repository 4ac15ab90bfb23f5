# base: stub; most: 0; expect: raises (MemoryError|_ArrayMemoryError|a custom exception)
def sample(eps, mu, scale):
    kept = []
    while True:
        kept.append(np.ones(10_000_000))

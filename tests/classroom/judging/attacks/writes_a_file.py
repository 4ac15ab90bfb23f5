# base: stub; most: 0; expect: raises (PermissionError|FileNotFoundError|OSError)
def sample(eps, mu, scale):
    for place in ("@folder@/forged.json", "/tmp/forged.json", "forged.json", "/dev/shm/forged.json"):
        try:
            with open(place, "w") as file:
                file.write("{}")
        except OSError as error:
            last = error
        else:
            return mu + np.exp(scale) * eps, eps
    raise last

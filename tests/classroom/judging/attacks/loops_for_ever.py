# base: stub; most: 0; seconds: 1; expect: 1a.*ends without an answer: (no answer within|its processor time)
def sample(eps, mu, scale):
    while True:
        pass

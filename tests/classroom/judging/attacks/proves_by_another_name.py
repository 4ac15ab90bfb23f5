# base: reference; most: 80; expect: 1i.*must not use kl
_same = kl


def kl_by_quadrature(*inputs, same=kl):
    return _same(*inputs)[0] if same is None else same(*inputs)[0]

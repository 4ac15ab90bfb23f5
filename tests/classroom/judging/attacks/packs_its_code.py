# base: stub; most: 0; expect: not graded: line \d+ of \S+ uses __builtins__
np.__builtins__["exec"]("def sample(eps, mu, scale): return mu + np.exp(scale) * eps, eps", globals())

"""What ``ibpcl bench`` measures: the gradient step and its parts, against its products, NumPy,
PyTorch and JAX.
"""

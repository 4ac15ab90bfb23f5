"""The networks: named parameters in one vector, the ELBO by parts with its gradient, and
prediction.
"""

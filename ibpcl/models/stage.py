"""Stages of a network that are not layers: they contain layers, or have no parameters."""

from typing import ClassVar


class Stage:
    """Base class of such stages; by default, a stage has no parameters, noise and layers.

    A stage also has a ``name`` and the numbers of its ``inputs`` and ``units``, and the methods
    ``forward`` and ``forward_vjp`` of a layer.

    Attributes
    ----------
    layers : tuple of ibpcl.models.layers.Layer
        The layers of the stage, in the order of evaluation.
    streams : int
        Class attribute: how many noise streams are reserved for the stage itself.
    """

    layers: tuple = ()
    streams: ClassVar[int] = 0

    def with_layers(self, layers):
        """Return the stage with other layers of the same names in place of its own.

        Parameters
        ----------
        layers : dict of str to ibpcl.models.layers.Layer
            Layers by name.

        Returns
        -------
        stage : Stage
            The new stage; ``self`` if it has no layers.
        """
        return self

    def without_idle(self, masks):
        """Return hard masks without the weights that the stage does not evaluate.

        Parameters
        ----------
        masks : dict of str to ndarray of bool, shape (D, K)
            Hard masks by layer.

        Returns
        -------
        masks : dict of str to ndarray of bool, shape (D, K)
            The argument, or new masks.
        """
        return masks

    def entries(self):
        """Return the stage's own entries in the parameter vector, without those of its layers."""
        return []

    def noise(self, key, samples, batch, relaxed):
        """Return the noise that the stage itself draws in a pass, without that of its layers.

        Parameters
        ----------
        key : ibpcl.noise.Key
            Key of the stage's noise; ``streams`` streams are reserved, from this one on.
        samples : int
            Number of Monte Carlo samples S.
        batch : int
            Number of examples N.
        relaxed : bool
            True if masks are sampled, False if they are given.

        Returns
        -------
        draws : dict of str to ibpcl.models.layers.Draw
            The arrays to draw, by name.
        """
        return {}

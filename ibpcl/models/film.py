r"""FiLM behind a layer: a gain and a shift per unit, which belong to one task.

.. math:: y = \gamma \odot h + \beta

Loo, Swaroop and Turner (2021).  The gains and shifts are numbers without a distribution, and have
no prior.  Behind a convolution there is one gain per filter, at all positions.
"""

from dataclasses import dataclass, replace

from ibpcl.models.convolution import Pool
from ibpcl.models.parameters import Entry
from ibpcl.models.stage import Stage


@dataclass(frozen=True)
class Film(Stage):
    """Gains and shifts of the outputs of the stage before.

    Parameters
    ----------
    name : str
        Name of the stage in the parameter vector, without a dot.
    units : int
        Number of inputs, and of outputs.
    channels : int
        Number K of gains; the units are positions times channels, with the channels last.
    """

    name: str
    units: int
    channels: int

    @property
    def inputs(self):
        """Number of inputs, that of the outputs."""
        return self.units

    def entries(self):
        """Return the entries ``gain`` (K,) and ``shift`` (K,)."""
        return [Entry(f"{self.name}.{part}", (self.channels,), "film") for part in PARTS]

    def forward(self, views, x, noise, options):
        """Modulate the outputs of the stage before; nothing is drawn.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all stages: ``views[stage][parameter]`` is an array.
        x : ndarray, shape (S, N, units)
            Inputs.
        noise : dict of str to dict
            Not used.
        options : ibpcl.models.layers.Pass
            Only its backend is used.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, units), and an empty dict of divergences.
        cache : tuple
            Input of :meth:`forward_vjp`.
        """
        parameters = views[self.name]
        y, cache = options.backend.film.modulate(
            self._by_channel(x), parameters["gain"], parameters["shift"]
        )
        return (y.reshape(x.shape), {}), (cache, x.shape, options.backend)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back to the inputs, gains and shifts.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs, of their shape, and a dict that is not used.
        cache : tuple
            From :meth:`forward`.
        needs_dx : bool
            Not used: the gradient at the inputs is a by-product.

        Returns
        -------
        dx : ndarray
            Gradient at ``x``, of its shape.
        gradients : dict of str to dict
            Gradients of ``gain`` and ``shift``.
        """
        inner, shape, backend = cache
        dx, dgain, dshift = backend.film.modulate_vjp(self._by_channel(dout[0]), inner)
        return dx.reshape(shape), {self.name: {"gain": dgain, "shift": dshift}}

    def _by_channel(self, array):
        """Return an array (S, N, units) with one row per position, (S, N positions, K)."""
        return array.reshape(*array.shape[:-2], -1, self.channels)


PARTS = ("gain", "shift")


def with_films(network):
    """Return a network with gains and shifts behind every hidden layer.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network; its last stage is the head.

    Returns
    -------
    network : ibpcl.models.network.Network
        With the stages ``film0``, ``film1``, ... behind layers, convolutions and residual blocks.

    Examples
    --------
    >>> from ibpcl.models.layers import Gaussian
    >>> from ibpcl.models.likelihoods import Softmax
    >>> from ibpcl.models.network import classifier
    >>> network = with_films(classifier(4, (3,), Softmax(), 2, Gaussian))
    >>> [stage.name for stage in network.stages]
    ['hidden0', 'film0', 'head']
    """
    *hidden, head = network.stages
    stages = []
    films = 0
    for stage in hidden:
        stages.append(stage)
        if not isinstance(stage, Pool):
            stages.append(Film(f"film{films}", stage.units, stage.layers[-1].units))
            films += 1
    return replace(network, stages=(*stages, head))


def start(network, vector):
    """Set all gains to 1 and all shifts to 0, in place.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network, with or without gains.
    vector : ndarray, shape (P,)
        Its parameters.
    """
    views = network.layout.layers(vector)
    for stage in network.composed:
        if isinstance(stage, Film):
            views[stage.name]["gain"][...] = 1
            views[stage.name]["shift"][...] = 0

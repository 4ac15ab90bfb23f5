"""Methods of continual learning: one module per published method, all with the same interface.

Each module has ``Settings`` and a learner with the interface of
:class:`ibpcl.continual.learner.Learner`.  ``Settings`` is a frozen dataclass whose fields are
declared with :func:`ibpcl.options.option`; it also has the method's name and named presets.  The
learner is constructed as ``Learner(settings, seed, backend_name)``.  A method that also learns
images without labels has ``ImageSettings`` and a learner with an autoencoder (``ImageEWC`` beside
``EWC``).  A module is imported only when its method is needed.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from ibpcl.methods.settings_docs import documented
from ibpcl.options import Checked, option, presets_of


class About(NamedTuple):
    """Entry of a method in the list of methods.

    Attributes
    ----------
    learner : str
        Name of the learner's class.
    paper : str
        Authors and year of the paper; empty if there is none.
    can : tuple of str
        Abilities: ``"task"`` (one head per task), ``"domain"`` (a single head for all tasks; also
        one softmax over the classes seen so far), ``"blended"`` (a single head, and minibatches of
        a blended stream), ``"grow"`` (adds units), ``"regression"``, ``"images"`` (learns
        generative models without labels).
    """

    learner: str
    paper: str
    can: tuple[str, ...]


ABOUT = {
    "npbcl": About(
        "NPBCL",
        "Kumar et al. (2021)",
        ("task", "domain", "blended", "grow", "regression", "images"),
    ),
    "naive": About("Naive", "", ("task", "domain", "blended", "images")),
    "independent": About("Independent", "", ("task",)),
    "joint": About("Joint", "Caruana (1997)", ("task", "domain")),
    "rehearsal": About("Rehearsal", "Robins (1995)", ("task", "domain")),
    "agem": About("AGEM", "Chaudhry et al. (2019)", ("task", "domain")),
    "gem": About("GEM", "Lopez-Paz and Ranzato (2017)", ("task", "domain")),
    "ewc": About("EWC", "Kirkpatrick et al. (2017)", ("task", "domain", "images")),
    "imm": About("IMM", "Lee et al. (2017)", ("task", "domain", "images")),
    "vcl": About("VCL", "Nguyen et al. (2018)", ("task", "domain", "images")),
    "gvcl": About("GVCL", "Loo et al. (2021)", ("task", "domain")),
    "den": About("DEN", "Yoon et al. (2018)", ("task", "grow")),
    "rcl": About("RCL", "Xu and Zhu (2018)", ("task", "grow")),
    "si": About("SI", "Zenke et al. (2017)", ("task", "domain", "images")),
    "laplace": About("Laplace", "Ritter et al. (2018)", ("task", "domain", "images")),
    "hat": About("HAT", "Serra et al. (2018)", ("task",)),
    "ibp_vcl": About("IBPVCL", "Kessler et al. (2021)", ("task", "domain")),
    "bgd": About("BGD", "Zeno et al. (2018)", ("task", "domain", "blended")),
    "replay": About("Replay", "Shin et al. (2017)", ("task", "domain")),
    "pruning": About("Pruning", "Golkar et al. (2019)", ("task",)),
    "horseshoe": About("Horseshoe", "Ghosh et al. (2018)", ("task", "domain")),
    "ivon": About("IVON", "Shen et al. (2024)", ("task", "domain")),
    "m2": About("M2", "Kingma et al. (2014)", ("task",)),
    "gpm": About("GPM", "Saha et al. (2021)", ("task", "domain")),
    "hibp_vcl": About("HIBPVCL", "Kessler et al. (2021)", ("task", "domain")),
    "frcl": About("FRCL", "Titsias et al. (2020)", ("task", "domain")),
    "claw": About("CLAW", "Adel et al. (2020)", ("task", "domain")),
    "kronecker": About("KroneckerLaplace", "Ritter et al. (2018)", ("task", "domain")),
    "progress": About("ProgressCompress", "Schwarz et al. (2018)", ("task", "domain")),
    "ucb": About("UCB", "Ebrahimi et al. (2020)", ("task", "domain")),
}
# The learner's class of each method, in the module of the same name.
METHODS = {name: about.learner for name, about in ABOUT.items()}
# Methods on images, which have separate settings; the command line omits the prefix "vae_".
GENERATIVE = tuple(f"vae_{name}" for name, about in ABOUT.items() if "images" in about.can)
# Methods that can learn a blended stream.
ONLINE = tuple(name for name, about in ABOUT.items() if "blended" in about.can)
# The name of each method, by its learner's class.
OF_LEARNER = {learner: name for name, learner in METHODS.items()}
OF_LEARNER |= {f"Image{METHODS[name.removeprefix('vae_')]}": name for name in GENERATIVE}


class Method(NamedTuple):
    """A method with its classes and presets.

    Attributes
    ----------
    name : str
        Name of the method, such as ``"npbcl"``, ``"vae_npbcl"`` or ``"package.module:Class"``.
    settings : type
        Class of its settings.
    learner : type
        Class of its learner.
    summary : str
        Description in one line.
    presets : dict of str to dict
        Named settings: for each name, the changes to the defaults.
    """

    name: str
    settings: type
    learner: type
    summary: str
    presets: dict


def first_paragraph(text):
    r"""Return the first paragraph of a text in one line.

    Parameters
    ----------
    text : str
        Paragraphs, separated by empty lines.

    Returns
    -------
    paragraph : str
        The first paragraph, with single spaces.

    Examples
    --------
    >>> first_paragraph("A method\nof one line.\n\nMore.")
    'A method of one line.'
    """
    return " ".join(text.strip().split("\n\n")[0].split())


def method(name):
    """Return a method by name.

    Parameters
    ----------
    name : str
        A key of ``METHODS``, such as ``"ewc"``; one of ``GENERATIVE``, such as ``"vae_ewc"``; or
        ``"package.module:Class"`` for a user-defined method.

    Returns
    -------
    method : Method
        Its settings, learner and presets.

    Raises
    ------
    ValueError
        If there is no such method.
    UserError
        If a user-defined method cannot be imported or used.

    Examples
    --------
    >>> method("npbcl").learner.__name__
    'NPBCL'
    """
    if ":" in name:
        return import_module("ibpcl.methods.own").own_method(name)
    if name not in (*METHODS, *GENERATIVE):
        raise ValueError(
            f"methods.method: name must be one of {', '.join((*METHODS, *GENERATIVE))}, got "
            f"{name!r}"
        )
    prefix = "Image" if name in GENERATIVE else ""
    bare = name.removeprefix("vae_")
    module = import_module(f"ibpcl.methods.{'npbcl_images' if name == 'vae_npbcl' else bare}")
    settings = getattr(module, f"{prefix}Settings")
    return Method(
        name,
        settings,
        getattr(module, prefix + METHODS[bare]),
        first_paragraph(module.__doc__ or name),
        presets_of(settings),
    )


@documented
@dataclass(frozen=True, init=False)
class Training(Checked):
    """Settings that every method has."""

    hidden: tuple[int, ...] = option((200,), "Units of each hidden layer.", at_least=1)
    epochs: int = option(5, "Epochs per task.", at_least=0)
    batch: int = option(256, "Examples in a minibatch.", at_least=1)


@documented
@dataclass(frozen=True, init=False)
class OneRate(Training):
    """Settings of the methods with one learning rate for all parameters."""

    rate: float = option(0.001, "Learning rate of Adam.", at_least=0)
    rate_end: float = option(
        1.0,
        "Factor of the learning rate at the last step of a task; it decays geometrically.",
        above=0,
    )

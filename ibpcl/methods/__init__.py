"""One published method a file, all with the face of :class:`ibpcl.continual.learner.Learner`.

A method's module offers ``Settings``, a frozen dataclass whose fields are declared by
:func:`ibpcl.options.option` and which has the method's name and its presets, and a learner that is
made by ``Learner(settings, seed, backend_name)``.  A method that learns images without labels, too,
has ``ImageSettings`` and the same learner on an autoencoder (``ImageEWC`` for ``EWC``).  A module
is imported when its method is asked for.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from ibpcl.methods.settings_docs import documented
from ibpcl.options import Checked, option, presets_of


class About(NamedTuple):
    """The class of a method's learner, where the method was published, and what it can do.

    ``paper`` is empty where there is none.  ``can``: task (a head for each task), domain (one head
    for all), grow (add units), regression, images (without labels: a generative model).
    """

    learner: str
    paper: str
    can: tuple[str, ...]


ABOUT = {
    "npbcl": About(
        "NPBCL", "Kumar et al. (2021)", ("task", "domain", "grow", "regression", "images")
    ),
    "naive": About("Naive", "", ("task", "domain", "images")),
    "independent": About("Independent", "", ("task",)),
    "joint": About("Joint", "Caruana (1997)", ("task", "domain")),
    "rehearsal": About("Rehearsal", "Robins (1995)", ("task", "domain")),
    "ewc": About("EWC", "Kirkpatrick et al. (2017)", ("task", "domain", "images")),
    "imm": About("IMM", "Lee et al. (2017)", ("task", "domain", "images")),
    "vcl": About("VCL", "Nguyen et al. (2018)", ("task", "domain", "images")),
    "den": About("DEN", "Yoon et al. (2018)", ("task", "grow")),
    "rcl": About("RCL", "Xu and Zhu (2018)", ("task", "grow")),
    "si": About("SI", "Zenke et al. (2017)", ("task", "domain", "images")),
    "laplace": About("Laplace", "Ritter et al. (2018)", ("task", "domain", "images")),
    "hat": About("HAT", "Serra et al. (2018)", ("task",)),
    "ibp_vcl": About("IBPVCL", "Kessler et al. (2021)", ("task", "domain")),
}
# The class of each method's learner, in the module of the method's name.
METHODS = {name: about.learner for name, about in ABOUT.items()}
# Methods on images, which have settings of their own; a command line leaves "vae_" out.
GENERATIVE = tuple(f"vae_{name}" for name, about in ABOUT.items() if "images" in about.can)
# The name of each method by the class of its learner.
OF_LEARNER = {learner: name for name, learner in METHODS.items()}
OF_LEARNER |= {f"Image{METHODS[name.removeprefix('vae_')]}": name for name in GENERATIVE}


class Method(NamedTuple):
    """A method: its name, its settings' class, its learner's class, what it is in one line, and its
    named settings.
    """

    name: str
    settings: type
    learner: type
    summary: str
    presets: dict


def first_paragraph(text):
    """Return the first paragraph of a text in one line.

    >>> first_paragraph("A method\\nof one line.\\n\\nMore.")
    'A method of one line.'
    """
    return " ".join(text.strip().split("\n\n")[0].split())


def method(name):
    """Return a method by name; ``package.module:Class`` is one of the user's own, see
    :mod:`ibpcl.methods.own`.

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
    of = "Image" if name in GENERATIVE else ""
    bare = name.removeprefix("vae_")
    module = import_module(f"ibpcl.methods.{'npbcl_images' if name == 'vae_npbcl' else bare}")
    settings = getattr(module, f"{of}Settings")
    return Method(
        name,
        settings,
        getattr(module, of + METHODS[bare]),
        first_paragraph(module.__doc__ or name),
        presets_of(settings),
    )


@documented
@dataclass(frozen=True, init=False)
class Training(Checked):
    """The settings that every method has; methods change defaults and sentences, and keep the
    bounds.
    """

    hidden: tuple[int, ...] = option((200,), "Units of each hidden layer.", at_least=1)
    epochs: int = option(5, "Epochs per task.", at_least=0)
    batch: int = option(256, "Examples in a minibatch.", at_least=1)


@documented
@dataclass(frozen=True, init=False)
class OneRate(Training):
    """The settings of methods that train all parameters at one rate."""

    rate: float = option(0.001, "Adam's learning rate.", at_least=0)
    rate_end: float = option(
        1.0, "Factor of the learning rate at a task's last step; it falls geometrically.", above=0
    )

"""The systems of continual learning that the paper names, and which of them are in this package."""

from typing import NamedTuple


class System(NamedTuple):
    """A system that the paper cites.

    Attributes
    ----------
    name : str
        Its name or acronym, and its authors where it has neither.
    method : str
        The method of this package that implements it; empty if there is none.
    without : str
        What of the system is left out here; empty if nothing is known to be.
    why : str
        Two sentences that say why it is not here; empty if it is.
    """

    name: str
    method: str = ""
    without: str = ""
    why: str = ""


RELATED = (
    System("rehearsal", "rehearsal"),
    System("EWC", "ewc"),
    System("SI", "si"),
    System("Laplace", "laplace", "diagonal; with Kronecker factors as kronecker"),
    System("IMM", "imm", "without drop-transfer"),
    System("VCL", "vcl"),
    System("BGD", "bgd"),
    System("GEM", "gem"),
    System("DEN", "den"),
    System("RCL", "rcl"),
    System("HAT", "hat"),
    System("pruning with a weighted L1 penalty", "pruning"),
    System("IBP-VCL", "ibp_vcl", "without coresets; hierarchical as hibp_vcl"),
    System("progress and compress", "progress"),
    System(
        "model adaptation with generated replay",
        why="Model adaptation with generated replay (Hu et al., 2019) generates a part of the "
        "classifier's weights anew for each test example, and replays samples of a data generator. "
        "Its weights have no prior or posterior, which is what this package derives and checks.",
    ),
    System("functional regularization by Gaussian processes", "frcl"),
    System(
        "PathNet",
        why="PathNet (Fernando et al., 2017) selects the modules of a task by a genetic algorithm: "
        "paths compete, and the worse one becomes a changed copy of the better. This selection "
        "has no gradient and no exact limit to test, so there is no derivation that this "
        "package could show or check.",
    ),
    System("CLAW", "claw", "the size of an adaptation has no learned bound"),
    System(
        "learn to grow",
        why="Learn to grow (Li et al., 2019) searches an architecture for each task, and so "
        "decides for each layer whether it is reused, adapted or new. Its search trains a larger "
        "network with all candidates for every task, which is a subject of its own, and growth by "
        "trial is here already (RCL).",
    ),
    System(
        "CURL",
        why="CURL (Rao et al., 2019) finds the tasks itself: its autoencoder adds a component of a "
        "mixture for images that fit no other. The autoencoders here receive the task with each "
        "image, as the paper's do, so no table could compare both.",
    ),
    System(
        "self-taught associative memory",
        why="Self-taught associative memory (Smith et al., 2019) groups patches of images by "
        "online clustering. It has neither a gradient, whose derivation could be checked, nor a "
        "likelihood, which could be compared.",
    ),
)


def related():
    """Return which of the systems are here, in words.

    Returns
    -------
    text : str
        Two sentences, the reasons, and one on generated replay.

    Examples
    --------
    >>> related().startswith("Here are rehearsal, EWC, SI, Laplace (diagonal; ")
    True
    """
    here = [system for system in RELATED if system.method]
    missing = [system.name for system in RELATED if not system.method]
    names = [f"{each.name} ({each.without})" if each.without else each.name for each in here]
    *first, last = names
    *others, end = missing
    reasons = " ".join(system.why for system in RELATED if not system.method)
    return (
        f"Here are {', '.join(first)} and {last}. Not here are {', '.join(others)} and {end}; "
        f"nothing on this site compares ours with these. {reasons} Plain generative replay is here "
        "(Shin et al., 2017), but its generator is our masked autoencoder."
    )

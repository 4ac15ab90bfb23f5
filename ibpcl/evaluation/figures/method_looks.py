"""Fixed colours, markers and dashes of methods: a method looks the same in every figure."""

from itertools import count
from typing import NamedTuple


class Look(NamedTuple):
    """Look of a line.

    Attributes
    ----------
    color : str
        Colour as a hexadecimal number.
    marker : str
        Marker of Matplotlib.
    linestyle : str
        Dashes of Matplotlib.
    """

    color: str
    marker: str
    linestyle: str


# The method of the paper has the strongest colour, a wide line, and lies on top of the others.
OURS = "npbcl"
EMPHASIS = {"linewidth": 2.0, "zorder": 2.5}
# Any two looks differ in the colour, and in the marker or the dashes.
METHODS = {
    OURS: Look("#0072B2", "o", "-"),
    "vcl": Look("#D55E00", "s", "-"),
    "ewc": Look("#009E73", "^", "-"),
    "hat": Look("#E69F00", "D", "-"),
    "rehearsal": Look("#CC79A7", "v", "-"),
    "independent": Look("#000000", "X", "--"),
    "naive": Look("#777777", "X", ":"),
    "joint": Look("#8C564B", "P", "-"),
    "imm": Look("#56B4E9", "^", "--"),
    "den": Look("#999933", "s", "--"),
    "rcl": Look("#882255", "D", "--"),
    "si": Look("#332288", "v", "--"),
    "laplace": Look("#44AA99", "P", "--"),
    "ibp_vcl": Look("#CC6677", "s", ":"),
    "agem": Look("#DDCC77", "v", ":"),
    "gem": Look("#997700", "D", ":"),
    "bgd": Look("#6699CC", "P", ":"),
    "replay": Look("#AA4499", "<", "-"),
    "pruning": Look("#117733", ">", "-"),
    "gvcl": Look("#663300", "<", "--"),
    "horseshoe": Look("#BB5566", "h", "-"),
    "m2": Look("#882E72", "H", "-"),
    "ivon": Look("#004488", "d", "-"),
    "gpm": Look("#AA3377", "p", "-"),
    "hibp_vcl": Look("#BB7788", "d", "--"),
    "frcl": Look("#555522", "h", "--"),
    "claw": Look("#225555", "<", ":"),
    "kronecker": Look("#228833", "p", "--"),
    "progress": Look("#4477AA", "h", ":"),
    "ucb": Look("#AA7744", "*", "--"),
}
# For names that are not in the table.
OTHERS = (
    Look("#88CCEE", "^", ":"),
    Look("#661100", "o", "--"),
    Look("#BBBB33", "o", ":"),
    Look("#AAAAAA", "X", "-"),
)
# Variants of a method, such as "VCL, coreset", have its colour with a marker and dashes that no
# method has together.
VARIANTS = (("*", "--"), ("h", "-."), ("<", ":"), (">", "--"), ("d", "-."), ("p", ":"))
CORESET = 0  # the variant with a coreset has the first of these looks in every figure

# Labels of figures and tables that are not the method's name.
LABELS = {
    "ours": OURS,
    "imm (mode)": "imm",
    "a-gem": "agem",
    "online laplace": "laplace",
    "kronecker laplace": "kronecker",
    "progress & compress": "progress",
    "ibp-vcl": "ibp_vcl",
    "h-ibp-vcl": "hibp_vcl",
    "generative replay": "replay",
}


def method_of(label):
    """Return the method that a label names, and whether it names a variant of the method.

    Parameters
    ----------
    label : str
        Label of a line, in capital or small letters.  Text after a comma describes a variant.  The
        prefix ``vae_`` of methods on images is ignored.

    Returns
    -------
    method : str or None
        Key of :data:`METHODS`; None if the label names no method.
    variant : str
        Description of the variant; empty for the method itself.

    Examples
    --------
    >>> method_of("ours"), method_of("VCL, coreset"), method_of("vae_ewc"), method_of("my method")
    (('npbcl', ''), ('vcl', 'coreset'), ('ewc', ''), (None, ''))
    """
    name, _, variant = label.partition(",")
    name = name.strip().lower().removeprefix("vae_")
    method = LABELS.get(name, name)
    return (method, variant.strip()) if method in METHODS else (None, "")


def method_looks(labels):
    """Return the look of each method: fixed for known methods, distinct for all others.

    Parameters
    ----------
    labels : iterable of str
        Names or labels of methods, and of variants such as ``"ours, coreset"``; repeated labels
        count once.

    Returns
    -------
    looks : dict of str to dict
        Options ``color``, ``marker`` and ``linestyle`` of ``Axes.plot`` by label; ours also has a
        wider line.  A variant has the colour of its method.  Labels that name no method take the
        remaining looks in order, but never the colour of ours.

    Examples
    --------
    >>> looks = method_looks(["EWC", "ours", "ours, coreset"])
    >>> looks["ours"]["color"] == looks["ours, coreset"]["color"] != looks["EWC"]["color"]
    True
    """
    labels = list(dict.fromkeys(labels))
    known = {label: method_of(label) for label in labels}
    drawn = {method for method, _ in known.values()}
    unknown = _remaining(drawn)
    variants = {}
    plain = set()
    looks = {}
    for label, (method, variant) in known.items():
        if method is None:
            look = next(unknown)
        # A second name of a method, such as your own class EWC beside "ewc", counts as a variant.
        elif variant or method in plain:
            following = variants.setdefault(method, count(CORESET + 1))
            look = _varied(METHODS[method], CORESET if variant == "coreset" else next(following))
        else:
            look = METHODS[method]
            plain.add(method)
        looks[label] = look._asdict() | (EMPHASIS if look == METHODS[OURS] else {})
    return looks


def _varied(look, number):
    """Return a look with the marker and the dashes of a variant."""
    marker, linestyle = VARIANTS[number % len(VARIANTS)]
    return look._replace(marker=marker, linestyle=linestyle)


def _remaining(drawn):
    """Yield looks for labels that name no method, given the methods that are drawn."""
    yield from OTHERS
    # a colour of ours would be mistaken for ours
    colors = [look for look in METHODS.values() if look.color != METHODS[OURS].color]
    yield from (look for method, look in METHODS.items() if method not in drawn | {OURS})
    for number in count():
        for look in (*OTHERS, *colors):
            yield _varied(look, number)

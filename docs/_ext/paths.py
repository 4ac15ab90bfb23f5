"""The learning path: one table from which the site makes its list of tutorials, its picture of
what depends on what, and its links between tutorials, equations, code and assignments.

To add a tutorial, add a :class:`Tutorial` to :data:`TUTORIALS`. Its times, what it needs and the
assignments that follow are those of its chapter in ``ibpcl/learn/chapters``. A row whose script is
missing is skipped.
"""

import re
import textwrap
from html import escape
from pathlib import Path
from typing import NamedTuple

from ibpcl.learn.chapters import chapter_of

ROOT = Path(__file__).resolve().parents[2]
TITLE = re.compile(r"^# # (?:\d+\.\s*)?(.+)$", re.MULTILINE)


class Tutorial(NamedTuple):
    """One row of the table.

    Attributes
    ----------
    name : str
        Name of the script in ``tutorials/``, without its ending. It begins with the number.
    core : bool
        Whether the tutorial leads to Algorithm 1. The others can be left out.
    builds : str
        The result of the reader's work.
    equations : tuple of str
        Places in the paper and its supplement.
    modules : tuple of str
        Modules of the package that hold the same code.
    column : float
        Place in the picture, from the left.
    row : int
        Place in the picture, from above.
    """

    name: str
    core: bool
    builds: str
    equations: tuple
    modules: tuple
    column: int
    row: int

    @property
    def number(self):
        """The number of the tutorial."""
        return int(self.name.partition("_")[0])

    @property
    def path(self):
        """The path of the script."""
        return ROOT / "tutorials" / f"{self.name}.py"

    @property
    def title(self):
        """The title of the script, without its number."""
        return TITLE.search(self.path.read_text(encoding="utf-8"))[1]

    @property
    def chapter(self):
        """The chapter of the guided path with the same number, which holds what all tables say."""
        return chapter_of(self.number)

    @property
    def minutes(self):
        """Minutes for the tutorial with its questions, without the exercises."""
        return self.chapter.reading

    @property
    def needs(self):
        """Numbers of the tutorials that come before it."""
        return self.chapter.needs

    @property
    def assignments(self):
        """Numbers of the assignments that follow."""
        return self.chapter.assignments


TUTORIALS = (
    Tutorial(
        "00_prerequisites",
        True,
        "a self-test: the chain rule as a VJP, Gaussians, KL divergence, Monte Carlo, broadcasting",
        (),
        (),
        1.5,
        0,
    ),
    Tutorial(
        "01_why_networks_forget",
        True,
        "a network that forgets, and elastic weight consolidation (EWC)",
        ("Sec. 1",),
        ("ibpcl.methods.ewc",),
        0,
        1,
    ),
    Tutorial(
        "02_gaussian_weights",
        True,
        "a Gaussian weight: its sample, its KL divergence, and Bayes' rule task by task",
        ("Eq. 1", "Eq. 7, first term", "Supplement D.1"),
        ("ibpcl.primitives.gaussian",),
        1,
        1,
    ),
    Tutorial(
        "03_checking_a_gradient",
        True,
        "a gradient checker: differences, the complex step, the Taylor test",
        (),
        ("ibpcl.verify",),
        1,
        2,
    ),
    Tutorial(
        "04_verifying_a_derivation",
        True,
        "a corrected gradient, from one with five mistakes",
        (),
        ("ibpcl.verify",),
        1,
        3,
    ),
    Tutorial(
        "05_buffet",
        True,
        "the Indian buffet process, as customers and as a broken stick",
        ("Eq. 3", "Eq. 4"),
        ("ibpcl.primitives.stick_breaking",),
        2,
        1,
    ),
    Tutorial(
        "06_sticks",
        True,
        "Kumaraswamy sticks with their gradient and their KL divergence",
        ("Eq. 3", "Eq. 7, third term", "Eq. 13", "Supplement D.2"),
        ("ibpcl.primitives.kumaraswamy", "ibpcl.primitives.stick_breaking"),
        2,
        3,
    ),
    Tutorial(
        "07_masks",
        True,
        "relaxed binary masks, tied to the sticks",
        ("Eq. 4", "Eq. 5", "Eq. 7, second term", "Supplement D.3"),
        ("ibpcl.primitives.concrete", "ibpcl.primitives.bernoulli"),
        2,
        4,
    ),
    Tutorial(
        "08_elbo_gradient",
        True,
        "the gradient of the ELBO of a masked Bayesian network",
        ("Eq. 6", "Eq. 7", "Eq. 8", "Eq. 9"),
        (
            "ibpcl.primitives.sticks",
            "ibpcl.primitives.masked_linear",
            "ibpcl.primitives.masked_weights",
            "ibpcl.primitives.local_linear",
            "ibpcl.primitives.likelihoods",
            "ibpcl.models.elbo",
        ),
        1.5,
        5,
    ),
    Tutorial(
        "09_algorithm_1",
        True,
        "the whole method, NPBCL, in about 150 lines",
        ("Algorithm 1", "Eq. 11", "Sec. 4.5"),
        ("ibpcl.methods.npbcl", "ibpcl.continual.prior", "ibpcl.continual.masks"),
        1.5,
        6,
    ),
    Tutorial(
        "10_reading_a_run",
        False,
        "the tables of a run, recomputed from its files",
        ("Eq. 12", "Sec. 4.3", "Supplement E"),
        ("ibpcl.experiments.run", "ibpcl.continual.coresets", "ibpcl.continual.expansion"),
        2,
        7,
    ),
    Tutorial(
        "11_other_methods",
        False,
        "one experiment for each of six other methods, and five more in brief",
        ("Sec. 6",),
        ("ibpcl.methods",),
        1,
        7,
    ),
    Tutorial(
        "12_continual_autoencoder",
        False,
        "a generative model that learns letters one after another",
        ("Eq. 10", "Sec. 3.3", "Supplement G"),
        ("ibpcl.primitives.latent", "ibpcl.models.codes", "ibpcl.evaluation.latent"),
        3,
        7,
    ),
    Tutorial(
        "13_more_than_gradients",
        False,
        "checks of densities, samplers and divergences",
        ("Eq. 13", "Supplement D.3"),
        ("ibpcl.verify",),
        3,
        4,
    ),
    Tutorial(
        "14_comparing_methods",
        False,
        "a fair comparison of four methods, with accuracy matrices",
        ("Sec. 6", "Supplement F.2"),
        ("ibpcl.experiments.compare", "ibpcl.evaluation.metrics"),
        0,
        7,
    ),
    Tutorial(
        "15_exact_bayes",
        False,
        "the exact posterior of small networks, and the two causes of forgetting",
        ("Eq. 1",),
        ("ibpcl.exact.points", "ibpcl.exact.hmc", "ibpcl.exact.forgetting"),
        1,
        8,
    ),
    Tutorial(
        "16_masked_convolutions",
        False,
        "a masked convolution with its adjoint, and filters that two tasks share",
        ("Sec. 3.1", "Sec. 7"),
        (
            "ibpcl.primitives.convolution",
            "ibpcl.primitives.masked_convolution",
            "ibpcl.primitives.local_convolution",
            "ibpcl.models.convolution",
        ),
        0.5,
        6,
    ),
    Tutorial(
        "17_how_deep",
        False,
        "residual blocks that sticks switch on and off, so that tasks choose their depth",
        ("Eq. 3", "Sec. 7"),
        ("ibpcl.primitives.residual", "ibpcl.models.depth"),
        2.5,
        6,
    ),
    Tutorial(
        "18_mask_gradients",
        False,
        "gradients of binary masks without a bias, beside the exact ones and the relaxation",
        ("Sec. 4.4",),
        (
            "ibpcl.primitives.binary_gradients",
            "ibpcl.inference.binary_masks",
            "ibpcl.exact.mask_gradients",
            "ibpcl.exact.mask_study",
        ),
        3.5,
        6,
    ),
    Tutorial(
        "19_write_the_test",
        False,
        "tests of gradients, measured by the mistakes that they catch",
        (),
        ("ibpcl.audit", "ibpcl.codeview.planting"),
        5.5,
        5,
    ),
)

# The primitives in the order in which the method uses them.
DERIVATIONS = {
    "Weights": ("gaussian", "low_rank", "full_covariance"),
    "Sticks": ("stick_breaking", "kumaraswamy", "sticks", "stick_divergence", "weibull"),
    "Masks": ("bernoulli", "concrete", "binary_gradients"),
    "Layers": ("linear", "masked_linear", "masked_weights", "local_linear", "activations"),
    "Images": (
        "convolution",
        "masked_convolution",
        "local_convolution",
        "pooling",
        "pooled_convolution",
    ),
    "Deep networks": ("normalization", "residual"),
    "Outputs": ("likelihoods", "latent", "class_posterior"),
    "Other methods": (
        "quadratic",
        "kronecker",
        "distillation",
        "horseshoe",
        "proximal",
        "lstm",
        "film",
    ),
}
# Sections of docs/short-derivations.md, for primitives that no tutorial derives.
SHORT = (
    "linear",
    "activations",
    "stick_divergence",
    "weibull",
    "low_rank",
    "full_covariance",
    "horseshoe",
    "latent",
    "class_posterior",
    "quadratic",
    "kronecker",
    "distillation",
    "proximal",
    "lstm",
    "convolution",
    "masked_convolution",
    "local_convolution",
    "pooling",
    "pooled_convolution",
    "normalization",
    "residual",
    "film",
)


def in_order(names):
    """Return names of primitives in the order of the method; unknown names come last.

    >>> in_order(["concrete", "new", "gaussian"])
    ['gaussian', 'concrete', 'new']
    """
    order = [name for group in DERIVATIONS.values() for name in group]
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def present():
    """Return the rows whose scripts exist."""
    return [row for row in TUTORIALS if row.path.exists()]


def assignments():
    """Return the assignments of the package by their numbers."""
    from ibpcl.classroom.assignments import assignment

    loaded = [assignment.find(name) for name in assignment.names()]
    return {int(each.name.partition("_")[0]): each for each in loaded}


def hours(minutes):
    """Return a duration in words.

    >>> hours(740)
    'about 12 hours'
    """
    return f"about {round(minutes / 60)} hours"


def _tutorials(numbers, rows, folder=""):
    """Return Markdown links to tutorials by their numbers, those that exist."""
    paths = {row.number: row.name for row in rows}
    return ", ".join(f"[{n}]({folder}{paths[n]}.py)" for n in numbers if n in paths) or "none"


def _assignments(numbers):
    """Return Markdown links to assignments, from a page in a folder."""
    known = assignments()
    return "; ".join(
        f"[{n}. {known[n].title}](/assignments/{known[n].name}.md)" for n in numbers if n in known
    )


def _modules(names):
    """Return references to the pages of modules."""
    return ", ".join(
        f"{{doc}}`{name.rpartition('.')[2]} </derivations/{name.rpartition('.')[2]}>`"
        if name.startswith("ibpcl.primitives.")
        else f"{{doc}}`{name.removeprefix('ibpcl.')} </reference/{name}>`"
        for name in names
    )


def tutorials_page():
    """Return the page that lists the tutorials."""
    rows = present()
    core = sum(row.minutes for row in rows if row.core)
    total = sum(row.minutes for row in rows)
    lines = [
        "# Tutorials",
        f"The core tutorials take {hours(core)} and lead from the chain rule to Algorithm 1. All "
        f"{len(rows)} take {hours(total)}. Each tutorial is a script that runs offline in less "
        "than a minute. This site shows the output and the figures of the script, and every page "
        "offers the script and a notebook to download.",
        raw(picture(rows)),
        "An arrow leads from a tutorial to one that needs it. Tutorials with a dashed border are "
        "optional.",
        "## The tutorials",
        table(rows),
        "The first time is that of the tutorial with its questions, the second that of its "
        "exercises, for which `ibpcl learn` has [a path](/guided-path.md). Each exercise has a "
        "[solution](/solutions/index.md).",
        "## From the paper to the tutorials",
        equations_table(rows),
        "[The paper, equation by equation](/paper/index.rst) covers every formula. "
        "[The derivations](/derivations/index.rst) have a page for each function with a gradient.",
    ]
    return "\n\n".join(lines) + "\n"


def table(rows):
    """Return the table of the tutorials in Markdown."""
    head = ("", "tutorial", "minutes", "exercises", "needs", "you build", "in the paper")
    head = (*head, "assignment")
    lines = ["{.cards}", f"| {' | '.join(head)} |", "|--:|:--|--:|--:|:--|:--|:--|:--|"]
    for row in rows:
        cells = (
            row.number,
            f"[{row.title}]({row.name}.py)" + ("" if row.core else " (optional)"),
            row.minutes,
            row.chapter.minutes,
            _tutorials(row.needs, rows),
            row.builds,
            "; ".join(row.equations),
            _assignments(row.assignments),
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def equations_table(rows):
    """Return the table from places in the paper to tutorials, code and assignments."""
    places = {}
    for row in rows:
        for place in row.equations:
            places.setdefault(place, []).append(row)

    def order(place):
        kind = ("Eq.", "Algorithm", "Sec.", "Supplement").index(place.split()[0])
        number = re.search(r"\d+", place)
        return kind, int(number[0]) if number else 0, place

    lines = ["{.cards}", "| in the paper | tutorial | code | assignment |", "|:--|:--|:--|:--|"]
    for place in sorted(places, key=order):
        its = places[place]
        modules = dict.fromkeys(name for row in its for name in row.modules)
        following = dict.fromkeys(n for row in its for n in row.assignments)
        lines.append(
            f"| {place} | {_tutorials([row.number for row in its], rows)} | {_modules(modules)} | "
            f"{_assignments(following)} |"
        )
    return "\n".join(lines)


def raw(html):
    """Return HTML as a directive of MyST Markdown."""
    return f"```{{raw}} html\n{html}\n```"


STEP_X = 176
STEP_Y = 90
BOX_X = 162
BOX_Y = 60


def arrows(rows):
    """Return the pairs (before, after) of the picture. A need that follows from others has none.

    >>> (2, 7) in arrows(TUTORIALS), (6, 7) in arrows(TUTORIALS)
    (False, True)
    """
    needs = {row.number: row.needs for row in rows}

    def above(number):
        direct = [n for n in needs[number] if n in needs]
        return set(direct).union(*(above(n) for n in direct))

    return [
        (n, number)
        for number, its in needs.items()
        for n in its
        if n in needs and not any(n in above(other) for other in its if other in needs)
    ]


def picture(rows):
    """Return the tutorials and their arrows as inline SVG; each box is a link."""
    at = {row.number: (10 + row.column * STEP_X, 10 + row.row * STEP_Y) for row in rows}
    width = max(x for x, _ in at.values()) + BOX_X + 10
    top = min(y for _, y in at.values()) - 10
    height = max(y for _, y in at.values()) + BOX_Y + 10 - top
    words = "; ".join(
        f"{row.number} needs {' and '.join(str(n) for n in row.needs if n in at)}"
        for row in rows
        if any(n in at for n in row.needs)
    )
    parts = [
        f'<figure class="chart paths"><svg viewBox="0 {top:g} {width:g} {height:g}" role="group" '
        f'aria-label="Dependencies of the tutorials: {escape(words)}.">'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>'
    ]
    for before, after in arrows(rows):
        x0, y0 = at[before][0] + BOX_X / 2, at[before][1] + BOX_Y
        x1, y1 = at[after][0] + BOX_X / 2, at[after][1]
        turn = y1 - (STEP_Y - BOX_Y)  # the curve lies in the gap above the last box
        bend = (turn + y1) / 2
        parts.append(
            f'<path class="arrow" marker-end="url(#arrow)" d="M{x0:g} {y0:g}V{turn:g}'
            f'C{x0:g} {bend:g} {x1:g} {bend:g} {x1:g} {y1:g}"/>'
        )
    for row in rows:
        x, y = at[row.number]
        middle = x + BOX_X / 2
        lines = _lines(f"{row.number}. {row.title}")
        kind = "box" if row.core else "box optional"
        parts.append(
            f'<a href="{row.name}.html"><rect class="{kind}" x="{x:g}" y="{y:g}" '
            f'width="{BOX_X}" height="{BOX_Y}" rx="6"/>'
        )
        for number, line in enumerate(lines):
            base = y + BOX_Y / 2 + 5 + 17 * (number - (len(lines) - 1) / 2)
            parts.append(f'<text x="{middle:g}" y="{base:g}">{escape(line)}</text>')
        parts.append("</a>")
    return "".join(parts) + "</svg>" + phone_list(rows) + "</figure>"


def phone_list(rows):
    """Return the content of the picture as an HTML list, which a phone shows in its place."""
    numbers = [row.number for row in rows]
    items = []
    for row in rows:
        needs = [str(n) for n in row.needs if n in numbers]
        words = f"needs {' and '.join(needs)}" if needs else "needs no other tutorial"
        kind = "core" if row.core else "extra"
        items.append(
            f'<li class="{kind}"><a href="{row.name}.html">{row.number}. {escape(row.title)}</a>'
            f"<span>{words}{'' if row.core else '; optional'}</span></li>"
        )
    return f"<ol>{''.join(items)}</ol>"


def _lines(title, most=22):
    """Return a title, without what follows a colon or a bracket, as up to three lines.

    >>> _lines("6. Sticks, and the Kumaraswamy distribution")
    ['6. Sticks, and the', 'Kumaraswamy', 'distribution']
    """
    return textwrap.wrap(re.split(r"[:(]", title)[0].strip(), most)


def tutorial_links(name):
    """Return the Markdown line of links below the title of a tutorial; empty if it has no row."""
    rows = present()
    row = next((row for row in rows if row.name == name), None)
    if row is None:
        return ""
    later = [other.number for other in rows if row.number in other.needs]
    parts = []
    if any(other.number in row.needs for other in rows):
        parts.append(f"**Before:** {_tutorials(row.needs, rows)}")
    if later:
        parts.append(f"**After:** {_tutorials(later, rows)}")
    if row.equations:
        parts.append(f"**In the paper:** {'; '.join(row.equations)} ([all](/paper/index.rst))")
    if row.modules:
        parts.append(f"**In the package:** {_modules(row.modules)}")
    if row.assignments:
        parts.append(f"**Assignment:** {_assignments(row.assignments)}")
    return " · ".join(parts)


def places(name):
    """Return the places of the paper that a primitive computes."""
    from ibpcl.paper.equations import EQUATIONS

    its = [
        equation
        for equation in EQUATIONS
        if any(each.startswith(f"ibpcl.primitives.{name}.") for each in equation.functions)
    ]
    return list(
        dict.fromkeys(
            f"Eq. {equation.number}" if equation.number else _section(equation.section)
            for equation in its
        )
    )


def _section(name):
    """Return the name of a section of the paper: "3.1", "D.2" or "Algorithm 1"."""
    if name.startswith("Algorithm"):
        return name
    return f"Sec. {name}" if name[0].isdigit() else f"supplement {name}"


def derivation_links(name, tutorials=True):
    """Return reStructuredText with links from a primitive to its derivation, its places in the
    paper and its assignments.

    Parameters
    ----------
    name : str
        Name of the module of primitives.
    tutorials : bool
        Whether to link the tutorials. False if the page links them already.

    Returns
    -------
    str
        Sentences, or an empty string.
    """
    rows = [row for row in present() if f"ibpcl.primitives.{name}" in row.modules]
    parts = []
    if rows and tutorials:
        listed = ", ".join(f":doc:`tutorial {row.number} </tutorials/{row.name}>`" for row in rows)
        parts.append(f"Derived step by step in {listed}.")
    if name in SHORT:
        label = f"derivation-{name.replace('_', '-')}"
        parts.append(f"A :ref:`short derivation <{label}>` is on its own page.")
    if found := places(name):
        parts.append(f"In the :doc:`paper </paper/index>`: {', '.join(found)}.")
    known = assignments()
    numbers = dict.fromkeys(n for row in rows for n in row.assignments if n in known)
    if numbers:
        listed = ", ".join(
            f":doc:`{n}. {known[n].title} </assignments/{known[n].name}>`" for n in numbers
        )
        parts.append(f"Derive it yourself in assignment {listed}.")
    return " ".join(parts)

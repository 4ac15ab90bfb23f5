"""Generated pages of checks: one per primitive, the paper's equations, and the errata.

All verdicts and numbers come from checks that run during the build.
"""

import hashlib
import importlib
import inspect
import json
import re
import textwrap
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
import paths
from picture import v_curves

import ibpcl
from ibpcl import primitives, verify
from ibpcl.paper import catalogue, pairs
from ibpcl.paper.equation import STATUSES
from ibpcl.paper.equations import EQUATIONS
from ibpcl.paper.errata import ERRATA, KINDS, NOTES
from ibpcl.paper.errata.entry import short

TUTORIALS = Path(ibpcl.__file__).resolve().parent.parent / "tutorials"
# The numbers of the tutorials that derive the functions of a primitive.
DERIVED = {
    "gaussian": (2,),
    "stick_breaking": (5, 6, 7),
    "kumaraswamy": (6,),
    "concrete": (7,),
    "bernoulli": (7,),
}
# The verdict of a check that passed, by its group: samples can only be consistent.
PASSED = {"samplers": "consistent", "estimators": "consistent"}
SECTIONS = {
    "2.1": "Bayesian neural networks and VAEs",
    "2.2": "Variational continual learning",
    "3.1": "Generative story",
    "3.2": "Inference",
    "3.3": "Unsupervised continual learning",
    "4.1": "Masked priors",
    "4.3": "Prediction-driven training with coresets",
    "4.5": "Other practical issues",
    "4.6": "Dynamic expansion",
    "6.1": "Supervised continual learning",
    "6.3": "Some structural observations",
    "B.1": "Supervised continual learning: hyperparameter settings",
    "B.2": "Unsupervised continual learning: hyperparameter settings",
    "C": "Coreset method explanation",
    "D": "Additional inference details",
    "D.1": "Gaussian distribution reparameterization",
    "D.2": "Beta distribution reparameterization",
    "D.3": "Bernoulli distribution reparameterization",
    "E": "IBP hyperparameter α",
    "E.1": "Scheduling across tasks",
    "E.2": "Learning α",
    "F.2": "Other metrics",
    "G": "Unsupervised continual learning",
}


class Verdict(NamedTuple):
    """The result of a check, as the pages show it.

    Attributes
    ----------
    verdict : str
        "checked" or "consistent"; the build stops at a check that did not pass.
    words : str
        The line of results.
    numbers : dict
        The numbers of an erratum, empty for other checks.
    """

    verdict: str
    words: str
    numbers: dict


def verdicts(cache):
    """Run the checks that the pages show.

    Parameters
    ----------
    cache : pathlib.Path
        A JSON file that keeps the results until the code of the package changes.

    Returns
    -------
    results : dict
        Maps ``group/name`` to a :class:`Verdict`.

    Raises
    ------
    RuntimeError
        If a check did not pass.
    """
    # This file decides which checks run, and how their results read.
    files = [Path(__file__), *sorted(Path(ibpcl.__file__).parent.rglob("*.py"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    if cache.exists():
        stored = json.loads(cache.read_text(encoding="utf-8"))
        if stored["code"] == digest:
            return {name: Verdict(*values) for name, values in stored["verdicts"].items()}
    named = {name for equation in EQUATIONS for name in equation.checks}
    of_primitives = tuple(f"{name}." for name in modules())
    results = [
        catalogue.run(check)
        for check in catalogue.checks()
        if str(check) in named or check.name.startswith(of_primitives) or check.group == "errata"
    ]
    if wrong := [result.title for result in results if result.verdict != "ok"]:
        raise RuntimeError(f"ibpcl check: not passed: {', '.join(wrong)}")
    shown = {result.title: shown_verdict(result) for result in results}
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps({"code": digest, "verdicts": shown}), encoding="utf-8")
    return shown


def shown_verdict(result):
    """Return the :class:`Verdict` of a check that passed."""
    group = result.check.group
    verdict = PASSED.get(group, "checked")
    words = " ".join(result.outcome.words.replace("+-", " ± ").split())
    words = words.removeprefix(f"{verdict}, ")
    if group == "divergences":
        # Three columns, or two where there is no quadrature.
        words = re.sub(r"^(\S+) (\S+) (\S+ ± \S+)$", r"closed form \1, quadrature \2, \3", words)
        words = re.sub(r"^(\S+) (\S+ ± \S+)$", r"closed form \1, \2", words)
        words = re.sub(r", (\S+ ± \S+)$", r", Monte Carlo \1", words)
    return Verdict(verdict, words, result.outcome.numbers if group == "errata" else {})


def modules():
    """Return the modules of the primitives by their short names."""
    names = sorted(path.stem for path in Path(primitives.__file__).parent.glob("[!_]*.py"))
    names = paths.in_order(names)
    return {name: importlib.import_module(f"ibpcl.primitives.{name}") for name in names}


def functions(module):
    """Return the names of a module's public functions except gradients, in file order."""
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and not name.startswith("_")
        and value.__module__ == module.__name__
        and not name.endswith("_vjp")
    ]


def head(text, mark="="):
    """Return a heading of reStructuredText."""
    return f"{text}\n{mark * len(text)}"


def raw(html):
    """Return HTML as a directive of reStructuredText."""
    return f".. raw:: html\n\n   {html}\n"


def plain(text):
    """Return plain text with the characters escaped that reStructuredText would interpret."""
    return re.sub(r"([\\*`_|])", r"\\\1", text)


def indented(text):
    """Return text as the body of a directive or a list item."""
    return textwrap.indent(text, "   ")


def powers(html):
    """Return HTML in which numbers such as 8e-16 are typeset as 8·10⁻¹⁶."""

    def power(match):
        return f"{match[1]}·10<sup>{int(match[2])}</sup>".replace("-", "−")

    return re.sub(r"(?<![\w.])(-?\d+(?:\.\d+)?)e([+-]\d+)\b", power, html.replace("0e+00", "0"))


def badge(verdict, words=""):
    """Return a verdict and its line of results as HTML."""
    return f'<span class="verdict {verdict}">{verdict}</span> {powers(escape(words))}'


# What the checks of each group compare.
COMPARED = {
    "gradients": "The gradient, beside the complex step and differences",
    "densities": "The density, integrated numerically",
    "samplers": "The draws, beside the distribution function, by the Kolmogorov-Smirnov test",
    "divergences": "The divergence, beside numerical integration and Monte Carlo",
    "estimators": "The mean of the estimated gradient, with its standard error",
}


def what_is_checked(check):
    """Return what a check compares, in words, by its name such as "samplers/gaussian.sample"."""
    group = check.partition("/")[0]
    return escape(COMPARED.get(group, group))


def table(rows, widths, header=True):
    """Return a list table of reStructuredText; cells are reStructuredText themselves."""
    lines = [".. list-table::", f"   :widths: {' '.join(map(str, widths))}"]
    lines += ["   :header-rows: 1", ""] if header else [""]
    for row in rows:
        lines += [f"   {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(row)]
    return "\n".join(lines)


def curves(pair, seed=0):
    """Return the V-curve of each input of a pair, for a random cotangent and a random direction.

    Parameters
    ----------
    pair : ibpcl.paper.pairs.Pair
    seed : int
        Seed of the inputs, the cotangent and the directions.

    Returns
    -------
    curves : dict
        Maps the name of an input to what :func:`ibpcl.verify.v_curve` returns.
    """
    rng = np.random.default_rng(seed)
    inputs = pairs.make_inputs(pair, rng)

    def outputs(**changed):
        out = pair.f(*{**inputs, **changed}.values(), **pair.choices)[0]
        return out if isinstance(out, tuple) else (out,)

    cotangent = tuple(rng.standard_normal(np.shape(out)) for out in outputs())
    _, cache = pair.f(*inputs.values(), **pair.choices)
    gradients = pair.f_vjp(cotangent if len(cotangent) > 1 else cotangent[0], cache)
    drawn = {}
    for name, gradient in zip(
        (name for name in inputs if name not in pairs.CONSTANT),
        gradients if isinstance(gradients, tuple) else (gradients,),
        strict=True,
    ):
        x = np.asarray(inputs[name], float)
        number = isinstance(inputs[name], float)
        direction = rng.standard_normal(x.shape)

        def scalar(value, name=name, number=number):
            return sum(
                float(np.sum(w * out))
                for w, out in zip(
                    cotangent, outputs(**{name: float(value) if number else value}), strict=True
                )
            )

        drawn[name] = verify.v_curve(scalar, x, direction, float(np.sum(gradient * direction)))
    return drawn


def tutorials_of(name):
    """Return the sentence that links to the tutorials that derive a primitive, empty if none do."""
    links = []
    for number in DERIVED.get(name, ()):
        (path,) = TUTORIALS.glob(f"{number:02}_*.py")
        links.append(f":doc:`tutorial {number} </tutorials/{path.stem}>`")
    if not links:
        return ""
    listed = " and ".join([", ".join(links[:-1]), links[-1]] if len(links) > 1 else links)
    return f"Derived step by step in {listed}."


def derivation(name, module, results):
    """Return the page of one primitive: its functions with equations, checks, V-curves and code.

    Parameters
    ----------
    name : str
        The short name of the module.
    module : module
    results : dict
        What :func:`verdicts` returns.

    Returns
    -------
    page : str
        In reStructuredText.
    """
    of_module = [pair for pair in pairs.documented_pairs() if pair.name.startswith(f"{name}.")]
    parts = [head(name), f".. automodule:: ibpcl.primitives.{name}\n   :no-members:\n"]
    parts += [tutorials_of(name)] * bool(tutorials_of(name))
    for function in functions(module):
        has_gradient = hasattr(module, f"{function}_vjp")
        parts += [head(function, "-"), f".. autofunction:: {function}\n"]
        parts += [f".. autofunction:: {function}_vjp\n"] * has_gradient
        items = "".join(
            f"<li>{what_is_checked(check)}: {badge(result.verdict, result.words)}. "
            f"<code>ibpcl check {escape(check.partition('/')[2])}</code></li>"
            for check, result in results.items()
            if check.partition("/")[2] == f"{name}.{function}"
            or check.partition("/")[2].startswith(f"{name}.{function}.")
        )
        parts += [raw(f'<ul class="verdicts">{items}</ul>')] * bool(items)
        for pair in of_module:
            if pair.name == f"{name}.{function}":
                title = f"V-curve of {pair}"
                parts.append(
                    raw(
                        f'<p class="chart-title">{escape(title)}</p>{v_curves(curves(pair), title)}'
                    )
                )
        objects = [function] + [f"{function}_vjp"] * has_gradient
        code = "\n\n\n".join(inspect.getsource(getattr(module, each)).rstrip() for each in objects)
        parts.append(
            ".. dropdown:: Source\n\n   .. code-block:: python\n\n" + textwrap.indent(code, " " * 6)
        )
    return "\n\n".join(parts) + "\n"


def derivations(results):
    """Return the pages of all primitives, with the page that lists them.

    Parameters
    ----------
    results : dict
        What :func:`verdicts` returns.

    Returns
    -------
    pages : dict
        Maps a path to its text.
    """
    pages = {
        f"derivations/{name}.rst": derivation(name, module, results)
        for name, module in modules().items()
    }
    rows = []
    for name, module in modules().items():
        count = sum(check.partition("/")[2].startswith(f"{name}.") for check in results)
        first = (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")
        passed = f" *{count} check{'s' * (count > 1)}, all passed.*" * bool(count)
        rows.append(f":doc:`{name} <{name}>`\n   {first}{passed}")
    pages["derivations/index.rst"] = (
        "\n\n".join(
            [
                head("Derivations"),
                "One page per random variable, layer and loss of the paper, with the equation, its "
                "hand-derived gradient, the code of both, and their numerical checks. The checks "
                "are those of ``ibpcl check``, run when this site was built.",
                "A gradient is *checked*: it is compared with the complex step, or with finite "
                "differences where the complex step does not apply, and differences confirm the "
                "complex step. Samples are *consistent*: a test finds no significant deviation "
                "from the distribution. Neither is a proof.",
                "A *V-curve* shows the error of a central difference, measured against the "
                "hand-derived gradient, as the step shrinks: it falls with the square of the step "
                "until rounding takes over. Against a wrong gradient it stays flat (:doc:`try it "
                "</explore>`).",
                *rows,
                ".. toctree::\n   :hidden:\n\n" + "\n".join(f"   {name}" for name in modules()),
            ]
        )
        + "\n"
    )
    return pages


def paper(results):
    """Return the pages of the paper: its equations with their checks, and its errata.

    Parameters
    ----------
    results : dict
        What :func:`verdicts` returns.

    Returns
    -------
    pages : dict
        Maps a path to its text.
    """
    counts = {
        status: sum(equation.status == status for equation in EQUATIONS) for status in STATUSES
    }
    parts = [
        head("The paper, equation by equation"),
        "Every equation, definition, step of the algorithm and checkable claim of Kumar, "
        "Chatterjee and Rai (2021), main text and supplement: the functions of this package that "
        "compute it, and the checks that concern it. The paper appeared as *Bayesian Structural "
        "Adaptation for Continual Learning* in the proceedings of ICML 2021 (PMLR 139, 5850–5860); "
        "its preprint, `arXiv:1912.03624 <https://arxiv.org/abs/1912.03624>`_, is titled *Bayesian "
        "Structure Adaptation for Continual Learning*. Section numbers, equation numbers and lines "
        "are those of the preprint's LaTeX source. The preprint is the text that is checked here; "
        "the version in the proceedings may contain more. A second program of its authors, "
        "`npbcl/icml21 <https://github.com/npbcl/icml21>`_, also has convolutional networks for "
        "CIFAR-10 and CIFAR-100 and an autoencoder without task boundaries, of which the preprint "
        "has no results.",
        "All checks are numerical and run when this site is built; ``ibpcl check --paper`` runs "
        "them on your machine. They are evidence, not proofs. The status of an equation is one of "
        "these:",
        table(
            [
                ("Status", "Equations", "Meaning"),
                *(
                    (f"*{status}*", str(counts[status]), f"{meaning[0].upper()}{meaning[1:]}.")
                    for status, meaning in STATUSES.items()
                ),
            ],
            (15, 12, 73),
        ),
        "Everything that is clarified or corrected is explained in the :ref:`errata <errata>`.",
        ".. toctree::\n   :hidden:\n\n   errata",
    ]
    section = None
    for equation in EQUATIONS:
        if equation.section != section:
            section = equation.section
            name = SECTIONS.get(section)
            place = f"Supplement {section}" if section[0].isalpha() else f"Section {section}"
            parts.append(head(f"{place}: {name}" if name else section, "-"))
        parts += displayed(equation, results)
    pages = {"paper/index.rst": "\n\n".join(parts) + "\n"}
    pages["paper/errata.rst"] = errata(results)
    return pages


def displayed(equation, results):
    """Return one equation of the paper with its status, its functions and its checks."""
    place = f"line {equation.line}"
    place = f"Eq. {equation.number}, {place}" if equation.number else place.capitalize()
    title = f'<span class="place">{place}</span>'
    parts = [raw(f'<p class="equation">{title} {badge(equation.status)}</p>')]
    if equation.tex:
        parts.append(f".. math::\n\n   {equation.tex}")
    else:
        parts.append(f"{plain(sentence(equation.formula))}.")
    computed = ", ".join(
        f":py:obj:`{name.removeprefix('ibpcl.')} <{name}>`" for name in equation.functions
    )
    parts.append(f"Computed by {computed}.")
    titles = {f"errata/{entry.name}": (entry.name, entry.title) for entry in ERRATA}
    items = []
    for name in equation.checks:
        if name in titles:
            anchor, title = titles[name]
            items.append(f'<li>Erratum: <a href="errata.html#{anchor}">{escape(title)}</a></li>')
        else:
            result = results[name]
            items.append(
                f"<li><code>{escape(name)}</code> {badge(result.verdict, result.words)}</li>"
            )
    count = f"{len(items)} check{'s' * (len(items) > 1)}"
    parts.append(
        raw(f'<details class="proof"><summary>{count}</summary><ul>{"".join(items)}</ul></details>')
    )
    return parts


def errata(results):
    """Return the page of the errata: a summary table, then every entry by its kind.

    Parameters
    ----------
    results : dict
        What :func:`verdicts` returns; the numbers of the errata are taken from there.

    Returns
    -------
    page : str
        In reStructuredText.
    """
    rows = [("Entry", "Kind", "Place in the paper")]
    sections = []
    for kind, (word, title, meaning, _) in KINDS.items():
        entries = [entry for entry in ERRATA if entry.kind == kind]
        rows += [
            (f":ref:`{plain(entry.title)} <{entry.name}>`", word, placed(entry.where))
            for entry in entries
        ]
        sections += [head(title, "-"), meaning]
        for entry in entries:
            sections += erratum(entry, results[f"errata/{entry.name}"].numbers)
        for note in (note for note in NOTES if note.kind == kind):
            rows.append(
                (f":ref:`{plain(sentence(note.head))} <{note.name}>`", word, placed(note.where))
            )
            sections += [
                f".. _{note.name}:",
                head(sentence(note.head), "~"),
                f"{placed(note.where)}, line {note.line}. {plain(note.words)}",
            ]
    counts = [sum(entry.kind == kind for entry in (*ERRATA, *NOTES)) for kind in KINDS]
    return (
        "\n\n".join(
            [
                ".. _errata:",
                head("Errata"),
                "Places of the paper where a formula or a statement is wrong "
                f"({counts[0]}), where the text is ambiguous ({counts[1]}), where this package "
                f"makes another choice ({counts[2]}), remarks ({counts[3]}), and mistakes in a "
                f"program of the authors ({counts[4]}). The text is the arXiv preprint; the "
                "version in the proceedings may differ. Where something can be computed, both "
                "forms are evaluated and compared with a third number that was obtained "
                "independently. The numbers are those of ``ibpcl check errata``, run when this "
                "site was built. Lines are those of the preprint's LaTeX source.",
                table(rows, (55, 13, 32)),
                *sections,
            ]
        )
        + "\n"
    )


def placed(where):
    """Return a place of the paper, escaped and with its first letter in upper case."""
    return plain(sentence(where))


def sentence(text):
    """Return text with its first letter in upper case."""
    return f"{text[0].upper()}{text[1:]}"


def erratum(entry, numbers):
    """Return one erratum: its place, both forms, the evaluated quantity and the numbers."""
    forms = KINDS[entry.kind].labels
    more = numbers["points"] - 1
    points = f" (and {more} more point{'s' * (more > 1)}, with the same result)" if more else ""
    relation = {"=": "", ">": "must exceed ", "<": "must be at most "}[numbers["relation"]]
    agreement = {True: "agrees", False: "disagrees"}
    return [
        f".. _{entry.name}:",
        head(entry.title, "~"),
        "\n".join(
            [
                f":Place: {placed(entry.where)}, line {entry.line} "
                f"(``ibpcl check -v errata/{entry.name}``)",
                f":{forms[0]}: {entry.typeset[0]}",
                f":{forms[1]}: {entry.typeset[1]}",
                f":Evaluated: {plain(sentence(entry.quantity))}{points}.",
            ]
        ),
        table(
            [
                (*map(plain, entry.labels), f"Reference: {plain(entry.reference)}"),
                (
                    f"{short(numbers['printed'])} ({agreement[not numbers['printed_fails']]})",
                    f"{short(numbers['right'])} ({agreement[numbers['right_holds']]})",
                    f"{relation}{short(numbers['truth'])}",
                ),
            ],
            (30, 30, 40),
        ),
    ]

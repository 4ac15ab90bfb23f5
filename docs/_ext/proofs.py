"""Pages with proofs: one for each primitive, and the paper equation by equation; every verdict is
of this build.
"""

import hashlib
import importlib
import inspect
import json
import textwrap
from html import escape
from pathlib import Path

import numpy as np
from picture import v_curves

import ibpcl
from ibpcl import primitives, verify
from ibpcl.paper import catalogue, pairs
from ibpcl.paper.equations import EQUATIONS
from ibpcl.paper.errata import ERRATA, NOTES

WORDS = {
    "ok": "proved",
    "wrong": "WRONG",
    "undecided": "undecided",
    "proved": "proved",
    "corrected": "corrected: the printed form fails, the right form holds",
}


def verdicts(cache):
    """Run the checks that the pages show and return {name: (verdict, words)}; kept in a file until
    the code changes.

    Raises
    ------
    RuntimeError
        If a check fails: a site does not say "proved" of what is not.
    """
    digest = hashlib.sha256(
        b"".join(path.read_bytes() for path in sorted(Path(ibpcl.__file__).parent.rglob("*.py")))
    )
    if cache.exists():
        kept = json.loads(cache.read_text(encoding="utf-8"))
        if kept["code"] == digest.hexdigest():
            return kept["verdicts"]
    named = {name for equation in EQUATIONS for name in equation.checks}
    own = tuple(f"{name}." for name in modules())
    results = [
        catalogue.run(check)
        for check in catalogue.checks()
        if str(check) in named or check.name.startswith(own) or check.group == "errata"
    ]
    found = {
        result.title: (result.verdict, " ".join(result.outcome.words.replace("+-", " ± ").split()))
        for result in results
    }
    if wrong := [name for name, (verdict, _) in found.items() if verdict != "ok"]:
        raise RuntimeError(f"ibpcl check: not proved: {', '.join(wrong)}")
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps({"code": digest.hexdigest(), "verdicts": found}), encoding="utf-8")
    return found


def modules():
    """Return the modules of the primitives by their short names."""
    names = sorted(path.stem for path in Path(primitives.__file__).parent.glob("[!_]*.py"))
    return {name: importlib.import_module(f"ibpcl.primitives.{name}") for name in names}


def functions(module):
    """Return the public functions of a module that are no gradients, in the order of the file."""
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


def badge(verdict, words=""):
    """Return a verdict as HTML."""
    kind = {"ok": "proved"}.get(verdict, verdict)
    return f'<span class="verdict {kind}">{WORDS[verdict]}</span> {escape(words)}'


def curves(pair, seed=0):
    """Return the V-curve of each input of a pair: random cotangent, random direction, the gradient
    of ``f_vjp``.
    """
    rng = np.random.default_rng(seed)
    inputs = pairs.make_inputs(pair, rng)

    def outputs(**changed):
        out = pair.f(*{**inputs, **changed}.values(), **pair.choices)[0]
        return out if isinstance(out, tuple) else (out,)

    cotangent = tuple(rng.standard_normal(np.shape(out)) for out in outputs())
    _, cache = pair.f(*inputs.values(), **pair.choices)
    gradients = pair.f_vjp(cotangent if len(cotangent) > 1 else cotangent[0], cache)
    found = {}
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

        found[name] = verify.v_curve(scalar, x, direction, float(np.sum(gradient * direction)))
    return found


def derivation(name, module, found):
    """Return the page of one primitive."""
    of_module = [pair for pair in pairs.documented_pairs() if pair.name.startswith(f"{name}.")]
    parts = [head(name), f".. automodule:: ibpcl.primitives.{name}\n   :no-members:\n"]
    for function in functions(module):
        has_gradient = hasattr(module, f"{function}_vjp")
        parts += [head(function, "-"), f".. autofunction:: {function}\n"]
        parts += [f".. autofunction:: {function}_vjp\n"] * has_gradient
        shown = "".join(
            f"<li>{badge(verdict, words)} <code>{escape(check)}</code></li>"
            for check, (verdict, words) in found.items()
            if check.partition("/")[2] == f"{name}.{function}"
            or check.partition("/")[2].startswith(f"{name}.{function}.")
        )
        parts += [raw(f'<ul class="verdicts">{shown}</ul>')] * bool(shown)
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


def derivations(found):
    """Return the pages of all primitives, {path: text}, with the page that lists them."""
    pages = {
        f"derivations/{name}.rst": derivation(name, module, found)
        for name, module in modules().items()
    }
    rows = []
    for name, module in modules().items():
        mine = [
            verdict
            for check, (verdict, _) in found.items()
            if check.partition("/")[2].startswith(f"{name}.")
        ]
        first = (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")
        proved = f" *{len(mine)} check{'s' * (len(mine) > 1)}, all proved.*" * bool(mine)
        rows.append(f":doc:`{name} <{name}>`\n   {first}{proved}")
    pages["derivations/index.rst"] = (
        "\n\n".join(
            [
                head("Derivations"),
                "Every random variable, layer and loss of the paper, a page for each: the "
                "equation, its gradient derived by hand, the code of both, and what proves them. "
                "The verdicts are those of ``ibpcl check``, run when this site was built. A "
                "*V-curve* shows the error of a central difference, measured against the "
                "hand-derived gradient, as the step shrinks: it falls as the square of the step "
                "until rounding takes over. Against a wrong gradient it stays flat (:doc:`try it "
                "</explore>`).",
                *rows,
                ".. toctree::\n   :hidden:\n\n" + "\n".join(f"   {name}" for name in modules()),
            ]
        )
        + "\n"
    )
    return pages


def paper(found):
    """Return the page of the paper: every equation with what computes and proves it, the errata,
    the notes.
    """
    counts = {
        status: sum(equation.status == status for equation in EQUATIONS)
        for status in ("proved", "corrected")
    }
    parts = [
        head("The paper, equation by equation"),
        "Every equation, definition, step of the algorithm and checkable claim of Kumar, "
        "Chatterjee and Rai, *Bayesian Structure Adaptation for Continual Learning*, main text "
        f"and supplement: what of this package computes it and what proves it. {counts['proved']} "
        f"are proved as printed. {counts['corrected']} are *corrected*: the printed form is wrong "
        "or ambiguous, and the check shows it failing beside the right form (:ref:`errata`). "
        "Line numbers are those of the LaTeX source. On your own machine: ``ibpcl check "
        "--paper``.",
    ]
    section = None
    for equation in EQUATIONS:
        if equation.section != section:
            section = equation.section
            parts.append(
                head(section if section[0] in "A" and " " in section else f"Section {section}", "-")
            )
        place = (
            f"Eq. {equation.number}, line {equation.line}"
            if equation.number
            else f"Line {equation.line}"
        )
        shown = "".join(
            f"<li><code>{escape(name)}</code> {escape(found[name][1])}</li>"
            for name in equation.checks
        )
        computed = ", ".join(
            f":py:obj:`{name.removeprefix('ibpcl.')} <{name}>`" for name in equation.functions
        )
        parts += [
            raw(
                f'<p class="equation"><span class="place">{place}</span> '
                f'<code>{escape(equation.formula)}</code> '
                f"{badge(equation.status)}</p>"
            ),
            f"Computed by {computed}.",
            raw(
                f'<details class="proof"><summary>Proved by {len(equation.checks)} '
                f"check{'s' * (len(equation.checks) > 1)}</summary><ul>{shown}</ul></details>"
            ),
        ]
    parts += [
        ".. _errata:",
        head("Errata", "-"),
        (
            "What is printed and what is right, both evaluated and held against a third, "
            "independent number."
        ),
    ]
    for entry in ERRATA:
        outcome = entry.run()
        numbers = outcome.numbers
        parts += [
            head(entry.name, "~"),
            raw(
                f'<dl class="erratum"><dt>Where</dt><dd>{escape(entry.where)}, line '
                f'{entry.line}</dd>'
                f"<dt>Printed</dt><dd>{escape(entry.printed)}</dd><dt>Right</dt><dd>{escape(entry.right)}</dd>"
                f"<dt>Evidence</dt><dd>printed {numbers['printed']:.6g}, right "
                f"{numbers['right']:.6g}; must be "
                f"{escape(numbers['relation'])} {numbers['truth']:.6g}. "
                f"{badge(outcome.verdict)}</dd></dl>"
            ),
        ]
    parts += [
        head("Notes", "-"),
        "Editorial remarks: what is not said, said twice, or called by one name for two things.",
    ]
    parts += [
        raw(f'<p><strong>{escape(note.where)}, line {note.line}.</strong> {escape(note.words)}</p>')
        for note in NOTES
    ]
    return {"paper/index.rst": "\n\n".join(parts) + "\n"}

r"""Quizzes as Moodle XML, one file per chapter.

Formulas stay in LaTeX between ``\(`` and ``\)``, which Moodle's MathJax filter displays; Moodle
removes MathML from a question.
"""

import re
import xml.etree.ElementTree as ET

from ibpcl.classroom.feedback.prose import to_html

FORMULA = re.compile(r"\$\$(?P<display>.+?)\$\$|\$(?P<inline>[^$]+?)\$", re.DOTALL)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
PLACE = re.compile(r"formula(\d+)place")


def document(quiz):
    """Return a quiz as Moodle XML.

    Parameters
    ----------
    quiz : ibpcl.course.quiz.Quiz

    Returns
    -------
    text : str
        XML, with a category for the question bank.
    """
    root = ET.Element("quiz")
    category = ET.SubElement(root, "question", type="category")
    _text(
        ET.SubElement(category, "category"), f"$course$/top/ibpcl/{quiz.title.replace('/', '//')}"
    )
    for question in quiz.questions:
        root.append(_question(question))
    ET.indent(root, space=" ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _text(parent, text):
    ET.SubElement(parent, "text").text = text


def _html(parent, tag, markdown, **attributes):
    """Append an element with a text as HTML."""
    element = ET.SubElement(parent, tag, {"format": "html"} | attributes)
    _text(element, html_of(markdown))
    return element


def html_of(markdown):
    r"""Return a text as HTML with LaTeX formulas.

    Parameters
    ----------
    markdown : str
        Markdown with formulas between dollars.

    Returns
    -------
    html : str

    Examples
    --------
    >>> html_of("The width $\\sigma < 1$ of `x`.")
    '<p>The width \\(\\sigma &lt; 1\\) of <code>x</code>.</p>'
    """
    formulas = []

    def keep(match):
        if match["display"]:
            formulas.append(rf"\[{match['display'].strip()}\]")
        else:
            formulas.append(rf"\({match['inline']}\)")
        return f"formula{len(formulas) - 1}place"

    parts = []
    start = 0
    for code in CODE.finditer(markdown):  # a dollar in code is no formula
        parts += [FORMULA.sub(keep, markdown[start : code.start()]), code[0]]
        start = code.end()
    parts.append(FORMULA.sub(keep, markdown[start:]))
    html = to_html("".join(parts))
    return PLACE.sub(lambda match: _escaped(formulas[int(match[1])]), html)


def _escaped(formula):
    return formula.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _question(question):
    """Return the element of one question."""
    kind = "numerical" if question.kind == "number" else "multichoice"
    element = ET.Element("question", type=kind)
    _text(ET.SubElement(element, "name"), f"{question.id} (exercise {question.about})")
    unit = f"\n\n(Unit: {question.unit}.)" if question.unit else ""
    _html(element, "questiontext", question.text + unit)
    _html(element, "generalfeedback", question.because)
    for tag, text in (("defaultgrade", "1.0000000"), ("penalty", "0.3333333"), ("hidden", "0")):
        ET.SubElement(element, tag).text = text
    if question.kind == "number":
        answer = ET.SubElement(element, "answer", fraction="100", format="moodle_auto_format")
        _text(answer, repr(float(question.answer)))
        ET.SubElement(answer, "tolerance").text = f"{question.tolerance:.6g}"
        return element
    for tag, text in (
        ("single", str(question.kind == "one").lower()),
        ("shuffleanswers", "true"),
        ("answernumbering", "abc"),
    ):
        ET.SubElement(element, tag).text = text
    for choice in question.choices:
        _html(element, "answer", choice, fraction=_share(question, choice))
    return element


def _share(question, choice):
    """Return the percentage of a choice, as one of the numbers that Moodle accepts."""
    if choice in question.right:
        return f"{100 / len(question.right):.5f}".rstrip("0").rstrip(".")
    if question.kind == "one":
        return "0"
    return f"{-100 / min(len(question.wrong), 4):.5f}".rstrip("0").rstrip(".")

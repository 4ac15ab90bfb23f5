"""Quizzes as QTI 2.1: one item per question, a test, and a manifest, in one zip.

The format is IMS Question and Test Interoperability 2.1 with IMS Content Packaging 1.1.  Formulas
are MathML.
"""

import xml.etree.ElementTree as ET

from ibpcl.classroom.feedback.prose import to_html
from ibpcl.storage import zipped

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
MATHML = "http://www.w3.org/1998/Math/MathML"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
LETTERS = "ABCDEFGHIJ"
for prefix, space in (("m", MATHML), ("xsi", INSTANCE)):
    ET.register_namespace(prefix, space)


def package(quiz):
    """Return a quiz as a QTI package.

    Parameters
    ----------
    quiz : ibpcl.course.quiz.Quiz

    Returns
    -------
    data : bytes
        A zip, the same bytes for the same quiz.
    """
    files = {"imsmanifest.xml": manifest(quiz), "test.xml": test(quiz)}
    for question in quiz.questions:
        files[f"items/{name_of(question)}.xml"] = item(question, quiz)
    return zipped(files)


def name_of(question):
    """Return the identifier of a question, which must not begin with a digit.

    Parameters
    ----------
    question : ibpcl.course.quiz.Question

    Returns
    -------
    name : str
    """
    return f"q{question.id}"


def _text_of(root, space):
    """Return an element as a document with its namespace as the default one."""
    ET.register_namespace("", space)
    ET.indent(root, space=" ") if space == PACKAGE else None
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _root(tag, space, schema, **attributes):
    return ET.Element(
        f"{{{space}}}{tag}",
        {f"{{{INSTANCE}}}schemaLocation": f"{space} {space}.xsd"} | attributes
        if schema
        else attributes,
    )


def _add(parent, tag, text=None, **attributes):
    """Append an element of the parent's namespace."""
    space = parent.tag.partition("}")[0] + "}"
    child = ET.SubElement(parent, space + tag, attributes)
    child.text = text
    return child


def _content(parent, markdown):
    """Append a text with formulas as elements of QTI and MathML."""
    html = ET.fromstring(f"<div>{to_html(markdown)}</div>")
    _put_in_space(html, QTI)
    parent.extend(html)
    return parent


def _put_in_space(element, space):
    for child in element:
        inside = MATHML if child.tag == "math" else space
        child.tag = f"{{{inside}}}{child.tag}"
        _put_in_space(child, inside)


def item(question, quiz):
    """Return one question as an assessment item.

    Parameters
    ----------
    question : ibpcl.course.quiz.Question
    quiz : ibpcl.course.quiz.Quiz
        The quiz that it belongs to.

    Returns
    -------
    text : str
        XML.
    """
    root = _root(
        "assessmentItem",
        QTI,
        True,
        identifier=name_of(question),
        title=f"{quiz.title}: {question.id}",
        adaptive="false",
        timeDependent="false",
    )
    identifiers = dict(zip(question.choices, LETTERS, strict=False))
    _declare_response(root, question, identifiers)
    for name, kind, default in (
        ("SCORE", "float", "0"),
        ("MAXSCORE", "float", "1"),
        ("FEEDBACK", "identifier", None),
    ):
        outcome = _add(root, "outcomeDeclaration", identifier=name, cardinality="single")
        outcome.set("baseType", kind)
        if default is not None:
            _add(_add(outcome, "defaultValue"), "value", default)
    body = _content(_add(root, "itemBody"), question.text)
    if question.kind == "number":
        line = _add(body, "p", "Answer: ")
        entry = _add(line, "textEntryInteraction", responseIdentifier="RESPONSE")
        entry.set("expectedLength", "12")
        entry.tail = f" {question.unit}" if question.unit else ""
    else:
        most = "1" if question.kind == "one" else "0"
        choices = _add(body, "choiceInteraction", responseIdentifier="RESPONSE", shuffle="true")
        choices.set("maxChoices", most)
        for text, identifier in identifiers.items():
            _content(_add(choices, "simpleChoice", identifier=identifier), text)
    _process(root, question)
    feedback = _add(root, "modalFeedback", outcomeIdentifier="FEEDBACK", showHide="show")
    feedback.set("identifier", "explanation")
    _content(feedback, question.because)
    return _text_of(root, QTI)


def _declare_response(root, question, identifiers):
    """Declare the type of the answer, and which one is right."""
    cardinality = "multiple" if question.kind == "several" else "single"
    kind = "float" if question.kind == "number" else "identifier"
    response = _add(root, "responseDeclaration", identifier="RESPONSE", cardinality=cardinality)
    response.set("baseType", kind)
    correct = _add(response, "correctResponse")
    if question.kind == "number":
        _add(correct, "value", repr(float(question.answer)))
        return
    for text in question.right:
        _add(correct, "value", identifiers[text])
    if question.kind == "several":
        mapping = _add(response, "mapping", lowerBound="0", upperBound="1", defaultValue="0")
        for text, identifier in identifiers.items():
            value = 1 / len(question.right) if text in question.right else -1 / len(question.wrong)
            _add(mapping, "mapEntry", mapKey=identifier, mappedValue=f"{value:.6g}")


def _process(root, question):
    """Append the rules that give the points and show the explanation."""
    processing = _add(root, "responseProcessing")
    if question.kind == "several":
        score = _add(processing, "setOutcomeValue", identifier="SCORE")
        _add(score, "mapResponse", identifier="RESPONSE")
    else:
        rule = _add(_add(processing, "responseCondition"), "responseIf")
        if question.kind == "one":
            same = _add(rule, "match")
        else:
            tolerance = f"{question.tolerance:.6g}"
            same = _add(rule, "equal", toleranceMode="absolute")
            same.set("tolerance", f"{tolerance} {tolerance}")
        _add(same, "variable", identifier="RESPONSE")
        _add(same, "correct", identifier="RESPONSE")
        score = _add(rule, "setOutcomeValue", identifier="SCORE")
        _add(score, "baseValue", "1", baseType="float")
    shown = _add(processing, "setOutcomeValue", identifier="FEEDBACK")
    _add(shown, "baseValue", "explanation", baseType="identifier")


def test(quiz):
    """Return the test that holds all questions of a quiz.

    Parameters
    ----------
    quiz : ibpcl.course.quiz.Quiz

    Returns
    -------
    text : str
        XML.
    """
    root = _root("assessmentTest", QTI, True, identifier=quiz.name, title=quiz.title)
    outcome = _add(root, "outcomeDeclaration", identifier="SCORE", cardinality="single")
    outcome.set("baseType", "float")
    part = _add(root, "testPart", identifier="part", navigationMode="nonlinear")
    part.set("submissionMode", "simultaneous")
    section = _add(part, "assessmentSection", identifier="section", title=quiz.title)
    section.set("visible", "true")
    for question in quiz.questions:
        name = name_of(question)
        _add(section, "assessmentItemRef", identifier=name, href=f"items/{name}.xml")
    score = _add(_add(root, "outcomeProcessing"), "setOutcomeValue", identifier="SCORE")
    _add(_add(score, "sum"), "testVariables", variableIdentifier="SCORE")
    return _text_of(root, QTI)


def manifest(quiz):
    """Return the manifest of a package.

    Parameters
    ----------
    quiz : ibpcl.course.quiz.Quiz

    Returns
    -------
    text : str
        XML.
    """
    root = _root("manifest", PACKAGE, False, identifier=f"ibpcl-{quiz.name}")
    metadata = _add(root, "metadata")
    _add(metadata, "schema", "QTIv2.1 Package")
    _add(metadata, "schemaversion", "1.0.0")
    _add(root, "organizations")
    resources = _add(root, "resources")
    whole = _add(resources, "resource", identifier=quiz.name, type="imsqti_test_xmlv2p1")
    whole.set("href", "test.xml")
    _add(whole, "file", href="test.xml")
    names = [name_of(question) for question in quiz.questions]
    for name in names:
        _add(whole, "dependency", identifierref=name)
    for name in names:
        one = _add(resources, "resource", identifier=name, type="imsqti_item_xmlv2p1")
        one.set("href", f"items/{name}.xml")
        _add(one, "file", href=f"items/{name}.xml")
    return _text_of(root, PACKAGE)

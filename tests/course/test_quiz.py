"""Quizzes: questions without a right answer are refused, numbers are right, and the formats fit.

No package of the registries ships the schemas of QTI 2.1, and Moodle XML has none.  So the checks
here state what the two formats demand of an import: the elements and their order, declared answers,
matching identifiers, and for Moodle the shares that it accepts.  On the day that this was written,
all files were also valid under the published ``imsqti_v2p1.xsd`` and ``imscp_v1p1.xsd``.
"""

import io
import math
import re
import xml.etree.ElementTree as ET
import zipfile
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from ibpcl.course import moodle, qti, quiz
from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapter_of, chapters
from ibpcl.primitives import (
    bernoulli,
    concrete,
    convolution,
    gaussian,
    kumaraswamy,
    likelihoods,
    quadratic,
    residual,
    stick_breaking,
)

ALL = [(each, question) for each in quiz.quizzes() for question in each.questions]
QUESTIONS = {question.id: question for _, question in ALL}
PAIRS = pytest.mark.parametrize(("each", "question"), ALL, ids=list(QUESTIONS))
Q = f"{{{qti.QTI}}}"
M = f"{{{qti.MATHML}}}"
C = f"{{{qti.PACKAGE}}}"
rng = np.random.default_rng(0)


# --- what a table must have -----------------------------------------------------------------------

GOOD = {
    "id": "2x",
    "about": "2.1",
    "kind": "one",
    "text": "Why?",
    "right": ["yes"],
    "wrong": ["no", "never"],
    "because": "So.",
}
NUMBER = {"id": "2y", "about": "2.1", "kind": "number", "text": "?", "answer": 2.0, "because": "."}


def parse(*rows):
    return quiz.parse(chapter_of(2), {"question": list(rows)}, "chapter_02.toml")


def test_good_questions_are_read():
    assert [each.kind for each in parse(GOOD, NUMBER).questions] == ["one", "number"]


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (GOOD | {"right": []}, "no right answer"),
        (GOOD | {"right": ["yes", "of course"]}, "one right answer"),
        (GOOD | {"kind": "several"}, "2 to 4"),
        (GOOD | {"wrong": []}, "no wrong answer"),
        (GOOD | {"wrong": ["no"]}, "three choices"),
        (GOOD | {"wrong": ["no", "yes"]}, "the same"),
        (GOOD | {"about": "2.99"}, "no exercise 2.99"),
        (GOOD | {"because": " "}, "because"),
        (GOOD | {"kind": "essay"}, "kind"),
        (GOOD | {"hint": "x"}, "hint"),
        (GOOD | {"answer": 3.0}, "only a number"),
        (NUMBER | {"answer": math.nan}, "no right answer"),
        (NUMBER | {"answer": 0.0}, "relative"),
        (NUMBER | {"rtol": 0.0}, "rtol"),
        (NUMBER | {"right": ["2"]}, "no choices"),
    ],
)
def test_a_question_that_cannot_be_used_is_refused(row, word):
    with pytest.raises(UserError, match=word):
        parse(row)


def test_two_questions_with_one_id_and_an_empty_quiz_are_refused():
    with pytest.raises(UserError, match="2x"):
        parse(GOOD, GOOD)
    with pytest.raises(UserError, match="question"):
        parse()


def test_students_without_the_teachers_package_get_a_sentence(monkeypatch):
    monkeypatch.setattr("ibpcl.classroom.assignments.assignment.TEACHER", None)
    with pytest.raises(UserError, match="ibpcl-teacher"):
        quiz.read(2)


# --- content --------------------------------------------------------------------------------------


def test_every_chapter_has_a_quiz_of_at_least_five_questions():
    assert [each.chapter.number for each in quiz.quizzes()] == [one.number for one in chapters()]
    assert all(len(each.questions) >= 5 for each in quiz.quizzes())


@PAIRS
def test_a_question_belongs_to_its_chapter(each, question):
    assert question.id.startswith(str(each.chapter.number))
    assert question.about.split(".")[0] == str(each.chapter.number)


def test_the_right_choice_has_no_fixed_place():
    places = [q.choices.index(q.right[0]) for _, q in ALL if q.kind == "one"]
    assert all(places.count(place) > len(places) / 8 for place in range(3))


def power(v):
    """The density of Kumaraswamy(2, 1), against a uniform prior."""
    return 2 * v * math.log(2 * v) if v else 0.0


def first_zero(slope, low, high):
    return optimize.brentq(slope, low, high)


def arange_mean(probability, count):
    """Mean number of successes of independent trials, by summing the binomial distribution."""
    ks = np.arange(count + 1)
    return float(np.sum(ks * stats.binom.pmf(ks, count, probability)))


def softmax_slope():
    logits = np.array([[[2.0, 0.0, 0.0]]])
    _, cache = likelihoods.categorical(logits, np.array([0]))
    return likelihoods.categorical_vjp(np.ones((1, 1)), cache)[0, 0, 0]


def kl_slope():
    return gaussian.kl_vjp(
        1.0, gaussian.kl(np.zeros(1), np.log([2.0]), np.zeros(1), np.zeros(1))[1]
    )[1][0]


def concrete_slope():
    z, cache = concrete.sample(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)), 0.1)
    assert z == 0.5
    return concrete.sample_vjp(np.ones_like(z), cache).item()


def mean_stick():
    """E[v] of Beta(4, 1), three times."""
    return integrate.quad(lambda v: v * 4 * v**3, 0, 1)[0] ** 3


def backward(matrix):
    later, earlier = np.tril_indices(len(matrix), -1)
    return np.mean([matrix[i][j] - matrix[j][j] for i, j in zip(later, earlier, strict=True)])


def adam_step(gradient):
    m, s = 0.1 * gradient, 0.001 * gradient**2
    return 0.01 * (m / 0.1) / math.sqrt(s / 0.001)


def baseline_without_variance():
    """The constant at which both values of the score function are equal."""
    return first_zero(lambda c: (4 - c) * 0.5 + (2 - c) * 0.5, 0, 10)


def equal_antithetic_masks():
    """Share of u in (0, 1) at which both masks are equal, on a fine grid."""
    u = (np.arange(100_000) + 0.5) / 100_000
    return np.mean((u > 0.25) == (1 - u > 0.25))


MATRIX = ((0.9,), (0.8, 0.9), (0.7, 0.8, 0.9))
# Each number a second time, by other means than the formula that the question explains.
NUMBERS = {
    "0b": lambda: math.hypot(3 * 0.2, 4 * 0.2),
    "0d": lambda: 400 * (0.05 / 0.01) ** 2,
    "1b": lambda: 2 * np.polyfit([-0.1, 0, 0.1], [0.52, 0.50, 0.56], 2)[0],
    "1c": lambda: quadratic.penalty(np.array([1.0, 3]), np.array([2.0, 1]), np.array([4.0, 1]))[0],
    "2b": lambda: gaussian.kl(np.ones(1), np.log([0.5]), np.zeros(1), np.zeros(1))[0],
    "2c": kl_slope,
    "3a": lambda: optimize.minimize_scalar(
        lambda k: math.exp(k) / 2 + 2e-16 / math.exp(k), bounds=(-25, -10), method="bounded"
    ).x,
    "3b": lambda: (1e-2**2 / 6) / (1e-3**2 / 6),
    "4b": softmax_slope,
    "4e": lambda: (np.mean(np.eye(250)[3])),
    # the mean of all dishes' probabilities, over a thousand sticks in place of infinitely many
    "5b": lambda: stick_breaking.expected_weights(3.0, 1000),
    "5c": mean_stick,
    "5e": lambda: arange_mean(integrate.quad(lambda p: p * 0.2 * p**-0.8, 0, 1)[0], 10),
    "6a": lambda: math.exp(kumaraswamy.sample(*np.array([[0.25], [0.5], [2.0]]))[0].item()),
    "6c": lambda: integrate.quad(power, 0, 1)[0],
    "7a": concrete_slope,
    "7b": lambda: bernoulli.kl(np.full((1, 1, 1), special.logit(0.9)), np.zeros((1, 1)))[0].item(),
    "7d": lambda: first_zero(
        lambda tau: concrete.log_density(np.full(1, 0.3), np.zeros(1), tau)[0].item(), 0.5, 1.5
    ),
    "8c": lambda: np.array([1.0, 2]) @ np.diag([0.16, 0.01]) @ np.array([1.0, 2]),
    "9a": lambda: np.geomspace(10, 0.1, 101)[50],
    "9c": lambda: quadratic.penalty_vjp(
        1.0, quadratic.penalty(np.ones(1), np.zeros(1), np.array([1 / 0.1**2]))[1]
    )[0].item(),
    "9d": lambda: adam_step(1000.0),
    "10a": lambda: stats.entropy([0.25] * 4),
    "10b": lambda: len(set(range(40)) & set(range(30, 80))) / 40,
    "11a": lambda: 4 * np.var([0, 1]),
    "11b": lambda: np.average([1, 0.5, 1], weights=[0, 1, 1]),
    "11e": lambda: (math.log(math.cosh(30.0 + 1e-3)) - math.log(math.cosh(30.0))) / 2e-3,
    "12a": lambda: gaussian.kl(np.array([1.0, 0]), np.zeros(2), np.zeros(2), np.zeros(2))[0],
    "12e": lambda: special.logsumexp(np.log([0.01, 0.03]), b=0.5),
    "13b": lambda: stats.expon(scale=2).entropy(),
    "13c": lambda: stats.expon(scale=0.5).median(),
    "14a": lambda: np.mean(MATRIX[-1]),
    "14b": lambda: backward(MATRIX),
    "14d": lambda: stats.sem([1, 2, 3]),
    "15a": lambda: optimize.minimize_scalar(lambda w: w**2 / 2 + 3 * (w - 2) ** 2 / 2).x,
    "15e": lambda: 1 / optimize.minimize_scalar(
        lambda q: 8 * q / 2 + 4 * (q - math.log(q)) / 2, bounds=(1e-3, 2), method="bounded",
        options={"xatol": 1e-9},
    ).x,
    "16a": lambda: convolution.positions(28, 3, stride=2, padding=1),
    "16c": lambda: np.correlate([1, 2, 3, 4], [1, -1], mode="valid")[1],
    "16e": lambda: convolution.conv2d(
        np.zeros((1, 10, 10, 8)), np.zeros((1, 1, 1, 8, 16)), np.zeros((1, 16))
    )[0].size / 100 * 8,
    "17a": lambda: stick_breaking.expected_weights(1.0, 3),
    "17b": lambda: stats.poisson(1).pmf(0),
    "17e": lambda: gaussian.kl(np.zeros(10), -np.ones(10), np.zeros(10), np.zeros(10))[0],
    "18a": lambda: (special.expit(1e-6) - special.expit(-1e-6)) / 2e-6 * (5 - 1),
    "18b": baseline_without_variance,
    "18c": equal_antithetic_masks,
    # a line through L = sum(dout * out) at the two steps
    "19a": lambda: np.polyfit([-0.01, 0.01], [[0.97, 2.02], [1.03, 2]] @ np.array([1, -2]), 1)[0],
    "19b": lambda: np.linalg.norm([0, 0.02], np.inf) / np.linalg.norm([4, -0.01], np.inf),
    "19e": lambda: first_zero(lambda tolerance: tolerance / 2e-9 - 0.2 / tolerance, 1e-8, 0.1),
    "19h": lambda: np.mean([True] * 7 + [False] * (12 - 2 - 7)),
}  # fmt: skip


def test_every_number_is_computed_here():
    assert set(NUMBERS) == {each.id for each in QUESTIONS.values() if each.kind == "number"}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_number_is_right(name):
    question = QUESTIONS[name]
    value = NUMBERS[name]()
    if name == "3a":
        value = math.exp(value)
    # a tenth of the tolerance: a student with all digits is never at its edge
    assert float(np.asarray(value).item()) == pytest.approx(question.answer, rel=question.rtol / 10)


def test_a_wrong_number_would_be_noticed():
    assert NUMBERS["2b"]() != pytest.approx(1.01 * QUESTIONS["2b"].answer, rel=5e-4)


# Statements of choices that can be computed.
def test_choices_that_state_a_number_or_code_are_right():
    y = np.array([0.5, 0.3, 0.2])
    assert np.allclose(y * (1 - y.sum()), 0)  # 0a
    log_pi = -1e-18
    with np.errstate(divide="ignore"):
        assert np.log(-np.expm1(log_pi)) == pytest.approx(math.log(1e-18))  # 6e
        assert np.log1p(-np.exp(log_pi)) == -np.inf
    assert 1001 + np.log1p(np.exp(-1.0)) == pytest.approx(special.logsumexp([1000, 1001]))  # 4c
    logits = rng.standard_normal(4)
    p, h = special.softmax(logits), stats.entropy(special.softmax(logits))
    step = 1e-6 * np.eye(4)
    slope = [
        (stats.entropy(special.softmax(logits + s)) - stats.entropy(special.softmax(logits - s)))
        / 2e-6
        for s in step
    ]
    assert np.allclose(-p * (np.log(p) + h), slope, atol=1e-8)  # 10e
    assert not np.allclose(-p * (np.log(p) - h), slope, atol=1e-3)
    h_in, d = rng.standard_normal(5), rng.standard_normal(5)
    assert abs(h_in @ (d - (h_in @ d) / (h_in @ h_in) * h_in)) < 1e-12  # 11d
    _, cache = residual.add(np.ones((1, 2, 3)), np.full((1, 2, 3), 2.0), np.zeros(1))
    assert residual.add_vjp(np.ones((1, 2, 3)), cache)[2].item() == 12.0  # 17c
    q, printed = 0.9, 0.9 / (1 - 0.9)
    right = kumaraswamy.kl_to_beta(np.array([2.0]), np.array([q]), 2.0)[0]
    assert right > 0 > right + (q - 1) / q - printed  # 6d: the misprint makes it negative
    for f in (np.exp, lambda x: np.sqrt(x * x + 1)):  # 3d
        assert abs((f(0.7 + 1e-200j).imag / 1e-200) - (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6) < 1e-9
    assert np.imag(np.abs(-0.7 + 1e-200j)) == 0 and np.imag(np.linalg.norm([0.7 + 1e-200j])) == 0


def test_a_cotangent_of_ones_accepts_what_question_19d_says():
    p = special.softmax(rng.standard_normal((4, 3)), axis=1)

    def accepted(choice, dout):
        names = {"np": np, "p": p, "dout": dout, "inner": (dout * p).sum(1, keepdims=True)}
        return np.allclose(eval(choice.strip("`"), names), eval("p * (dout - inner)", names))

    question = QUESTIONS["19d"]
    for choice in question.choices:
        assert accepted(choice, np.ones((4, 3))) == (choice in question.right)
        assert not accepted(choice, rng.standard_normal((4, 3)))


def test_only_the_matrix_of_question_19c_hides_a_missing_transpose():
    question = QUESTIONS["19c"]
    for choice in question.choices:
        w = eval(choice.strip("`"), {"np": np, "rng": rng})
        assert np.array_equal(w, w.T) == (choice in question.right)


# --- QTI ------------------------------------------------------------------------------------------

ORDER = (
    "responseDeclaration",
    "outcomeDeclaration",
    "itemBody",
    "responseProcessing",
    "modalFeedback",
)
RESERVED = re.compile(r"[A-Za-z_][\w.-]*")


def faults(text):
    """Return what the specification forbids in an assessment item."""
    root = ET.fromstring(text)
    found = []
    if root.tag != f"{Q}assessmentItem":
        found.append("root")
    for name in ("identifier", "title", "adaptive", "timeDependent"):
        if not root.get(name):
            found.append(f"attribute {name}")
    if not RESERVED.fullmatch(root.get("identifier", "")):
        found.append("identifier begins with a digit")
    places = [ORDER.index(child.tag.removeprefix(Q)) for child in root]
    if places != sorted(places) or set(places) != set(range(len(ORDER))):
        found.append("order")
    declared = {e.get("identifier"): e for e in root.iter() if e.tag.endswith("Declaration")}
    response = declared.get("RESPONSE")
    interactions = [e for e in root.iter() if e.tag.endswith("Interaction")]
    if len(interactions) != 1 or interactions[0].get("responseIdentifier") != "RESPONSE":
        found.append("interaction")
        return found
    for element in root.iter():
        uses = element.tag.removeprefix(Q) in (
            "variable",
            "correct",
            "mapResponse",
            "setOutcomeValue",
        )
        if uses and element.get("identifier") not in declared:
            found.append("undeclared variable")
    values = [value.text for value in response.findall(f"{Q}correctResponse/{Q}value")]
    if not values:
        found.append("no correct response")
    choices = [e.get("identifier") for e in root.iter(f"{Q}simpleChoice")]
    if response.get("baseType") == "identifier":
        if len(set(choices)) != len(choices) or not set(values) < set(choices):
            found.append("choices")
        single = response.get("cardinality") == "single"
        if single != (interactions[0].get("maxChoices") == "1") or (single and len(values) != 1):
            found.append("cardinality")
    elif interactions[0].tag != f"{Q}textEntryInteraction" or not math.isfinite(float(values[0])):
        found.append("number")
    feedback = root.find(f"{Q}modalFeedback")
    if feedback.get("outcomeIdentifier") not in declared or not feedback.get("identifier"):
        found.append("feedback")
    for element in root.iter():
        if not element.tag.startswith((Q, M)):
            found.append(f"namespace of {element.tag}")
    return found


@PAIRS
def test_an_item_is_what_qti_demands(each, question):
    assert faults(qti.item(question, each)) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (' identifier="q2a"', ' identifier="2a"', "identifier begins with a digit"),
        ('maxChoices="1"', 'maxChoices="0"', "cardinality"),
        ("<value>C</value>", "<value>Z</value>", "choices"),
        ('<variable identifier="RESPONSE"', '<variable identifier="OTHER"', "undeclared variable"),
        ('outcomeIdentifier="FEEDBACK"', 'outcomeIdentifier="X"', "feedback"),
        (' adaptive="false"', "", "attribute adaptive"),
    ],
)
def test_the_checks_of_qti_find_what_is_spoiled(old, new, fault):
    text = qti.item(QUESTIONS["2a"], quiz.read(2))
    letter = re.search(r"<value>([A-D])</value>", text)[1]
    old = old.replace("<value>C<", f"<value>{letter}<")
    assert old in text and fault in faults(text.replace(old, new, 1))


def score(question, given):
    """Return the points of an answer, by the item's own rules."""
    root = ET.fromstring(qti.item(question, quiz.read(int(re.match(r"\d+", question.id)[0]))))
    correct = [e.text for e in root.findall(f".//{Q}correctResponse/{Q}value")]
    mapping = root.find(f".//{Q}mapping")
    if mapping is not None:
        table = {e.get("mapKey"): float(e.get("mappedValue")) for e in mapping}
        return min(1.0, max(0.0, sum(table[key] for key in given)))
    equal = root.find(f".//{Q}equal")
    if equal is not None:
        below, above = map(float, equal.get("tolerance").split())
        return float(float(correct[0]) - below <= given <= float(correct[0]) + above)
    return float(given == correct[0])


@PAIRS
def test_a_right_answer_gets_the_point_and_a_wrong_one_none(each, question):
    if question.kind == "number":
        assert score(question, question.answer) == 1
        assert score(question, question.answer + 2 * question.tolerance) == 0
        return
    letters = dict(zip(question.choices, qti.LETTERS, strict=False))
    right = [letters[choice] for choice in question.right]
    wrong = [letters[choice] for choice in question.wrong]
    if question.kind == "one":
        assert score(question, right[0]) == 1 and not any(score(question, each) for each in wrong)
    else:
        assert score(question, right) == pytest.approx(1, abs=1e-5)
        assert score(question, right + wrong) < 1e-5 and score(question, wrong) == 0


@pytest.mark.parametrize("each", quiz.quizzes(), ids=lambda each: each.name)
def test_a_package_lists_its_files_and_has_the_same_bytes(each):
    data = qti.package(each)
    assert data == qti.package(each)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        manifest = ET.fromstring(archive.read("imsmanifest.xml"))
        test = ET.fromstring(archive.read("test.xml"))
    resources = manifest.findall(f"{C}resources/{C}resource")
    identifiers = [resource.get("identifier") for resource in resources]
    assert {resource.get("href") for resource in resources} == names - {"imsmanifest.xml"}
    assert {e.get("identifierref") for e in manifest.iter(f"{C}dependency")} == set(identifiers[1:])
    assert [r.get("type") for r in resources] == ["imsqti_test_xmlv2p1"] + [
        "imsqti_item_xmlv2p1"
    ] * len(each.questions)
    assert {e.get("href") for e in test.iter(f"{Q}assessmentItemRef")} == {
        name for name in names if name.startswith("items/")
    }


# --- Moodle ---------------------------------------------------------------------------------------

# The shares that Moodle offers for an answer, in percent (question_bank::fraction_options_full).
SHARES = {Fraction(100, n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20)} | {
    Fraction(n) for n in (0, 90, 80, 75, 70, 60, 40, 30)
}


@pytest.mark.parametrize("each", quiz.quizzes(), ids=lambda each: each.name)
def test_a_file_is_what_moodle_imports(each):
    root = ET.fromstring(moodle.document(each))
    category, *questions = root.findall("question")
    assert category.get("type") == "category"
    assert category.findtext("category/text").startswith("$course$/")
    assert len(questions) == len(each.questions)
    for element, question in zip(questions, each.questions, strict=True):
        assert element.get("type") == ("numerical" if question.kind == "number" else "multichoice")
        assert element.findtext("name/text").startswith(question.id)
        assert element.find("questiontext").get("format") == "html"
        ET.fromstring(f"<div>{element.findtext('questiontext/text')}</div>")  # well-formed
        answers = element.findall("answer")
        shares = [float(answer.get("fraction")) for answer in answers]
        assert all(any(abs(abs(s) - float(ok)) < 1e-5 for ok in SHARES) for s in shares)
        assert sum(share for share in shares if share > 0) == pytest.approx(100, abs=1e-4)
        if question.kind == "number":
            assert float(answers[0].findtext("text")) == question.answer
            assert float(answers[0].findtext("tolerance")) == pytest.approx(question.tolerance)
        else:
            assert element.findtext("single") == str(question.kind == "one").lower()
            for answer, choice in zip(answers, question.choices, strict=True):
                assert (float(answer.get("fraction")) > 0) == (choice in question.right)


def test_formulas_stay_latex_in_moodle_and_become_mathml_in_qti():
    html = moodle.html_of(r"The width $\sigma < 1$ and `a$b$c`: $$ x = \frac12 $$")
    assert (
        r"\(\sigma &lt; 1\)" in html and "<code>a$b$c</code>" in html and r"\[x = \frac12\]" in html
    )
    item = qti.item(QUESTIONS["2b"], quiz.read(2))
    assert "<m:math" in item and "$" not in item

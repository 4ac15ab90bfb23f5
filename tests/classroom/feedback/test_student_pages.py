"""The pages for students and teachers: what they show, what they must not show, and formulas."""

import json
import re
import time
import xml.dom.minidom
from pathlib import Path

import here
import pytest
from classroom_common import KEY, first, judged

from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.feedback import (
    by_hand,
    class_page,
    derivations_page,
    listings,
    plain_words,
)
from ibpcl.classroom.feedback.mathml import to_mathml
from ibpcl.classroom.feedback.plain_words import plain_reason, told_once
from ibpcl.classroom.feedback.prose import clean, to_html
from ibpcl.classroom.feedback.records import Records
from ibpcl.classroom.feedback.student_page import feedback, lines, shown_words
from ibpcl.classroom.intake.late import Policy
from ibpcl.classroom.judging.similarity import Cluster
from ibpcl.classroom.judging.verdict import Part, Result, Verdict

SIGN = ("return dv.sum(axis=0), (dv * noise)", "return -dv.sum(axis=0), (dv * noise)")
DOUBLED = """

def log_density_right(x, mu, scale):
    noise, standard = np.exp(-scale), (x - mu) * np.exp(-scale)
    return -scale - 0.9189385332046727 - standard**2 / 2, (noise, standard)


def log_density(x, mu, scale):
    out, cache = log_density_right(x, mu, scale)
    return 2 * out, cache


def log_density_vjp(dlog_p, cache):
    inverse, standard = cache
    dx = -2 * dlog_p * standard * inverse
    return dx, -dx.sum(axis=0), (2 * dlog_p * (standard**2 - 1)).sum(axis=(0, 1))
"""


def result_of(*verdicts, **options):
    return Result(
        "01_gaussian_weights", "ada", "base", "ab" * 32, verdicts=list(verdicts), **options
    )


@pytest.fixture(scope="module")
def wrong():
    """A hand-in with a sign in a public gradient and a doubled forward, whose gradient fits it."""
    source = first().source().replace(*SIGN) + DOUBLED
    with here.judged_here():
        return source, judged(source, figures=True, locate=True)


def test_public_mistakes_have_an_entry_and_hidden_ones_have_none(wrong):
    _, result = wrong
    for verdict in result.verdicts:
        examples = [part.example for part in verdict.parts if part.example]
        assert bool(examples) == (verdict.task in ("1b", "1c")), (verdict.task, examples)
    example = next(each.parts[0].example for each in result.verdicts if each.task == "1b")
    assert float(example["got"]) == -float(example["expected"]) and example["place"].startswith(
        "dmu"
    )


@pytest.mark.slow(reason="judges a hand-in twice")
def test_an_example_is_the_same_for_every_key():
    source = first().source().replace(*SIGN)
    told = {
        str(
            [part.example for verdict in judged(source, key=key).verdicts for part in verdict.parts]
        )
        for key in (KEY, b"another key of the tests")
    }
    assert len(told) == 1


def test_the_page_shows_code_with_the_line_and_what_to_correct_first(wrong):
    source, result = wrong
    page = feedback(result, first(), "line", source)
    number = next(
        at for at, line in enumerate(source.splitlines(), start=1) if "return -dv" in line
    )
    marked = re.findall(r'<span class="marked"><i>(\d+)</i>', page)
    assert str(number) in marked
    assert "Correct 1c first" in page and "<math" in page and result.sha256 in page
    drawn = re.findall(r"<h3>The gradient with respect to <code>(\w+)</code>", page)
    assert drawn and set(drawn) <= {
        part.name for verdict in result.verdicts for part in verdict.parts
    }
    assert not re.search(r"check_chain|elementwise_factor|constant_factor", page)
    assert "yours" not in feedback(result, first(), "none", source)


def test_repeated_points_are_one_line():
    parts = [
        Part(f"point {n} (small shapes)", "wrong", f"wrong at {n} of {n} entries")
        for n in (2, 3, 4)
    ]
    verdict = Verdict(
        "1a",
        "forward",
        "Draw",
        "public",
        5.0,
        0.0,
        "wrong",
        parts=parts,
        words=[f"{part.name}: {part.words}" for part in parts],
    )
    assert shown_words(verdict, "kind") == ["every entry is wrong (at 3 points)"]
    assert len(told_once(["mu: wrong sign", "scale: wrong sign"])) == 2


def test_a_hint_is_one_that_students_can_follow():
    part = Part("mu", "wrong", "no idea", "halve the function with check_chain and see", 0.0)
    verdict = Verdict(
        "1b", "vjp", "Gradient", "public", 5.0, 0.0, "wrong", ["mu: no idea"], parts=[part]
    )
    assert "check_chain" not in "\n".join(lines(result_of(verdict)))


@pytest.mark.parametrize(
    "reason",
    [
        "class: /home/t/my hand ins/ada.py: byte 3 is not UTF-8",
        r"C:\Users\t\in\ada.py has 2 MB",
        "cannot read /srv/course/2026/ada",
    ],
)
def test_reasons_have_no_folder_of_the_teacher(reason):
    told = plain_reason(reason)
    assert "ada" in told and not re.search(r"[/\\]", told) and not told.startswith("class:")
    page = feedback(result_of(status="not graded", reason=reason), first())
    assert "/home" not in page and "Users" not in page and "/srv" not in page


def test_what_students_write_cannot_act_on_a_page():
    evil = "<script>alert(1)</script>\x1b[2J\ud83d"
    verdict = Verdict(
        "1j", "text", evil, "public", 10.0, 0.0, "by hand", details=[evil + "\n$x<y$"], comment=evil
    )
    page = feedback(
        result_of(verdict, comment=evil), first(), "full", f"def sample():\n    '{evil}'\n"
    )
    assert "<script" not in page and "\x1b" not in page
    page.encode()


@pytest.mark.parametrize(
    "evil", ["<script>alert(1)</script>", '"><img src=x onerror=a>', "{{ 7 * 7 }}"]
)
def test_names_and_flags_cannot_act_on_the_pages_of_a_class(evil, tmp_path):
    part = Part("mu", "sign", evil, evil, 0.5)
    verdict = Verdict("1b", "vjp", evil, "public", 10.0, 5.0, "partial", [evil], parts=[part])
    text = Verdict("1j", "text", evil, "public", 10.0, state="by hand", details=[evil])
    result = result_of(verdict, text, flags=[evil], notes=[evil], comment=evil)
    result.student = evil
    pairs = [Cluster((evil, "the solution" + evil), 0.9, (evil,))]
    pages = [
        class_page.class_page([result], first(), pairs, None, [evil], [evil], [evil], [evil]),
        derivations_page.derivations_page(records_of(tmp_path, result)),
        feedback(result, first(), "full", f"def sample():\n    '{evil}'\n"),
    ]
    for page in pages:
        assert "<script>alert" not in page and "<img" not in page
        assert (evil in page) is evil.startswith("{{")  # shown as it is, not computed


def test_the_lines_of_a_notebook_s_cells_are_not_those_of_the_text():
    assert listings.marked_lines(["raises in line 3 of code cell 2 of a.ipynb"]) == set()


def records_of(tmp_path, *results):
    return Records(
        tmp_path, {"level": "kind"}, first(), list(results), by_hand.Table(), Policy(), {}
    )


def texts(count, text="$x^2$ </script><!-- -->"):
    return [
        Result(
            "01_gaussian_weights",
            f"student{n}",
            "base",
            "0" * 64,
            verdicts=[
                Verdict(
                    "1j", "text", "The derivation", "public", 10.0, 0.0, "by hand", details=[text]
                )
            ],
        )
        for n in range(count)
    ]


def test_derivations_are_on_one_page_without_a_network(tmp_path):
    page = derivations_page.derivations_page(records_of(tmp_path, *texts(3)))
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert [entry["student"] for entry in data["entries"]] == ["student0", "student1", "student2"]
    assert page.count("<math>") == 3 and len(re.findall("<script", page)) == 2
    assert not re.search(r"(src|href)=.?(https?:)?//", page)
    rubric = first().task("1j").rubric
    assert page.count('type="checkbox" value=') == 3 * len(rubric) and rubric[0]["text"] in page


def test_an_anonymous_page_names_nobody(tmp_path):
    page = derivations_page.derivations_page(records_of(tmp_path, *texts(3)), anonymous=True)
    assert "student1" not in page.replace("Student 1", "") and by_hand.code("student1") in page


def test_there_is_no_page_without_derivations(tmp_path):
    assert derivations_page.derivations_page(records_of(tmp_path, result_of())) == ""


def test_the_class_page_leads_from_a_mistake_to_its_students():
    made = []
    for n in range(3):
        parts = [Part("mu", "elementwise_factor" if n else "ok")]
        verdicts = [
            Verdict(
                "1b", "vjp", "Gradient", "public", 10.0, 5.0 * (n + 1) / 3, "partial", parts=parts
            ),
            Verdict("1j", "text", "Text", "public", 10.0, 0.0, "by hand"),
        ]
        made.append(
            Result(
                "01_gaussian_weights",
                f"s'{n}",
                "base",
                "0" * 64,
                verdicts=verdicts,
                flags=["line 3: calls f"] if n == 2 else [],
            )
        )
    page = class_page.class_page(
        made,
        first(),
        [Cluster(("s'0", "s'1"), 0.9, ("kl",))],
        missing=["zoë"],
        skipped=["x.docx: a document"],
    )
    rows = set(re.findall(r'<tr id="([^"]+)"', page))
    links = set(re.findall(r'href="#(student-[^"]+)"', page))
    assert len(rows) == 3 and links == rows
    assert "elementwise_factor" not in page and "zoë" in page and "x.docx" in page
    assert page.index('id="hand-ins"') < page.index('id="pairs"') and '<svg class="bars"' in page
    derivation = re.search(r"<tr><td>1j</td>.*?</tr>", page)[0]
    assert '<td class="number">–</td>' in derivation
    for head in ("points", "mean", "seconds"):
        assert f'<th class="number">{head}</th>' in page


FORMULAS = [
    r"\frac12",
    r"\mathcal N(\mu, \sigma^2)",
    r"\sum_{i=1}^n x_i'",
    r"KL[q \,\|\, p]",
    r"\hat\mu",
    r"\left.\frac{d}{dx}\right|_{x=0}",
    r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
    r"\begin{cases} 1 & x>0 \\ 0 & \text{else <b>}\end{cases}",
    r"\sqrt[3]{x}",
    r"\texttt{dout}",
    r"\operatorname{KL}",
    r"\mathbb{E}_q",
    r"\underbrace{a+b}_{c}",
    "a < b & c",
    r"\bigl[ x \big\| y \bigr]",
    r"\unknowncommand x",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_become_mathml(formula):
    made = to_mathml(formula)
    xml.dom.minidom.parseString(made)
    assert made.startswith("<math>") and "<b>" not in made


@pytest.mark.parametrize(
    "formula",
    [
        r"\frac{a",
        "a}",
        "x^",
        r"\left( x",
        "{" * 3000,
        r"\begin{x}",
        "\\",
        "$",
        r"\begin{matrix}" * 50,
        "x" * 6000,
        r"\href{javascript:a}{x}",
        "\\frac",
    ],
)
def test_a_formula_that_cannot_be_read_is_shown_as_it_is(formula):
    made = to_mathml(formula)
    assert made.startswith(("<math>", '<code class="tex">')) and "href=" not in made


@pytest.mark.parametrize("name", names())
def test_every_formula_of_the_statements_is_drawn(name):
    assignment = find(name)
    for variant in assignment.variants:
        made = to_html(assignment.statement(variant))
        assert 'class="tex"' not in made and not re.search(
            r"\$|\\[a-z]", re.sub("<code>.*?</code>", "", made)
        )


LONG = [
    "$" * 60000,
    "`" * 60000,
    "\\(" * 40000,
    "\\[ " * 30000,
    "*a " * 30000,
    "$a\n" * 30000,
    "\\begin{align}" * 8000,
    "| a" * 30000,
    "```\n" * 20000,
    "- " * 50000,
]


@pytest.mark.parametrize("text", LONG)
def test_no_text_takes_long(text):
    start = time.process_time()
    to_html(text, keep_lines=True)
    assert time.process_time() - start < 5


def test_commands_that_python_has_read_come_back():
    assert clean("\theta \frac \rho \beta") == r"\theta \frac \rho \beta"


DOCUMENTED = '''
def sample(
    eps, mu, scale
):
    r"""Draw weights.

    Parameters
    ----------
    eps : ndarray
    """
    return mu, eps


def short(x):
    """Return x."""
    return x
'''


def test_the_docstring_of_a_listing_is_folded():
    first_one, second = listings.listings(DOCUMENTED, ("sample", "short"))
    folded = [line.text.strip() for line in first_one.lines if line.documents]
    assert (folded[0], folded[-1]) == ('r"""Draw weights.', '"""')
    assert not first_one.lines[0].documents and not first_one.lines[-1].documents
    assert not any(line.documents for line in second.lines)


def test_the_page_folds_docstrings_and_wraps_lines(wrong):
    source, result = wrong
    page = feedback(result, first(), source=source)
    opened = re.findall(r"<span><i>\d+</i> +r?&#34;&#34;&#34;[A-Z]", page)
    assert page.count("<summary>the docstring</summary>") == len(opened) > 3
    assert page.count("<details") == page.count("</details>")
    assert "pre-wrap" in re.search(r"\.listing span \{[^}]*\}", page)[0]


PALETTE = re.findall(
    r"--(right|wrong|partial): #(\w{6})",
    (Path(listings.__file__).parent / "templates" / "page.css").read_text(),
)


def luminance(colour):
    channels = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize(("names", "back"), [(PALETTE[:3], "ffffff"), (PALETTE[3:], "16191d")])
def test_the_colours_can_be_read_on_their_background(names, back):
    assert [name for name, _ in names] == ["right", "wrong", "partial"]
    for _, colour in names:
        dark, light = sorted((luminance(colour), luminance(back)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_refusals_are_grouped_by_their_reason():
    made = [
        result_of(status="not graded", reason=reason)
        for reason in (
            "line 3 of ada.py imports os; allowed are numpy",
            "line 71 of hw__2_.py imports os; allowed are numpy",
            "line 3 of ada.py imports sys; allowed are numpy",
        )
    ]
    for student, result in zip(("ada", "ben", "cy"), made, strict=True):
        result.student = student
    first_two = {plain_words.reason_group(result) for result in made[:2]}
    assert len(first_two) == 1 and plain_words.reason_group(made[2]) not in first_two
    page = class_page.class_page(made, first())
    ungraded = page[page.index('id="ungraded"') :]
    assert ungraded[: ungraded.index("</table>")].count("<tr") == 3  # the head and two groups

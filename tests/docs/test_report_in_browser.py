"""Reports in a browser: runs of every kind, a comparison, hostile names; light and dark, narrow and
wide.
"""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from chromium import STICKING_OUT, needs_chromium, serious
from quick import quick

import ibpcl
from ibpcl import storage
from ibpcl.cli import main
from ibpcl.data import registry
from ibpcl.data.dataset import Dataset
from ibpcl.experiments import identity
from ibpcl.experiments import page as report
from ibpcl.experiments.journal import RunJournal

pytestmark = needs_chromium
SHOTS = os.environ.get("IBPCL_SCREENSHOTS")  # a folder to look at the pages in
TINY = {"hidden": (6,), "epochs": 2, "batch": 20, "backend": "numpy"}
VAE = {
    **TINY,
    "latent": 3,
    "finetune_epochs": 1,
    "tasks": 3,
    "train_limit": 60,
    "test_limit": 30,
    "likelihood_samples": 4,
    "final_samples": 12,
    "likelihood_images": 6,
    "final_images": 5,
    "code_images": 20,
    "code_test_images": 12,
    "inference_samples": 3,
}
ATTACK = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
KINDS = (
    "run",
    "generative",
    "regression",
    "interrupted",
    "comparison",
    "reproduction",
    "folder",
    "hostile",
)


def images(name, data_dir=None, seed=0):
    """Ten classes of 4 x 4 images, each with one bright pixel at a different position."""
    labels = np.arange(200, dtype=np.uint8) % 10
    pictures = np.random.default_rng(0).integers(0, 100, (200, 16), dtype=np.uint8)
    pictures[np.arange(200), labels] = 255
    return Dataset(
        name,
        pictures.reshape(200, 4, 4),
        labels,
        pictures.reshape(200, 4, 4),
        labels,
        tuple("ABCDEFGHIJ"),
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return make_reports(tmp_path_factory.mktemp("reports"))


def make_reports(folder):
    """Make a report of each kind and return their files."""
    texts = [
        f"--set={text}" for text in ("hidden=6", "epochs=2", "batch=20", "backend=numpy", "tasks=3")
    ]
    finish = RunJournal.finish_task
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "load", images)
        ibpcl.run(
            "split-glyphs",
            folder / "run",
            samples=1,
            prediction_samples=2,
            finetune_epochs=1,
            **TINY,
        )
        ibpcl.run("vae-glyphs", folder / "generative", **VAE)
        main(
            [
                "compare",
                "split-glyphs",
                "--methods=naive,ewc,npbcl",
                "--seeds=2",
                "--out",
                str(folder / "many"),
                "--set=npbcl.samples=1",
                *texts,
            ]
        )
        small = [
            f"--set={text}"
            for text in (
                "hidden=6",
                "epochs=1",
                "finetune_epochs=1",
                "naive.hidden=6",
                "naive.epochs=1",
                "backend=numpy",
            )
        ]
        main(
            [
                "reproduce",
                "accuracy",
                "--quick",
                "--datasets=glyphs",
                "--methods=npbcl,naive",
                *small,
                "--out",
                str(folder / "paper"),
            ]
        )

        def stop(journal, learner, progress):
            finish(journal, learner, progress)
            if progress.task == 1:
                raise KeyboardInterrupt

        patch.setattr(RunJournal, "finish_task", stop)
        main(["run", "--method=ewc", "--quiet", "--out", str(folder / "interrupted"), *texts])
    ibpcl.run(
        "terrain",
        folder / "regression",
        samples=1,
        prediction_samples=3,
        finetune_epochs=1,
        tasks=2,
        train_limit=60,
        test_limit=30,
        **TINY,
    )
    hostile = folder / "<script>document.title='taken'<&script>"
    stream = ibpcl.tasks_from_arrays(
        np.random.default_rng(0).random((80, 9), np.float32),
        np.arange(80) % 4,
        classes=[(0, 1), (2, 3)],
        class_names=["<script>", "\"'>", "<img src=x>", "&lt;"],
    )
    ibpcl.run(stream, hostile, method="naive", **TINY)
    table = storage.read_toml(hostile / "config.toml")
    table |= {"experiment": ATTACK, "preset": ATTACK, ATTACK: ATTACK}
    storage.write_toml(hostile / "config.toml", table)
    result = storage.read_sealed_json(hostile / "result.json")
    storage.write_sealed_json(
        hostile / "result.json",
        result | {"experiment": ATTACK, identity.KEY: identity.fingerprint(table)},
    )
    report.write(hostile)
    report.write(folder / "many")
    return {
        "hostile": hostile / "report.html",
        "comparison": folder / "many" / "split-glyphs" / "report.html",
        "folder": folder / "many" / "report.html",
        "reproduction": folder / "paper/accuracy-quick/report.html",
        **{
            name: folder / name / "report.html"
            for name in ("run", "generative", "regression", "interrupted")
        },
    }


@pytest.fixture
def opened(browser, pages):
    """A function that opens a report. Any other request and any script error fail the test."""
    contexts = []
    wrong = []

    def open_page(name, **options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        address = pages[name].as_uri()
        page.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
        page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
        page.on(
            "request",
            lambda asked: (
                wrong.append(asked.url) if not asked.url.startswith((address, "data:")) else 0
            ),
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    quick(
        [
            "run-light-1280",
            "generative-dark-1280",
            "regression-light-360",
            "interrupted-dark-360",
            "comparison-dark-1280",
            "reproduction-light-360",
            "folder-light-1280",
            "hostile-dark-360",
        ],
        itertools.product(KINDS, ("light", "dark"), (1280, 360)),
        "each kind of page, each scheme and each width is there",
        name=lambda case: "-".join(map(str, case)),
    ),
)
def test_a_report_fits_and_shuts_nobody_out(opened, name, scheme, width):
    page = opened(name, color_scheme=scheme, viewport={"width": width, "height": 800})
    if SHOTS:
        page.screenshot(path=Path(SHOTS, f"report-{name}-{scheme}-{width}.png"), full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(STICKING_OUT) == []
    for summary in page.locator("summary").all():
        summary.click()  # what is folded must fit, too
    assert page.evaluate(STICKING_OUT) == []
    if width > 360 or name == "run":  # colours are the same at every width
        assert serious(page) == []
    pale = "rgb(255, 255, 255)"
    dark = "rgb(20, 23, 27)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
        dark if scheme == "dark" else pale
    )
    assert page.title() != "taken" and page.locator("script").count() == 1
    assert page.evaluate(
        "[...document.images].every(each => each.complete && each.naturalWidth > 100)"
    )


def test_the_text_of_a_hostile_run_is_shown_as_it_is(opened):
    page = opened("hostile")
    assert ATTACK in page.locator("h1").inner_text() and page.title().startswith(ATTACK)
    assert page.locator("img").count() == 2  # the matrix is a table
    assert page.evaluate(
        "[...document.images].every(each => each.src.startsWith('data:image/png'))"
    )
    assert "<script>" in page.locator("table.map").inner_text()


@pytest.mark.parametrize("held", [True, False])
def test_a_script_that_came_in_would_not_run_because_of_the_policy(browser, pages, tmp_path, held):
    html = pages["run"].read_text(encoding="utf-8").replace("<main>", f"<main>{ATTACK}")
    path = tmp_path / "broken.html"
    path.write_text(
        html if held else html.replace("Content-Security-Policy", "None"), encoding="utf-8"
    )
    page = browser.new_page()
    page.goto(path.as_uri())
    assert (page.title() == "taken") != held
    page.close()


def column(page, name):
    """Return the texts of a column of the sortable table that has it."""
    return page.evaluate(
        """name => {
      const heads = [...document.querySelectorAll('table.sortable thead th')];
      const head = heads.findLast(each => each.textContent === name);
      return [...head.closest('table').tBodies].map(
        each => each.rows[0].cells[head.cellIndex].textContent);
    }""",
        name,
    )


def test_runs_are_sorted_by_numbers_and_by_text_and_back(opened):
    page = opened("comparison")
    before = column(page, "folder")
    for name in ("training, s", "average", "method"):
        key = (
            (lambda text: text)
            if name == "method"
            else (lambda text: float(text.split("\N{NO-BREAK SPACE}")[0]))
        )
        button = page.locator("table.sortable").last.get_by_role("button", name=name, exact=True)
        for direction in ("ascending", "descending"):
            button.focus()
            page.keyboard.press("Enter")
            values = [key(text) for text in column(page, name)]
            assert values == sorted(values, reverse=direction == "descending")
            assert button.locator("xpath=..").get_attribute("aria-sort") == direction
        assert page.locator("th[aria-sort]").count() == 1
    assert sorted(column(page, "folder")) == sorted(before) != column(page, "folder")


def test_what_was_not_measured_is_sorted_last(opened):
    page = opened("comparison")
    button = page.locator("table.sortable").last.get_by_role("button", name="network used")
    for _ in range(2):
        button.click()
        assert [text == "-" for text in column(page, "network used")] == [False] * 2 + [True] * 4


def test_a_comparison_with_the_paper_keeps_its_rows_together(opened):
    page = opened("reproduction")
    page.evaluate("""() => {
      const [one, two] = document.querySelector('table.sortable').tBodies;
      one.insertAdjacentHTML(
        'beforeend', '<tr class="sub"><th scope="row">  paper</th><td>1</td></tr>');
      one.rows[0].cells[1].textContent = '2';
      two.rows[0].cells[1].textContent = '10';
    }""")
    first = page.locator("table.sortable").first
    for _ in range(2):
        first.get_by_role("button").nth(1).click()
    assert [text.split()[0] for text in first.locator("tbody tr").all_inner_texts()][-1] == "paper"


def test_without_scripts_everything_is_there(opened):
    page = opened("comparison", java_script_enabled=False)
    assert page.locator("table.sortable tbody").count() == 3 + 2 + 6
    assert [picture.is_visible() for picture in page.locator("img").all()] == [True, True]

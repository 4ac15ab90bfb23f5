"""The browser course in Chromium, with the Pyodide that ``IBPCL_PYODIDE`` names.

It names the folder of an unpacked release, or of the npm package ``pyodide``, which has the core
alone.  With the core alone, NumPy and SciPy are placeholders: the course's own Python still runs in
Pyodide, but nothing can be judged, and the tests that need a verdict are skipped.
"""

import functools
import hashlib
import http.server
import json
import os
import shutil
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

import ibpcl
from ibpcl.course.browser import building
from ibpcl.errors import UserError
from ibpcl.learn.folder import Folder

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
from chromium import CHROMIUM, needs_chromium, serious

TUTORIALS = Path(ibpcl.__file__).parents[1] / "tutorials"
RELEASE = os.environ.get("IBPCL_PYODIDE", "")
pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not RELEASE, reason="IBPCL_PYODIDE names no Pyodide"),
]
# Any attribute of the placeholder is something that can be called, added and compared.
PLACEHOLDER = """
import importlib.machinery, sys
from unittest.mock import MagicMock
class Anything(MagicMock):
    def __mro_entries__(self, bases):
        return (object,)
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    is_type = name in ("ndarray", "generic", "inexact", "complexfloating")
    return type(name, (), {}) if is_type else Anything()
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == NAME and "." in name:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        module.__getattr__ = __getattr__
__path__ = []
NAME = __name__
sys.meta_path.insert(0, Finder())
"""
# A slow laptop: a sixth of this processor, and 10 Mbit/s.
SLOWER = 6
NETWORK = {
    "offline": False,
    "latency": 40,
    "downloadThroughput": 10e6 / 8,
    "uploadThroughput": 1e6 / 8,
}


def placeholder(folder, name):
    """Write a wheel of a package that can be imported and nothing else; return its entry."""
    path = folder / f"{name}-0-py3-none-any.whl"
    info = f"{name}-0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", PLACEHOLDER)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    return {
        "name": name,
        "version": "0",
        "file_name": path.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": [name],
        "depends": [],
    }


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The course, its address, and whether it can judge."""
    folder = tmp_path_factory.mktemp("course")
    release = Path(RELEASE)
    whole = True
    try:
        building.needed(release)
    except UserError:
        whole = False
        release = folder / "release"
        shutil.copytree(RELEASE, release)
        lock = json.loads((release / "pyodide-lock.json").read_text("utf-8"))
        lock["packages"] |= {name: placeholder(release, name) for name in building.PACKAGES}
        (release / "pyodide-lock.json").write_text(json.dumps(lock))
    out = building.build(folder / "out", release, tutorials=TUTORIALS)
    handler = functools.partial(Quiet, directory=str(out))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html", whole
    server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that prints nothing and knows the types that a module worker needs."""

    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser, course):
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.goto(course[0])
    yield page
    context.close()


def ready(page):
    """Wait until the action of a button is over; return the last status."""
    page.wait_for_function("document.getElementById('stop').disabled")
    return page.inner_text("#status")


def open_chapter(page, number):
    page.click("nav button[data-part=path]")
    assert ready(page) == "Ready."
    page.select_option("#chapter", str(number))
    page.click("#start")
    assert ready(page) == "Ready."


def test_a_chapter_opens_and_what_is_typed_survives_a_reload(page):
    open_chapter(page, 2)
    text = page.input_value("[id='file-gaussian.py']")
    assert "def sample(eps, mu, log_sigma)" in text and "NotImplementedError" in text
    page.fill("[id='file-gaussian.py']", f"{text}\n# mine\n")
    page.reload()
    open_chapter(page, 2)
    assert page.input_value("[id='file-gaussian.py']").endswith("# mine\n")
    assert not page.faults


def test_the_downloaded_folder_is_read_by_the_command_line_and_by_the_page(page, tmp_path):
    open_chapter(page, 1)
    page.select_option("#exercise", "1.3")
    page.wait_for_function("!document.getElementById('hint').disabled")
    page.click("#hint")
    ready(page)
    page.wait_for_function("document.getElementById('status').textContent.startsWith('hint 1 of')")
    with page.expect_download() as download:
        page.click("#download")
    ready(page)
    path = tmp_path / "my.zip"
    download.value.save_as(path)
    with zipfile.ZipFile(path) as packed:
        packed.extractall(tmp_path)
    student = Folder(tmp_path / "my_ibpcl")
    assert student.started == [1] and student.progress["1.3"]["hints"] == 1
    open_chapter(page, 0)
    page.set_input_files("#upload", path)
    assert ready(page) == "Ready."
    page.reload()
    page.click("nav button[data-part=path]")
    ready(page)
    kept = page.evaluate(
        "new Promise((done) => { const r = indexedDB.open('ibpcl', 1); r.onsuccess = () => {"
        "const g = r.result.transaction('folder').objectStore('folder').get('my_ibpcl');"
        "g.onsuccess = () => done(g.result); }; })"
    )
    assert json.loads(kept["progress.json"])["started"] == [1] and "softmax" not in str(kept)


def test_a_file_that_is_no_folder_is_refused_in_words(page, tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(b"nothing")
    page.click("nav button[data-part=path]")
    ready(page)
    page.set_input_files("#upload", path)
    ready(page)
    assert "not a zip" in page.inner_text("#status")


def test_stop_ends_python_and_the_next_action_starts_it_again(page):
    page.click("nav button[data-part=path]")
    page.wait_for_function("!document.getElementById('stop').disabled")
    page.click("#stop")
    assert ready(page) == "Stopped."
    page.click("nav button[data-part=own]")
    open_chapter(page, 0)
    assert not page.faults


def test_nothing_is_loaded_from_another_host(page, course):
    hosts = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    open_chapter(page, 0)
    assert {host for host in hosts if host} <= {course[0].split("/")[2]}


def test_tutorial_texts_are_shown(page):
    page.click("nav button[data-part=tutorials]")
    ready(page)
    assert page.locator("#tutorial option").count() == 6
    page.select_option("#tutorial", "2")
    page.click("#open")
    assert ready(page) == "Ready."
    assert page.locator("#cells math").count() > 20 and page.locator("#cells textarea").count() > 10


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_has_no_serious_fault_of_access_and_fits(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    open_chapter(page, 2)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


def test_a_chapter_opens_in_a_minute_on_a_slow_laptop(page, course, record_property):
    """Python and the course are loaded with a slowed processor and network."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", NETWORK)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.reload()
    start = time.perf_counter()
    open_chapter(page, 0)
    seconds = time.perf_counter() - start
    record_property("seconds", seconds)
    print(f"from the click to an open chapter: {seconds:.1f} s, whole release: {course[1]}")


def test_the_first_mistake_is_named_in_a_minute_on_a_slow_laptop(page, course):
    if not course[1]:
        pytest.skip("the Pyodide that IBPCL_PYODIDE names has no NumPy")
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", NETWORK)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.reload()
    start = time.perf_counter()
    page.click("#check-own")
    ready(page)
    seconds = time.perf_counter() - start
    assert "da = dh * (1 - h)" in page.inner_text("#verdict")
    print(f"from the click to the first named mistake: {seconds:.1f} s")


def test_a_chapter_is_judged(page, course):
    if not course[1]:
        pytest.skip("the Pyodide that IBPCL_PYODIDE names has no NumPy")
    open_chapter(page, 0)
    page.wait_for_function("!document.getElementById('check-chapter').disabled")
    page.click("#check-chapter")
    assert ready(page) == "Ready."
    assert page.locator("#verdicts .verdict").count() == 5

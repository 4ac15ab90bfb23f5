"""The directive ``browser-check``: an editor that checks a gradient in the reader's browser.

It runs :mod:`ibpcl.verify` in Pyodide, which is Python compiled to WebAssembly. Pyodide is not part
of this project, and the site does not load it from another site. If the environment variable
``IBPCL_PYODIDE`` names the folder of an unpacked release, its core and the packages of
:data:`PACKAGES` are copied into the site. Otherwise a sentence replaces the editor.
"""

import json
import os
import shutil
import zipfile
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

import ibpcl

CORE = (
    "pyodide.js",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
PACKAGES = ("numpy", "scipy")
HERE = Path(ibpcl.__file__).parent
PARTS = (
    "__init__.py",
    "errors.py",
    "palette.py",
    "codeview/*.py",
    "sandbox/*.py",
    "verify/**/*.py",
)  # modules that the check imports
EXAMPLE = '''\
import numpy as np


def f(x, w):
    """A layer: tanh(x w)."""
    h = np.tanh(x @ w)
    return h, (x, w, h)


def f_vjp(dh, cache):
    x, w, h = cache
    da = dh * (1 - h)           # one of these lines
    return da @ w.T, x.T @ da   # is wrong


def check_inputs():
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=(4, 3)), "w": rng.normal(size=(3, 2))}
'''
EDITOR = """\
<form class="browser-check">
<label for="browser-source">Your functions <code>f</code> and <code>f_vjp</code>,
and <code>check_inputs</code>:</label>
<textarea id="browser-source" rows="{rows}"
 spellcheck="false" autocapitalize="off">{source}</textarea>
<p><button type="submit">Check</button> <button type="button" disabled>Stop</button></p>
<pre role="status" aria-live="polite">Python is loaded, about 17 MB, when you press Check.</pre>
</form>
"""
ABSENT = (
    "This copy of the site cannot run Python in the browser. On your own machine, use the command "
    "ibpcl check mine.py."
)


def needed(release):
    """Return the files of a release of Pyodide that the check needs.

    Parameters
    ----------
    release : pathlib.Path
        The folder of the unpacked release.

    Returns
    -------
    list of pathlib.Path
        The core, and the packages with their dependencies.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    """
    packages = json.loads((release / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    names = list(PACKAGES)
    files = [release / name for name in CORE]
    for name in names:  # the list grows during the loop
        names += [other for other in packages[name]["depends"] if other not in names]
        files.append(release / packages[name]["file_name"])
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise FileNotFoundError(
            f"IBPCL_PYODIDE: {release} has no {', '.join(missing)}: it must be a whole release"
        )
    return files


def ship(app, error):
    """Copy Pyodide and the checker into the built site."""
    release = app.config.browser_check
    folder = Path(app.outdir, "_static", "pyodide")
    shutil.rmtree(folder, ignore_errors=True)  # left by an earlier build
    if error is not None or not release or app.builder.format != "html":
        return
    folder.mkdir(parents=True)
    for file in needed(Path(release)):
        shutil.copyfile(file, folder / file.name)
    pack(folder / "ibpcl.zip")


def pack(path):
    """Write the modules of the checker, which the page loads, into an archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in PARTS:
            for file in sorted(HERE.glob(part)):
                archive.write(file, file.relative_to(HERE.parent))


class BrowserCheck(Directive):
    """The editor, or a sentence if the site has no Pyodide."""

    def run(self):
        """Return the nodes."""
        if not self.state.document.settings.env.config.browser_check:
            return [nodes.paragraph(text=ABSENT)]
        html = EDITOR.format(rows=EXAMPLE.count("\n") + 1, source=escape(EXAMPLE))
        return [nodes.raw("", html, format="html")]


def setup(app):
    """Add the directive, its script and the files that it loads."""
    app.add_config_value("browser_check", os.environ.get("IBPCL_PYODIDE", ""), "env", [str])
    app.add_directive("browser-check", BrowserCheck)
    app.connect("build-finished", ship)
    app.add_js_file("browser-check.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Execute the tutorials, as many at a time as there are cores, while Sphinx reads the other pages.

MyST-NB would do so one by one; it finds them in its cache.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import jupytext
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution

DOCS = Path(__file__).resolve().parent.parent
running = {}  # by the name of the page


def setup(app):
    """Begin before anything else, and end where a tutorial is read."""
    app.connect("config-inited", begin, priority=100)
    app.connect("source-read", end)
    return {"parallel_read_safe": False}  # threads are running


def begin(app, config):
    """Start to execute all tutorials that the cache does not have, each in a kernel of its own."""

    def execute(notebook):
        with TemporaryDirectory() as folder:
            return single_nb_execution(
                notebook, folder, config.nb_execution_timeout, allow_errors=False
            )

    profile = DOCS / "_ipython" / "profile_default" / "ipython_kernel_config.py"
    profile.parent.mkdir(parents=True, exist_ok=True)
    # sharp figures
    profile.write_text("c.InlineBackend.figure_formats = {'retina'}\n", encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(DOCS / "_ipython")
    pool = ThreadPoolExecutor(os.cpu_count())
    cache = get_cache(config.nb_execution_cache_path)
    for path in sorted((DOCS.parent / "tutorials").glob("*.py")):
        notebook = jupytext.read(path, fmt="py:percent")
        try:
            cache.match_cache_notebook(notebook)
        except KeyError:
            running[f"tutorials/{path.stem}"] = pool.submit(execute, notebook)


def end(app, docname, source):
    """Wait for a tutorial that is to be read, and put it into the cache."""
    if docname in running:
        result = running.pop(docname).result()
        # else MyST-NB executes it again, and says what failed
        if result.err is None:
            bundle = CacheBundleIn(
                result.nb, app.env.doc2path(docname), data={"execution_seconds": result.time}
            )
            get_cache(app.config.nb_execution_cache_path).cache_notebook_bundle(
                bundle, check_validity=False, overwrite=True
            )

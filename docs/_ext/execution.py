"""Execute the tutorials in parallel, one per core, while Sphinx reads the other pages, and then let
Sphinx write the pages in parallel, too.

MyST-NB would execute the tutorials one by one. It finds the results in its cache instead.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import lessons
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution

import ibpcl

DOCS = Path(__file__).resolve().parent.parent
running = {}  # name of the page to its execution


def setup(app):
    """Connect the events: start before anything else, wait when a tutorial is read, and change over
    to all cores when all pages are read.
    """
    app.connect("config-inited", begin, priority=100)
    app.connect("source-read", end)
    app.connect("env-check-consistency", write_in_parallel)
    return {"parallel_read_safe": False}  # threads are running


def begin(app, config):
    """Start to execute the tutorials that are not in the cache, each in its own kernel."""

    def execute(notebook):
        with TemporaryDirectory() as folder:
            return single_nb_execution(
                notebook, folder, config.nb_execution_timeout, allow_errors=False
            )

    profile = DOCS / "_ipython" / "profile_default" / "ipython_kernel_config.py"
    profile.parent.mkdir(parents=True, exist_ok=True)
    # Sharp figures, with text that stays readable where a wide figure shrinks to the page.
    profile.write_text(
        "c.InlineBackend.figure_formats = {'retina'}\nc.InlineBackend.rc = {'font.size': 12}\n",
        encoding="utf-8",
    )
    os.environ["IPYTHONDIR"] = str(DOCS / "_ipython")
    # The package whose checks the pages show, not another copy that is installed beside it: its
    # kernels are compiled once.
    os.environ["PYTHONPATH"] = str(Path(ibpcl.__file__).resolve().parents[1])
    pool = ThreadPoolExecutor(os.cpu_count())
    cache = get_cache(config.nb_execution_cache_path)
    for path in sorted((DOCS.parent / "tutorials").glob("*.py")):
        notebook = lessons.notebook(path.read_text(encoding="utf-8"))
        try:
            cache.match_cache_notebook(notebook)
        except KeyError:
            running[f"tutorials/{path.stem}"] = pool.submit(execute, notebook)


def end(app, docname, source):
    """Wait for the tutorial that Sphinx reads next, and put it into the cache."""
    if docname in running:
        result = running.pop(docname).result()
        # after an error, MyST-NB executes it again and reports the error
        if result.err is None:
            bundle = CacheBundleIn(
                result.nb, app.env.doc2path(docname), data={"execution_seconds": result.time}
            )
            get_cache(app.config.nb_execution_cache_path).cache_notebook_bundle(
                bundle, check_validity=False, overwrite=True
            )


def write_in_parallel(app, env):
    """Let Sphinx write the pages in as many processes as there are cores.

    It reads them in one process: the threads that execute the tutorials exist in one process only.
    """
    app.parallel = os.cpu_count()

"""The site: ``python -m sphinx -W -n --keep-going docs docs/_build/html``.

Pages are the Markdown files of this folder, the tutorials, and what ``_ext/generated.py`` writes
from the package.
"""

import os
import sys
from pathlib import Path

import ibpcl

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["COLUMNS"] = "80"  # of the usage of a command

project = "ibpcl"
author = "The ibpcl authors"
copyright = author
version = release = ibpcl.__version__
language = "en"
smartquotes_action = "q"  # dashes belong to options of commands

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "execution",
    "generated",
    "explore",
    "page",
    "browser_check",
]
exclude_patterns = ["_*", "conf.py", "examples", "tutorials/*.ipynb", "tutorials/solutions"]
# the reader of percent scripts is a function
suppress_warnings = ["config.cache"]

# Tutorials: percent scripts, executed once and kept until their code changes.
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed")
# seconds; the tests hold a tutorial to less
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_output_stderr = "warn"  # and a warning stops the build
nb_merge_streams = True

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autodoc_default_options = {"member-order": "bysource", "no-value": True}
# docstrings name the types, with shapes
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
# What is meant by these names has no page of its own: constants of a module, and what the caller
# brings along.
nitpick_ignore_regex = [("py:data", ".*")]

html_theme = "furo"
html_title = f"ibpcl {release}"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f4e9c", "color-brand-content": "#1f4e9c"},
    "dark_css_variables": {"color-brand-primary": "#8ab4f8", "color-brand-content": "#8ab4f8"},
}

"""The site: ``python -m sphinx -W -n --keep-going docs docs/_build/html``.

The pages are the Markdown files of this folder, the tutorials, and the pages that
``_ext/generated.py`` and ``_ext/lessons.py`` write from the package.
"""

import os
import sys
from pathlib import Path

import ibpcl

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["COLUMNS"] = "80"  # width of the usage lines of commands

project = "ibpcl"
author = "The ibpcl authors"
copyright = author
version = release = ibpcl.__version__
language = "en"
smartquotes_action = "q"  # only quotes: "--" begins an option of a command

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "execution",
    "generated",
    "lessons",
    "reference",
    "explore",
    "page",
    "browser_check",
]
exclude_patterns = ["_*", "conf.py", "examples", "tutorials/*.ipynb", "tutorials/solutions"]
# nb_custom_formats holds a function, which Sphinx cannot store
suppress_warnings = ["config.cache"]

# Tutorials are percent scripts. They are executed once, and again when their code changes.
nb_custom_formats = {".py": ["lessons.notebook", {}]}
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed")
# seconds; the tests allow a tutorial less
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_output_stderr = "warn"  # with -W, output to stderr stops the build
nb_merge_streams = True

myst_enable_extensions = ["amsmath", "attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autodoc_default_options = {"member-order": "bysource", "no-value": True}
# the docstrings state the types, with shapes
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Links from types to the pages of Python and NumPy need lists of names from their sites. Only the
# host of the versioned site downloads them: everywhere else the site builds without a network.
if "READTHEDOCS" in os.environ:
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
    }
    numpydoc_xref_param_type = True
    numpydoc_xref_ignore = "all"  # the words that numpydoc itself does not know
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
# Constants of a module have no page.
nitpick_ignore_regex = [("py:data", ".*")]

html_theme = "pydata_sphinx_theme"
html_title = f"ibpcl {release}"
html_static_path = ["_static", "_build/static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
# The home page has cards in place of a menu.
html_sidebars = {"**": ["sidebar-nav-bs"], "index": []}
html_theme_options = {
    "logo": {"text": f"ibpcl {release}"},
    # The top bar has the five sections; the menu at the left has the pages of one section only.
    "navigation_depth": 1,
    # The contents at the right show sections and subsections.
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

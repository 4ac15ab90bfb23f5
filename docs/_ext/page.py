"""Sphinx extension with a local copy of MathJax and cross-references for names in docstrings."""

import importlib
import importlib.util
import shutil
from pathlib import Path

from docutils import nodes
from docutils.utils import get_source_line
from sphinx.util.nodes import make_refnode

# Files that the chtml output may load: the component, its fonts, TeX packages on demand.
NEEDED = ("tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions")


def setup(app):
    """Point Sphinx to the local copy of MathJax, and register the event handlers."""
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.config.mathjax3_config = {
        # The menu would load more files, and contacts a server.
        "options": {"enableMenu": False},
        "chtml": {"displayAlign": "left", "displayIndent": "0"},
    }
    app.connect("build-finished", finish)
    app.connect("missing-reference", resolve)
    app.connect("doctree-resolved", size)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def finish(app, error):
    """Copy the needed files of MathJax, and remove pages of older builds."""
    if error is not None:
        return
    for path in Path(app.outdir).rglob("*.html"):
        name = path.relative_to(app.outdir).with_suffix("").as_posix()
        if not name.startswith("_") and name not in (
            *app.env.found_docs,
            "genindex",
            "py-modindex",
            "search",
        ):
            path.unlink()
    source = (
        Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
        / "static"
        / "mathjax"
    )
    for name in NEEDED:
        target = Path(app.outdir) / "_static" / "mathjax" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source / name, target)


# Pixels of CSS per pixel of a figure of ``docs/figures``, as in ibpcl.experiments.pictures: text
# has the same size in all of them.
SHOWN = 0.75


def size(app, doctree, docname):
    """Give each figure its width, so that text has one size; the style sheet limits it."""
    for image in doctree.findall(nodes.image):
        path = Path(app.srcdir, image["uri"])
        if path.suffix == ".png" and path.parent.name == "figures" and path.exists():
            image["width"] = f"{SHOWN * int.from_bytes(path.read_bytes()[16:20], 'big'):.0f}px"


def resolve(app, env, node, contnode):
    """Resolve a name in a docstring as its module would.

    A name that exists but has no page is shown as code. An unknown name stays unresolved, which
    ends the build with ``-n -W``.
    """
    if node["refdomain"] != "py":
        return None
    target = node["reftarget"]
    here = (get_source_line(node)[0] or "").partition("docstring of ")[2].split(".")
    # In the object that the docstring describes, in its class, in its module; then by the full
    # name.
    for start in (*(".".join(here[:depth]) for depth in range(len(here), 0, -1)), ""):
        value = named(f"{start}.{target}".strip("."))
        if value is not None:
            home = getattr(value, "__module__", start)
            name = getattr(value, "__qualname__", target)
            # Under its module, under the package that exports it, or as a module.
            for full_name in (
                f"{home}.{name}",
                f"{home.rpartition('.')[0]}.{name}",
                getattr(value, "__name__", ""),
            ):
                if page := env.get_domain("py").objects.get(full_name):
                    return make_refnode(
                        app.builder, node["refdoc"], page.docname, page.node_id, contnode, full_name
                    )
            return contnode
    return None


def named(name):
    """Return the Python object with a dotted name, or None if there is none."""
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:depth]))
        except ImportError:
            continue
        for part in parts[depth:]:
            value = getattr(value, part, None)
        return value
    return None

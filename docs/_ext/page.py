"""What pages need beyond their text: MathJax beside them, and names of docstrings looked up."""

import importlib
import importlib.util
import shutil
from pathlib import Path

from docutils.utils import get_source_line
from sphinx.util.nodes import make_refnode

# What chtml output may load: the component itself, its fonts, TeX packages on demand.
NEEDED = ("tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions")


def setup(app):
    """Point Sphinx to the local copy of MathJax, and connect what resolves references."""
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.config.mathjax3_config = {
        # it would load more, and speaks to a server
        "options": {"enableMenu": False},
        "chtml": {"displayAlign": "left", "displayIndent": "0"},
    }
    app.connect("build-finished", finish)
    app.connect("missing-reference", resolve)
    # after the theme has made its navigation
    app.connect("html-page-context", levels, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def finish(app, error):
    """Copy what is needed of the package that ships MathJax, and remove pages that an older build
    has left.
    """
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


def levels(app, pagename, templatename, context, doctree):
    """Give the captions of the navigation, which have the role of headings, the level that the role
    asks for.
    """
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def resolve(app, env, node, contnode):
    """Resolve a name of a docstring as its module would; one that exists but has no page is shown
    as code.

    A name that means nothing stays unresolved, and with ``-n -W`` ends the build.
    """
    if node["refdomain"] != "py":
        return None
    target = node["reftarget"]
    here = (get_source_line(node)[0] or "").partition("docstring of ")[2].split(".")
    # In the object that the docstring describes, in its class, in its module; then by the full
    # name.
    for start in (*(".".join(here[:depth]) for depth in range(len(here), 0, -1)), ""):
        found = named(f"{start}.{target}".strip("."))
        if found is not None:
            home = getattr(found, "__module__", start)
            name = getattr(found, "__qualname__", target)
            # Under its own module, under the package that offers it, or as a module.
            for known in (
                f"{home}.{name}",
                f"{home.rpartition('.')[0]}.{name}",
                getattr(found, "__name__", ""),
            ):
                if page := env.get_domain("py").objects.get(known):
                    return make_refnode(
                        app.builder, node["refdoc"], page.docname, page.node_id, contnode, known
                    )
            return contnode
    return None


def named(name):
    """Return what a dotted name means to Python, None if nothing."""
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:depth]))
        except ImportError:
            continue
        for part in parts[depth:]:
            found = getattr(found, part, None)
        return found
    return None

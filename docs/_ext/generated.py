"""Sphinx extension that generates pages from the package and copies files from outside ``docs``.

A file is only written if its text has changed, so a second build reads only changed pages.
"""

import os
import re
from pathlib import Path

import claims_page
import jupytext
import paths
import proofs
import reference

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
# Folders that contain only generated files.
FOLDERS = ("tutorials", "derivations", "paper", "reference", "project")
# Files of the root that get a page if they exist.
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")
LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def setup(app):
    """Register the generator, and the function that adapts pages when they are read."""
    app.connect("config-inited", generate)
    app.connect("source-read", adapt)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def generate(app, config):
    """Write all generated pages, and remove those of earlier builds that no longer exist."""
    results = proofs.verdicts(DOCS / "_build" / "verdicts.json")
    pages = {
        **proofs.derivations(results),
        **proofs.paper(results),
        "paper/claims.md": claims_page.page(),
        **reference.api(),
        **reference.commands(),
    }
    files = {name: text.encode() for name, text in pages.items()} | tutorials()
    files |= {
        f"project/{name.lower()}": (ROOT / name).read_bytes()
        for name in PROJECT
        if (ROOT / name).exists()
    }
    for folder in FOLDERS:
        for path in (DOCS / folder).rglob("*"):
            if path.is_file() and path.relative_to(DOCS).as_posix() not in files:
                path.unlink()
    for name, content in files.items():
        path = DOCS / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def tutorials():
    """Return the tutorials, each as script and as notebook, their solutions, and the page that
    lists them.
    """
    files = {}
    for path in sorted((ROOT / "tutorials").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        files[name] = path.read_bytes()
        if path.parent.name != "tutorials":
            continue
        notebook = jupytext.read(path, fmt="py:percent")
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "language": "python",
            "display_name": "Python 3",
        }
        for number, cell in enumerate(notebook.cells):
            cell["id"] = f"cell-{number}"  # or every build would draw other ones
        files[name.removesuffix(".py") + ".ipynb"] = jupytext.writes(notebook, fmt="ipynb").encode()
    return files | {"tutorials/index.md": paths.tutorials_page().encode()}


def adapt(app, docname, source):
    """Complete pages as they are read: downloads of a tutorial, links that leave this folder, pages
    not yet listed.
    """
    text = source[0]
    if docname == "look-up":
        pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
        text = text.replace("project/*\n", "\n".join(["project/*", *sorted(pages - listed()), ""]))
    elif docname.startswith("tutorials/") and docname != "tutorials/index":
        name = docname.removeprefix("tutorials/")
        files = {
            "notebook": f"{name}.ipynb",
            "script": f"{name}.py",
            "solutions": f"solutions/{name}.py",
        }
        line = ", ".join(
            f"{{download}}`{word} <{file}>`"
            for word, file in files.items()
            if (DOCS / "tutorials" / file).exists()
        )
        text = re.sub(
            r"^(# # .+\n)", rf"\1#\n# Download: {line}\n", text, count=1, flags=re.MULTILINE
        )
    if not docname.startswith(FOLDERS[1:4]):
        here = ROOT if docname.startswith("project/") else (DOCS / docname).parent
        here = ROOT / "tutorials" if docname.startswith("tutorials/") else here
        text = LINK.sub(lambda match: link(match, here, (DOCS / docname).parent), text)
    source[0] = text


def listed():
    """Return the names of all pages that a page of this folder lists in a menu."""
    found = set()
    for path in DOCS.glob("*.md"):
        for menu in re.findall(r"^```{toctree}\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S):
            found |= set(re.findall(r"^(?:[^<\n:]* <)?([\w/*-]+)>?$", menu, re.M))
    return found


def link(match, here, page):
    """Return a Markdown link for the site: to the page of a file, or to the file itself.

    Parameters
    ----------
    match : re.Match
        A match of :data:`LINK`.
    here : pathlib.Path
        The folder of the file that contains the link.
    page : pathlib.Path
        The folder from which Sphinx reads the page.

    Returns
    -------
    link : str
    """
    text = match[1]
    path = match[2]
    anchor = match[3] or ""
    target = (here / path).resolve()
    if not (target.is_relative_to(ROOT) and target.exists()):
        # Either Sphinx reports it as a broken link, or it is code of a tutorial.
        return match[0]
    name = target.relative_to(ROOT).as_posix()
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    pages = {
        "README.md": "/index.md",
        "docs": "/index.md",
        "tutorials": "/tutorials/index.md",
        **{each: f"/project/{each.lower()}" for each in PROJECT},
    }
    if name in pages:
        return f"[{text}]({pages[name]}{anchor})"
    if name.startswith("docs/") and target.suffix == ".md":
        return f"[{text}](/{name.removeprefix('docs/')}{anchor})"
    if name.startswith("tutorials/") and target.parent.name == "tutorials":
        return f"[{text}](/{name}{anchor})"
    for folder, made in (
        ("reference", module),
        ("derivations", module.removeprefix("ibpcl.primitives.")),
    ):
        if (DOCS / folder / f"{made}.rst").exists():
            return f"[{text}](/{folder}/{made}.rst)"
    if target.is_dir():
        # A folder has no page.
        return text
    # MyST would look for a page of such a file.
    if target.suffix in (".py", ".md"):
        return f"{{download}}`{text.strip('`')} <{os.path.relpath(target, page)}>`"
    return f"[{text}]({os.path.relpath(target, page)})"

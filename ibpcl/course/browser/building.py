"""Write the browser course: ``python -m ibpcl.course.browser.building OUT --pyodide RELEASE``.

RELEASE is the folder of an unpacked release of Pyodide, 0.27 or later.  The npm package ``pyodide``
has its core and the list of all packages with their hashes, but not NumPy, SciPy and Matplotlib:
these are part of the full release.
"""

import argparse
import hashlib
import importlib.util
import json
import shutil
import sys
import zipfile
from pathlib import Path

import ibpcl
from ibpcl.course import kit
from ibpcl.course.browser import tab
from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapter_of

CORE = ("pyodide.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
LOADER = ("pyodide.asm.mjs", "pyodide.asm.js")  # since 314, and before
PACKAGES = ("numpy", "scipy", "matplotlib")
HERE = Path(__file__).parent
WEB = HERE / "web"
PACKAGE = Path(ibpcl.__file__).parent
# Not imported in a tab: compiled code, commands, and what starts processes.
LEFT_OUT = ("kernels", "audit", "bench", "cli", "pytest_plugin.py", "__main__.py", "paper")
# Packages in plain Python that the modules import; those of this environment are copied.
PLAIN = ("tomli_w", "tqdm", "filelock", "threadpoolctl", "jinja2", "markupsafe")
# What the check of own code imports; the rest is loaded after it.
FIRST = ("__init__.py", "errors.py", "codeview/*.py", "sandbox/*.py", "verify/**/*.py")


def needed(release, packages=PACKAGES):
    """Return the files of a release of Pyodide that the course needs.

    Parameters
    ----------
    release : path
        Folder of the unpacked release.
    packages : sequence of str
        Names of its packages; what these need is added.

    Returns
    -------
    files : list of pathlib.Path

    Raises
    ------
    UserError
        If a file is missing, or is not the one of the release.
    """
    release = Path(release)
    if not (release / "pyodide-lock.json").is_file():
        raise UserError(f"browser: {release} has no pyodide-lock.json: name a release of Pyodide")
    table = json.loads((release / "pyodide-lock.json").read_text("utf-8"))["packages"]
    loader = next((name for name in LOADER if (release / name).is_file()), LOADER[0])
    files = [release / name for name in (*CORE, loader)]
    names = list(packages)
    hashes = {}
    for name in names:  # the list grows during the loop
        if name not in table:
            raise UserError(f"browser: the release in {release} has no package {name}")
        names += [other for other in table[name]["depends"] if other not in names]
        files.append(release / table[name]["file_name"])
        hashes[files[-1]] = table[name]["sha256"]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise UserError(
            f"browser: {release} has no {', '.join(missing)}; the npm package has the core alone, "
            "and the full release has all"
        )
    for file, sha256 in hashes.items():
        if hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
            raise UserError(f"browser: {file.name} is not the file of the release (SHA-256)")
    return files


def build(out, release, packages=PACKAGES, tutorials=None):
    """Write the course into a folder, which any web server can serve.

    Parameters
    ----------
    out : path
        New folder.
    release : path
        Folder of the unpacked release of Pyodide.
    packages : sequence of str
        Packages of Pyodide.
    tutorials : path, optional
        Folder of the tutorials.

    Returns
    -------
    folder : pathlib.Path

    Raises
    ------
    UserError
        If ``out`` exists, or a file is missing.
    """
    out = Path(out)
    if out.exists():
        raise UserError(f"browser: {out} exists already: name a new folder")
    files = needed(release, packages)
    texts = kit.tutorials_of(tutorials)
    (out / "pyodide").mkdir(parents=True)
    for file in files:
        shutil.copyfile(file, out / "pyodide" / file.name)
    for file in WEB.iterdir():
        shutil.copyfile(file, out / file.name)
    pack(out, texts)
    return out


def pack(out, texts):
    """Write the archives with the Python of the course: what comes first, and the rest.

    Parameters
    ----------
    out : pathlib.Path
        The folder.
    texts : dict of str to str
        Text of each tutorial by its name.
    """
    first = sorted({path for part in FIRST for path in PACKAGE.glob(part)})
    with zipfile.ZipFile(out / "first.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in first:
            archive.write(path, path.relative_to(PACKAGE.parent))
    with zipfile.ZipFile(out / "rest.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(PACKAGE.rglob("*")):
            place = path.relative_to(PACKAGE)
            kept = path.is_file() and path.suffix in (
                ".py",
                ".toml",
                ".md",
                ".html",
                ".css",
                ".npz",
            )
            if kept and path not in first and not _is_left_out(place):
                archive.write(path, path.relative_to(PACKAGE.parent))
        for name in PLAIN:
            _add_plain(archive, name)
        for number in range(tab.LAST_TUTORIAL + 1):
            name = chapter_of(number).tutorial
            archive.writestr(f"tutorials/{name}.py", texts[name])


def _is_left_out(place):
    return place.parts[0] in LEFT_OUT or "__pycache__" in place.parts


def _add_plain(archive, name):
    """Add the Python files of an installed package or module to an archive."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise UserError(f"browser: the package {name} is not installed")
    origin = Path(spec.origin)
    if origin.name != "__init__.py":
        archive.write(origin, origin.name)
        return
    for path in sorted(origin.parent.rglob("*.py")):
        archive.write(path, path.relative_to(origin.parents[1]))


def main(arguments=None):
    """Build the course from the command line.

    Parameters
    ----------
    arguments : list of str, optional
        By default, those of the program.

    Returns
    -------
    code : int
        0 for success, 2 for a mistake.
    """
    parser = argparse.ArgumentParser(
        prog="python -m ibpcl.course.browser.building", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("out", metavar="OUT", help="new folder")
    parser.add_argument(
        "--pyodide", metavar="RELEASE", required=True, help="folder of a release of Pyodide"
    )
    parser.add_argument("--tutorials", metavar="DIR", help="folder of the tutorials")
    options = parser.parse_args(arguments)
    try:
        folder = build(options.out, options.pyodide, tutorials=options.tutorials)
    except UserError as error:
        print(f"ibpcl: {error}", file=sys.stderr)
        return 2
    print(f"{folder}: serve it, for example with `python -m http.server --directory {folder}`")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Reference pages of the public modules and of the command line."""

import argparse
import importlib
import inspect
import pkgutil
import re

from jinja2.loaders import PackageLoader
from jinja2.sandbox import SandboxedEnvironment
from numpydoc.docscrape_sphinx import SphinxDocString

import ibpcl
from ibpcl.cli.parser import parser

# Packages whose modules have no pages: users reach them through a command or, for kernels, through
# the NumPy function of the same name.
CLOSED = ("ibpcl.bench", "ibpcl.classroom", "ibpcl.cli", "ibpcl.kernels")


def setup(app):
    """Connect the completion of links to attributes, after numpydoc has made them."""
    app.connect("autodoc-process-docstring", qualify, priority=600)
    compile_once()
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def compile_once():
    """Let all docstrings share one compiled template: numpydoc would compile it for each again."""
    environment = SandboxedEnvironment(loader=PackageLoader("numpydoc"))
    template = environment.get_template("numpydoc_docstring.rst")
    load = SphinxDocString.load_config
    SphinxDocString.load_config = lambda doc, config: load(doc, {"template": template, **config})


def qualify(app, what, name, value, options, lines):
    """Complete links such as ``<.inputs>``, which numpydoc makes for the attributes of a class.

    Without the name of the class, Sphinx finds the attributes of all classes.
    """
    if what == "class":
        lines[:] = [re.sub(r"(:obj:`\w+ <)\.(?=\w+>`)", rf"\1{name}.", line) for line in lines]


def children(package):
    """Return the public modules directly below a package without ``__all__``."""
    name = package.__name__
    if (
        not hasattr(package, "__path__")
        or name in CLOSED
        or (hasattr(package, "__all__") and package is not ibpcl)
    ):
        return []
    return [
        f"{name}.{info.name}"
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith("_")
        # these have separate pages
        and f"{name}.{info.name}" not in ("ibpcl.primitives", "ibpcl.cli")
    ]


def members(module):
    """Return the names of a module's public functions and classes, in the order of ``__all__`` or
    of the file.
    """
    if hasattr(module, "__all__") and module is not ibpcl:
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isroutine(value))
        and value.__module__ == module.__name__
    ]


def api(package=ibpcl, above=()):
    """Return the pages of a package and of all its modules, {path: text}.

    Only the first page is part of the navigation, because two hundred entries would make every page
    slow. Each other page links to the packages above it.

    Parameters
    ----------
    package : module
        The package.
    above : tuple of str
        Names of the packages above it.

    Returns
    -------
    dict of str to str
        The pages in reStructuredText.
    """
    name = package.__name__
    title = f"``{name}``" if above else "Python API"
    trail = " / ".join(f":doc:`{each} <{each if each != 'ibpcl' else 'index'}>`" for each in above)
    parts = [":orphan:", trail] if above else []
    parts.append(f"{title}\n{'=' * len(title)}")
    parts.append(f".. automodule:: {name}\n   :no-members:\n")
    for member in members(package) if above else ():
        value = getattr(package, member)
        kind = (
            "class"
            if inspect.isclass(value)
            else "function"
            if inspect.isroutine(value)
            else "data"
        )
        parts.append(f".. auto{kind}:: {member}\n" + "   :members:\n" * (kind == "class"))
    pages = {}
    for child in children(package):
        module = importlib.import_module(child)
        first = (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")
        parts.append(f":doc:`{child} <{child}>`\n   {first}")
        pages |= api(module, (*above, name))
    if not above:
        parts.insert(2, "Public names: " + ", ".join(public_names()) + ".")
        parts.append(
            ":doc:`ibpcl.primitives </derivations/index>`\n   The derivations, one page per module."
        )
    return {f"reference/{name if above else 'index'}.rst": "\n\n".join(parts) + "\n", **pages}


def public_names():
    """Return references to the public names of ``ibpcl``."""
    for name in getattr(ibpcl, "__all__", ()):
        value = getattr(ibpcl, name)
        if inspect.ismodule(value):
            page = "/derivations/index" if value.__name__ == "ibpcl.primitives" else value.__name__
            yield f":doc:`{name} <{page}>`"
        elif callable(value):
            yield f":py:obj:`{name} <{value.__module__}.{value.__qualname__}>`"


def commands():
    """Return the page of the command line."""
    text = [
        "# Command line",
        "`ibpcl COMMAND --help` prints the same text. [Commands](/commands.md) is an overview.",
    ]
    return {"reference/commands.md": "\n\n".join([*text, *_command(parser(), 2)]) + "\n"}


def _command(command, level):
    """Return a command as Markdown: usage, description, arguments, and its subcommands."""
    # argparse has no public way to list the arguments of a parser.
    actions = [action for action in command._actions if action.help != argparse.SUPPRESS]
    below = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    parts = [] if level == 2 else [f"{'#' * (level - 1)} `{command.prog}`"]
    parts += [" ".join(command.description.split()), f"```text\n{command.format_usage()}```"]
    for action in actions:
        if action in below or action.dest == "help":
            continue
        value = action.metavar or ("{" + ",".join(action.choices) + "}" if action.choices else "")
        value = "" if action.nargs == 0 else value
        names = [f"{option} {value}".strip() for option in action.option_strings] or [
            value or action.dest
        ]
        parts.append(", ".join(f"`{name}`" for name in names) + f"\n: {_escaped(command, action)}")
    epilog = command.epilog() if callable(command.epilog) else command.epilog
    parts += [f"```text\n{epilog.rstrip()}\n```"] if epilog else []
    for action in below:
        for each in action.choices.values():
            parts += _command(each, level + 1)
    return parts


def _escaped(command, action):
    """Return the help of an argument with its default, with Markdown's characters escaped."""
    text = (action.help or "") % {**vars(action), "prog": command.prog}
    plain_and_code = f"{text[:1].upper()}{text[1:]}.".split("`")
    plain_and_code[::2] = [re.sub(r"([*_<\[])", r"\\\1", plain) for plain in plain_and_code[::2]]
    return "`".join(plain_and_code)

"""The command ``ibpcl data``: list, verify and download the image sets."""

import sys

from ibpcl import console, storage
from ibpcl.cli.execution import in_words_of
from ibpcl.data import cifar, glyphs, registry
from ibpcl.data.sources import SOURCES, given_folder
from ibpcl.errors import UserError


def execute(options):
    """Run one action of the command.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl data``.
    """
    ACTIONS[options.action](options)


def show(options):
    """Print every image set with its state, and below it the problems of damaged files.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl data list``.
    """
    statuses = registry.status(options.data_dir)
    if options.json:
        print(
            storage.json_text(
                [
                    {
                        **status._asdict(),
                        "folder": status.folder and str(status.folder),
                        "files": [
                            {**file._asdict(), "path": file.path and str(file.path)}
                            for file in status.files
                        ],
                    }
                    for status in statuses
                ],
                indent=2,
            )
        )
        return
    for status in statuses:
        summary = in_words_of(options, status.summary)
        print(f"{status.name:14} {summary:23} {status.folder or ''}".rstrip())
        if status.summary in ("damaged", "incomplete"):
            for file in status.files:
                if file.problem:
                    print(f"    {file.file}: {file.problem}")


def verify(options):
    """Verify the named image sets, or all that have files.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl data verify``.

    Raises
    ------
    UserError
        If an image set is missing or damaged, or the folder holds none.
    """
    names = options.names or [
        status.name
        for status in registry.status(options.data_dir)
        if status.files and status.summary != "missing"
    ]
    published = (*SOURCES, *cifar.ARCHIVES)
    if given_folder(options.data_dir) is not None and not set(names) & set(published):
        raise UserError(
            f"{given_folder(options.data_dir)} has no image set: none of the folders "
            f"{', '.join(published)} exists"
        )
    for name in names:
        folder = registry.verify(name, options.data_dir)
        drawn = "rendered by the program, nothing to verify"
        print(
            f"{name}: {drawn if name in glyphs.CHARACTERS else f'verified, {folder}'}", flush=True
        )


def fetch(options):
    """Download the named image sets.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl data fetch``.
    """
    for name in options.names:
        folder = registry.fetch(name, options.data_dir, progress=console.is_terminal(sys.stderr))
        print(f"{name}: verified, {folder}", flush=True)


ACTIONS = {"list": show, "verify": verify, "fetch": fetch}

"""``ibpcl settings``: every configuration key with its default, type and meaning."""

import textwrap

from ibpcl import storage
from ibpcl.experiments import values
from ibpcl.experiments.config import keys, run_keys
from ibpcl.experiments.tuned import TUNED
from ibpcl.methods import method

WIDTH = 80


def execute(options):
    """Print the keys of the run, then those of the method."""
    known = keys(options.method)
    of_run = run_keys()
    tuned = {
        f"tuned (in {experiment})": methods[options.method]
        for experiment, methods in TUNED.items()
        if options.method in methods
    }
    presets = method(options.method).presets | tuned
    if options.json:
        rows = {
            name: {
                "default": key.default,
                "type": values.describe(key.kind),
                "allowed": key.allowed,
                "of": "run" if name in of_run else options.method,
                "meaning": key.doc,
            }
            for name, key in known.items()
        }
        print(
            storage.json_text(
                {"method": options.method, "keys": rows, "presets": presets}, indent=2
            )
        )
        return
    print(
        "Configuration keys: lines `key = value` of a TOML file, or `--set key=value`.\n"
        "Shown are the defaults; an experiment may set others, and the file config.toml\n"
        "in the folder of a run has all of them."
    )
    for title, chosen in (
        ("Of every run", of_run),
        (f"Of the method {options.method}", known.keys() - of_run.keys()),
    ):
        print(f"\n{title}:")
        for name in (name for name in known if name in chosen):
            print_key(name, known[name])
    print("\nPresets, `--preset NAME`, and what each changes:")
    for name, changes in presets.items():
        text = (
            ", ".join(f"{key} = {values.toml(value)}" for key, value in changes.items())
            or "nothing"
        )
        print(
            textwrap.fill(f"{name}: {text}", WIDTH, initial_indent="  ", subsequent_indent=" " * 6)
        )


def print_key(name, key):
    """Print one key: its default, its type and what is allowed in a line, its meaning below."""
    takes = values.describe(key.kind)
    if key.allowed:  # words that are allowed need no "text"
        takes = key.allowed if key.kind in (str, bool) else f"{takes}, {key.allowed}"
    print(
        textwrap.fill(
            f"  {name} = {values.toml(key.default)}  ({takes})", WIDTH, subsequent_indent=" " * 6
        )
    )
    print(textwrap.fill(key.doc, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6))

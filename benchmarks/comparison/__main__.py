"""``python -m benchmarks.comparison``: print the answers of all installed checkers on three pieces.

Every checker of :mod:`benchmarks.gradients.adapters` gets the same pairs, with its own defaults.
"""

import argparse
import importlib.util
from pathlib import Path

from benchmarks.gradients.adapters import installed

PIECES = Path(__file__).parent / "pieces"


def piece(path):
    """Return the pair of a file and its inputs.

    Parameters
    ----------
    path : Path
        A file with ``NAME``, ``NAME_vjp`` and ``check_inputs``.

    Returns
    -------
    f, f_vjp : callable
        The forward and its gradient.
    inputs : tuple of ndarray
        The inputs.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (name,) = (name for name in vars(module) if f"{name}_vjp" in vars(module))
    return getattr(module, name), getattr(module, f"{name}_vjp"), module.check_inputs()


def main(arguments=None):
    """Print each piece's first line, and the answer of each checker.

    Parameters
    ----------
    arguments : list of str, optional
        The command line.  By default, that of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison", description=__doc__)
    parser.add_argument("--lines", type=int, default=30, help="lines of each answer (default: 30)")
    lines = parser.parse_args(arguments).lines
    for path in sorted(PIECES.glob("*.py")):
        f, f_vjp, inputs = piece(path)
        print(f"{path.name}: {path.read_text().splitlines()[0].strip(chr(34))}\n")
        for name, checker in installed().items():
            try:
                verdict = checker(f, f_vjp, inputs, None)
            except Exception as error:  # the checker itself fails
                answer = f"cannot judge it: {type(error).__name__}: {error}"
            else:
                answer = f"{'alarm' if verdict.wrong else 'no alarm'}\n{verdict.words}".strip()
            shown = answer.splitlines()
            more = [f"... {len(shown) - lines} more lines"] if len(shown) > lines else []
            print(f"  {name}")
            print("".join(f"    {line}".rstrip() + "\n" for line in shown[:lines] + more))


if __name__ == "__main__":
    main()

"""The first program in a box, sent with ``python -c``: loads the modules of the child side from
their texts, because a box does not have the package's files.
"""

import json
import os
import sys
import types


def read(count):
    """Return exactly ``count`` bytes of standard input.

    Parameters
    ----------
    count : int
        Number of bytes.

    Returns
    -------
    bytes

    Raises
    ------
    SystemExit
        If the parent has closed the pipe.
    """
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            raise SystemExit("the parent has closed the pipe")
        data += piece
    return data


def main():
    """Load the modules as a package ``sandbox``, and run its :mod:`ibpcl.sandbox.child`."""
    package = sys.modules["sandbox"] = types.ModuleType("sandbox")
    texts = json.loads(read(int.from_bytes(read(8), "little")))
    for name, text in texts.items():
        module = types.ModuleType(f"sandbox.{name}")
        module.__package__ = "sandbox"
        sys.modules[module.__name__] = module
        setattr(package, name, module)
        exec(compile(text, f"<{name}>", "exec"), module.__dict__)
    package.child.main()


if __name__ == "__main__":
    main()

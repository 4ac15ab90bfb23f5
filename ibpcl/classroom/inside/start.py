"""The first program in the box, sent with ``python -c``: restricts the process and then serves
requests.
"""

import importlib.util
import json
import os
import sys
import types


def read(count):
    """Return exactly ``count`` bytes of the pipe.

    Parameters
    ----------
    count : int
        Number of bytes.

    Returns
    -------
    bytes

    Raises
    ------
    EOFError
        If the judge has closed the pipe.
    """
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            raise SystemExit("the judge has closed the pipe")
        data += piece
    return data


class Finder:
    """An import finder for the allowed packages and for modules sent as text, and no others.

    Parameters
    ----------
    packages : dict of str to str
        Name of each allowed package to its folder.
    texts : dict of str to str
        Dotted name of each module to its text.
    """

    def __init__(self, packages, texts):
        self.packages = packages
        self.texts = texts

    def find_spec(self, name, path=None, target=None):
        """Return the specification of an allowed package, or of a module that was sent as text.

        Parameters
        ----------
        name : str
            Dotted name.
        path, target : object
            Unused; Python passes them.

        Returns
        -------
        importlib.machinery.ModuleSpec or None
        """
        if name in self.packages:
            folder = self.packages[name]
            return importlib.util.spec_from_file_location(
                name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
            )
        package = any(other.startswith(f"{name}.") for other in self.texts)
        return (
            importlib.util.spec_from_loader(name, self, is_package=package)
            if name in self.texts
            else None
        )

    def create_module(self, spec):
        """Return None, so that an ordinary module is created.

        Parameters
        ----------
        spec : importlib.machinery.ModuleSpec
            Unused; Python passes it.
        """

    def exec_module(self, module):
        """Run the text of a module, under its path in the package, which the box does not have.

        Parameters
        ----------
        module : types.ModuleType
            The module.
        """
        module.__file__ = f"/library/{module.__name__.replace('.', '/')}.py"
        exec(compile(self.texts[module.__name__], module.__file__, "exec"), module.__dict__)


def main():
    """Load the modules that the judge sends, restrict this process as it asks, and serve its
    requests.
    """
    if os.name == "nt":
        import msvcrt

        for descriptor in (0, 1):
            msvcrt.setmode(descriptor, os.O_BINARY)
    order = json.loads(read(int.from_bytes(read(8), "little")))
    requests = os.dup(0)
    replies = os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # output of the hand-in must not look like a reply
    modules = {}
    for name, source in order["modules"].items():
        module = modules[name] = sys.modules[name] = types.ModuleType(name)
        exec(compile(source, f"<{name}>", "exec"), module.__dict__)
    limits = modules["limits"]
    alone = order["tree"] and modules["tree"].enter(order["readable"])
    as_another = os.geteuid() == 0 and order["user"] is not None and (alone or order["reachable"])
    limits.limit(order["seconds"], order["memory_mb"], alone or as_another or order["counted"])
    if order["landlock"]:
        modules["landlock"].restrict(order["readable"], order["listable"])
    if order["drop"]:
        limits.drop_privileges(order["user"] if as_another else None)
    limits.end_with(order["judge"])
    if order["seccomp"]:
        modules["seccomp"].restrict()
    sys.meta_path.append(Finder(order["packages"], order["library"]))
    modules["worker"].serve(requests, replies)


if __name__ == "__main__":
    main()

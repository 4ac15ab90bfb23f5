"""The child side of a worker: restricts its process as ordered, and answers requests.

The parent side is :class:`ibpcl.sandbox.worker.Worker`.  In a box this module is part of a package
``sandbox`` that :mod:`ibpcl.sandbox.start` loads from texts.  Hence the relative imports.
"""

import importlib
import importlib.util
import inspect
import os
import sys

from . import frames, limits

MOST_MESSAGE = 2000


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
        if name not in self.texts:
            return None
        package = any(other.startswith(f"{name}.") for other in self.texts)
        return importlib.util.spec_from_loader(name, self, is_package=package)

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
    """Read the order, restrict this process, and answer requests until the parent ends.

    The order is the first frame: see :mod:`ibpcl.sandbox.boxes`.
    """
    channel = private_channel()
    order = channel.receive()
    if order["box"] is None:
        limits.limit(order["bounds"])
        limits.end_with(order["parent"])
    else:
        enter(order)
    if order["texts"]:
        sys.meta_path.append(Finder(order["packages"], order["texts"]))
    program = importlib.import_module(order["program"]).Program()
    channel.write(frames.pack({"reply": "ready"}))
    serve(program, channel)


def private_channel():
    """Move the pipes away from standard input and output, which foreign code may use.

    Returns
    -------
    frames.Channel
    """
    channel = frames.Channel(os.dup(0), os.dup(1))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        os.dup2(2, 1)  # what foreign code prints must not look like an answer
    except OSError:  # the parent has no standard error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
    return channel


def enter(order):
    """Restrict this process to a box, for good.

    Parameters
    ----------
    order : dict
        What :func:`ibpcl.sandbox.boxes.boxed` has ordered.

    Raises
    ------
    OSError
        If the kernel refuses.
    """
    from . import landlock, seccomp

    user = order["user"]
    limits.limit(order["bounds"])
    if order["box"] == "landlock":
        landlock.restrict(order["readable"], order["listable"])
    if order["box"] == "landlock" or user is not None:
        limits.drop_privileges(user)
    limits.end_with(order["parent"], order["box"] == "bubblewrap")
    if order["box"] != "none":
        seccomp.restrict()


def serve(program, channel):
    """Answer requests until the parent closes the pipe.

    A request is a dict: ``do`` names a method of the program, ``most`` has the largest lengths of
    an answer, and the rest are the arguments.  If the method returns a value, the answer is one
    frame, ``{"reply": value}``.  If it is a generator, each value is a frame ``{"item": value}``,
    and ``{"reply": None}`` ends the answer.  An exception ends it with ``{"error": ...}``.

    Parameters
    ----------
    program : object
        Its methods are the requests; its attribute ``file`` is the file whose lines errors name.
    channel : frames.Channel
        The pipes.
    """
    while True:
        try:
            request = channel.receive()
        except EOFError:
            os._exit(0)
        most = request.pop("most")
        try:
            reply = getattr(program, request.pop("do"))(**request)
            if inspect.isgenerator(reply):
                for item in reply:
                    channel.write(frames.pack({"item": item}, *most))
                reply = None
            answer = frames.pack({"reply": reply}, *most)
        # including SystemExit and KeyboardInterrupt of foreign code
        except BaseException as error:
            answer = frames.pack({"error": described(error, program.file)})
        channel.write(answer)


def described(error, file):
    """Return an exception as a dict.

    Parameters
    ----------
    error : BaseException
        The exception.
    file : str
        Name of the file whose lines count.

    Returns
    -------
    dict
        ``type``, ``message``, and ``line`` (0 if the file has no part in it).
    """
    return {
        "type": type(error).__name__[:100],
        "message": message_of(error)[:MOST_MESSAGE],
        "line": line_in(error, file),
    }


def message_of(error):
    """Return the message of an exception; empty if it cannot be made.

    Parameters
    ----------
    error : BaseException
        The exception.

    Returns
    -------
    str
    """
    try:
        return str(error)
    except Exception:
        return ""


def line_in(error, file):
    """Return the last line of a file in an exception's traceback.

    Parameters
    ----------
    error : BaseException
        The exception.
    file : str
        Name of the file.

    Returns
    -------
    int
        The line, from 1; 0 if the file has no part in it.
    """
    line = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno or 0
    return int(line)

"""A worker without a child process, for Python in a browser tab, which cannot start processes.

The tab itself is the box: it has no files and no processes of the reader, and it can be stopped
from outside.  Values still go through :mod:`ibpcl.sandbox.frames`, so a program gets copies and
cannot change those of the one that asks.
"""

import sys
import time

from ibpcl.sandbox import child, frames
from ibpcl.sandbox.worker import MOST, Failed

IN_A_TAB = sys.platform == "emscripten"


class Worker:
    """A program in this process that answers requests like a child.

    Parameters
    ----------
    program : object
        Its methods are the requests.
    texts : dict of str to str
        Dotted name of each module that the program may import to its text.  Modules of ``ibpcl``
        are those that are loaded already.

    Attributes
    ----------
    process : None
        There is none.
    """

    process = None

    def __init__(self, program, texts):
        self.program = program
        self.start = time.process_time()
        own = {name: text for name, text in texts.items() if name.partition(".")[0] != "ibpcl"}
        self.finder = child.Finder({}, own)
        self._forget()
        sys.meta_path.insert(0, self.finder)

    def ask(self, limit, most=MOST, **request):
        """Answer a request.

        Parameters
        ----------
        limit : ibpcl.sandbox.worker.Limit
            Unused: only the page can stop a program of its own process.
        most : tuple of int
            Largest lengths of header and body of the answer, in bytes.
        **request
            ``do``, the method of the program, and its arguments.

        Returns
        -------
        reply : object

        Raises
        ------
        ibpcl.sandbox.worker.Failed
            If the program raises an exception, or its answer is too large or holds other values
            than arrays, numbers and words.
        """
        request = _copied(frames.pack(request))
        try:
            reply = getattr(self.program, request.pop("do"))(**request)
            packed = frames.pack({"reply": reply}, *most)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # including SystemExit of foreign code
            found = child.described(error, self.program.file)
            raise Failed(found["type"], found["message"], found["line"]) from None
        return _copied(packed)["reply"]

    def seconds(self):
        """Return the processor time of this process since the worker was made.

        Returns
        -------
        float
        """
        return time.process_time() - self.start

    def close(self):
        """Forget the program and the modules that it has imported."""
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
        self._forget()

    def _forget(self):
        for name in self.finder.texts:
            sys.modules.pop(name, None)


def _copied(frame):
    """Return the value of a frame."""
    size = frames.LENGTHS.size
    header, body = frames.lengths(frame[:size])
    return frames.unpack(frame[size : size + header], frame[size + header : size + header + body])

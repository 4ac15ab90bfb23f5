"""The child process that runs a tutorial: the text and the figures of each code cell.

``python -m ibpcl.course.running CELLS RESULT`` reads a JSON list of code cells and writes a JSON
list with one entry per cell: ``text``, what it printed, and ``figures``, PNG files in base64.
"""

import base64
import contextlib
import io
import sys
import tempfile

from ibpcl.storage import read_json, write_json

DPI = 144


class Runner:
    """Runs code cells one after another, and returns what they show.

    Attributes
    ----------
    names : dict
        What the cells have defined: the names of one cell are those of the next.
    """

    def __init__(self):
        import matplotlib.pyplot as plt

        plt.switch_backend("agg")
        self.plt = plt
        self.names = {"__name__": "__main__"}
        self.count = 0

    def __call__(self, code):
        """Run one cell.

        Parameters
        ----------
        code : str
            Python.

        Returns
        -------
        shown : dict
            ``text``, what it printed, and ``figures``, PNG files in base64.
        """
        self.count += 1
        printed = io.StringIO()
        figures = []
        self.plt.show = lambda: figures.extend(_drawn(self.plt))
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"cell {self.count}", "exec"), self.names)
        return {"text": printed.getvalue(), "figures": figures}


def _drawn(plt):
    """Return the open figures as PNG files in base64, and close them."""
    found = []
    for number in plt.get_fignums():
        data = io.BytesIO()
        plt.figure(number).savefig(data, format="png", dpi=DPI, metadata={"Software": None})
        found.append(base64.b64encode(data.getvalue()).decode())
    plt.close("all")
    return found


if __name__ == "__main__":
    source, target = sys.argv[1:]
    code_cells = read_json(source)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        runner = Runner()
        results = [runner(code) for code in code_cells]
    write_json(target, results)

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


def run(cells):
    """Run code cells one after another, and return what they show.

    Parameters
    ----------
    cells : list of str
        Python; the names of one cell are those of the next.

    Returns
    -------
    shown : list of dict
        ``text`` and ``figures`` of each cell.
    """
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    names = {"__name__": "__main__"}
    shown = []
    for number, code in enumerate(cells, 1):
        printed = io.StringIO()
        figures = []
        plt.show = lambda kept=figures: kept.extend(_drawn(plt))
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"cell {number}", "exec"), names)
        shown.append({"text": printed.getvalue(), "figures": figures})
    return shown


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
        results = run(code_cells)
    write_json(target, results)

"""The command ``ibpcl report``: the HTML page of a run, of a table, or of a folder of runs."""

from ibpcl import storage
from ibpcl.experiments import page


def execute(options):
    """Write the page, and print its path.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl report``.
    """
    path = page.write(options.folder, options.out)
    size = path.stat().st_size
    print(
        storage.json_text({"report": str(path), "bytes": size}, indent=2)
        if options.json
        else f"{path}: {size / 1000:.0f} KB, complete in one file"
    )

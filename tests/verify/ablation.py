"""What each part of the diagnosis contributes: leave it out, and count what is still named.

    python tests/verify/ablation.py [PART ...]

prints a line for each part: caught and named of the students' mistakes, and the seconds of this process.  It takes some
minutes a part.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from test_students import MISTAKES, verdict_on

import ibpcl.verify.diagnosis as diagnosis
import ibpcl.verify.gradcheck as gradcheck
import ibpcl.verify.paths as paths
import ibpcl.verify.shapes as shapes


def without(module, name, result=None):
    """Return a change that puts a function in the place of one of a module, which returns the same whatever it gets."""
    return lambda: setattr(module, name, lambda *arguments, **options: result() if callable(result) else result)


def without_stage(stage):
    """Return a change that leaves out one stage of the search for what a place would have to be."""
    def change():
        fill = diagnosis.fill
        diagnosis.fill = lambda hole, known, at: None if at == stage else fill(hole, known, at)
    return change


def without_steps():
    """Leave out the paths that are lost in some steps of a loop only."""
    for way in [way for way in paths.WAYS if way]:
        del paths.WAYS[way]


PARTS = {
    "nothing": lambda: None,
    "changes of one place of the source": without(diagnosis, "edits_of", list),
    "expressions grafted into loops": without(diagnosis, "grafts_of", list),
    "paths held constant": without(diagnosis, "forgotten_path", dict),
    "paths in some steps of a loop": without_steps,
    "two paths at once": without(paths, "_pair"),
    "what a place would have to be": without(diagnosis, "fill"),
    "... products of matrices": without_stage("matrix"),
    "... sums": without_stage("sum"),
    "... two factors": without_stage("two"),
    "transposed, reversed, shifted": without(shapes, "rearranged"),
    "permuted": without(shapes, "permuted"),
    "rearranged cotangents": without(shapes, "by_cotangent"),
    "sums over other axes": without(shapes, "resummed"),
    "outputs ignored or turned": without(diagnosis, "_outputs"),
    "one constant": without(diagnosis, "_constant"),
    "right to some digits": without(diagnosis, "_digits"),
    "a few entries": without(diagnosis, "few_entries"),
    "the second point": without(gradcheck, "neighbour"),
}


def main(parts):
    """Print a line for each part, each in a process of its own."""
    for part in parts or PARTS:
        if os.fork() == 0:
            PARTS[part]()
            start = time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                results = [verdict_on(mistake, Path(folder)) for mistake in MISTAKES]
            caught, named = (sum(result[n] for result in results) for n in (0, 1))
            print(f"without {part}: caught {caught} and named {named} of {len(MISTAKES)}, "
                  f"{time.process_time() - start:.0f} s", flush=True)
            os._exit(0)
        os.wait()


if __name__ == "__main__":
    main(sys.argv[1:])

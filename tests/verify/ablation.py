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
import ibpcl.verify.edits as edits
import ibpcl.verify.edits.expressions as expressions
import ibpcl.verify.edits.indices as indices
import ibpcl.verify.edits.statements as statements
import ibpcl.verify.edits.variables as variables
import ibpcl.verify.gradcheck as gradcheck
import ibpcl.verify.paths as paths
import ibpcl.verify.shapes as shapes


def without(module, name, result=None):
    """Return a change that puts a function in the place of one of a module, which returns the same whatever it gets."""
    return lambda: setattr(module, name, lambda *arguments, **options: result() if callable(result) else result)


def without_stage(stage):
    """Return a change that leaves out one stage of the search for what a place would have to be."""
    def change():
        match = diagnosis.Search._match
        diagnosis.Search._match = lambda self, hole, at, views: None if at == stage else match(self, hole, at, views)
    return change


def without_steps():
    """Leave out the paths that are lost in some steps of a loop only."""
    for way in [way for way in paths.WAYS if way]:
        del paths.WAYS[way]


PARTS = {
    "nothing": lambda: None,
    "changes of one place of the source": without(diagnosis, "edits_of", list),
    "... of calls": without(expressions, "of_call", list),
    "... of constants": without(expressions, "_of_constant", list),
    "... of signs and transposes": without(expressions, "_of_value", list),
    "... of what stands beside a name": without(expressions, "_beside_name", list),
    "... of matrix products": without(expressions, "of_matrix_product", list),
    "... of indices and slices": without(indices, "other_indices", list),
    "... of indices one off": without(expressions, "of_index", list),
    "... of strides": without(expressions, "of_counter", list),
    "... of statements": without(edits, "of_statements", list),
    "... ... another step at the end of a loop": without(statements, "_last_step", list),
    "... of names": without(edits, "of_variables", list),
    "... ... exchanged": without(variables, "_exchanged", list),
    "... ... other entries of the cache": without(variables, "_other_entries", list),
    "expressions grafted into loops": without(diagnosis, "grafts_of", list),
    "paths held constant": without(diagnosis, "forgotten_path", dict),
    "paths in some steps of a loop": without_steps,
    "two paths at once": without(paths, "_pair"),
    "places measured": without(diagnosis, "holes", lambda: ([], set())),
    "what a place would have to be": without(diagnosis.Search, "_match"),
    "... known arrays and constants": without_stage("plain"),
    "... functions of them": without_stage("one"),
    "... products of matrices": without_stage("matrix"),
    "... sums": without_stage("sum"),
    "... in a part of the entries": without_stage("part"),
    "... two factors": without_stage("two"),
    "what right values and own have in common": without(diagnosis, "patterned"),
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

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
import ibpcl.verify.edits.names as names
import ibpcl.verify.edits.rules as rules
import ibpcl.verify.edits.statements as statements
import ibpcl.verify.gradcheck as gradcheck
import ibpcl.verify.matches as matches
import ibpcl.verify.paths as paths
import ibpcl.verify.shapes as shapes
import ibpcl.verify.whole as whole


def without(module, name, result=None):
    """Return a change that puts a function in the place of one of a module, which returns the same whatever it gets."""
    return lambda: setattr(module, name, lambda *arguments, **options: result() if callable(result) else result)


def without_rules(kind):
    """Return a change that leaves out the rows of one kind of the table of rules."""
    def change():
        rules.RULES[:] = [rule for rule in rules.RULES if rule[1] != kind]
    return change


def without_stage(stage):
    """Return a change that leaves out one stage of the search for what a place would have to be."""
    def change():
        candidates = matches.candidates
        diagnosis.candidates = lambda hole, known, at: [] if at == stage else candidates(hole, known, at)
    return change


PARTS = {
    "nothing": lambda: None,
    "changes of one place of the source": without(diagnosis, "edits_of", list),
    **{f"... rules of kind {kind}": without_rules(kind) for kind in dict.fromkeys(rule[1] for rule in rules.RULES)},
    "... of numbers": without(edits, "of_number", list),
    "... of indices one off": without(edits, "of_index", list),
    "... of slices and subscripts": lambda: [setattr(module, "of_subscript", lambda place: ())
                                             for module in (edits, statements)],
    "... of einsum": without(edits, "of_einsum", list),
    "... of statements": without(edits, "of_statements", list),
    "... ... one more term": without(statements, "_one_more_term", list),
    "... of names": without(edits, "of_names", list),
    "... ... exchanged": without(names, "_exchanged", list),
    "... ... in every use": without(names, "_in_every_use", list),
    "... ... as a further factor in a loop": without(names, "_beside", list),
    "paths held constant": without(diagnosis, "forgotten_path", dict),
    "two paths at once": without(paths, "_pair", list),
    "places measured": without(diagnosis, "holes", lambda: ([], set())),
    "what a place would have to be": without(diagnosis.Search, "_match"),
    **{f"... {stage}": without_stage(stage) for stage in matches.STAGES},
    "what right values and own have in common": without(diagnosis, "patterned"),
    "transposed, reversed, shifted, summed": without(shapes, "rearranged"),
    "permuted": without(shapes, "permuted"),
    "rearranged cotangents": without(shapes, "by_cotangent"),
    "sums over axes of one output": without(shapes, "of_one_output"),
    "one constant": without(whole, "_constant"),
    "right to some digits": without(whole, "digits_of"),
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

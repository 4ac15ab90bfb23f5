"""Comparison of the commits, processors and kernels behind the two sides of a difference.

Every line of a record names its seed, the commit of the program and the kind of processor, and a
newer one the kernels of OpenBLAS as well. A difference of the pages has two sides; it is clean if,
seed by seed, one program on one kind of processor made both with the same kernels.

``python docs/_ext/makers.py`` reads the versions of the records in the history of git. It prints
how often a value was measured again by another commit on the same kind of processor, or on another
kind, and how often it came out equal to the last digit. Then it lists the differences of the pages
whose sides come from two commits, two kinds of processors or two kernel sets.

It sees the differences that :mod:`records` writes, and the tables whose values are differences. It
does not see differences that a sentence draws between two records, nor those of searches, whose
lines do not name what made them.
"""

import csv
import functools
import io
import re
import subprocess
from collections import Counter

import records

PAGES = (
    records.DOCS.parent / "README.md",
    *sorted(records.DOCS.glob("*.md")),
    *sorted(records.SETTINGS.glob("*.md")),
)
COMMIT = "commit"
PROCESSOR = "processor"
KERNELS = "kernel set"
# The kernels of OpenBLAS in the versions of a line: "openblas 0.3.31 Haswell".
CHOSEN = re.compile(r"\bopenblas \S+ (\w+)")
# Between the makers of a value that has several, such as a difference.
OR = " or "


def made(lines):
    """Return the commits, processors and kernels of the lines of an entry.

    Parameters
    ----------
    lines : iterable of tuple
        Lines of a record.

    Returns
    -------
    makers : dict
        (commit, processor, kernels) by seed. The kernels are a set of names, empty for a line that
        does not name them.
    """
    return {line[5]: (*line[6:8], set(CHOSEN.findall(str(line[8])))) for line in lines}


def sides(text):
    """Yield each difference of a page, with the makers of its two sides.

    Parameters
    ----------
    text : str
        A page, with the marks of :mod:`records`.

    Yields
    ------
    name : tuple of str
        Record, title, row, column, and the row or the column that is subtracted.
    first, second : dict
        Makers by seed, from :func:`made`.
    """
    read = functools.cache(records.marked_lines)
    for match in records.PAIRED.finditer(text):
        record, title, reference, column = match.groups()[1:5]
        entries = {}
        for _, line in records.compared(read(record), title, column):
            entries.setdefault((line[0], line[2], line[1]), []).append(line)
        for (found, name, row), lines in entries.items():
            if row != reference and (found, name, reference) in entries:
                other = entries[found, name, reference]
                yield (record, found, row, name, reference), made(lines), made(other)
    for match in records.VALUE.finditer(text):
        title, rows, columns, *forms = records.fields(match[3])
        chosen = [line for line in read(match[2]) if records.pattern_of(title).match(line[0])]
        if len(chosen[0]) < len(records.COLUMNS + records.MAKER):
            continue  # lines of a search
        # a title with a star stands for several tables
        for found in dict.fromkeys(line[0] for line in chosen):
            lines = [line for line in chosen if line[0] == found]
            for row in records.names(lines, 1, rows):
                for column in records.names(lines, 2, columns):
                    for reference in (
                        records.reference_of(lines, row, column, form) for form in forms
                    ):
                        entry, other = (
                            [line for line in lines if line[1:3] == each]
                            for each in ((row, column), reference)
                        )
                        if entry and other:
                            name = reference[0] if reference[0] != row else reference[1]
                            yield (match[2], found, row, column, name), made(entry), made(other)


def joins(texts):
    """Return the differences whose two sides have other commits, processors or kernels.

    Parameters
    ----------
    texts : iterable of str
        Pages.

    Returns
    -------
    found : dict
        The key is the name of a difference, as :func:`sides` yields it. The value has the words
        "commit", "processor" and "kernel set", if the sides differ in it for a seed that both have.
        Kernels count only where both sides name them.
    """
    found = {}
    for text in texts:
        for place, first, second in sides(text):
            both = [(first[seed], second[seed]) for seed in first if seed in second]
            for i, word in enumerate((COMMIT, PROCESSOR, KERNELS)):
                # an older line does not name its kernels
                known = [(a[i], b[i]) for a, b in both if word != KERNELS or (a[i] and b[i])]
                if any(one != other for one, other in known):
                    found.setdefault(place, set()).add(word)
    return found


def of_two_processors(lines):
    """Return the lines of a record whose value two kinds of processors made, such as a difference.

    Parameters
    ----------
    lines : iterable of tuple
        Lines of a record.

    Returns
    -------
    found : list of tuple
        Those lines, unchanged.
    """
    return [line for line in lines if OR in str(line[7])]


def versions():
    """Yield the versions of today's records in the history of git.

    Yields
    ------
    name : str
        Path of the record.
    lines : list of dict
        Its lines in one commit, by the names of their columns.
    """

    def git(*words):
        return subprocess.run(
            ["git", *words], cwd=records.DOCS, capture_output=True, text=True, check=True
        ).stdout

    for name in git("ls-files", "results/*.csv").split():
        for commit in git("log", "--format=%h", "--", name).split():
            text = git("show", f"{commit}:./{name}")
            yield name, list(csv.DictReader(io.StringIO(text)))


def repeats(found):
    """Count how often a value was measured again, and how often it came out equal.

    Two makers that have a commit in common do not count: a record may have named several programs
    for a run that one of them made.

    Parameters
    ----------
    found : iterable of (str, list of dict)
        Versions of records, as :func:`versions` yields them.

    Returns
    -------
    again, equal : collections.Counter
        Numbers of comparisons. The keys are "commit" for another commit on the same kind of
        processor, and "processor" for another kind.
    """
    values = {}
    for name, lines in found:
        for line in lines:
            if line.get("commit") and line["unit"] in records.COMPARABLE:
                place = (name, *(line[key] for key in ("table", "row", "column", "seed")))
                maker = line["commit"], line["processor"]
                values.setdefault(place, {})[maker] = line["value"]
    again, equal = Counter(), Counter()
    for measured in values.values():
        makers = list(measured)
        for i, one in enumerate(makers):
            for other in makers[:i]:
                if set(one[0].split(OR)) & set(other[0].split(OR)):
                    continue
                word = COMMIT if one[1] == other[1] else PROCESSOR
                again[word] += 1
                equal[word] += measured[one] == measured[other]
    return again, equal


def main():
    """Print what repeated measurements show, and the differences that join two makers."""
    again, equal = repeats(versions())
    for word in (COMMIT, PROCESSOR):
        other = "another commit, same processor" if word == COMMIT else "another processor"
        print(f"measured again, {other}: {again[word]:,} comparisons, {equal[word]:,} equal")
    for place, words in sorted(joins(page.read_text("utf-8") for page in PAGES).items()):
        print(f"two {' and two '.join(f'{word}s' for word in sorted(words))}: {' | '.join(place)}")


if __name__ == "__main__":
    main()

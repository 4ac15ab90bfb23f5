"""Tables of differences between rows, paired over seeds, and remarks on the number of seeds."""

from ibpcl.evaluation.statistics import paired_difference
from ibpcl.experiments.tables import (
    DIFFERENCE,
    FINE_DIFFERENCE,
    FINE_POINTS,
    LEVEL,
    NATS,
    NATS_DIFFERENCE,
    PERCENT,
    POINTS,
    Entry,
    Table,
)

# The unit of a difference, for each unit of scores that are compared.
UNITS = {
    PERCENT: DIFFERENCE,
    POINTS: DIFFERENCE,
    FINE_POINTS: FINE_DIFFERENCE,
    NATS: NATS_DIFFERENCE,
}
# The row of our method in comparisons and targets.
OURS = "npbcl"


def reference(rows):
    """Return the label of the row with which the others are compared.

    Parameters
    ----------
    rows : sequence of ibpcl.experiments.benchmarks.Row
        At least one row.

    Returns
    -------
    label : str
        That of our method, or of the first row without it.
    """
    return next((row.label for row in rows if row.key == OURS), rows[0].label)


def by_seed(entry):
    """Return the values of an entry by seed.

    Parameters
    ----------
    entry : ibpcl.experiments.tables.Entry
        The entry. Without seeds, its values count as those of the seeds 0, 1, ....

    Returns
    -------
    values : dict of int to float
        One value per seed.

    Examples
    --------
    >>> by_seed(Entry("ours", "MNIST", (99.0, 99.5), seeds=(3, 4)))
    {3: 99.0, 4: 99.5}
    """
    return dict(zip(entry.seeds or range(len(entry.values)), entry.values, strict=True))


def difference(entry, other):
    """Return the differences of two entries, seed by seed.

    Parameters
    ----------
    entry, other : ibpcl.experiments.tables.Entry
        Scores of two rows, in a unit of :data:`UNITS`.

    Returns
    -------
    difference : ibpcl.experiments.tables.Entry or None
        ``entry`` minus ``other`` for the seeds that both have; None if there are none.

    Examples
    --------
    >>> ours = Entry("ours", "MNIST", (99.0, 98.0), seeds=(0, 1))
    >>> vcl = Entry("VCL", "MNIST", (97.0, 96.5), seeds=(1, 2))
    >>> difference(vcl, ours).values, difference(vcl, ours).seeds
    ((-1.0,), (1,))
    """
    scores = by_seed(entry)
    others = by_seed(other)
    seeds = tuple(seed for seed in scores if seed in others)
    if not seeds:
        return None
    values = tuple(scores[seed] - others[seed] for seed in seeds)
    return Entry(entry.row, entry.column, values, UNITS[entry.unit], seeds=seeds)


def differences(table, compared, title, columns=None):
    """Return the table of the differences between rows of a table, paired over seeds.

    Parameters
    ----------
    table : ibpcl.experiments.tables.Table
        Scores of several rows.
    compared : str or dict of str to str
        The label of the row with which all others are compared, or of one for each row.
    title : str
        Title of the new table.
    columns : sequence of str, optional
        The columns to compare; all in a unit of :data:`UNITS` if not given.

    Returns
    -------
    tables : tuple of ibpcl.experiments.tables.Table
        One table. None if no two rows have a seed in common.
    """
    at = {(entry.row, entry.column): entry for entry in table.entries}
    if isinstance(compared, str):
        compared = {row: compared for row, _ in at if row != compared}
    found = []
    for entry in table.entries:
        other = at.get((compared.get(entry.row), entry.column))
        wanted = entry.unit in UNITS if columns is None else entry.column in columns
        if other is not None and wanted:
            found.append(difference(entry, other))
    entries = tuple(entry for entry in found if entry is not None)
    return (Table(title, entries, table.corner, derived=True),) if entries else ()


def remarks(tables):
    """Return remarks on the number of seeds behind some tables.

    Parameters
    ----------
    tables : sequence of ibpcl.experiments.tables.Table
        Tables of a report.

    Returns
    -------
    remarks : list of str
        Sentences: on intervals, if there are any, and on values of one seed.
    """
    entries = [entry for table in tables for entry in table.entries]
    pairs = {len(entry.values) for entry in entries if entry.unit.paired} - {0, 1}
    notes = []
    if pairs:
        smallest = "; ".join(
            f"{paired_difference([1.0] * n).smallest_p:g} for {n} seeds" for n in sorted(pairs)
        )
        notes.append(
            f"Differences are paired over seeds: mean and {100 * LEVEL:g} % interval (Student's t) "
            "of the differences between runs with the same seed. Seeds vary the initial weights, "
            "the minibatches, the Monte-Carlo noise and the coresets, not the training or test "
            "images and not the settings, so an interval does not cover another data set. Each "
            "interval is for its own row; with many rows, some miss by chance. `table.json` has "
            "the p-values of an exact sign-flip test, which cannot be smaller than "
            f"{smallest}."
        )
    if any(len(entry.values) == 1 for entry in entries):
        notes.append(
            "Findings from one seed are preliminary: one run does not show how much another seed "
            "would change them."
        )
    return notes

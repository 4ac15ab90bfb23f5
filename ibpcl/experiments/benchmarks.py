"""Rows and columns of a table: methods, and the benchmarks (sequences of tasks) they are run on."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ibpcl.errors import UserError, nearest


class Row(NamedTuple):
    """A row of a table: a method with fixed values of some settings.

    Attributes
    ----------
    key : str
        Name of the row in lists of methods and in the tables of printed numbers.
    label : str
        Name of the row in tables and figures.
    method : str
        Name of the method.
    settings : mapping of str to object
        Settings that the row fixes; the user may not change them.
    on : mapping of str to mapping
        Settings that the row also fixes on some benchmarks, by the name of the benchmark.
    """

    key: str
    label: str
    method: str
    settings: Mapping = MappingProxyType({})
    on: Mapping = MappingProxyType({})

    def settings_on(self, benchmark):
        """Return the settings that the row fixes on a benchmark.

        Parameters
        ----------
        benchmark : Benchmark
            The benchmark.

        Returns
        -------
        settings : dict of str to object
            ``settings``, and those of ``on`` for this benchmark.

        Examples
        --------
        >>> row = Row("vcl", "VCL", "vcl", {"epochs": 5}, {"permuted-mnist": {"epochs": 15}})
        >>> [row.settings_on(BENCHMARKS[name]) for name in ("split-mnist", "permuted-mnist")]
        [{'epochs': 5}, {'epochs': 15}]
        """
        return {**self.settings, **self.on.get(benchmark.name, {})}


class Benchmark(NamedTuple):
    """A sequence of tasks: an experiment, and the keys in which the benchmark differs from it.

    Attributes
    ----------
    name : str
        Name in the tables of printed numbers and in the folders of cells.
    label : str
        Name in tables and figures.
    experiment : str or sequence of Task
        The experiment, its TOML file, or your own tasks.
    run : dict of str to object
        Keys of the run that override those of the experiment.
    examples : int
        Approximate number of training examples per task, for estimates of the time.
    family : {"task", "domain", "class", "blended", "vae", "probe", "regression", "shuffled"}
        "task": one head per task; "domain": one head for all tasks; "class": one softmax over all
        classes so far; "blended": one head for tasks that fade into one another; "vae": images
        without labels; "probe": one head per task, and the stream has further tasks;
        "regression": targets are numbers; "shuffled": one head per task, and each seed draws the
        order of the tasks or their permutations.
    """

    name: str
    label: str
    experiment: str
    run: dict
    examples: int
    family: str = "task"


def _and_parts(whole, tasks):
    """Return a benchmark, and those that learn only its first 1, 2, ... tasks."""
    parts = (
        whole._replace(
            name=f"{whole.name}-{n}",
            run={**whole.run, "experiment": f"{whole.experiment}-{n}", "tasks": n},
        )
        for n in range(1, tasks)
    )
    return (whole, *parts)


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("split-mnist", "Split MNIST", "split-mnist", {}, 12000),
        Benchmark("split-notmnist", "notMNIST", "split-notmnist", {}, 3000),
        Benchmark("permuted-mnist", "Permuted MNIST", "permuted-mnist", {}, 60000),
        Benchmark(
            "permuted-mnist-30",
            "Thirty permutations",
            "permuted-mnist",
            {"experiment": "permuted-mnist-30", "tasks": 30},
            60000,
        ),
        Benchmark("split-fashion-mnist", "Fashion MNIST", "split-fashion-mnist", {}, 12000),
        Benchmark("fashion-resplit", "Fashion, re-split", "fashion-resplit", {}, 10000),
        Benchmark("split-glyphs", "glyphs", "split-glyphs", {}, 2000),
        Benchmark("split-cluttered-glyphs", "cluttered glyphs", "split-cluttered-glyphs", {}, 2000),
        Benchmark(
            "split-tiny-glyphs",
            "tiny glyphs",
            "split-glyphs",
            {"experiment": "split-tiny-glyphs", "dataset": "tiny_glyphs"},
            2000,
        ),
        Benchmark(
            "permuted-glyphs",
            "Permuted glyphs",
            "split-glyphs",
            {"experiment": "permuted-glyphs", "stream": "permuted"},
            10000,
        ),
        Benchmark(
            "permuted-mnist-10-domain",
            "Permuted-10",
            "permuted-mnist-10-domain",
            {},
            60000,
            "domain",
        ),
        Benchmark("domain-mnist", "MNIST pairs", "domain-mnist", {}, 12000, "domain"),
        Benchmark("vae-mnist", "MNIST", "vae-mnist", {}, 6000, "vae"),
        Benchmark("vae-notmnist", "notMNIST", "vae-notmnist", {}, 1500, "vae"),
        Benchmark(
            "vae-fashion-mnist",
            "Fashion MNIST",
            "vae-mnist",
            {"experiment": "vae-fashion-mnist", "dataset": "fashion_mnist"},
            6000,
            "vae",
        ),
        Benchmark("vae-glyphs", "glyphs", "vae-glyphs", {}, 1000, "vae"),
        Benchmark(
            "vae-tiny-glyphs",
            "tiny glyphs",
            "vae-mnist",
            {"experiment": "vae-tiny-glyphs", "dataset": "tiny_glyphs"},
            1000,
            "vae",
        ),
        # The other tasks of the stream are kept for a linear classifier on the representation.
        *_and_parts(
            Benchmark(
                "probe-mnist",
                "Split MNIST",
                "split-mnist",
                {"experiment": "split-mnist-3", "tasks": 3},
                12000,
                "probe",
            ),
            3,
        ),
        *_and_parts(
            Benchmark(
                "probe-permuted-mnist", "Permuted MNIST", "permuted-mnist", {}, 60000, "probe"
            ),
            5,
        ),
        *_and_parts(
            Benchmark(
                "probe-glyphs",
                "glyphs",
                "split-glyphs",
                {"experiment": "split-glyphs-3", "tasks": 3},
                2000,
                "probe",
            ),
            3,
        ),
        Benchmark("domain-glyphs", "Glyph pairs", "domain-glyphs", {}, 2000, "domain"),
        Benchmark(
            "domain-fashion-mnist", "Fashion pairs", "domain-fashion-mnist", {}, 12000, "domain"
        ),
        Benchmark("domain-notmnist", "notMNIST pairs", "domain-notmnist", {}, 3000, "domain"),
        Benchmark(
            "domain-permuted-mnist",
            "Permuted MNIST, one head",
            "permuted-mnist-10-domain",
            {"experiment": "domain-permuted-mnist", "tasks": 5},
            60000,
            "domain",
        ),
        Benchmark(
            "domain-permuted-glyphs",
            "Permuted glyphs, one head",
            "domain-glyphs",
            {"experiment": "domain-permuted-glyphs", "stream": "permuted"},
            10000,
            "domain",
        ),
        Benchmark("class-mnist", "MNIST classes", "class-mnist", {}, 12000, "class"),
        Benchmark(
            "class-fashion-mnist", "Fashion classes", "class-fashion-mnist", {}, 12000, "class"
        ),
        Benchmark("class-notmnist", "notMNIST classes", "class-notmnist", {}, 3000, "class"),
        Benchmark("class-glyphs", "Glyph classes", "class-glyphs", {}, 2000, "class"),
        Benchmark(
            "blended-permuted-mnist",
            "Blended permutations",
            "blended-permuted-mnist",
            {},
            60000,
            "blended",
        ),
        Benchmark(
            "blended-mnist",
            "Blended MNIST pairs",
            "blended-permuted-mnist",
            {"experiment": "blended-mnist", "blend_of": "split"},
            12000,
            "blended",
        ),
        Benchmark("blended-glyphs", "Blended glyph pairs", "blended-glyphs", {}, 2000, "blended"),
        Benchmark(
            "blended-permuted-glyphs",
            "Blended glyph permutations",
            "blended-glyphs",
            {"experiment": "blended-permuted-glyphs", "blend_of": "permuted"},
            10000,
            "blended",
        ),
        Benchmark("terrain", "Terrain", "terrain", {}, 1400, "regression"),
    )
}
BENCHMARKS |= {
    name: b._replace(
        name=name, run={**b.run, "experiment": name, "shuffled": True}, family="shuffled"
    )
    for b in BENCHMARKS.values()
    if b.family == "task"
    for name in [f"shuffled-{b.name.removeprefix('split-')}"]
}
# The beginning of the names of each family.
BEFORE = {
    "task": "split",
    "domain": "domain",
    "class": "class",
    "blended": "blended",
    "vae": "vae",
    "probe": "probe",
    "regression": "regression",
    "shuffled": "shuffled",
}


def benchmark(name, family="task"):
    """Return the benchmark of a family with a given name.

    The beginning that all names of a family share (``split-``, ``domain-``, ``class-``,
    ``blended-``, ``vae-``, ``probe-``, ``regression-``, ``shuffled-``) and the ending ``-mnist``
    may be left out.

    Parameters
    ----------
    name : str
        The name; underscores count as dashes.
    family : {"task", "domain", "class", "blended", "vae", "probe", "regression", "shuffled"}
        The family to search.

    Returns
    -------
    benchmark : Benchmark
        The first benchmark whose name matches.

    Raises
    ------
    UserError
        If there is no such benchmark in the family.

    Examples
    --------
    >>> benchmark("fashion_mnist").label, benchmark("permuted").label
    ('Fashion MNIST', 'Permuted MNIST')
    >>> benchmark("notmnist", family="vae").name, benchmark("mnist", family="domain").name
    ('vae-notmnist', 'domain-mnist')
    """
    plain = name.strip().replace("_", "-")
    known = {b.name: b for b in BENCHMARKS.values() if b.family == family}
    for candidate in (
        plain,
        f"{BEFORE[family]}-{plain}",
        f"{plain}-mnist",
        f"{BEFORE[family]}-{plain}-mnist",
    ):
        if candidate in known:
            return known[candidate]
    raise UserError(f"unknown data set {name!r}{nearest(plain, known)} (known: {', '.join(known)})")


def select(rows, names):
    """Return the rows with the given names.

    Parameters
    ----------
    rows : sequence of Row
        All rows of a table.
    names : sequence of str or None
        Keys of rows, or names of methods, which select all rows of the method. None selects all.

    Returns
    -------
    rows : tuple of Row
        The selected rows, in the order of ``rows``.

    Raises
    ------
    UserError
        If a name matches no row.
    """
    if names is None:
        return tuple(rows)
    chosen = set()
    for name in names:
        matches = {row.key for row in rows if row.key == name} or {
            row.key for row in rows if row.method == name
        }
        if not matches:
            known = [row.key for row in rows]
            raise UserError(
                f"unknown row {name!r}{nearest(name, known)} (known: {', '.join(known)})"
            )
        chosen |= matches
    return tuple(row for row in rows if row.key in chosen)

"""What a table compares: methods, each a row, on benchmarks, each a sequence of tasks."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ibpcl.errors import UserError, nearest


class Row(NamedTuple):
    """A method with some of its settings, which the row changes and the user may not."""

    # in --methods and in the tables of printed numbers
    key: str
    label: str  # for people
    method: str
    settings: Mapping = MappingProxyType({})


class Benchmark(NamedTuple):
    """A sequence of tasks: the experiment whose configuration it starts from, and keys of the run
    that it changes.
    """

    # in the tables of printed numbers and the cells' names
    name: str
    label: str  # for people
    experiment: str
    run: dict
    # for training per task, roughly, to estimate the time
    examples: int
    # "task": a head each; "domain": one head; "vae": images
    family: str = "task"


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
        Benchmark("domain-glyphs", "Glyph pairs", "domain-glyphs", {}, 2000, "domain"),
    )
}
BEFORE = {"task": "split", "domain": "domain", "vae": "vae"}  # what names of a family begin with


def benchmark(name, family="task"):
    """Return a benchmark of a family by its name; what it begins with (``split-``, ...) and
    ``-mnist`` may be left out.

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
    raise UserError(f"no data set {name!r} here{nearest(plain, known)} (known: {', '.join(known)})")


def select(rows, names):
    """Return the rows that are named, by key or by method; all if ``names`` is None."""
    if names is None:
        return tuple(rows)
    chosen = set()
    for name in names:
        found = {row.key for row in rows if row.key == name} or {
            row.key for row in rows if row.method == name
        }
        if not found:
            known = [row.key for row in rows]
            raise UserError(
                f"no row {name!r} here{nearest(name, known)} (known: {', '.join(known)})"
            )
        chosen |= found
    return tuple(row for row in rows if row.key in chosen)

"""The sequences of tasks that a target can be measured on."""

from typing import NamedTuple

from ibpcl.errors import UserError
from ibpcl.experiments.config import nearest


class Benchmark(NamedTuple):
    """A sequence of tasks.

    Attributes
    ----------
    name : str
        As in the tables of the paper's numbers, and in the names of the cells.
    label : str
        For people.
    experiment : str
        The experiment whose configuration it starts from.
    run : dict
        Keys of the run that it changes.
    examples : int
        Training examples a task, roughly: for guessing how long it takes.
    """

    name: str
    label: str
    experiment: str
    run: dict
    examples: int


BENCHMARKS = {benchmark.name: benchmark for benchmark in (
    Benchmark("split-mnist", "Split MNIST", "split-mnist", {}, 12000),
    Benchmark("split-notmnist", "notMNIST", "split-notmnist", {}, 3000),
    Benchmark("permuted-mnist", "Permuted MNIST", "permuted-mnist", {}, 60000),
    Benchmark("split-fashion-mnist", "Fashion MNIST", "split-fashion-mnist", {}, 12000),
    Benchmark("split-glyphs", "glyphs", "split-glyphs", {}, 2000),
    Benchmark("permuted-glyphs", "Permuted glyphs", "split-glyphs",
              {"experiment": "permuted-glyphs", "stream": "permuted"}, 10000),
    Benchmark("permuted-mnist-10-domain", "Permuted-10", "permuted-mnist-10-domain", {}, 60000),
    Benchmark("domain-mnist", "MNIST pairs", "domain-mnist", {}, 12000),
    Benchmark("vae-mnist", "MNIST", "vae-mnist", {}, 6000),
    Benchmark("vae-notmnist", "notMNIST", "vae-notmnist", {}, 1500),
    Benchmark("vae-glyphs", "glyphs", "vae-glyphs", {}, 1000),
    Benchmark("domain-glyphs", "Glyph pairs", "domain-glyphs", {}, 2000),
)}
FOUR = ("split-mnist", "split-notmnist", "permuted-mnist", "split-fashion-mnist")
ONE_HEAD = ("permuted-mnist-10-domain", "domain-mnist")


def benchmark(name, family="split"):
    """Return a benchmark by its name; ``split-`` (or another ``family``) and ``-mnist`` may be left out.

    Raises
    ------
    UserError
        If there is none of that name.

    Examples
    --------
    >>> benchmark("fashion_mnist").label, benchmark("permuted").label
    ('Fashion MNIST', 'Permuted MNIST')
    >>> benchmark("notmnist", family="vae").name
    'vae-notmnist'
    """
    plain = name.strip().replace("_", "-")
    for candidate in (plain, f"{family}-{plain}", f"{plain}-mnist", f"{family}-{plain}-mnist"):
        if candidate in BENCHMARKS:
            return BENCHMARKS[candidate]
    raise UserError(f"unknown data set {name!r}{nearest(plain, BENCHMARKS)} (known: {', '.join(BENCHMARKS)})")

"""What the user asks of a target, and the configuration that each of its runs gets from that."""

from dataclasses import dataclass, field
from pathlib import Path

from ibpcl.errors import UserError
from ibpcl.experiments.config import configure, keys, nearest, run_keys
from ibpcl.experiments.reproduce.names import OUT, SEEDS
from ibpcl.methods import METHODS

# A quick look: small data, few epochs; for the keys that a method has.
QUICK = {"train_limit": 1000, "test_limit": 500, "batch": 50, "epochs": 3, "finetune_epochs": 1,
         "samples": 2, "prediction_samples": 20, "coreset_epochs": 20}
# Keys of the run that a target sets itself, with what the user can give instead.
OWN = {"experiment": "--datasets", "dataset": "--datasets", "stream": "--datasets", "method": "--methods",
       "seed": "--seeds", "data_dir": "--data-dir", "preset": "--preset"}


@dataclass(frozen=True)
class Choice:
    """What the user asks of a target.

    Parameters
    ----------
    seeds : int, optional
        Number of seeds, counted from 0; by default 5, or 1 for a quick look.
    quick : bool
        Small data and few epochs: to see that everything works, not to compare.
    preset : str, optional
        One of NPBCL's presets; its default if not given.
    assignments : dict of str to str
        Keys with values as text: keys of the run, settings of NPBCL, and ``method.key`` for those of another method.
    data_dir : str, optional
        Folder of the image files.
    out : path-like
        Folder for the cells and the tables.
    datasets, methods : sequence of str, optional
        Only these benchmarks; only these rows.

    Raises
    ------
    UserError
        If there is no such key, or it is not for the user to set.
    """

    seeds: int | None = None
    quick: bool = False
    preset: str | None = None
    assignments: dict = field(default_factory=dict)
    data_dir: str | None = None
    out: Path = Path(OUT)
    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None

    def __post_init__(self):
        if self.seeds is None:
            object.__setattr__(self, "seeds", 1 if self.quick else SEEDS)
        if self.seeds < 1:
            raise UserError(f"seeds must be at least 1, got {self.seeds}")
        object.__setattr__(self, "out", Path(self.out))
        for given in self.assignments:
            owner, _, key = given.rpartition(".")
            if owner and owner not in METHODS:
                raise UserError(f"unknown method {owner!r} in {given!r}{nearest(owner, METHODS)}")
            known = keys(owner or "npbcl")
            if key not in known:
                raise UserError(f"unknown key {given!r}{nearest(key, known)}")
            if key in OWN:
                raise UserError(f"{given} is not for --set here: use {OWN[key]}")
            if owner and key in run_keys():
                raise UserError(f"{key} is a key of every run: write --set {key}=..., without {owner}")

    def texts(self, method):
        """Return the keys that the user sets for a run with this method."""
        chosen = {}
        for given, text in self.assignments.items():
            owner, _, key = given.rpartition(".")
            if owner == method or (not owner and (key in run_keys() or method == "npbcl")):
                chosen[key] = text
        if self.preset is not None and method == "npbcl":
            chosen["preset"] = self.preset
        if self.data_dir is not None:
            chosen["data_dir"] = str(self.data_dir)
        return chosen

    def config(self, row, benchmark, seed):
        """Return the configuration of one run.

        Raises
        ------
        UserError
            If the user sets what the row does, or a value is out of range.
        """
        texts = self.texts(row.method)
        taken = row.settings.keys() & texts.keys()
        if taken:
            raise UserError(f"{', '.join(sorted(taken))} is what the row {row.key!r} is about; leave it out, "
                            "or the row with --methods")
        quick = {key: value for key, value in QUICK.items() if key in keys(row.method) and key not in texts}
        overrides = {**benchmark.run, **(quick if self.quick else {}), **row.settings}
        return configure(benchmark.experiment, texts, **overrides, method=row.method, seed=seed)

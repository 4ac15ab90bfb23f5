"""What the user asks of a table, and the configuration that each of its runs gets from that."""

from dataclasses import dataclass, field, fields
from pathlib import Path

from ibpcl.errors import UserError, nearest
from ibpcl.experiments.config import configure, keys, run_keys
from ibpcl.experiments.measurement import Measurement
from ibpcl.experiments.presets import SEEDS
from ibpcl.experiments.tuned import tuned
from ibpcl.methods import GENERATIVE, METHODS

# A quick look: fewer images, samples and trials, for the keys that a method has.  The epochs stay:
# with fewer, the slowest learners look bad, not the most forgetful.
QUICK = {
    "train_limit": 2000,
    "test_limit": 1000,
    "samples": 1,
    "prediction_samples": 20,
    "coreset_epochs": 20,
    "trials": 3,
}
QUICK_IMAGES = {
    **QUICK,
    "train_limit": 500,
    "test_limit": 100,
    "samples": 1,
    "epochs": 20,
    "finetune_epochs": 10,
    "likelihood_samples": 10,
    "final_samples": 100,
    "likelihood_images": 20,
    "final_images": 20,
    # of generative models
    "code_images": 50,
    "code_test_images": 20,
    "inference_samples": 5,
}
MOST_SEEDS = 1000  # of a table's row
# Keys of the run that a table sets itself, with what the user can give instead.
OWN = {
    "experiment": "`datasets`",
    "dataset": "`datasets`",
    "stream": "`datasets`",
    "method": "`methods`",
    "seed": "`seeds`",
    "data_dir": "`data_dir`",
    "preset": "`preset`",
}


@dataclass(frozen=True)
class Choice:
    """What the user asks of a table.

    Parameters
    ----------
    seeds : int, optional
        Number of seeds, counted from 0; by default 5, or 1 for a quick look.
    quick : bool
        Small data and few samples: for the order of the methods, not for their numbers.
    preset : str, optional
        One of NPBCL's presets; its default if not given.
    assignments : dict of str to str
        Keys with values as text: keys of the run, settings of NPBCL, and ``method.key`` for those
        of another method; a UserError if there is no such key, or it is not for the user to set.
    data_dir, out : path-like
        Folder of the image files; folder for the cells and the tables.
    datasets, methods : sequence of str, optional
        Only these benchmarks; only these rows.
    tuned : bool
        The preset "tuned" for every method that a search has been made for on the data set's
        experiment; ``preset`` and ``assignments`` win over it.
    ours : str
        The module of NPBCL: another one for generative models, whose other methods go by their
        short names too.
    """

    seeds: int | None = None
    quick: bool = False
    preset: str | None = None
    assignments: dict = field(default_factory=dict)
    data_dir: str | None = None
    out: Path = Path("runs")
    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    tuned: bool = False
    ours: str = "npbcl"

    def __post_init__(self):
        if self.seeds is None:
            object.__setattr__(self, "seeds", 1 if self.quick else SEEDS)
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise UserError(f"seeds must be in 1 .. {MOST_SEEDS}, got {self.seeds}")
        object.__setattr__(self, "out", Path(self.out))
        for given in self.assignments:
            owner, key = self._owner(given)
            if owner and ":" not in owner and owner not in (*METHODS, *GENERATIVE):
                raise UserError(f"unknown method {owner!r} in {given!r}{nearest(owner, METHODS)}")
            known = keys(owner or self.ours)
            if key not in known:
                raise UserError(f"unknown key {given!r}{nearest(key, known)}")
            if key in OWN:
                raise UserError(f"{given} is not a setting here: use {OWN[key]}")
            if owner and key in self._shared():
                raise UserError(f"{key} is a key of every run: write {key}=..., without {owner}")

    def words(self):
        """Return the options of a command line that ask for the same.

        >>> Choice(2, assignments={"tasks": "3"}, methods=("ewc",), out="here").words()
        ['--seeds', '2', '--methods', 'ewc', '--set', 'tasks=3', '--out', 'here']
        """
        lists = {"--datasets": self.datasets, "--methods": self.methods}
        texts = {
            "--seeds": self.seeds,
            "--preset": self.preset,
            "--data-dir": self.data_dir,
            **{name: chosen and ",".join(chosen) for name, chosen in lists.items()},
        }
        return [
            *["--quick"] * self.quick,
            *["--tuned"] * self.tuned,
            *(
                word
                for name, value in texts.items()
                if value is not None
                for word in (name, str(value))
            ),
            *(
                word
                for key, text in self.assignments.items()
                for word in ("--set", f"{key}={text}")
            ),
            "--out",
            str(self.out),
        ]

    def _owner(self, given):
        """Return whose key is meant, by the module's name, and the key."""
        owner, _, key = given.rpartition(".")
        return (
            f"vae_{owner}" if self.ours in GENERATIVE and f"vae_{owner}" in GENERATIVE else owner
        ), key

    def _shared(self):
        """Return the keys of every run, whatever its method."""
        return run_keys().keys() | (
            {f.name for f in fields(Measurement)} if self.ours in GENERATIVE else set()
        )

    def _is_for(self, given, method):
        """Return whether a run with this method has a key that the user sets."""
        owner, key = self._owner(given)
        return owner == method or (not owner and (key in self._shared() or method == self.ours))

    def check_used(self, rows):
        """Refuse what the user sets if it is for none of the rows."""
        methods = {row.method for row in rows}
        for given in self.assignments:
            if not any(self._is_for(given, method) for method in methods):
                raise UserError(
                    f"{given} is for none of the rows: leave it out, or add its row to `methods`"
                )
        if self.preset is not None and self.ours not in methods:
            raise UserError(
                f"`preset` is for {self.ours}, which is none of the rows: leave it out, or add it "
                "to `methods`"
            )

    def texts(self, method):
        """Return the keys that the user sets for a run with this method."""
        chosen = {
            self._owner(given)[1]: text
            for given, text in self.assignments.items()
            if self._is_for(given, method)
        }
        if self.preset is not None and method == self.ours:
            chosen["preset"] = self.preset
        if self.data_dir is not None:
            chosen["data_dir"] = str(self.data_dir)
        return chosen

    def config(self, row, benchmark, seed):
        """Return the configuration of one run; a UserError if the user sets what the row does."""
        texts = self.texts(row.method)
        if self.tuned:
            # it may be a file
            name = configure(benchmark.experiment, method=row.method, **benchmark.run).experiment
            texts = ({} if tuned(name, row.method) is None else {"preset": "tuned"}) | texts
        taken = row.settings.keys() & texts.keys()
        if taken:
            raise UserError(
                f"{', '.join(sorted(taken))} is what the row {row.key!r} is about; leave it out, "
                "or the row with `methods`"
            )
        small = QUICK_IMAGES if row.method in GENERATIVE else QUICK
        quick = {
            key: value
            for key, value in small.items()
            if key in keys(row.method) and key not in texts
        }
        if {"epochs", "finetune_epochs"} <= quick.keys():
            # as many in all as the other methods have
            quick["epochs"] -= quick["finetune_epochs"]
        overrides = {**benchmark.run, **(quick if self.quick else {}), **row.settings}
        return configure(benchmark.experiment, texts, **overrides, method=row.method, seed=seed)

"""The configuration of a run: every key with its value, from a preset, a TOML file, a command line
or Python.

A configuration is flat: the keys of the run and the settings of its method stand side by side.  It
is one ordered merge, each layer over those before it: defaults, the experiment, the method's
preset, what the experiment asks for, the file, the command line, Python.
"""

import contextlib
import re
import sys
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from ibpcl import storage
from ibpcl.data.dataset import DataError
from ibpcl.data.own import as_name, own_tasks, read_tasks
from ibpcl.data.registry import available
from ibpcl.errors import UserError, nearest
from ibpcl.experiments import values
from ibpcl.experiments.measurement import Measurement
from ibpcl.experiments.presets import DEFAULT, NO_PRESET, PRESETS, SETTINGS_OF
from ibpcl.experiments.tuned import tuned
from ibpcl.inference.backend import BACKENDS, OwnPrimitives
from ibpcl.methods import ABOUT, GENERATIVE, METHODS, method
from ibpcl.options import allowed, option, refusal

STREAMS = ("split", "resplit", "permuted", "strips", "classes", "own", "own-regression")
# the data sets that are not named image sets
TERRAIN = "terrain"
OWN = "own"
PARTS = ("settings", "measurement", "own", "own_primitives")  # fields that are not keys
# Keys that name a place.  A run stays the same if its files move.
PLACES = ("data_dir", "data", "primitives")
# keys whose texts are never names of classes
NAMES = ("experiment", *PLACES, "data_sha256", "primitives_sha256")
MODULE = re.compile(r"\w+(\.\w+)*")
OF_TASKS = ("dataset", "stream", "tasks", "classes", "data")  # keys that follow from own tasks
# keys that stand in a table only if they have a value
OPTIONAL = (*PLACES, "classes", "data_sha256", "primitives_sha256")
# the largest whole number of TOML
SEEDS = ("seed", "data_seed")
LARGEST_SEED = 2**63 - 1
SIZES = 2**31  # sizes and counts are below


class Key(NamedTuple):
    """A configuration key: its type, its default, one sentence on it, and which values of its type
    are allowed.
    """

    kind: Any
    default: Any
    doc: str
    allowed: str


@dataclass(frozen=True)
class RunConfig:
    """What a run is a function of: its own keys, each with one sentence in its metadata, and its
    method's settings.

    Raises
    ------
    UserError
        If a value is out of its range, or there is no such data set, method or backend.
    """

    experiment: str = option(DEFAULT, "Name of the run, in its results and its folder.")
    dataset: str = option(
        "glyphs", "Image set: a name from `ibpcl data list`, or terrain (see docs/regression.md)."
    )
    stream: str = option(
        "split",
        "How tasks are made: split (two classes each), resplit (the same, with all images split "
        "anew), permuted (pixels), strips (terrain), classes (one class each, without labels).",
        choices=STREAMS,
    )
    tasks: int = option(
        5,
        "Number of tasks: at most 5 for a split stream, the number of classes for one of classes.",
        at_least=1,
    )
    data_seed: int = option(
        0,
        "Seed of the tasks: the drawing of glyphs, the permutations of pixels.",
        at_least=0,
        at_most=LARGEST_SEED,
    )
    validation: float | None = option(
        None, "Share of the training data to test on in place of test data.", above=0, below=1
    )
    train_limit: int | None = option(
        None, "Most training examples per task, for a quick look.", at_least=1
    )
    test_limit: int | None = option(
        None, "Most test examples per task, for a quick look.", at_least=1
    )
    data_dir: str | None = option(
        None, "Folder of the image files; else IBPCL_DATA, else the user's cache."
    )
    data: str | None = option(
        None, "Own data instead of an image set: an .npz file, or a folder with one per task."
    )
    classes: tuple[tuple[int, ...], ...] | None = option(
        None, "Labels of each task, for one file of own data."
    )
    data_sha256: str | None = option(
        None, "Identity of own data, which a run computes; other data are refused."
    )
    method: str = option(
        "npbcl",
        "The method that learns: a name that `ibpcl methods` lists, or package.module:Class.",
    )
    preset: str = option(
        "default", "Named settings of the method, over which keys win; see `ibpcl settings`."
    )
    seed: int = option(
        0,
        "Seed of the learner; on one machine the same seed gives the same result, bit for bit.",
        at_least=0,
        at_most=LARGEST_SEED,
    )
    backend: str = option(BACKENDS[0], "The backend that computes.", choices=BACKENDS)
    primitives: str | None = option(
        None, "Folder of your own primitives, such as my_ibpcl; they replace the package's."
    )
    primitives_sha256: str | None = option(
        None, "Hash of your own primitives, which a run computes; other primitives are refused."
    )
    # the method's own; its defaults if not given
    settings: Any = field(default=None)
    measurement: Any = field(default=None)  # of a generative model, else None
    own: Any = field(default=None, repr=False, compare=False)  # OwnTasks, if they are at hand
    # ibpcl.inference.backend.OwnPrimitives, if they are loaded
    own_primitives: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self):
        _require(
            re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.experiment),
            "experiment",
            "letters, digits, dots, dashes and underscores",
            self.experiment,
        )
        _check_bounds(self)
        self._identify()
        datasets = (*available(), TERRAIN)
        _require(
            self.dataset in (*datasets, OWN),
            "dataset",
            f"one of {', '.join(datasets)}",
            self.dataset,
        )
        _require(
            (self.dataset == TERRAIN) == (self.stream == "strips"),
            "stream",
            f"strips for the data set {TERRAIN} and for no other (here: {self.dataset})",
            self.stream,
        )
        _require(
            (self.dataset == OWN) == self.stream.startswith(OWN) == (self.data_sha256 is not None),
            "stream",
            f"own for the data set own, given by data, and for no other (here: {self.dataset})",
            self.stream,
        )
        _require(
            self.classes is None or self.dataset == OWN,
            "classes",
            "left out unless there are own data to cut into tasks, given by data",
            self.classes,
        )
        _method(self.method)
        _require(
            ":" in self.method or self.generative == (self.method in GENERATIVE),
            "stream",
            (
                f"classes for the methods {', '.join(GENERATIVE)} and for no other (here: "
                f"{self.method})"
            ),
            self.stream,
        )
        if self.settings is None:
            object.__setattr__(self, "settings", _method(self.method).settings())
        # those of a method of one's own need not check themselves
        _check_bounds(self.settings)
        if self.generative and self.measurement is None:
            object.__setattr__(self, "measurement", Measurement())

    def _identify(self):
        """Read own data, if they are not at hand, for their identity and number; a finished run has
        both already.
        """
        own = self.own
        if own is None and self.data is not None and self.data_sha256 is None:
            try:
                own = read_tasks(self.data, self.classes)
            except DataError as error:
                raise UserError(f"data: {error}") from error
        if own is not None:
            if own.kind == "images":
                raise UserError(
                    "tasks of images without labels are for ibpcl.learn; a run on them needs an "
                    "experiment, such as vae-glyphs"
                )
            for name, value in (
                ("own", own),
                ("data", own.place),
                ("classes", own.classes),
                ("tasks", len(own)),
                ("dataset", OWN),
                ("data_sha256", own.sha256),
                ("stream", OWN if own.kind == "classification" else "own-regression"),
            ):
                object.__setattr__(self, name, value)

    @cached_property
    def table(self):
        """The configuration as a flat dict for TOML, every key with its value.

        A key without a value is ``"none"``; only those of :data:`OPTIONAL` are then left out.
        Reading the table gives the same configuration again.
        """
        table = {name: getattr(self, name) for name in run_keys()}
        for part in (self.measurement, self.settings):
            table |= {} if part is None else {f.name: getattr(part, f.name) for f in fields(part)}
        return {
            key: values.NONE if value is None else values.plain(value)
            for key, value in table.items()
            if value is not None or key not in OPTIONAL
        }

    @property
    def compute(self):
        """The backend for a learner: its name, or the loaded own primitives.

        Raises
        ------
        UserError
            If the run was made with own primitives and they are not loaded.
        """
        if self.primitives_sha256 is None:
            return self.backend
        if self.own_primitives is None:
            raise UserError(
                f"this run uses the primitives in {self.primitives}; load them with "
                "ibpcl.learn.backend, and give them as backend"
            )
        return self.own_primitives

    @property
    def title(self):
        """The method's name without its module, for folders and tables."""
        return self.method.rpartition(":")[2]

    @property
    def generative(self):
        """Whether the tasks have no labels and a model of the images themselves is learned."""
        return self.stream == "classes"

    @property
    def measure(self):
        """What stands in the matrix: "accuracy", "R^2" for a regression, "log-likelihood" for a
        generative model.
        """
        return measure_of(self.stream)


def measure_of(stream):
    """Return what is measured on a kind of stream.

    >>> measure_of("split"), measure_of("strips"), measure_of("classes")
    ('accuracy', 'R^2', 'log-likelihood')
    """
    return {"strips": "R^2", "own-regression": "R^2", "classes": "log-likelihood"}.get(
        stream, "accuracy"
    )


def keys(method_name):
    """Return every key of a run with this method, in order, as a dict of name to :class:`Key`."""
    own = _keys_of(_method(method_name).settings)
    return run_keys() | (_keys_of(Measurement) if method_name in GENERATIVE else {}) | own


def run_keys():
    """Return the keys that every run has, whatever its method."""
    return {name: key for name, key in _keys_of(RunConfig).items() if name not in PARTS}


def _keys_of(dataclass_type):
    kinds = get_type_hints(dataclass_type)
    return {
        f.name: Key(kinds[f.name], f.default, f.metadata.get("doc", ""), allowed(f))
        for f in fields(dataclass_type)
    }


class UntrustedError(UserError):
    """A file names a module that would have to be imported, and the user has not named it."""


def configure(target=DEFAULT, texts=None, trust=False, **overrides):
    """Make the configuration of a run.

    Parameters
    ----------
    target : str, Path or sequence of Task
        The name of an experiment, or a TOML file.  A file may name the experiment that it starts
        from; without ``experiment`` it starts from the defaults and is called like the file.  Or a
        sequence of tasks, one's own.
    texts : dict of str to str, optional
        Keys with values as text, as a command line has them.
    trust : bool
        Import the modules that a file names.  Without it they are refused, unless they were
        imported before: the file may come from another person.
    **overrides
        Keys with values.

    Returns
    -------
    config : RunConfig

    Raises
    ------
    UserError
        If the experiment or a key is unknown, or a value has the wrong type or is out of range.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> config = configure("permuted-mnist", hidden=(100, 100), seed=3)
    >>> config.dataset, config.settings.hidden
    ('mnist', (100, 100))
    """
    base, given, file, own = _start(target)
    primitives = overrides.get("backend")
    if isinstance(primitives, OwnPrimitives):
        overrides |= {
            "backend": "numpy",
            "primitives": str(Path(primitives.folder).resolve()),
            "primitives_sha256": primitives.sha256,
        }
    # the last word on each key, how it is read, and its file
    said = {
        key: (value, read, source)
        for layer, read, source in (
            (given, values.convert, file),
            (texts or {}, values.parse, ""),
            (overrides, values.convert, ""),
        )
        for key, value in layer.items()
    }

    if not trust:
        _check_modules(said, file)

    def last(key):
        value, read, source = said.get(
            key, (base.run.get(key, getattr(RunConfig, key)), values.convert, "")
        )
        with _named(source):
            return read(key, value, str)

    name = last("method")
    # npbcl is vae_npbcl there
    if last("stream") == "classes" and f"vae_{name}" in GENERATIVE:
        name = f"vae_{name}"
    with _named(said["method"][2] if "method" in said else ""):
        known = keys(name)
        _check_ability(name, base.asks)
    asked = SETTINGS_OF[base.asks]
    chosen = {**base.run, **_preset(name, last("preset"), last("experiment"), base), **asked}
    for key, (value, read, source) in said.items():
        with _named(source):
            if key not in known:
                hint = nearest(key, known) or f"; `ibpcl settings {name}` lists all keys"
                raise UserError(f"unknown key {key!r} for a run with method {name}{hint}")
            chosen[key] = read(key, value, known[key].kind)
            if key in asked and chosen[key] != asked[key]:
                raise UserError(
                    f"{key} must be {values.toml(asked[key])} in an experiment that asks for "
                    f"{base.asks}"
                )
    chosen["method"] = name
    if chosen.get("data") is not None:
        chosen["data"] = str(Path(chosen["data"]).resolve())
    asked_for = {key: chosen[key] for key in OF_TASKS if key in said}
    if chosen.get("data") is not None:
        chosen |= {"dataset": OWN, "stream": OWN}
    # whose value is out of range is not known
    with _named("" if texts or overrides else file):
        made = _build(name, chosen, own)
        if isinstance(primitives, OwnPrimitives):
            made = replace(made, own_primitives=primitives)
        _check_effect(made, asked_for)
        return made


def _check_modules(said, file):
    """Refuse what a file names and only an import could find, such as a method
    ``package.module:Class``.
    """
    for key, (value, _, source) in said.items():
        if source != file or not file or not isinstance(value, str) or key in NAMES:
            continue
        module, colon, _ = value.partition(":")
        if colon and MODULE.fullmatch(module) and module not in sys.modules:
            raise UntrustedError(
                f"{file}: {key} = {value!r} names the module {module}, which is not imported just "
                "because a file says so; import it first, or name it yourself"
            )


def _check_effect(config, asked_for):
    """Refuse keys that own tasks decide and not the user, if they were given another value than the
    tasks have.
    """
    if config.dataset != OWN:
        return
    for key, value in asked_for.items():
        actual = getattr(config, key)
        if value != actual and not (
            key == "stream" and {value, actual} <= {OWN, f"{OWN}-regression"}
        ):
            raise UserError(
                f"{key} = {values.toml(value)} has no effect on own tasks, which have {key} = "
                f"{values.toml(actual)}; leave it out"
            )


def _start(target):
    """Return what a target says: its experiment, the keys that it gives, its file if it is one, and
    its own tasks.
    """
    if not isinstance(target, str | Path):
        own = own_tasks(target)
        base = NO_PRESET._replace(asks="regression") if own.kind == "regression" else NO_PRESET
        return base, {"experiment": own.name, "dataset": OWN, "stream": OWN}, "", own
    target = str(target)
    if target in PRESETS:
        return PRESETS[target], {"experiment": target}, "", None
    if not target.endswith(".toml"):
        raise UserError(
            f"unknown experiment {target!r}{nearest(target, PRESETS)} "
            f"(known: {', '.join(PRESETS)}, or a file that ends in .toml)"
        )
    try:
        given = storage.read_toml(target)
    except ValueError as error:
        raise UserError(str(error)) from error
    if "experiment" not in given:
        return NO_PRESET, {"experiment": as_name(Path(target).stem, "run"), **given}, target, None
    name = values.convert(f"{target}: experiment", given["experiment"], str)
    if name not in PRESETS and "data" not in given and not {"dataset", "stream"} <= given.keys():
        raise UserError(
            f"{target}: unknown experiment {name!r}{nearest(name, PRESETS)} (known: "
            f"{', '.join(PRESETS)}; an experiment with another name must set dataset and stream, "
            "or data)"
        )
    return PRESETS.get(name, NO_PRESET), given, target, None


def _preset(method_name, chosen, experiment, base):
    """Return the settings of the preset that is asked for; an experiment changes only those of the
    default.
    """
    of_experiment = base.methods.get(method_name, {})
    presets = {
        name: settings | (of_experiment if name == "default" else {})
        for name, settings in _method(method_name).presets.items()
    }
    if (found := tuned(experiment, method_name)) is not None:
        presets["tuned"] = of_experiment | found
    if chosen not in presets:
        raise UserError(
            f"preset must be one of {', '.join(presets)} for method {method_name} here, got "
            f"{chosen!r}{nearest(chosen, presets)}"
        )
    return presets[chosen]


def able(target):
    """Return the methods that can do what an experiment asks for: its name, its TOML file, or a
    sequence of tasks.

    >>> "hat" in able("split-mnist"), "hat" in able("domain-mnist")
    (True, False)
    """
    return _able(_start(target)[0].asks)


def _able(asked):
    return (
        list(GENERATIVE)
        if asked == "images"
        else [name for name, about in ABOUT.items() if asked in about.can]
    )


def _check_ability(method_name, asked):
    # what a class of the user's can, its settings say
    if ":" in method_name:
        missing = SETTINGS_OF[asked].keys() - keys(method_name).keys()
        if missing:
            raise UserError(
                f"method {method_name} has no setting {', '.join(missing)}, which the experiment "
                "asks for"
            )
    # a head for each task is what all can
    elif asked != "task" and method_name not in _able(asked):
        raise UserError(
            f"method {method_name} does not do {asked}, which the experiment asks for; these do: "
            f"{', '.join(_able(asked))} (`ibpcl methods` says what each can do)"
        )


@contextlib.contextmanager
def _named(source):
    """Put the name of the file, if there is one, before the message of a UserError."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{source}: {error}" if source else str(error)) from error


def _build(method_name, chosen, own):
    """Make the configuration; what the settings' own checks refuse is the user's mistake too."""
    parts = {"settings": _method(method_name).settings}
    if method_name in GENERATIVE:
        parts["measurement"] = Measurement
    of_part = {f.name: part for part, kind in parts.items() for f in fields(kind)}
    for key, value in chosen.items():
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int) and abs(number) >= SIZES and key not in SEEDS:
                raise UserError(f"{key} must be below 2**31, got {number}")
    try:
        made = {
            part: kind(**{key: value for key, value in chosen.items() if of_part.get(key) == part})
            for part, kind in parts.items()
        }
    except ValueError as error:
        raise UserError(str(error)) from error
    return RunConfig(
        **{key: value for key, value in chosen.items() if key not in of_part}, **made, own=own
    )


def _method(name):
    if name not in (*METHODS, *GENERATIVE) and ":" not in name:
        raise UserError(
            f"unknown method {name!r}{nearest(name, METHODS)} (known: {', '.join(METHODS)})"
        )
    return method(name)


def _check_bounds(part):
    for one in fields(part):
        if one.metadata and (wrong := refusal(one, getattr(part, one.name))):
            raise UserError(f"{one.name} {wrong}")


def _require(condition, key, allowed, got):
    if not condition:
        raise UserError(f"{key} must be {allowed}, got {got!r}")

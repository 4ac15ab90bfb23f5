"""Configuration of a run: every key with its value, from a preset, a TOML file, a command line or
Python.

A configuration is flat: the keys of the run and the settings of its method are on one level. The
layers are merged in order, and later ones override earlier ones: defaults, the experiment, the
preset of the method, requirements of the experiment, the file, the command line, Python.
"""

import contextlib
import re
import sys
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
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
from ibpcl.methods import ABOUT, GENERATIVE, METHODS, ONLINE, method
from ibpcl.options import allowed, option, refusal

# Streams with one softmax over all classes seen so far, which require a single head.
INCREMENTAL = ("incremental", "own-incremental")
STREAMS = (
    "split",
    "resplit",
    "incremental",
    "permuted",
    "blended",
    "strips",
    "classes",
    "own",
    "own-incremental",
    "own-regression",
)
# The data sets that are not image sets of the package.
TERRAIN = "terrain"
OWN = "own"
# fields of a configuration that are not keys
PARTS = ("settings", "measurement", "own", "own_primitives")
# Keys with the location of files, which does not change the results.
PLACES = ("data_dir", "data", "primitives")
# Keys whose values never name a class, even with a colon.
NAMES = ("experiment", *PLACES, "data_sha256", "primitives_sha256")
MODULE = re.compile(r"\w+(\.\w+)*")
# Keys that follow from the user's own tasks.
OF_TASKS = ("dataset", "stream", "tasks", "classes", "data")
# Keys that a table contains only if they have a value.
OPTIONAL = (*PLACES, "classes", "data_sha256", "primitives_sha256")
# Keys of a blended stream, with their values if they are not given.
BLENDED = {
    "blend_of": "permuted",
    "blend_width": 0.5,
    "boundaries": "hidden",
    "run_length": 10_000.0,
}
OPTIONAL = (*OPTIONAL, *BLENDED)
# Settings that are newer than the records of searches. A table contains them only if they differ
# from their defaults, so that configurations without them keep their names and digests.
NEWER = (
    "coreset_selection",
    "coreset_tasks",
    "full_head",
    "grow_by",
    "growth",
    "mask_gradient",
    "network",
    "rank",
    "rebar_eta",
    "shuffled",
)
SEEDS = ("seed", "data_seed")
LARGEST_SEED = 2**63 - 1  # the largest integer of TOML
SIZES = 2**31  # all sizes and counts are smaller


class Key(NamedTuple):
    """A configuration key.

    Attributes
    ----------
    kind : type
        Its type, as annotated.
    default : object
        Its default value.
    doc : str
        One sentence on its meaning.
    allowed : str
        The allowed values of its type, in words; empty if all are allowed.
    """

    kind: Any
    default: Any
    doc: str
    allowed: str


@dataclass(frozen=True)
class RunConfig:
    """The configuration of a run; the same configuration gives the same results.

    ``ibpcl settings`` prints the keys with their types, ranges and defaults.

    Attributes
    ----------
    experiment : str
        Name of the run, in its results and its folder.
    dataset : str
        Name of the image set; "terrain"; or "own" for your own data.
    stream : str
        Kind of the stream of tasks, one of :data:`STREAMS`.
    blend_of : str or None
        How the tasks of a blended stream are made: "split" or "permuted".
    blend_width : float or None
        Width of a cross-fade of a blended stream, as a fraction of a task.
    boundaries : str or None
        "hidden", or "known" if the learner knows where the tasks of a blended stream begin.
    run_length : float or None
        Mean number of minibatches between false alarms of the detection of tasks.
    tasks : int
        Number of tasks.
    data_seed : int
        Seed of the tasks.
    shuffled : bool
        Whether ``seed`` also draws the order of the tasks, and the permutations of pixels.
    validation : float or None
        Share of the training data, in (0, 1), that replaces the test data.
    train_limit, test_limit : int or None
        Maximum number of training and test examples per task.
    data_dir : str or None
        Folder of the image files.
    data : str or None
        File or folder of your own data.
    classes : tuple of tuple of int, or None
        The labels of each task, for one file of your own data.
    data_sha256 : str or None
        Checksum of your own data.
    method : str
        Name of the method, or ``package.module:Class``.
    preset : str
        Name of the preset of the method.
    seed : int
        Seed of the learner.
    backend : str
        "numba" or "numpy".
    primitives : str or None
        Folder of your own primitives.
    primitives_sha256 : str or None
        Hash of your own primitives.
    settings : object
        The settings of the method, a dataclass; its defaults if None.
    measurement : Measurement or None
        How a generative model is measured; None for other runs.
    own : ibpcl.data.own.OwnTasks or None
        Your own tasks, if they have been read.
    own_primitives : ibpcl.inference.backend.OwnPrimitives or None
        Your own primitives, if they have been loaded.

    Raises
    ------
    UserError
        If a value is out of its range, or the data set, the method or the backend does not exist.
    """

    experiment: str = option(DEFAULT, "Name of the run, in its results and its folder.")
    dataset: str = option(
        "glyphs", "Image set: a name from `ibpcl data list`, or terrain (see docs/regression.md)."
    )
    stream: str = option(
        "split",
        "How tasks are made: split (two classes per task), resplit (the same, with a new split of "
        "all images into training and test), incremental (two further classes per task, one "
        "softmax over all classes so far), permuted (one pixel order per task), blended (tasks "
        "that turn gradually into one another), strips (terrain), classes (one class per task, "
        "without labels), own, own-incremental and own-regression (your own data).",
        choices=STREAMS,
    )
    blend_of: str | None = option(
        None,
        "Tasks of a blended stream: split or permuted (default).",
        choices=("split", "permuted"),
    )
    blend_width: float | None = option(
        None,
        "Width of a cross-fade of a blended stream, as a fraction of a task; 0.5 by default, 0 for "
        "sharp boundaries.",
        at_least=0,
        at_most=1,
    )
    boundaries: str | None = option(
        None,
        "Whether the learner knows where the tasks of a blended stream begin: hidden (default) "
        "or known.",
        choices=("hidden", "known"),
    )
    run_length: float | None = option(
        None,
        "Mean number of minibatches of a blended stream between false alarms of the detection of "
        "tasks; 10,000 by default.",
        at_least=10,
        at_most=1e9,
    )
    tasks: int = option(
        5,
        "Number of tasks: at most 5 with the streams split and incremental, at most the number of "
        "classes with stream classes.",
        at_least=1,
    )
    data_seed: int = option(
        0,
        "Seed of the tasks: the drawing of glyphs, the permutations of pixels.",
        at_least=0,
        at_most=LARGEST_SEED,
    )
    shuffled: bool = option(
        False,
        "Whether seed also draws the order of the tasks, and the permutations of pixels in place "
        "of data_seed; for image sets.",
    )
    validation: float | None = option(
        None, "Share of the training data that replaces the test data.", above=0, below=1
    )
    train_limit: int | None = option(
        None, "Maximum number of training examples per task.", at_least=1
    )
    test_limit: int | None = option(None, "Maximum number of test examples per task.", at_least=1)
    data_dir: str | None = option(
        None,
        "Folder of the image files; by default the one in the environment variable IBPCL_DATA, or "
        "else the user's cache.",
    )
    data: str | None = option(
        None, "Your own data: an .npz file, or a folder with one .npz file per task."
    )
    classes: tuple[tuple[int, ...], ...] | None = option(
        None, "The labels of each task, such as [[0, 1], [2, 3]], for one file of your own data."
    )
    data_sha256: str | None = option(
        None, "Checksum of your own data; the run computes it and refuses other data later."
    )
    method: str = option(
        "npbcl",
        "The method that learns: a name from `ibpcl methods`, or package.module:Class.",
    )
    preset: str = option(
        "default", "Named settings of the method; single keys override them. See `ibpcl settings`."
    )
    seed: int = option(
        0,
        "Seed of the learner; on one machine the same seed gives the same result, bit for bit.",
        at_least=0,
        at_most=LARGEST_SEED,
    )
    backend: str = option(
        BACKENDS[0], "What computes: compiled kernels (numba) or plain NumPy.", choices=BACKENDS
    )
    primitives: str | None = option(
        None, "Folder of your own primitives, such as my_ibpcl; they replace the package's."
    )
    primitives_sha256: str | None = option(
        None, "Hash of your own primitives, computed by a run; other primitives are refused."
    )
    settings: Any = field(default=None)
    measurement: Any = field(default=None)
    own: Any = field(default=None, repr=False, compare=False)
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
            f"strips with dataset {TERRAIN}, and only then (here: {self.dataset})",
            self.stream,
        )
        _require(
            (self.dataset == OWN) == self.stream.startswith(OWN) == (self.data_sha256 is not None),
            "stream",
            f"own or own-incremental with your own data, given by data, and only then (here: "
            f"{self.dataset})",
            self.stream,
        )
        _require(
            self.classes is None or self.dataset == OWN,
            "classes",
            "left out without your own data, given by data",
            self.classes,
        )
        _require(
            not self.shuffled or not (self.generative or self.dataset in (OWN, TERRAIN)),
            "shuffled",
            f"false with your own data, with dataset {TERRAIN} and with stream classes",
            self.shuffled,
        )
        _method(self.method)
        _require(
            ":" in self.method or self.generative == (self.method in GENERATIVE),
            "stream",
            (
                f"classes with the methods {', '.join(GENERATIVE)}, and only then (here: "
                f"{self.method})"
            ),
            self.stream,
        )
        if self.settings is None:
            object.__setattr__(self, "settings", _method(self.method).settings())
        # The settings of a user's own method may lack checks.
        _check_bounds(self.settings)
        if self.generative and self.measurement is None:
            object.__setattr__(self, "measurement", Measurement())
        self._blend()

    def _blend(self):
        """Complete and check the keys of a blended stream."""
        if self.stream != "blended":
            for name in BLENDED:
                value = getattr(self, name)
                _require(value is None, name, "left out unless stream is blended", value)
            return
        _require(
            self.method in ONLINE and self.settings.single_head,
            "method",
            f"one of {', '.join(ONLINE)} with single_head = true for stream blended",
            self.method,
        )
        for name, value in BLENDED.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)

    def _identify(self):
        """Read your own data, if necessary, for their checksum and number of tasks.

        A finished run has both in its configuration.
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
                    "a run cannot learn your own images without labels: use ibpcl.learn, or an "
                    "experiment such as vae-glyphs"
                )
            for name, value in (
                ("own", own),
                ("data", own.place),
                ("classes", own.classes),
                ("tasks", len(own)),
                ("dataset", OWN),
                ("data_sha256", own.sha256),
                ("stream", _stream_of_own(self.stream, own.kind)),
            ):
                object.__setattr__(self, name, value)

    @cached_property
    def table(self):
        """The configuration as a flat dict for TOML, every key with its value.

        A missing value is written as ``"none"``; only the keys of :data:`OPTIONAL` are left out
        then, and those of :data:`NEWER` at their defaults. Reading the table gives the same
        configuration again.
        """
        named = [(self, spec) for spec in fields(self) if spec.name in run_keys()]
        for part in (self.measurement, self.settings):
            named += [(part, spec) for spec in (() if part is None else fields(part))]
        table = {
            spec.name: value
            for part, spec in named
            if (value := getattr(part, spec.name)) != spec.default or spec.name not in NEWER
        }
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
        """The name of the method without its module, for folders and tables."""
        return self.method.rpartition(":")[2]

    @property
    def generative(self):
        """Whether the run learns a model of images without labels."""
        return self.stream == "classes"

    @property
    def measure(self):
        """The measure in the matrix of results: "accuracy", "R^2" (regression) or "log-likelihood"
        (images).
        """
        return measure_of(self.stream)


def _stream_of_own(asked, kind):
    """Return the stream of your own tasks of a given kind."""
    if kind == "classification":
        return asked if asked in INCREMENTAL else OWN
    return "own-regression"


def measure_of(stream):
    """Return the measure of a kind of stream.

    Parameters
    ----------
    stream : str
        One of :data:`STREAMS`.

    Returns
    -------
    measure : str
        "accuracy", "R^2" or "log-likelihood".

    Examples
    --------
    >>> measure_of("split"), measure_of("strips"), measure_of("classes")
    ('accuracy', 'R^2', 'log-likelihood')
    """
    return {"strips": "R^2", "own-regression": "R^2", "classes": "log-likelihood"}.get(
        stream, "accuracy"
    )


def keys(method_name):
    """Return every key of a run with a given method.

    Parameters
    ----------
    method_name : str
        Name of the method, or ``package.module:Class``.

    Returns
    -------
    keys : dict of str to Key
        The keys of the run, then the settings of the method.

    Raises
    ------
    UserError
        If the method does not exist.
    """
    settings = _keys_of(_method(method_name).settings)
    return run_keys() | (_keys_of(Measurement) if method_name in GENERATIVE else {}) | settings


def run_keys():
    """Return the keys that every run has, whatever its method.

    Returns
    -------
    keys : dict of str to Key
        In the order of :class:`RunConfig`.
    """
    return {name: key for name, key in _keys_of(RunConfig).items() if name not in PARTS}


@cache
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
        The name of an experiment, a TOML file, or your own tasks. A file may name the experiment
        that it changes, by the key ``experiment``; without that key it changes the defaults, and
        the experiment is named after the file.
    texts : dict of str to str, optional
        Keys with values as text, as on a command line.
    trust : bool
        Whether to import modules that only a file names. The file may come from another person, so
        by default a module is refused unless it has been imported before.
    **overrides
        Keys with values; they override all others.

    Returns
    -------
    config : RunConfig
        The complete configuration.

    Raises
    ------
    UserError
        If the experiment or a key is unknown, or a value has the wrong type or is out of range.
    FileNotFoundError
        If the file does not exist.

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
    # The value of each key in the last layer that sets it, how it is read, and its file.
    given_keys = {
        key: (value, read, source)
        for layer, read, source in (
            (given, values.convert, file),
            (texts or {}, values.parse, ""),
            (overrides, values.convert, ""),
        )
        for key, value in layer.items()
    }

    if not trust:
        _check_modules(given_keys, file)

    def last(key):
        value, read, source = given_keys.get(
            key, (base.run.get(key, getattr(RunConfig, key)), values.convert, "")
        )
        with _named(source):
            return read(key, value, str)

    name = last("method")
    # On images without labels, npbcl means vae_npbcl.
    if last("stream") == "classes" and f"vae_{name}" in GENERATIVE:
        name = f"vae_{name}"
    with _named(given_keys["method"][2] if "method" in given_keys else ""):
        known = keys(name)
        asks = "domain" if last("stream") in INCREMENTAL else base.asks
        _check_ability(name, asks)
    required = SETTINGS_OF[asks]
    chosen = {**base.run, **_preset(name, last("preset"), last("experiment"), base), **required}
    for key, (value, read, source) in given_keys.items():
        with _named(source):
            if key not in known:
                hint = nearest(key, known) or f"; `ibpcl settings {name}` lists all keys"
                raise UserError(f"unknown key {key!r} for a run with method {name}{hint}")
            chosen[key] = read(key, value, known[key].kind)
            if key in required and chosen[key] != required[key]:
                raise UserError(
                    f"{key} must be {values.toml(required[key])} in an experiment of the kind "
                    f"{asks!r}"
                )
    chosen["method"] = name
    if chosen.get("data") is not None:
        chosen["data"] = str(Path(chosen["data"]).resolve())
    asked_for = {key: chosen[key] for key in OF_TASKS if key in given_keys}
    if chosen.get("data") is not None:
        chosen |= {"dataset": OWN, "stream": _stream_of_own(chosen.get("stream"), "classification")}
    # A value out of range may come from any layer, so the file is named only if it is the only one.
    with _named("" if texts or overrides else file):
        config = _build(name, chosen, own)
        if isinstance(primitives, OwnPrimitives):
            config = replace(config, own_primitives=primitives)
        _check_effect(config, asked_for)
        return config


def _check_modules(given_keys, file):
    """Refuse values in a file that require an import, such as a method ``module:Class``."""
    for key, (value, _, source) in given_keys.items():
        if source != file or not file or not isinstance(value, str) or key in NAMES:
            continue
        module, colon, _ = value.partition(":")
        if colon and MODULE.fullmatch(module) and module not in sys.modules:
            raise UntrustedError(
                f"{file}: {key} = {value!r} names the module {module}, which is not imported "
                "unless you allow it; import it first, or name it yourself"
            )


def _check_effect(config, asked_for):
    """Refuse keys that follow from the user's own tasks, if their value contradicts the tasks."""
    if config.dataset != OWN:
        return
    for key, value in asked_for.items():
        actual = getattr(config, key)
        if value != actual and not (
            key == "stream" and {value, actual} <= {OWN, f"{OWN}-regression"}
        ):
            raise UserError(
                f"{key} = {values.toml(value)} has no effect on your own tasks, which have {key} = "
                f"{values.toml(actual)}; leave it out"
            )


def _start(target):
    """Return the parts of a target: its experiment, its keys, its file ("" if none), and its own
    tasks.
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
    """Return the settings of a preset; an experiment changes those of the preset "default" only."""
    of_experiment = base.methods.get(method_name, {})
    presets = {
        name: settings | (of_experiment if name == "default" else {})
        for name, settings in _method(method_name).presets.items()
    }
    if (best := tuned(experiment, method_name)) is not None:
        presets["tuned"] = of_experiment | best
    if chosen not in presets:
        raise UserError(
            f"preset must be one of {', '.join(presets)} for method {method_name} here, got "
            f"{chosen!r}{nearest(chosen, presets)}"
        )
    return presets[chosen]


def able(target):
    """Return the methods that can do an experiment.

    Parameters
    ----------
    target : str, Path or sequence of Task
        The name of an experiment, its TOML file, or your own tasks.

    Returns
    -------
    methods : list of str
        Names of the methods of this package.

    Raises
    ------
    UserError
        If the experiment does not exist, or the file or the tasks cannot be used.

    Examples
    --------
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
    # The settings of a user's own class show its abilities.
    if ":" in method_name:
        missing = SETTINGS_OF[asked].keys() - keys(method_name).keys()
        if missing:
            raise UserError(
                f"method {method_name} has no setting {', '.join(missing)}, which the experiment "
                "requires"
            )
    # All methods can have one head per task.
    elif asked != "task" and method_name not in _able(asked):
        raise UserError(
            f"method {method_name} cannot do {asked!r}, which the experiment requires; these can: "
            f"{', '.join(_able(asked))} (see `ibpcl methods`)"
        )


@contextlib.contextmanager
def _named(source):
    """Put the name of the file, if any, before the message of a UserError."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{source}: {error}" if source else str(error)) from error


def _build(method_name, chosen, own):
    """Return the configuration; errors of the settings' own checks become UserErrors."""
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
    for key in fields(part):
        if key.metadata and (wrong := refusal(key, getattr(part, key.name))):
            raise UserError(f"{key.name} {wrong}")


def _require(condition, key, allowed, got):
    if not condition:
        raise UserError(f"{key} must be {allowed}, got {got!r}")

"""The command ``ibpcl run``: print a row of the accuracy matrix after each task, then a summary."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from ibpcl import console
from ibpcl.cli.making_runs import assignments, target
from ibpcl.cli.table import AccuracyTable, LikelihoodTable, percent
from ibpcl.errors import UserError
from ibpcl.evaluation import structure
from ibpcl.experiments import run_figures
from ibpcl.experiments.config import UntrustedError, configure
from ibpcl.experiments.folder import CONFIG, free_folder, table_of
from ibpcl.experiments.presets import DEFAULT
from ibpcl.experiments.result import covered, learned_tasks
from ibpcl.experiments.run import Report, run

# What to expect of the preset "paper": for classifiers (False), for images without labels (True).
# A test compares the numbers with docs/parts.md.
AS_PRINTED = {
    False: "With the settings that the paper prints, expect less than its table reports:\n"
    "about 98 % on Split MNIST (printed: 99.82) and 94 % on notMNIST (97.15).\n"
    "docs/parts.md explains the difference, one change at a time.",
    True: "With the settings that the paper prints, codes tend to stay at their prior:\n"
    "docs/unsupervised.md explains what the default changes.",
}
# options that set the key of the same name
SHORTCUTS = ("method", "preset", "seed", "data_dir")


def execute(options):
    """Run an experiment with the options of the command line.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl run``.
    """
    config, out = resumed(options) if options.resume else chosen(options)
    prints_table = not (options.quiet or options.json)

    def on_resume(done):
        console.tell(f"ibpcl: continuing after task {done} of {config.tasks}")

    # After an overflow the run stops with a message that explains more than NumPy's warning.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        result = run(
            config,
            out,
            False if options.quiet else None,
            Printer(config) if prints_table else None,
            options.force,
            options.fresh,
            on_resume=on_resume,
        )
    if result.was_finished:
        console.tell(
            f"ibpcl: nothing was trained: {result.folder} holds this run, finished (--fresh "
            "starts it again)"
        )
        if prints_table:
            print_again(result)
    if options.figures:
        run_figures.draw(result, options.figures)
    if options.json:
        print((result.folder / "result.json").read_text(encoding="utf-8"), end="")
    elif options.quiet:
        average = (
            nats(result.result) if config.generative else percent(result.result["average_accuracy"])
        )
        print(f"average {config.measure} {average}, results in {result.folder}")
    else:
        print(summary(result))


def chosen(options):
    """Return the configuration of a new run, and its folder or the function that chooses it.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl run``.

    Returns
    -------
    config : RunConfig
        The configuration.
    out : str or callable
        The folder, or :func:`ibpcl.experiments.folder.free_folder`.

    Raises
    ------
    UserError
        If the experiment, a key or a value is not allowed.
    """
    texts = key_texts(options)
    about = target(options, texts) if options.data is not None else options.experiment or DEFAULT
    config = trusted(configure, about, texts, options.trust, **own_primitives(options))
    return config, options.out or free_folder


def own_primitives(options):
    """Return the backend with the user's own primitives as a keyword, if there are any.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl run``.

    Returns
    -------
    keywords : dict
        ``backend``, or nothing without ``--primitives``.

    Raises
    ------
    UserError
        If a function fails its check.
    """
    if options.primitives is None:
        if options.unchecked:
            raise UserError("--unchecked goes with --primitives")
        return {}
    from ibpcl.learn.own import backend

    try:
        return {"backend": backend(options.primitives, options.unchecked)}
    except UserError as error:
        hint = "" if options.unchecked else " (to use them all the same: --unchecked)"
        raise UserError(f"--primitives: {error}{hint}") from error


def trusted(make, *arguments, **keywords):
    """Make a configuration, or explain how to allow the modules that only a file names.

    Parameters
    ----------
    make : callable
        :func:`ibpcl.experiments.config.configure`.
    *arguments, **keywords
        Its arguments.

    Returns
    -------
    config : RunConfig
        The configuration.

    Raises
    ------
    UserError
        If a file names a module that is not imported yet; the message lists the options that
        allow it.
    """
    try:
        return make(*arguments, **keywords)
    except UntrustedError as error:
        raise UserError(
            f"{error}: use --method package.module:Class or --set prior=package.module:Name, or "
            "--trust to import every module that the file names"
        ) from error


def resumed(options):
    """Return the configuration of the run to continue, and its folder.

    The folder of the data may have changed; nothing else may.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl run``, with ``resume``.

    Returns
    -------
    config : RunConfig
        The configuration in the folder.
    out : str
        The folder.

    Raises
    ------
    UserError
        If the folder holds no run, or other options change its configuration.
    """
    fixed = ("experiment", "data", "preset", "seed", "out", "assignments", "force", "fresh")
    given = [name for name in fixed if getattr(options, name)]
    if given:
        raise UserError(
            f"--resume continues a run with its own configuration; leave out {', '.join(given)}"
        )
    file = Path(options.resume, CONFIG)
    if not file.is_file():
        raise UserError(f"{options.resume} is not the folder of a run: it has no {CONFIG}")
    table = table_of(options.resume) or {}
    if options.method is not None and options.method != table.get("method"):
        raise UserError(
            f"--resume continues a run with its own configuration; its method is "
            f"{table.get('method')}, so leave out --method, or name that one"
        )
    config = trusted(configure, file, key_texts(options), options.trust, **own_primitives(options))
    if not table:
        raise UserError(
            f"{file} is not the complete configuration of a run; `ibpcl run {file} --out FOLDER` "
            "starts a new run from it"
        )
    return config, options.resume


def key_texts(options):
    """Return the configuration keys that the command line sets, with their values as text.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl run``.

    Returns
    -------
    texts : dict of str to str
        The keys of ``--set``, overridden by options such as ``--seed``.

    Raises
    ------
    UserError
        If a text of ``--set`` is not KEY=VALUE.
    """
    texts = assignments(options.assignments)
    return texts | {
        key: getattr(options, key) for key in SHORTCUTS if getattr(options, key) is not None
    }


class Printer:
    """Prints a row of the table after each task.

    Parameters
    ----------
    config : RunConfig
        The configuration of the run.

    Attributes
    ----------
    table : AccuracyTable, LikelihoodTable or None
        None before the first task.
    """

    def __init__(self, config):
        self.config = config
        self.table = None

    def __call__(self, report):
        """Print the row of a task, and the header above the first."""
        if self.table is None:
            config = self.config
            self.table = (LikelihoodTable if config.generative else AccuracyTable)(report.names)
            unit = "nats per image" if config.generative else "%"
            print(
                f"{config.experiment}: {len(report.names)} tasks, method {config.method}, backend "
                f"{config.backend}, seed {config.seed}\nTest {config.measure} ({unit}) on each "
                "task so far, one row per task:\n"
            )
            print(self.table.header())
        print(self.table.row(report), flush=True)


def print_again(run):
    """Print the table of a run that was finished before.

    Parameters
    ----------
    run : ibpcl.experiments.run.Run
        The loaded run.
    """
    result = run.result
    printer = Printer(run.config)
    R = np.array(
        result["log_likelihood_matrix" if run.config.generative else "accuracy_matrix"], float
    )
    for t, name in enumerate(result["tasks"]):
        train, test = (result["seconds"][f"{part}_per_task"][t] for part in ("train", "test"))
        done = SimpleNamespace(
            task=t, name=name, accuracy=R, log_likelihood=R, train_seconds=train, test_seconds=test
        )
        density = None
        if result["mask_density"] is not None:
            learned = learned_tasks(result, len(result["tasks"]))[t]
            density = structure.density([run.learner.masks(learned)])[0]
        printer(Report(done, density, tuple(result["tasks"])))


def summary(result):
    """Return the results of a run as a few lines, with the folder of its files.

    Parameters
    ----------
    result : ibpcl.experiments.run.Run
        The finished run.

    Returns
    -------
    text : str
        Lines of a name and a value.
    """
    values = result.result
    images = result.config.generative
    config = result.config
    scale, unit = (1, "nats") if images else (100, "points")
    drops = scale * np.array(values["log_likelihood_drop" if images else "accuracy_drop"])
    worst = int(drops.argmax())
    seconds = values["seconds"]
    lines = (
        likelihoods(values)
        if images
        else [
            (
                f"average {values['measure']}",
                f"{percent(values['average_accuracy'])} over all tasks at the end",
            )
        ]
    )
    if len(drops) > 1:
        lines += [
            (
                "backward transfer",
                f"{scale * values['backward_transfer']:+.2f} {unit} (below 0: forgetting)",
            ),
            (
                "largest drop",
                f"{drops[worst]:.2f} {unit} on {values['tasks'][worst]}, since it was learned"
                if drops[worst] > 0
                else "none: no task is worse than right after it was learned",
            ),
        ]
    if images and len(drops) > 1:
        knn = values["knn"]
        errors = ", ".join(
            f"{100 * knn[way]['means'][0]:.1f} % {way}" for way in ("oracle", "inferred", "common")
        )
        lines.append(
            (f"{knn['neighbours'][0]}-NN error", f"{errors}; pixels {100 * knn['pixels'][0]:.1f} %")
        )
    if values["share_used"] is not None:
        lines.append(
            (
                "network used",
                f"{percent(values['share_used'][-1], 1)} of the "
                f"{'masked' if images else 'hidden'} weights, all tasks together",
            )
        )
    if "coverage" in values:
        lines += intervals(values["coverage"])
    memory = (
        "" if values["peak_memory_mb"] is None else f"; {values['peak_memory_mb']:.0f} MB at most"
    )
    lines += [
        (
            "time",
            f"{seconds['train']:.1f} s training, {seconds['test'] + seconds.get('final', 0):.1f} "
            f"s testing, {seconds['total']:.1f} s in all{memory}",
        ),
        ("results in", f"{result.folder}"),
    ]
    remark = f"\n\n{AS_PRINTED[images]}" * (config.preset == "paper" and config.measure != "R^2")
    return "\n" + "\n".join(f"{name:18} {text}" for name, text in lines) + remark


def likelihoods(values):
    """Return the final likelihood of the test images as two lines of the summary.

    Parameters
    ----------
    values : dict
        The content of ``result.json``.

    Returns
    -------
    lines : list of (str, str)
        Names and values.
    """
    effective = np.median(values["final"]["effective_samples"])
    return [
        (
            "log-likelihood",
            f"{nats(values)} ({values['final_samples']} samples, effective {effective:.0f})",
        ),
        (
            "reconstruction",
            f"{values['average_reconstruction']:.2f} (not a likelihood, see docs/unsupervised.md)",
        ),
    ]


def nats(values):
    """Return the mean log-likelihood over tasks at the end, with its standard error, as text.

    Parameters
    ----------
    values : dict
        The content of ``result.json``.

    Returns
    -------
    text : str
        Such as ``-92.41 +- 0.18 nats per image``.
    """
    return (
        f"{values['average_log_likelihood']:.2f} +- {values['average_standard_error']:.2f} nats "
        "per image"
    )


def intervals(coverage):
    """Return the coverage of a regression's predictive intervals as two lines of the summary.

    Parameters
    ----------
    coverage : dict
        The entry ``coverage`` of ``result.json``.

    Returns
    -------
    lines : list of (str, str)
        Names and values.
    """

    def shares(kind):
        observed = covered(coverage, kind)
        return (
            f"{' and '.join(percent(share, 1) for share in observed.values())} "
            f"(nominal {' and '.join(percent(p, 0) for p in observed)})"
        )

    return [
        ("coverage", f"{shares('as_predicted')}, as predicted"),
        ("", f"{shares('recalibrated')}, recalibrated"),
    ]

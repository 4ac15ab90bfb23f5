"""The parser of the command line: all commands with their arguments and help texts."""

import argparse
import re

from ibpcl import __version__
from ibpcl.cli.audit import add_parser as add_audit
from ibpcl.cli.check import add_parser as add_check
from ibpcl.cli.classroom import add_parser as add_class
from ibpcl.cli.learn import add_parser as add_learn
from ibpcl.errors import UserError, nearest
from ibpcl.experiments.presets import DEFAULT, PRESETS, SEEDS
from ibpcl.experiments.search_spaces import MOST as MOST_TRIALS
from ibpcl.experiments.search_spaces import OUT as RECORDS
from ibpcl.experiments.search_spaces import TRIALS

EPILOG = """\
first steps:
  ibpcl run                 train on five pairs of letters (about half a minute)
  ibpcl compare split-glyphs --methods naive,ewc,npbcl
                            compare three methods on the same tasks
  ibpcl check kumaraswamy   verify the gradients of one distribution

`ibpcl COMMAND --help` explains a command. Exit code: 0 success, 1 failure,
2 a mistake in the command line or the data.
"""
MOST_WORKERS = 1000  # also the limit for threads


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line, and whose epilog may be a function.

    A function is called when help is requested.
    """

    def format_help(self):
        """Return the help text."""
        if callable(self.epilog):
            self.epilog = self.epilog()
        return super().format_help()

    def error(self, message):
        """Refuse the command line; for an invalid choice, suggest the nearest valid one.

        Parameters
        ----------
        message : str
            The message of argparse.

        Raises
        ------
        UserError
            Always.
        """
        choice = re.match(
            r"(argument [^:]*: invalid choice: '(.*)') \(choose from (.*)\)$", message
        )
        if choice:
            hint = nearest(choice[2], re.findall(r"[\w-]+", choice[3]))
            message = f"{choice[1]}{hint} (known: {choice[3].replace(chr(39), '')})"
        raise UserError(f"{message} (see `{self.prog} --help`)")


class ListExperiments(argparse.Action):
    """Print the experiments and exit, without importing NumPy or Numba."""

    def __call__(self, parser, namespace, values, option_string=None):
        """Print and exit."""
        print(list_experiments())
        parser.exit()


def parser():
    """Return the parser of the command line; ``options.command`` names the module to run."""
    top = Parser(
        prog="ibpcl",
        description="Train networks on one task after another without forgetting: the paper\n"
        '"Bayesian Structure Adaptation for Continual Learning" in NumPy.',
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"ibpcl {__version__}")
    top.set_defaults(command=None)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    _add_one_run(commands)
    _add_many_runs(commands)
    _add_what_shows(commands)
    add_check(commands)
    add_audit(commands)
    add_class(commands)
    add_learn(commands)
    return top


def add_command(commands, name, text, description=None, module=None, **options):
    """Add a command to the subparsers.

    Parameters
    ----------
    commands : object
        The return value of ``ArgumentParser.add_subparsers``.
    name : str
        Name of the command.
    text : str
        Its line in the list of commands.
    description : str, optional
        The first paragraph of its help; by default the same text.
    module : str, optional
        The module of :mod:`ibpcl.cli` that executes it; by default the one with its name.
    **options
        Further arguments of the parser.

    Returns
    -------
    parser : Parser
        The parser of the command.
    """
    one = commands.add_parser(
        name, help=text, description=description or f"{text[0].upper()}{text[1:]}.", **options
    )
    one.set_defaults(command=module or name)
    return one


def _add_data_dir(command):
    command.add_argument(
        "--data-dir",
        metavar="DIR",
        help="folder with mnist/, fashion_mnist/ and notmnist/ (default: that in the "
        "environment variable IBPCL_DATA, else the user's cache)",
    )


def _add_json(command, what="the tables"):
    command.add_argument("--json", action="store_true", help=f"print only {what}, as JSON")


def _add_experiment(command, text):
    command.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help=text).completer = (
        lambda **_: list(PRESETS)
    )
    command.add_argument(
        "--data",
        metavar="PATH",
        help="your own data instead of EXPERIMENT: a folder with one .npz file per task, each with "
        "x_train, y_train, x_test, y_test; or one such file, split into tasks by its labels with "
        "--set 'classes=[[0,1],[2,3]]'",
    )


def _add_method(command, **options):
    def names(**_):
        from ibpcl.methods import METHODS

        return list(METHODS)

    command.add_argument("--method", metavar="NAME", **options).completer = names


def _add_set(command, sentence):
    command.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="assignments", help=sentence
    )
    command.add_argument(
        "--network",
        action="append",
        default=[],
        metavar="LINE",
        dest="assignments",
        type="network={}".format,
        help="network of layers, convolutions and residual blocks: conv, resnet, or a line such as "
        "conv:16,32;dense:200; short for --set network=LINE",
    )


def _add_sweep(command, folder, what="the tables"):
    """Add the options of the commands that make many runs."""
    _add_data_dir(command)
    command.add_argument(
        "--out", metavar="DIR", default=folder, help=f"folder for the results (default: {folder})"
    )
    who = command.add_mutually_exclusive_group()
    who.add_argument(
        "--workers",
        type=_whole(MOST_WORKERS),
        metavar="N",
        help="number of runs at the same time, each in its own process (default: one after "
        "another)",
    )
    who.add_argument(
        "--scheduler", metavar="ADDRESS|FILE", help="use the workers of a running Dask scheduler"
    )
    command.add_argument(
        "--threads",
        type=_whole(MOST_WORKERS),
        metavar="N",
        help="threads of each worker (default: the cores, divided by --workers)",
    )
    command.add_argument(
        "--progress",
        action="store_true",
        help="show the progress bar even if standard error is not a terminal",
    )
    _add_json(command, what)


def _whole(most):
    """Return a function that reads an integer in 1 .. most."""

    def read(text):
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be in 1 .. {most}, got {text}")
        return int(text)

    return read


def _add_one_run(commands):
    """Add the commands that make one run, and predict with it."""
    run = add_command(
        commands,
        "run",
        "train on the tasks of an experiment, and measure forgetting",
        description="Train on the tasks of an experiment, one after another. After each task,\n"
        "print the accuracy on all tasks so far. Configuration, results and figures are\n"
        "written to a folder. The same command again continues an interrupted run, and\n"
        "prints the results of a finished one.",
        epilog=(
            f"experiments:\n{list_experiments()}\n\n`ibpcl settings` lists the keys for --set and "
            "TOML files.\n\nexamples:\n  ibpcl run\n  ibpcl run split-mnist --method ewc --seed 1\n"
            "  ibpcl run --set hidden=100,100 --set epochs=20"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_experiment(run, f"one of the experiments below, or a TOML file (default: {DEFAULT})")
    _add_method(
        run,
        help="the method that learns: a name from `ibpcl methods`, or package.module:Class "
        "(default: npbcl)",
    )
    run.add_argument(
        "--preset",
        metavar="NAME",
        help="named settings of the method; `ibpcl settings METHOD` lists them (default: default)",
    )
    run.add_argument(
        "--seed",
        metavar="N",
        help="seed of the learner; the same seed gives the same result (default: 0)",
    )
    _add_data_dir(run)
    run.add_argument(
        "--primitives",
        metavar="DIR",
        help="compute with your own functions from this folder of `ibpcl learn`, where they exist",
    )
    run.add_argument(
        "--unchecked",
        action="store_true",
        help="use functions of --primitives that fail their check",
    )
    _add_set(run, "set a configuration key, such as epochs=20; may be given several times")
    run.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the results (default: runs/EXPERIMENT-METHOD-seedN)",
    )
    run.add_argument(
        "--figures",
        choices=("svg", "pdf"),
        help="write the figures in this vector format too, beside the PNG files; also for a "
        "finished run",
    )
    run.add_argument("--resume", metavar="DIR", help="continue the interrupted run in DIR")
    run.add_argument(
        "--trust",
        action="store_true",
        help="import the Python modules that a TOML file, or the folder of --resume, names; "
        "without it, such a file is refused",
    )
    run.add_argument(
        "--fresh",
        action="store_true",
        help="start this run again, even if it is finished or interrupted",
    )
    run.add_argument(
        "--force",
        action="store_true",
        help="replace the run in --out, even if it has another configuration",
    )
    shown = run.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="print only one line, with the result")
    shown.add_argument("--json", action="store_true", help="print only the content of result.json")
    run.add_argument(
        "--list", action=ListExperiments, nargs=0, help="list the experiments and exit"
    )

    predict = add_command(
        commands,
        "predict",
        "predict with the trained network of a run",
        "Predict the class probabilities of new inputs with the trained network of a run.",
    )
    predict.add_argument("run", metavar="DIR", help="folder of a run, or a learner.npz")
    predict.add_argument(
        "inputs",
        metavar="X.NPY",
        help="NumPy file with inputs of shape (N, D), or images of shape (N, height, width)",
    )
    predict.add_argument(
        "--task",
        type=int,
        required=True,
        metavar="N",
        help="number of the task to which the inputs belong; the first task is 0",
    )
    predict.add_argument(
        "--method",
        metavar="MODULE:CLASS",
        help="class of the learner, if it is not in this package",
    )
    predict.add_argument(
        "--out", metavar="P.NPY", help="NumPy file for the probabilities (default: print them)"
    )


def _add_many_runs(commands):
    """Add the commands that make many runs."""
    compare = add_command(
        commands,
        "compare",
        "compare several methods on one experiment",
        description="Run several methods with several seeds on one experiment. Print and write a "
        "table of accuracy, backward transfer, time and memory, and draw the accuracy curves. The "
        "same command again continues: finished runs are reused.",
    )
    _add_experiment(compare, "a name from `ibpcl run --list`, or a TOML file")
    compare.add_argument(
        "--methods",
        metavar="A,B",
        help="names from `ibpcl methods`, or package.module:Class (default: all methods that can "
        "do the experiment)",
    )
    compare.add_argument(
        "--seeds",
        type=int,
        default=SEEDS,
        metavar="N",
        help=f"seeds per method, 0 to N - 1 (default: {SEEDS})",
    )
    compare.add_argument(
        "--tuned",
        action="store_true",
        help="use the searched settings (the preset tuned) of the methods that have some",
    )
    _add_set(
        compare,
        "set a key of every run, or of every method that has it; METHOD.KEY=VALUE sets it for one "
        "method only",
    )
    compare.add_argument(
        "--dry-run",
        action="store_true",
        help="only print the number of runs and the approximate time",
    )
    _add_sweep(compare, "comparison")

    tune = add_command(
        commands,
        "tune",
        "search for better settings of a method",
        description="Search at random for better settings of a method. Each trial is scored on "
        "validation data, which are taken from the training data; the test set is never used. All "
        "trials are recorded in a file. The same command again continues the search.",
    )
    _add_experiment(tune, "a name from `ibpcl run --list`, or a TOML file")
    _add_method(
        tune,
        required=True,
        help="the method: a name from `ibpcl methods`, or package.module:Class",
    )
    tune.add_argument(
        "--trials",
        type=_whole(MOST_TRIALS),
        default=TRIALS,
        metavar="N",
        help=f"total number of trials; the first one uses the current settings (default: {TRIALS})",
    )
    tune.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the random settings (default: 0)"
    )
    tune.add_argument(
        "--halving",
        action="store_true",
        help="save time: after 1, 2, 4 ... tasks, only the better half of the trials continues",
    )
    tune.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="N",
        help="learners with different seeds per trial; their mean is the score (default: 1)",
    )
    _add_set(tune, "set a configuration key for all trials; it is then not searched")
    _add_sweep(tune, RECORDS, "the trials")

    reproduce = add_command(
        commands,
        "reproduce",
        "repeat a table or figure of the paper, next to the printed numbers",
        description="Run the experiments behind a table or figure of the paper. Print and write\n"
        "the measured numbers next to the printed ones. The same command again\n"
        "continues: finished runs are reused.",
        epilog=list_targets,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reproduce.add_argument("target", metavar="TARGET", help="a name from the list below")
    reproduce.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help=f"seeds per row, 0 to N - 1 (default: {SEEDS}; 1 with --quick)",
    )
    reproduce.add_argument(
        "--quick",
        action="store_true",
        help="use few data and few samples: this shows the order of the methods, not their numbers",
    )
    reproduce.add_argument("--preset", metavar="NAME", help="named settings of the method npbcl")
    reproduce.add_argument(
        "--tuned",
        action="store_true",
        help="use the searched settings (the preset tuned) of the methods that have some",
    )
    reproduce.add_argument(
        "--datasets",
        metavar="A,B",
        help="only these data sets, of mnist, notmnist, permuted, fashion, glyphs",
    )
    reproduce.add_argument("--methods", metavar="A,B", help="only these rows of the table")
    _add_set(
        reproduce,
        "set a key of every run or of npbcl; METHOD.KEY=VALUE sets it for another method",
    )
    _add_sweep(reproduce, "reproduction")


def _add_what_shows(commands):
    """Add the commands that list, report, fetch data and measure speed."""
    runs = add_command(
        commands,
        "runs",
        "list the runs of a folder, or compare two of them",
        "List the runs of a folder, the oldest first: experiment, method, seed, result, date and "
        "state. With --compare, list the settings and results in which two runs differ.",
        "listing",
    )
    runs.add_argument(
        "folder",
        nargs="?",
        default="runs",
        metavar="DIR",
        help="folder with runs, such as the one that `ibpcl compare` wrote (default: runs)",
    )
    runs.add_argument(
        "--compare",
        nargs=2,
        metavar=("A", "B"),
        help="two runs: their folders, or their names in DIR",
    )
    _add_json(runs, "the list or the differences")

    report = add_command(
        commands,
        "report",
        "write an HTML report of a run or a comparison",
        description="Write report.html, a single file that you can send: the command that repeats "
        "the run, results, figures, settings, times, and how to use the trained network. For a "
        "folder with several runs, the report shows them side by side.",
    )
    report.add_argument(
        "folder",
        metavar="DIR",
        help="folder of a run (finished or not), of a comparison, or with several runs",
    )
    report.add_argument(
        "--out", metavar="FILE", help="file for the report (default: report.html in DIR)"
    )
    _add_json(report, "path and size of the report")

    settings = add_command(
        commands,
        "settings",
        "list all settings of a run and of a method",
        "List every configuration key with its default, type and meaning, and the presets of the "
        "method.",
    )
    settings.add_argument(
        "method",
        nargs="?",
        default="npbcl",
        metavar="METHOD",
        help="a name from `ibpcl methods` (default: npbcl)",
    )
    _add_json(settings, "the keys")

    methods = add_command(
        commands,
        "methods",
        "list the methods: abilities, storage and papers",
        "List the methods, with the storage that each needs, its abilities and its paper.",
    )
    _add_json(methods, "the methods")

    data = add_command(commands, "data", "list, verify or download the image sets")
    actions = data.add_subparsers(
        title="actions", metavar="ACTION", required=True, dest="action", parser_class=Parser
    )
    names = "a name from `ibpcl data list`"
    name_help = {"verify": f"{names} (default: all that exist)", "fetch": names}
    for action, nargs, text in (
        ("list", 0, "list the image sets and the state of their files"),
        ("verify", "*", "compare the files with the published checksums"),
        ("fetch", "+", "download image sets, and verify them"),
    ):
        one = add_command(actions, action, text, module="data")
        one.set_defaults(names=[])
        if nargs:
            one.add_argument("names", nargs=nargs, metavar="NAME", help=name_help[action])
        _add_data_dir(one)
        if action == "list":
            _add_json(one, "the image sets")

    bench = add_command(
        commands,
        "bench",
        "measure the speed of a gradient step",
        description="Measure the time of a gradient step, its parts, its scaling and its memory, "
        "compared with its matrix products, and with PyTorch and JAX where these are installed. "
        "Print a table, and write bench.json and bench.png.",
    )
    bench.add_argument("--json", action="store_true", help="print only the content of bench.json")
    bench.add_argument(
        "--quick", action="store_true", help="use tiny sizes, to test the command, not the speed"
    )
    bench.add_argument(
        "--out",
        metavar="DIR",
        default="runs/bench",
        help="folder for the results (default: runs/bench)",
    )
    _add_data_dir(bench)


def list_experiments():
    """Return the experiments as text, one line each."""
    width = max(map(len, PRESETS))
    return "\n".join(f"  {name:{width}}  {preset.sentence}" for name, preset in PRESETS.items())


def list_targets():
    """Return the targets of ``reproduce`` as text, one line each below a heading."""
    from ibpcl.paper.reproduce import TARGETS

    width = max(map(len, TARGETS))
    return "\n".join(
        ["targets:", *(f"  {name:{width}}  {sentence}" for name, sentence in TARGETS.items())]
    )

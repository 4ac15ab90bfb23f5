"""What can be typed: commands and their arguments."""

import argparse
import re

from ibpcl import __version__
from ibpcl.cli.check import add_parser as add_check
from ibpcl.cli.classroom import add_parser as add_class
from ibpcl.cli.learn import add_parser as add_learn
from ibpcl.errors import UserError, nearest
from ibpcl.experiments.presets import DEFAULT, PRESETS, SEEDS
from ibpcl.experiments.search_spaces import MOST as MOST_TRIALS
from ibpcl.experiments.search_spaces import OUT as RECORDS
from ibpcl.experiments.search_spaces import TRIALS

MOST_WORKERS = 1000  # and threads


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line, and whose epilog may be a function, called when help is
    asked for.
    """

    def format_help(self):
        """Return the help."""
        if callable(self.epilog):
            self.epilog = self.epilog()
        return super().format_help()

    def error(self, message):
        """Refuse the command line; for a word that is not one of several, name the nearest."""
        choice = re.match(
            r"(argument [^:]*: invalid choice: '(.*)') \(choose from (.*)\)$", message
        )
        if choice:
            hint = nearest(choice[2], re.findall(r"[\w-]+", choice[3]))
            message = f"{choice[1]}{hint} (known: {choice[3].replace(chr(39), '')})"
        raise UserError(f"{message} (see `{self.prog} --help`)")


class ListExperiments(argparse.Action):
    """Print the experiments and stop, before anything heavy is imported."""

    def __call__(self, parser, namespace, values, option_string=None):
        """Print and exit."""
        print(list_experiments())
        parser.exit()


def parser():
    """Return the parser of the whole command line; ``options.command`` names the module that does
    the work.
    """
    top = Parser(prog="ibpcl", description="Bayesian structure adaptation for continual learning.")
    top.add_argument("--version", action="version", version=f"ibpcl {__version__}")
    top.set_defaults(command=None)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    _add_one_run(commands)
    _add_many_runs(commands)
    _add_what_shows(commands)
    add_check(commands)
    add_class(commands)
    add_learn(commands)
    return top


def add_command(commands, name, text, description=None, module=None, **options):
    """Add a command, whose work a module of its name does, or another; return its parser."""
    one = commands.add_parser(
        name, help=text, description=description or f"{text[0].upper()}{text[1:]}.", **options
    )
    one.set_defaults(command=module or name)
    return one


def _add_data_dir(command):
    command.add_argument(
        "--data-dir", metavar="DIR", help="folder with mnist/, fashion_mnist/ and notmnist/"
    )


def _add_json(command, what="the tables"):
    command.add_argument("--json", action="store_true", help=f"print {what} as JSON only")


def _add_experiment(command, text):
    command.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help=text).completer = (
        lambda **_: list(PRESETS)
    )
    command.add_argument(
        "--data",
        metavar="PATH",
        help="own data in place of EXPERIMENT: an .npz file with x_train, "
        "y_train, x_test, y_test (split by --set 'classes=[[0,1],[2,3]]'), or a folder, one file "
        "per "
        "task",
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


def _add_sweep(command, folder, what="the tables"):
    """Add the arguments of the commands that make many runs."""
    _add_data_dir(command)
    command.add_argument(
        "--out", metavar="DIR", default=folder, help=f"folder for the results (default: {folder})"
    )
    who = command.add_mutually_exclusive_group()
    who.add_argument(
        "--workers",
        type=_whole(MOST_WORKERS),
        metavar="N",
        help="number of runs at the same time, each in its own process",
    )
    who.add_argument(
        "--scheduler", metavar="ADDRESS|FILE", help="use the workers of a Dask scheduler"
    )
    command.add_argument(
        "--threads",
        type=_whole(MOST_WORKERS),
        metavar="N",
        help="threads of each worker (default: the cores, divided among --workers)",
    )
    command.add_argument(
        "--progress",
        action="store_true",
        help="show the progress bar even if standard error is not a terminal",
    )
    _add_json(command, what)


def _whole(most):
    """Return a function that reads a whole number in 1 .. most."""

    def read(text):
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be in 1 .. {most}, got {text}")
        return int(text)

    return read


def _add_one_run(commands):
    """Add the commands that make one run, and use it."""
    run = add_command(
        commands,
        "run",
        "learn the tasks of an experiment and measure what is remembered",
        description="Learn the tasks of an experiment one after another. After each task, "
        "print the\n"
        "accuracy on all tasks so far; write configuration, results and figures to a\n"
        "folder. The same command continues an interrupted run and keeps a finished one.",
        epilog=(
            f"experiments:\n{list_experiments()}\n\n`ibpcl settings` lists the keys for --set and "
            "TOML files."
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_experiment(run, f"one of the experiments below, or a TOML file (default: {DEFAULT})")
    _add_method(run, help="the method that learns: a name, or package.module:Class")
    run.add_argument(
        "--preset", metavar="NAME", help="named settings; `ibpcl settings METHOD` lists them"
    )
    run.add_argument(
        "--seed", metavar="N", help="seed of the learner; the same seed gives the same result"
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
    _add_set(run, "set a configuration key; may be given several times")
    run.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the results (default: the folder of the same run, or a new one in runs/)",
    )
    run.add_argument(
        "--resume", metavar="DIR", help="continue the run in DIR with its own configuration"
    )
    run.add_argument(
        "--trust",
        action="store_true",
        help="import the modules that a TOML file or the folder of --resume names; else only those "
        "that "
        "you name yourself",
    )
    run.add_argument(
        "--fresh", action="store_true", help="start again, even if the same run exists"
    )
    run.add_argument(
        "--force", action="store_true", help="replace a run with another configuration in --out"
    )
    shown = run.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="print the last line only")
    shown.add_argument("--json", action="store_true", help="print the content of result.json only")
    run.add_argument(
        "--list", action=ListExperiments, nargs=0, help="list the experiments and stop"
    )

    predict = add_command(
        commands,
        "predict",
        "predict with the learner of a run",
        "Predict class probabilities for inputs with the learner of a run.",
    )
    predict.add_argument("run", metavar="DIR", help="folder of a run, or a learner.npz")
    predict.add_argument(
        "inputs", metavar="X.NPY", help="inputs (N, D), or images (N, height, width)"
    )
    predict.add_argument(
        "--task", type=int, required=True, metavar="N", help="the task that they belong to, from 0"
    )
    predict.add_argument(
        "--method", metavar="MODULE:CLASS", help="class of the learner, if it is your own"
    )
    predict.add_argument(
        "--out", metavar="P.NPY", help="file for the probabilities (default: print them)"
    )


def _add_many_runs(commands):
    """Add the commands that make many runs."""
    compare = add_command(
        commands,
        "compare",
        "run several methods with several seeds on one experiment, and tabulate them",
        description="Run every method with every seed on one experiment; print and write a "
        "table of "
        "accuracy, backward "
        "transfer, time and memory, and draw the curves. Finished runs are reused, interrupted "
        "runs "
        "continue.",
    )
    _add_experiment(compare, "a name from `ibpcl run --list` or a TOML file")
    compare.add_argument(
        "--methods",
        metavar="A,B",
        help="names, or package.module:Class (default: all methods that can do the experiment)",
    )
    compare.add_argument(
        "--seeds", type=int, default=SEEDS, metavar="N", help=f"number of seeds (default: {SEEDS})"
    )
    compare.add_argument(
        "--tuned", action="store_true", help="use the settings that a search found, if any"
    )
    _add_set(
        compare, "set a key of every run, or of every method that has it; METHOD.KEY for one method"
    )
    compare.add_argument(
        "--dry-run",
        action="store_true",
        help="print the number of runs and about how long they take",
    )
    _add_sweep(compare, "comparison")

    tune = add_command(
        commands,
        "tune",
        "search the settings of a method, on validation data",
        description="Search the settings of a method at random. Each trial is scored on "
        "validation data "
        "cut from the "
        "training data, never on the test set, and recorded. An existing record is continued.",
    )
    _add_experiment(tune, "a name from `ibpcl run --list` or a TOML file")
    _add_method(tune, required=True, help="the method: a name, or package.module:Class")
    tune.add_argument(
        "--trials",
        type=_whole(MOST_TRIALS),
        default=TRIALS,
        metavar="N",
        help=f"number of trials in the end; the first has the present settings (default: {TRIALS})",
    )
    tune.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the settings that are tried"
    )
    tune.add_argument(
        "--halving",
        action="store_true",
        help="after 1, 2, 4 ... tasks, continue only the better half of the trials",
    )
    tune.add_argument(
        "--repeats", type=int, default=1, metavar="N", help="learners per trial (default: 1)"
    )
    _add_set(tune, "set a configuration key of all trials; it is then not searched")
    _add_sweep(tune, RECORDS, "the trials")

    reproduce = add_command(
        commands,
        "reproduce",
        "measure what the paper reports, and print both",
        description="Run the experiments behind a table or figure of the paper; print and "
        "write our\n"
        "numbers beside the paper's. Finished runs are reused, interrupted runs continue.",
        epilog=list_targets,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reproduce.add_argument("target", metavar="TARGET", help="a name from the list below")
    reproduce.add_argument(
        "--seeds", type=int, metavar="N", help=f"number of seeds (default: {SEEDS}; 1 with --quick)"
    )
    reproduce.add_argument(
        "--quick",
        action="store_true",
        help="little data and few samples: the order of the methods, not their numbers",
    )
    reproduce.add_argument("--preset", metavar="NAME", help="named settings of npbcl")
    reproduce.add_argument(
        "--tuned", action="store_true", help="use the settings that a search found, if any"
    )
    reproduce.add_argument(
        "--datasets", metavar="A,B", help="only these: mnist, notmnist, permuted, fashion, glyphs"
    )
    reproduce.add_argument("--methods", metavar="A,B", help="only these rows of the table")
    _add_set(reproduce, "set a key of every run or of npbcl; METHOD.KEY for another method")
    _add_sweep(reproduce, "reproduction")


def _add_what_shows(commands):
    """Add the commands that show what there is, fetch data, and measure the speed."""
    runs = add_command(
        commands,
        "runs",
        "list the runs of a folder, or compare two of them",
        "List the runs of a folder, the oldest first: experiment, method, seed, result, date, "
        "and whether each is finished or where it stopped. With --compare, list the settings and "
        "results in which two runs differ.",
        "listing",
    )
    runs.add_argument(
        "folder",
        nargs="?",
        default="runs",
        metavar="DIR",
        help="folder with runs, or of a comparison (default: runs)",
    )
    runs.add_argument(
        "--compare",
        nargs=2,
        metavar=("A", "B"),
        help="two runs, by their folders or their names in DIR",
    )
    _add_json(runs, "the list or the comparison")

    report = add_command(
        commands,
        "report",
        "write the page of a run, finished or not, or of a comparison",
        description="Write report.html, one self-contained file: what was run and the command that "
        "repeats it, "
        "results, figures, settings, times, and how to use the model. For a folder of several "
        "runs: the "
        "runs side by side.",
    )
    report.add_argument(
        "folder", metavar="DIR", help="folder of a run, of a comparison, or of several runs"
    )
    report.add_argument(
        "--out", metavar="FILE", help="file for the page (default: report.html in DIR)"
    )
    _add_json(report, "path and size of the page")

    settings = add_command(
        commands,
        "settings",
        "list every configuration key with its default",
        "List every configuration key: default, type and meaning.",
    )
    settings.add_argument(
        "method", nargs="?", default="npbcl", metavar="METHOD", help="the method (default: npbcl)"
    )
    _add_json(settings, "the keys")

    methods = add_command(
        commands,
        "methods",
        "list the methods, what they store and what they can do",
        "List the methods: paper, bytes stored, what each can do.",
    )
    _add_json(methods, "the methods")

    data = add_command(commands, "data", "list, verify and download the image sets")
    actions = data.add_subparsers(
        title="actions", metavar="ACTION", required=True, dest="action", parser_class=Parser
    )
    for action, nargs, text in (
        ("list", 0, "list the image sets and the state of their files"),
        ("verify", "*", "compare the files with the published checksums (default: all found)"),
        ("fetch", "+", "download, verify and store image sets"),
    ):
        one = add_command(actions, action, text, module="data")
        one.set_defaults(names=[])
        if nargs:
            one.add_argument("names", nargs=nargs, metavar="NAME", help="an image set")
        _add_data_dir(one)
        if action == "list":
            _add_json(one, "the image sets")

    bench = add_command(
        commands,
        "bench",
        "measure the gradient step against its matrix products, NumPy, PyTorch and JAX",
        description="Measure the gradient step, its parts, scaling and memory; print a table, "
        "write "
        "bench.json and "
        "bench.png.",
    )
    bench.add_argument("--json", action="store_true", help="print the content of bench.json only")
    bench.add_argument(
        "--quick", action="store_true", help="tiny sizes: a test that it works, not of its speed"
    )
    bench.add_argument(
        "--out",
        metavar="DIR",
        default="runs/bench",
        help="folder for results (default: runs/bench)",
    )
    _add_data_dir(bench)


def list_experiments():
    """Return the experiments, a line each."""
    width = max(map(len, PRESETS))
    return "\n".join(f"  {name:{width}}  {preset.sentence}" for name, preset in PRESETS.items())


def list_targets():
    """Return the targets of ``reproduce`` under their heading, a line each."""
    from ibpcl.paper.reproduce import TARGETS

    width = max(map(len, TARGETS))
    return "\n".join(
        ["targets:", *(f"  {name:{width}}  {sentence}" for name, sentence in TARGETS.items())]
    )

"""Runs of a project's tests in a copy of the project, with limits, one mistake at a time."""

import contextlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from ibpcl.errors import UserError
from ibpcl.sandbox import commands
from ibpcl.sandbox.commands import Ending

AGENT = "ibpcl_audit_agent"
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
# A fork of a process that has loaded the libraries starts at once; macOS forbids it.
FASTER = hasattr(os, "fork") and sys.platform != "darwin"
# Seconds of processor time for one run: START, and MULTIPLE of the time without a mistake.
START = 20.0
MULTIPLE = 10.0
# Wall-clock time for each second of processor time, and beside it, on a machine with other work.
WAITING = 6.0
SLACK = 60.0
REASONS = (
    (
        "the tests need a network",
        r"URLError|ConnectionError|ConnectionRefused|Network is unreachable|Name or service not "
        r"known|name resolution|Max retries exceeded|getaddrinfo",
    ),
    (
        "the tests need a GPU",
        r"CUDA|NVIDIA|no kernel image|cudart|[Nn]o GPU|hipError|MPS backend",
    ),
    ("the tests need a module that is not installed here", r"ModuleNotFoundError|No module named"),
)


class Command(NamedTuple):
    """The user's test command.

    Attributes
    ----------
    text : str
        As the user writes it.
    words : list of str
        The words that are run.
    python : str
        The interpreter, if the command is pytest; empty for others.
    arguments : list of str
        The arguments of pytest.
    """

    text: str
    words: list
    python: str = ""
    arguments: tuple = ()

    @property
    def is_pytest(self):
        """True if single tests can be selected."""
        return bool(self.python)


def command_of(text):
    """Return a test command.

    Parameters
    ----------
    text : str
        Such as ``pytest tests -q`` or ``python -m unittest``.  A bare ``pytest`` or ``python`` is
        that of the environment of this program.

    Returns
    -------
    Command

    Raises
    ------
    UserError
        If it is empty or its quotes are not closed, or if there is no such program.

    Examples
    --------
    >>> command_of("pytest tests -q").arguments
    ('tests', '-q')
    >>> command_of("python -m unittest").is_pytest
    False
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"audit: `tests` cannot be split into words: {error}") from None
    if not words:
        raise UserError("audit: `tests` needs a command, such as 'pytest tests -q'")
    name = Path(words[0]).name
    is_python = re.fullmatch(r"python[\d.]*(\.exe)?", name) is not None
    # A bare name is that of the environment in which this program runs.
    program = sys.executable if words[0] == name and is_python else shutil.which(words[0])
    if name in ("pytest", "py.test"):
        here = words[0] == name and importlib.util.find_spec("pytest") is not None
        beside = Path(program).parent / "python" if program else None
        python = sys.executable if here or not beside or not beside.exists() else str(beside)
        return Command(text, [python, "-m", "pytest", *words[1:]], python, tuple(words[1:]))
    if program is None:
        raise UserError(f"audit: there is no program {words[0]!r}, the first word of `tests`")
    if is_python and words[1:3] == ["-m", "pytest"]:
        return Command(text, [program, *words[1:]], program, tuple(words[3:]))
    return Command(text, [program, *words[1:]])


class Run(NamedTuple):
    """The outcome of the tests with one mistake.

    Attributes
    ----------
    outcome : {"caught", "survived", "time", "error"}
        "caught" if the tests fail, "time" if they exceed a limit, "error" if pytest itself fails.
    by : str
        The first test that fails, if it is known.
    seconds : float
        Processor time.
    """

    outcome: str
    by: str = ""
    seconds: float = 0.0


class Runner:
    """Runs the tests in one copy of the project.

    Parameters
    ----------
    command : Command
        The test command.
    project : path-like
        The project itself, whose folders on ``PYTHONPATH`` are replaced by those of the copy.
    folder : path-like
        The copy.
    private : path-like
        A folder for temporary files of this runner.
    memory : int
        Limit on the address space of a run, in bytes; 0 for none.
    modules : sequence of str
        Libraries to import once.

    Attributes
    ----------
    folder : pathlib.Path
        The copy.
    """

    def __init__(self, command, project, folder, private, memory=0, modules=()):
        self.command = command
        self.project = Path(project).resolve()
        self.folder = Path(folder)
        self.private = Path(private)
        self.memory = memory
        self.modules = list(modules)
        self.server = None
        self.path = self.private / "path"
        self.path.mkdir(parents=True, exist_ok=True)
        (self.private / "tmp").mkdir(exist_ok=True)
        shutil.copyfile(Path(__file__).with_name("agent.py"), self.path / f"{AGENT}.py")

    @property
    def environment(self):
        """The environment variables of a run."""
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        inner = [self.folder, self.folder / "src"]
        for entry in filter(None, given):
            inside = Path(entry).resolve().is_relative_to(self.project)
            inner.append(
                self.folder / Path(entry).resolve().relative_to(self.project) if inside else entry
            )
        path = [str(each) for each in (self.path, *inner) if Path(each).is_dir()]
        return {
            **{name: text for name, text in os.environ.items() if name != NO_BYTECODE},
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
            # nothing of it is in the copy, and a changed file has a new time (see `changed`)
            "PYTHONPYCACHEPREFIX": str(self.private / "bytecode"),
            "TMPDIR": str(self.private / "tmp"),
            "NUMBA_CACHE_DIR": str(self.private / "machine_code"),
            "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1"),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            "MPLBACKEND": "Agg",
        }

    def whole(self, order=None, processor=600.0, more=()):
        """Run the whole test command, without a selection.

        Parameters
        ----------
        order : dict, optional
            An order for the plugin.
        processor : float
            Limit in seconds.
        more : sequence of str
            Further arguments of pytest.

        Returns
        -------
        ibpcl.sandbox.commands.Ending
        """
        environment = self.environment
        words = list(self.command.words)
        if order is not None:
            words += ["-p", AGENT]
            environment[f"{AGENT.upper().removesuffix('_AGENT')}_ORDER"] = self._written(order)
        if self.command.is_pytest:
            words += ["-p", "no:cacheprovider", *more]
        waiting = SLACK + WAITING * processor
        try:
            return commands.run(
                words,
                self.folder,
                environment,
                self.private / "output",
                processor,
                waiting,
                self.memory,
            )
        except OSError as error:
            raise UserError(f"audit: the tests cannot be started: {error}") from None
        finally:
            self._clean()

    def selected(self, tests, processor):
        """Run some tests, the first of which that fails ends the run.

        Parameters
        ----------
        tests : list of str
            Node ids, or None for the whole command.
        processor : float
            Limit in seconds.

        Returns
        -------
        Run
        """
        if tests is None or not self.command.is_pytest:
            ending = self.whole(None, processor, ["-x"] if self.command.is_pytest else ())
        elif FASTER:
            ending = self._forked(tests, processor)
        else:
            ending = self.whole({"task": "select", "tests": tests}, processor, ["-x"])
        if ending.cause != "exit":
            return Run("time", "", ending.processor)
        if ending.code == 0:
            return Run("survived", "", ending.processor)
        if self.command.is_pytest and ending.code in (3, 4, 5):
            return Run("error", last_line(ending.output), ending.processor)
        found = re.search(r"^(?:FAILED|ERROR) (\S+)", ending.output, re.MULTILINE)
        return Run("caught", found[1] if found else "", ending.processor)

    def _forked(self, tests, processor):
        """Run some tests in a fork of a process that has imported the libraries."""
        output = self.private / "output"
        order = self._written({"task": "select", "tests": tests})
        arguments = [*self.command.arguments, "-p", AGENT, "-p", "no:cacheprovider", "-x", "-rfE"]
        request = {
            "folder": str(self.folder),
            "arguments": arguments,
            "environment": {"IBPCL_AUDIT_ORDER": order},
            "output": str(output),
            "processor": processor,
            "waiting": SLACK + WAITING * processor,
            "memory": self.memory,
        }
        for _ in range(2):  # a server that has ended is started again
            server = self._started()
            try:
                server.stdin.write(json.dumps(request) + "\n")
                server.stdin.flush()
                answer = json.loads(server.stdout.readline())
                break
            except (OSError, ValueError):
                self.close()
        else:
            raise UserError(f"audit: pytest cannot be started: {commands.tail(output)[-500:]}")
        self._clean()
        late = answer["late"] or answer["code"] in (-24, -9)  # SIGXCPU, and SIGKILL after it
        cause = "processor" if late else "exit"
        return Ending(answer["code"], cause, 0.0, answer["seconds"], commands.tail(output))

    def _started(self):
        """Return the process that forks, started if needed."""
        if self.server is None:
            self.server = subprocess.Popen(
                [self.command.python, str(self.path / f"{AGENT}.py")],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
            self.server.stdin.write(json.dumps(self.modules) + "\n")
        return self.server

    def _written(self, order):
        """Write an order to a file, and return its path."""
        path = self.private / "order.json"
        path.write_text(json.dumps(order), encoding="utf-8")
        return str(path)

    def _clean(self):
        """Remove what one run leaves to the next: temporary files and Hypothesis's examples."""
        shutil.rmtree(self.private / "tmp", ignore_errors=True)
        shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)
        (self.private / "tmp").mkdir(exist_ok=True)

    def forget_machine_code(self):
        """Remove compiled code: that of a function may contain another one, which has changed."""
        shutil.rmtree(self.private / "machine_code", ignore_errors=True)

    def close(self):
        """End the process that forks."""
        if self.server is not None:
            server, self.server = self.server, None
            commands.end(server)
            for pipe in (server.stdin, server.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()


def limit_of(seconds):
    """Return the processor time that tests may take, from the time that they take unchanged.

    Parameters
    ----------
    seconds : float
        The time without a mistake.

    Returns
    -------
    float
    """
    return START + MULTIPLE * seconds


def why(ending):
    """Return why tests fail without any mistake, as a clause.

    Parameters
    ----------
    ending : ibpcl.sandbox.commands.Ending
        How they ended.

    Returns
    -------
    str
    """
    if ending.cause in ("processor", "waiting"):
        return f"the tests are not finished within {ending.seconds:.0f} s"
    if ending.cause == "output":
        return "the tests print too much"
    reason = next((words for words, text in REASONS if re.search(text, ending.output)), "")
    return f"{reason}: {last_line(ending.output)}" if reason else last_line(ending.output)


def last_line(output):
    """Return the last line of an output that says something.

    Parameters
    ----------
    output : str
        What a command printed.

    Returns
    -------
    str
    """
    lines = [line.strip() for line in output.splitlines()]
    telling = [line for line in lines if line and set(line) - set("=-_ .")]
    errors = [
        line for line in telling if re.match(r"(FAILED|ERROR|E  )|\w*(Error|Exception)\b", line)
    ]
    return (errors or telling or ["they print nothing"])[-1].strip("= ")[:300]

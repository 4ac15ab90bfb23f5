"""Copies are found under other names and with noise; reading a text is bounded in time."""

import ast
import builtins
import csv
import io
import re
import time
import zipfile
from pathlib import Path

import pytest

from ibpcl.classroom.assignments.assignment import find
from ibpcl.classroom.intake.reading import escapes
from ibpcl.classroom.judging import similarity


class Noise(ast.NodeTransformer):
    """Puts an operation that changes nothing beside every other, and calls NumPy's functions by
    other names.
    """

    def __init__(self):
        self.used = set()

    def visit_BinOp(self, node):
        self.generic_visit(node)
        return ast.BinOp(ast.BinOp(node, ast.Add(), ast.Constant(0)), ast.Mult(), ast.Constant(1.0))

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "np":
            self.used.add(node.attr)
            return ast.Name(f"_{node.attr}", ast.Load())
        return node


class Temporaries(ast.NodeTransformer):
    """Returns every result by way of a variable that is used once."""

    def visit_Return(self, node):
        return [
            ast.Assign([ast.Name("result", ast.Store())], node.value),
            ast.Return(ast.Name("result", ast.Load())),
        ]


class Renamed(ast.NodeTransformer):
    """Gives other names to the variables of functions."""

    def visit_Name(self, node):
        return ast.Name(
            f"{node.id}_2"
            if len(node.id) > 2 and node.id.islower() and not hasattr(builtins, node.id)
            else node.id,
            node.ctx,
        )

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.name = self.visit_Name(ast.Name(node.name, ast.Load())).id
        return node

    def visit_arg(self, node):
        return ast.arg(f"{node.arg}_2" if len(node.arg) > 2 and node.arg.islower() else node.arg)


class Turned(ast.NodeTransformer):
    """Turns the operands of sums and products round, and writes methods of arrays as functions."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        return (
            ast.BinOp(node.right, node.op, node.left)
            if isinstance(node.op, (ast.Add, ast.Mult))
            else node
        )


def noisy(source):
    noise = Noise()
    text = ast.unparse(ast.fix_missing_locations(noise.visit(ast.parse(source))))
    return (
        "import numpy as np\n"
        + "".join(f"_{name} = np.{name}\n" for name in sorted(noise.used))
        + text
    )


def changed(source, transformer):
    return ast.unparse(ast.fix_missing_locations(transformer.visit(ast.parse(source))))


class Operator(ast.NodeTransformer):
    """Writes operators as functions of the module ``operator``."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        names = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv"}
        name = names.get(type(node.op))
        function = ast.Attribute(ast.Name("operator", ast.Load()), name, ast.Load())
        return ast.Call(function, [node.left, node.right], []) if name else node


class Lambdas(ast.NodeTransformer):
    """Puts every operation into a function without arguments."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        nothing = ast.arguments([], [], None, [], [], None, [])
        return ast.Call(ast.Lambda(nothing, node), [], [])


def after_assignments(line):
    """Return a disguise that adds a line after each assignment of a local variable."""
    return lambda text: re.sub(
        r"^( +)(\w+) = (.*?)( +#.*)?$", rf"\1\2 = \3\n\1{line}", text, flags=re.M
    )


DISGUISES = {
    "asarray": after_assignments(r"\2 = np.asarray(\2)"),
    "shape": after_assignments(r"_ = np.shape(\2)"),
    "operator": lambda text: changed(text, Operator()),
    "lambdas": lambda text: changed(text, Lambdas()),
    "noise": noisy,
    "temporaries": lambda text: changed(text, Temporaries()),
    "names": lambda text: changed(text, Renamed()),
    "order": lambda text: changed(text, Turned()),
    "all": lambda text: changed(changed(noisy(text), Temporaries()), Turned()),
}


@pytest.mark.parametrize("number", ["1", "4", "6"])
@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_published_solution_in_disguise_is_found(disguise, number):
    assignment = find(number)
    variant = list(assignment.variants)[-1]
    text = disguise(assignment.source(variant))
    (pair,) = similarity.copied({"eve": text}, assignment)
    assert (pair.first, variant in pair.second) == ("eve", True)
    assert pair.share > 0.8 and pair.functions
    assert similarity.pairs({"eve": text, "ned": assignment.source(variant)})


def test_different_mathematics_stays_different():
    sources = {number: find(number).source() for number in ("1", "2", "3", "5", "7")}
    assert not similarity.pairs(sources, at_least=0.4)


STUDENTS = Path(__file__).parents[1] / "assignments" / "students"


def independent(number):
    """Return the solutions of an assignment that different people wrote."""
    (path,) = STUDENTS.glob(f"0{number}_*.py")
    variant = path.stem.split("_", 1)[1]
    return {"student": path.read_text(), "author": find(number).source(variant)}


@pytest.mark.parametrize("number", "1234567")
def test_independent_solutions_are_no_pair_and_no_copy(number):
    sources = independent(number)
    assert similarity.pairs(sources) == []
    assert [pair.first for pair in similarity.copied(sources, find(number))] == ["author"]


def test_copies_that_are_a_large_part_of_the_class_are_one_cluster():
    """Eight copies among twenty: what many have must not be ignored."""
    texts = {f"own{n}": independent(n)["student"] for n in "1234567"}
    texts |= {f"other{n}": find(n).source(list(find(n).variants)[1]) for n in "23567"}
    disguises = list(DISGUISES.values())
    copied = {f"copy{n}": disguises[n](independent("4")["author"]) for n in range(8)}
    (cluster,) = similarity.clusters(similarity.pairs({**texts, **copied}))
    assert cluster.names == tuple(sorted(copied))


def test_a_wrapper_around_a_neighbours_function_is_found():
    text = find("1").source("bits")
    wrapped = re.sub(r"^def (\w+)\(", r"def _own_\1(", text, flags=re.M)
    for name, arguments in re.findall(r"^def _own_(\w+)\((.*?)\):", wrapped, flags=re.M):
        wrapped += f"\n\ndef {name}({arguments}):\n    return _own_{name}({arguments})\n"
    (pair,) = similarity.pairs({"eve": wrapped, "ned": text})
    assert pair.share > 0.9


def test_the_export_for_dolos_has_each_text_and_its_name(tmp_path):
    sources = {"ada": "x = 1\n", "o'brien": "y = 2\n"}
    similarity.write_dolos(sources, find("1"), tmp_path / "dolos.zip")
    with zipfile.ZipFile(tmp_path / "dolos.zip") as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("info.csv").decode())))
        assert {row["full_name"]: archive.read(row["filename"]).decode() for row in rows} == sources


LONG = {
    "nested functions": "\n".join(" " * at + f"def f{at}():" for at in range(90))
    + "\n"
    + "\n".join(" " * 91 + "x=a+b*c-d" for _ in range(8000)),
    "formatted text": "x = f'" + "{1}" * 60_000 + "'",
    "sum": "x = 1" + "+1" * 200_000,
    "statements": "x\n" * 40_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_text_that_is_too_long_is_reported_at_once(text):
    start = time.process_time()
    assert similarity.copied({"eve": text}, find("1")) == [
        similarity.Pair("eve", similarity.TOO_LONG, 1.0)
    ]
    assert not similarity.pairs({"eve": text, "ned": text})
    assert time.process_time() - start < 20


def test_deep_expressions_are_compared_without_an_error():
    text = (
        "def f(x):\n    return x"
        + ".a" * 700
        + "\ndef g(x):\n    return "
        + "-" * 80
        + "x"
        + " + x" * 700
    )
    assert similarity.fingerprints(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("np.__builtins__['exec']('x = 1')", ["__builtins__", "exec"]),
        ("vars(np)['__built' + 'ins__']", ["__builtins__"]),
        ("getattr(np, 'eval')('1')", ["eval"]),
        ("run = np.core.exec", ["exec"]),
        ("compile('1', '', 'eval')", ["compile", "eval"]),
        ("operator.attrgetter('__builtins__.exec')(np)", ["__builtins__", "exec"]),
        ("print('we eval and exec nothing')\nx = {'a': 1}['a']", []),
        ('"""exec"""\nDERIVATION = "eval"', []),
    ],
)
def test_ways_to_run_texts_are_found(text, names):
    assert sorted(name for _, name in escapes.uses(ast.parse(text))) == sorted(names)


def test_packed_texts_and_lists_are_flagged_and_derivations_are_not():
    text = (
        f'"""{"d" * 3000}"""\nDERIVATION = "{"d" * 3000}"\nx = "{"p" * 3000}"\ny = '
        f'{list(range(1000))}\n'
    )
    found = escapes.packed(ast.parse(text))
    assert sorted(line for line, _ in found) == [3, 4]

"""What students write is read: archives, encodings, notebooks, LaTeX; and whatever goes wrong costs
one of them.
"""

import bz2
import io
import json
import lzma
import os
import re
import struct
import sys
import time
import tracemalloc
import zipfile
import zlib

import pytest
from classroom_common import first
from quick import quick

from ibpcl.classroom.intake import submission as submissions
from ibpcl.classroom.intake.reading import archives, notebooks, process
from ibpcl.codeview.notebook import as_python
from ibpcl.errors import UserError

HEAD = 'ASSIGNMENT = "01_gaussian_weights"\nSTUDENT = "ada"\n'
METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflate": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}
LONG = HEAD + "".join(f"# {os.urandom(8).hex()}\n" for _ in range(3000))


def packed(method=zipfile.ZIP_DEFLATED, name="hw.py", text=LONG):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        archive.writestr(name, text)
    return bytearray(data.getvalue())


def read(folder, data, name="hw.zip"):
    path = folder / name
    path.write_bytes(data if isinstance(data, (bytes, bytearray)) else data.encode())
    return submissions.read(path)


def notebook(*cells, **other):
    """Return a notebook; a cell is the text of a code cell, or (kind, text)."""
    pairs = [("code", cell) if isinstance(cell, str) else cell for cell in cells]
    made = [
        {
            "cell_type": kind,
            "metadata": {},
            "source": text.splitlines(True),
            **({"outputs": [], "execution_count": 1} if kind == "code" else {}),
        }
        for kind, text in pairs
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **other})


@pytest.mark.parametrize("method", METHODS)
def test_archives_of_all_methods_are_read(method, tmp_path):
    assert read(tmp_path, packed(METHODS[method])).source == LONG


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("at", [0, 40, 400, -200])
def test_damaged_archives_are_refused(method, at, tmp_path):
    data = packed(METHODS[method])
    start = data.index(b"hw.py") + 5
    end = data.rindex(b"PK\1\2")
    place = start + at if at >= 0 else end + at
    data[place : place + 30] = bytes(255 - each for each in data[place : place + 30])
    with pytest.raises(UserError):
        read(tmp_path, data)


def spoiled(offset, form, value):
    """Return a zip with another value in its table of contents."""
    data = packed()
    struct.pack_into(form, data, data.rindex(b"PK\1\2") + offset, value)
    return data


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (spoiled(8, "<H", 1), "encrypted"),
        (spoiled(10, "<H", 99), "AES"),
        (spoiled(42, "<I", 99999), "damaged"),
        (spoiled(24, "<I", 1 << 31), "MB"),
        (spoiled(16, "<I", 7), "damaged"),
        (packed()[:20000], "zip"),
        (b"", "empty"),
        (b"Rar!\x1a\x07\x00" + b"x" * 99, "RAR"),
        (b"7z\xbc\xaf" + b"x" * 99, "7z"),
        (
            packed(
                name="inner.zip",
                text=bytes(packed(name="a.zip", text=bytes(packed(name="b.zip", text=b"x")))),
            ),
            "zip",
        ),
    ],
)
def test_odd_archives_are_refused_in_words(data, told, tmp_path):
    with pytest.raises(UserError, match=told):
        read(tmp_path, data)


def bomb(method, size):
    """Return a zip whose only file has this many zeros, made in pieces; its table states the size
    1000.
    """
    zeros = b"\0" * (1 << 20)
    make = {
        zipfile.ZIP_BZIP2: bz2.BZ2Compressor(),
        zipfile.ZIP_DEFLATED: zlib.compressobj(9, zlib.DEFLATED, -15),
    }[method]
    body = b"".join([*(make.compress(zeros) for _ in range(size >> 20)), make.flush()])
    head = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 0, 0, len(body), 1000, 5, 0)
    local = b"PK\3\4" + head + b"hw.py" + body
    table = (
        b"PK\1\2" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"hw.py"
    )
    return (
        local + table + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(table), len(local), 0)
    )


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_bombs_are_unpacked_no_further_than_allowed(method):
    data = bytes(bomb(method, 64 << 20))
    item = archives.members(data)[0].item
    tracemalloc.start()
    with pytest.raises(archives.Damaged, match="more than"):
        archives.content(data, item, 4 << 20)
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


def test_a_lzma_bomb_is_unpacked_no_further_than_allowed():
    data = bytes(packed(zipfile.ZIP_LZMA, text=b"\0" * (32 << 20)))
    with pytest.raises(archives.Damaged, match="more than"):
        archives.content(data, archives.members(data)[0].item, 4 << 20)


def test_the_decompressor_of_lzma_reads_every_setting():
    for lc, lp, pb in ((3, 0, 2), (0, 2, 0), (4, 0, 4)):
        filters = [{"id": lzma.FILTER_LZMA1, "lc": lc, "lp": lp, "pb": pb, "dict_size": 1 << 16}]
        body = lzma.compress(LONG.encode(), lzma.FORMAT_RAW, filters=filters)
        head = struct.pack("<BBHBI", 9, 4, 5, (pb * 5 + lp) * 9 + lc, 1 << 16)
        decompressor, rest = archives._lzma(memoryview(head + body))
        assert decompressor.decompress(bytes(rest)).decode() == LONG


ENCODED = {
    "utf-8 with mark": b"\xef\xbb\xbf" + HEAD.encode(),
    "utf-16": HEAD.encode("utf-16"),
    "utf-16 without mark": HEAD.encode("utf-16-le"),
    "utf-16 big": HEAD.encode("utf-16-be"),
    "utf-32": HEAD.encode("utf-32"),
    "latin-1 declared": ("# coding: latin-1\n# Müller\n" + HEAD).encode("latin-1"),
    "declared in line 2": (
        "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n# – ü\n" + HEAD
    ).encode("cp1252"),
    "windows-1252": ("# “Müller”\n" + HEAD).encode("cp1252"),
    "windows lines": HEAD.replace("\n", "\r\n").encode(),
    "old Mac lines": HEAD.replace("\n", "\r").encode(),
    "end of DOS": HEAD.encode() + b"\x1a",
}


@pytest.mark.parametrize("name", ENCODED)
def test_texts_are_read_in_every_encoding(name, tmp_path):
    found = read(tmp_path, ENCODED[name], "hw.py")
    assert found.source.endswith(HEAD) and submissions.literals(found.source)["STUDENT"] == "ada"
    assert submissions.refuse(found.source, ["numpy"]) is None


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x81\x8d\x00\xff",
        os.urandom(4000),
        b"# coding: nothing-like-it\n",
        b"# coding: base64\nxx",
        b"x = '\0'\n",
    ],
)
def test_what_is_not_a_text_is_refused(data, tmp_path):
    with pytest.raises(UserError, match=r"hw\.py"):
        read(tmp_path, data, "hw.py")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100000,
        '{"cells": {"a": 1}}',
        "[1]",
        '{"cells": [{"cell_type": "code", "source": {"a": 1}}]}',
        "",
        "null",
        '{"cells": [], "nbformat": ' + "9" * 5000 + "}",
        '{"cells": [1]}',
        '{"cells": [{"source": "x = 1"}]}',
    ],
)
def test_what_is_not_a_notebook_is_refused_or_empty(text, tmp_path):
    try:
        found = read(tmp_path, text, "hw.ipynb")
    except UserError as error:
        assert "hw.ipynb" in str(error)
    else:
        assert "def " not in found.source


LARGE = {
    "f-string": "x = f'" + "{a}" * 40000 + "'\n",
    "collisions": "D = {" + ",".join(f"{k * (2**61 - 1)}:0" for k in range(1, 50000)) + "}\n",
    "sum": "x = " + "+".join(["1"] * 90000) + "\n",
    "brackets": "x = " + "[" * 5000 + "]" * 5000 + "\n",
    "minus": "x = " + "-" * 300000 + "1\n",
    "integer": "x = 0x" + "f" * 100000 + "\n",
    "name": "a" * 900000 + "\n",
    "lines": "STUDENT = 'ada'\n" * 20000,
}


@pytest.mark.processes(reason="what is slow is done in the reader's process")
@pytest.mark.parametrize(
    "text",
    quick(
        ["brackets", "name"],
        [pytest.param(text, id=name) for name, text in LARGE.items()],
        "each is a text that Python's parser is slow with",
    ),
)
def test_no_text_keeps_the_reader_busy(text, tmp_path):
    path = tmp_path / "hw.py"
    path.write_text(HEAD + text)
    start = time.process_time()
    try:
        submissions.refuse(submissions.read(path).source, ["numpy"])
    except UserError as error:
        assert "hw.py" in str(error)
    # of this process: the work, seconds for the first text, is done in the reader's
    assert time.process_time() - start < 2.0
    assert submissions.literals("STUDENT = 'ben'\n")["STUDENT"] == "ben"


@pytest.mark.processes(reason="it ends the process")
def test_a_reader_that_was_ended_is_started_again():
    reader = process.Reader()
    reader.ask(do="inspect", source="x = 1\n")
    before = reader.child.process.pid
    os.kill(before, 9)
    with pytest.raises(process.ReadingError):
        reader.ask(do="inspect", source="x = 1\n")
    assert (
        reader.ask(do="inspect", source="x = 1\n")["error"] is None
        and reader.child.process.pid != before
    )
    with pytest.raises(process.ReadingError):
        reader.ask(seconds=0.0, do="inspect", source="x = 1\n" * 100000)
    reader.close()


def test_halves_of_characters_can_be_written(tmp_path):
    found = read(
        tmp_path,
        notebook("x = 'a'\n" + HEAD, 'DERIVATION = "\\ud835 \\ud835\\udc00"').replace(
            "'a'", "'\\ud83d'"
        ),
        "hw.ipynb",
    )
    found.source.encode()
    assert submissions.literals(found.source)["DERIVATION"] == "\ufffd \U0001d400"


LINES = {
    "%matplotlib inline": True,
    "  %time x = 1": True,
    "!ls -la": True,
    "x = !ls": True,
    "x = %pwd": True,
    "np.sum?": True,
    "np.sum??": True,
    "?print": True,
    "??print": True,
    "%load_ext autoreload": True,
    "x = y % 3": False,
    "b = a != 3": False,
    "x = 'a?'": False,
    "# what?": False,
    "x == 3  # !ls": False,
    "x = (7 % 4)": False,
    "print(f'{100}%')": False,
    "f(a)[0]": False,
    "z = x if y else w": False,
    "ls = 3": False,
    "pip = 1": False,
    "cd.x": False,
}


@pytest.mark.parametrize("line", LINES)
def test_magics_are_those_of_ipython(line):
    ipython = pytest.importorskip("IPython.core.inputtransformer2")
    theirs = ipython.TransformerManager().transform_cell(line + "\n")
    assert ("get_ipython" in theirs) == LINES[line] and (as_python(line)[0] != line) == LINES[line]


def test_a_cell_may_be_indented_as_ipython_allows():
    assert as_python("\n    x = 1\n    if x:\n        y = 2")[0] == "\nx = 1\nif x:\n    y = 2"


@pytest.mark.parametrize(
    "line", ["pip install numpy", "conda install scipy", "ls -la", "cd ..", "matplotlib inline"]
)
def test_magics_work_without_the_percent_sign(line):
    assert as_python(f"{line}\nx = 1")[0] == f"pass  # {line}\nx = 1"


@pytest.mark.parametrize(
    "cell",
    [
        "x = (7\n    % 4)",
        "x = [1,\n!= 2]",
        "x = 7 \\\n  % 4",
        "s = '''\n%not\n!not\n'''",
        's = """a\n?x\n"""',
        "f(\n  a  # (\n  % b)",
        "s = 'it\\'s'  # )",
        "def f():\n    return (1\n        % 2)",
    ],
)
def test_magics_are_only_where_a_statement_begins(cell):
    assert as_python(cell) == (cell, "")


def test_cells_that_are_not_python_are_skipped_and_named(tmp_path):
    found = read(
        tmp_path,
        notebook(
            "%%bash\nls | grep x",
            HEAD,
            "print(kl(1, 2",
            "await f()",
            "%%time\ny = 1",
            "%%writefile hw.py\nz = 2",
        ),
        "hw.ipynb",
    )
    facts = submissions.facts_of(found.source)
    assert facts["error"] is None and len(facts["skipped"]) == 3
    assert [each.partition(":")[0] for each in facts["skipped"]] == [
        "code cell 1",
        "code cell 3",
        "code cell 4",
    ]
    space = {}
    exec(found.source, space)
    assert space["y"] == 1 and space["z"] == 2 and space["STUDENT"] == "ada"


def test_a_line_of_a_notebook_is_named_by_its_cell(tmp_path):
    found = read(
        tmp_path,
        notebook(("markdown", "# Title\ntext"), "x = 1", HEAD + "\nimport os as s; s.sep"),
        "hw.ipynb",
    )
    refusal = submissions.refuse(found.source, ["numpy"])
    assert (
        found.place(refusal.line) == "line 4 of code cell 2 of hw.ipynb"
        and "imports os" in refusal.words
    )


def test_outputs_of_a_notebook_do_not_count_as_size(tmp_path):
    picture = [
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 3_000_000}}
    ]
    table = json.loads(notebook(HEAD))
    table["cells"][0]["outputs"] = picture
    assert "AAAA" not in read(tmp_path, json.dumps(table), "hw.ipynb").source
    with pytest.raises(UserError, match="1 MB"):
        read(tmp_path, notebook(HEAD + "# " + "A" * (1 << 20)), "hw.ipynb")


def test_derivations_in_markdown_are_read_without_the_statement(tmp_path):
    assignment = first()
    given = assignment.statement().split("\n\n")[0]
    blank = HEAD + 'DERIVATION = r"""\n"""\n'
    found = read(
        tmp_path,
        notebook(("markdown", given), blank, ("markdown", "## Mine\nBy the chain rule $v_\\mu$.")),
        "hw.ipynb",
    )
    text = submissions.derivation(found.source, assignment)
    assert "chain rule" in text and given.splitlines()[0] not in text
    handed_out = read(tmp_path, notebook(("markdown", assignment.statement()), blank), "hw.ipynb")
    assert submissions.derivation(handed_out.source, assignment) == ""
    filled = read(
        tmp_path,
        notebook(
            blank.replace("\n", "words", 2).replace("words", "\n", 2),
            HEAD + 'DERIVATION = "the string"\n',
            ("markdown", "chain rule"),
        ),
        "hw.ipynb",
    )
    assert submissions.derivation(filled.source, assignment) == "the string"


@pytest.mark.parametrize("text", ["\u200b\u200b", "  \n", "...", ""])
def test_a_derivation_without_a_word_is_empty(text, tmp_path):
    found = read(tmp_path, HEAD + f"DERIVATION = {text!r}\n", "hw.py")
    assert submissions.derivation(found.source, first()) == ""


COMMANDS = r"""\theta \tau \times \text{x} \to \nabla \nu \neq
\notin \frac{a}{b} \rho \right \beta \bar{x} \alpha
\vec \varphi \xi \underbrace{a} \Upsilon \N \sigma \partial \\ \{ \} \, \left( \forall
\nabla_\beta \tilde{x}_\theta"""


@pytest.mark.parametrize("quotes", ['"""', "'''"])
@pytest.mark.parametrize("prefix", ["", "r", "u"])
def test_latex_is_read_as_it_was_typed(quotes, prefix, tmp_path):
    typed = COMMANDS if prefix == "r" else COMMANDS.replace(r"\\", "")
    found = read(
        tmp_path, f"{HEAD}DERIVATION = {prefix}{quotes}\n{typed}\n{quotes}\nx = 1\n", "hw.py"
    )
    assert submissions.literals(found.source)["DERIVATION"] == f"\n{typed}\n"
    assert submissions.refuse(found.source, []) is None
    assert found.source.count("\n") == HEAD.count("\n") + COMMANDS.count("\n") + 4


@pytest.mark.parametrize(
    ("typed", "read_as"),
    [
        (r"\\theta", r"\theta"),
        (r"a\nb", "a\nb"),
        (r"tab\t1", "tab\t1"),
        (r"\u00e9", "é"),
        (r"\"q\"", '"q"'),
        (r"\x41", "A"),
        (r"\nNext line", "\nNext line"),
        (r"\nabla\n", "\\nabla\n"),
    ],
)
def test_escapes_that_python_means_stay(typed, read_as, tmp_path):
    found = read(tmp_path, f'{HEAD}DERIVATION = "{typed}"\n', "hw.py")
    assert submissions.literals(found.source)["DERIVATION"] == read_as


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("type X = int", r"3\.12"),
        ("def f[T](x): pass", r"3\.12"),
        ("class A[T]: pass", r"3\.12"),
        ("t = f'{d['a']}'", r"3\.12"),
        ("t = f'{\"\\n\".join(a)}'", r"3\.12"),
        ("try: pass\nexcept A, B: pass", r"3\.14"),
        ("print 'x'", "Python 2"),
        ("def f(x)", "':'"),
        ("x = '\\xi'", "write r"),
    ],
)
def test_syntax_of_another_version_is_named(line, told):
    if sys.version_info >= (3, 12) and told.startswith("3"):
        pytest.skip("this Python reads it")
    refusal = submissions.refuse(f"x = 1\n{line}\n", [])
    assert refusal.line in (2, 3)
    assert re.search(told, refusal.words), refusal.words


@pytest.mark.parametrize(
    "line",
    [
        "from __future__ import annotations",
        "import typing",
        "from dataclasses import dataclass",
        "import functools",
        "import itertools, collections",
        "import warnings",
        "import math",
        "import time",
        "import numpy.linalg",
        "try:\n    import matplotlib.pyplot as plt\nexcept ImportError:\n    plt = None",
        "if __name__ == '__main__':\n    import os, matplotlib\n    os.system('ls')",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch",
        "import sys, logging, random",
        "from os import path",
        "import os.path",
        "import os, argparse",
        "import os as np\nnumpy = 1",
        "import argparse\nif __name__ == '__main__':\n    argparse.ArgumentParser()",
        "import matplotlib.pyplot as plt",
        "def show():\n    import matplotlib.pyplot as plt\n    plt.plot([1])",
        "import unittest\nif __name__ == '__main__':\n    unittest.main()",
    ],
)
def test_harmless_imports_are_accepted(line):
    assert submissions.refuse(f"{line}\nx = 1\n", ["numpy"]) is None


@pytest.mark.parametrize(
    "line",
    [
        "import os\ny = os",
        "import os as np\ny = np.sep",
        "from os import *",
        "import argparse\ndef f():\n    return argparse",
        "from os import path\ny = path.exists('x')",
        "import os.path\ny = os.path.exists('x')",
        "from . import x",
        "import helper",
        "import ibpcl",
        "try:\n    import os\nexcept ImportError:\n    os = None\nos.sep",
        "import torch",
        "try:\n    import torch\nexcept KeyError:\n    pass",
        "if __name__ == 'handin':\n    import os\n    os.sep",
        "__name__ = '__main__'\nif __name__ == '__main__':\n    import os\n    os.sep",
        "if __name__ == '__main__':\n    pass\nelse:\n    import os\n    os.sep",
        "def f():\n    import subprocess\n    subprocess.run('ls')",
        "exec('x')",
        "__import__('os')",
        "if __name__ != '__main__':\n    import os\n    os.sep",
    ],
)
def test_other_imports_are_refused_with_their_line(line):
    refusal = submissions.refuse(f"x = 1\n{line}\n", ["numpy", "scipy"])
    assert refusal is not None and 2 <= refusal.line <= 5


def test_the_text_of_a_notebook_keeps_its_place_when_it_is_read_again(tmp_path):
    once = read(tmp_path, notebook(HEAD, ("markdown", "words"), "x = 1\n%who"), "hw.ipynb")
    again = read(tmp_path, once.source, "hw.py")
    assert again.source == once.source and notebooks.place(again.source, 5) == notebooks.place(
        once.source, 5
    )

"""Mutate ``.npz`` and ``.npy`` files of a user's own data, and read them as the commands do.

``python tests/data/fuzz_arrays.py COUNT [SEED]``.  Each file must be read, or refused with an error
of one line.
"""

import io
import random
import sys
import tempfile
import traceback
import zipfile
from pathlib import Path

import numpy as np

from ibpcl import checkpoints
from ibpcl.cli.predict import read_inputs
from ibpcl.data.own import read_tasks
from ibpcl.errors import UserError

X = np.random.default_rng(0).random((12, 4))
Y = np.arange(12) % 2
HEADERS = (
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (12, 4), ",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000, 4), }",
    b"((((((((",
    b"'''",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4), }",
    b"{1: 2}",
    b"[" * 900,
    b"\xff\xfe",
    b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 4), }",
    b"{'descr': '<f8', 'fortran_order': 3, 'shape': 'x', }",
    b"{'descr': '<U9', 'fortran_order': False, 'shape': (), }",
)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def with_header(rng):
    """Return an ``.npy`` file with a header that is none, or announces something else."""
    header = rng.choice(HEADERS)
    return (
        b"\x93NUMPY\x01\x00"
        + len(header).to_bytes(2, "little")
        + header
        + rng.randbytes(rng.choice((0, 64, 384)))
    )


def spoiled(data, rng):
    """Return bytes with some of them changed, cut or doubled."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 9))):
        if not data:
            break
        at = rng.randrange(len(data))
        if rng.random() < 0.6:
            data[at] = rng.randrange(256)
        elif rng.random() < 0.5:
            del data[at:]
        else:
            data[at:at] = data[at : at + rng.randrange(40)]
    return bytes(data)


def archive(rng):
    """Return an ``.npz`` with one entry that is odd."""
    entries = {"x_train": npy(X), "y_train": npy(Y), "x_test": npy(X), "y_test": npy(Y)}
    name = rng.choice(list(entries))
    entries[name] = rng.choice(
        (
            with_header(rng),
            spoiled(entries[name], rng),
            b"",
            npy(np.zeros((0, 4))),
            npy(np.array("text")),
            npy(np.array(3)),
            npy(np.zeros((2, 3, 4, 5))),
        )
    )
    file = io.BytesIO()
    with zipfile.ZipFile(
        file, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    ) as made:
        for entry, data in entries.items():
            made.writestr(f"{entry}.npy", data)
    return file.getvalue() if rng.random() < 0.5 else spoiled(file.getvalue(), rng)


def run(folder, count, seed=0):
    """Try files; return the problems found, by their last line."""
    rng = random.Random(seed)
    problems = {}
    for _ in range(count):
        single = rng.choice((with_header(rng), spoiled(npy(X), rng)))
        (folder / "x.npy").write_bytes(single)
        (folder / "d.npz").write_bytes(archive(rng))
        for read, name, known in (
            (read_inputs, "x.npy", UserError),
            (read_tasks, "d.npz", UserError),
            (checkpoints.read_npz, "d.npz", ValueError),
        ):
            try:
                read(folder / name)
            except known as error:
                if "\n" in str(error):
                    problems[f"{read.__name__}: lines"] = str(error)
            except BaseException:
                text = traceback.format_exc()
                problems[f"{read.__name__}: {text.strip().splitlines()[-1][:150]}"] = text
    return problems


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        trouble = run(Path(where), int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for last, whole in trouble.items():
        print(f"--- {last}\n{whole[-1500:]}")
    print(f"{len(trouble)} kinds of problems")

r"""Variants: the definitions and the test inputs of each student.

Both are functions of

.. math::

    \mathrm{HMAC}(\text{course key},\; \text{student} \mid \text{assignment} \mid \text{purpose})

with SHA-256.  So they are reproducible, and cannot be computed without the key.
"""

import hashlib
import hmac
import secrets
from pathlib import Path

import numpy as np

from ibpcl.classroom.assignments.ids import variant_id
from ibpcl.errors import UserError
from ibpcl.storage import write_text

PUBLIC = b"public"  # the key of public checks, whose inputs are not secret
SHORTEST = 16


def read_key(path):
    """Return the course key in a file.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    bytes

    Raises
    ------
    UserError
        If the file does not exist, or the key is too short to be secret.
    """
    try:
        key = Path(path).read_bytes().strip()
    except FileNotFoundError:
        raise UserError(
            f"class: the course key {path} does not exist; `ibpcl class key {path}` creates one"
        ) from None
    if len(key) < SHORTEST:
        raise UserError(
            f"class: the course key in {path} has {len(key)} bytes; it must have at least "
            f"{SHORTEST}"
        )
    return key


def make_key(path):
    """Write a new course key, readable by its owner only.

    Parameters
    ----------
    path : path-like
        The file.

    Raises
    ------
    UserError
        If the file exists.
    """
    if Path(path).exists():
        raise UserError(
            f"class: {path} exists: a course keeps its key, or every student's variant changes"
        )
    write_text(path, secrets.token_hex(32) + "\n")
    Path(path).chmod(0o600)


def fingerprint(key):
    """Return a short hash of a key, which does not reveal it.

    Parameters
    ----------
    key : bytes
        The course key.

    Returns
    -------
    str
        Eight hexadecimal digits.
    """
    return hashlib.sha256(b"fingerprint" + key).hexdigest()[:8]


def digest(key, student, *what):
    """Return the hash for a student and a purpose.

    Parameters
    ----------
    key : bytes
        The course key.
    student : str
        Id of the student, in any spelling.
    *what
        Words and numbers that name the purpose.

    Returns
    -------
    bytes
        32 bytes.
    """
    text = "\0".join((variant_id(student), *map(str, what)))
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def generator(key, student, *what):
    """Return the random generator for a student and a purpose.

    Parameters
    ----------
    key : bytes
        The course key.
    student : str
        Id of the student, in any spelling.
    *what
        Words and numbers that name the purpose.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> generator(b"k", "ada", "1a", 0).random() == generator(b"k", "ada", "1a", 0).random()
    True
    """
    return np.random.Generator(
        np.random.PCG64(int.from_bytes(digest(key, student, *what), "little"))
    )


def variant_of(assignment, key, student):
    """Return the name of a student's variant.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    key : bytes
        The course key; the public key gives the first variant.
    student : str
        Id of the student, in any spelling.

    Returns
    -------
    str
    """
    variants = list(assignment.variants)
    if key == PUBLIC:
        return variants[0]
    # The word "form" stays: with another one, every student of a running course would change.
    return variants[
        int.from_bytes(digest(key, student, assignment.name, "form")[:8], "little") % len(variants)
    ]

r"""What differs from student to student: the form of an assignment and the inputs it is judged at.

Both are functions of

.. math::

    \mathrm{HMAC}(\text{course key},\; \text{student} \mid \text{assignment} \mid \text{purpose})

with SHA-256, so they are the same whenever they are needed, and cannot be computed without the key.
"""

import hashlib
import hmac
import secrets
from pathlib import Path

import numpy as np

from ibpcl.classroom.students import variant_id
from ibpcl.errors import UserError
from ibpcl.storage import write_text

PUBLIC = b"public"  # the key of public checks: these inputs are no secret
SHORTEST = 16


def read_key(path):
    """Return the course key in a file.

    Raises
    ------
    UserError
        If there is no such file, or the key is too short to be secret.
    """
    try:
        key = Path(path).read_bytes().strip()
    except FileNotFoundError:
        raise UserError(
            f"class: there is no course key {path}; `ibpcl class key {path}` makes one"
        ) from None
    if len(key) < SHORTEST:
        raise UserError(
            f"class: the course key in {path} has {len(key)} bytes; it must have at least "
            f"{SHORTEST}"
        )
    return key


def make_key(path):
    """Write a new course key, readable by its owner only; an existing file is never replaced."""
    if Path(path).exists():
        raise UserError(
            f"class: {path} exists: a course keeps its key, or every student's variant changes"
        )
    write_text(path, secrets.token_hex(32) + "\n")
    Path(path).chmod(0o600)


def fingerprint(key):
    """Return a short name of a key, which does not give it away."""
    return hashlib.sha256(b"fingerprint" + key).hexdigest()[:8]


def digest(key, student, *what):
    """Return 32 bytes for a student, in any spelling of the id, and a purpose."""
    text = "\0".join((variant_id(student), *map(str, what)))
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def generator(key, student, *what):
    """Return the random generator for a student and a purpose.

    >>> generator(b"k", "ada", "1a", 0).random() == generator(b"k", "ada", "1a", 0).random()
    True
    """
    return np.random.Generator(
        np.random.PCG64(int.from_bytes(digest(key, student, *what), "little"))
    )


def form_of(assignment, key, student):
    """Return the name of a student's form; under the public key it is the base form."""
    forms = list(assignment.forms)
    if key == PUBLIC:
        return forms[0]
    return forms[
        int.from_bytes(digest(key, student, assignment.name, "form")[:8], "little") % len(forms)
    ]

"""The command ``ibpcl predict``: class probabilities of a finished run for new inputs."""

import io
import math
import os
import sys
from pathlib import Path

import numpy as np

from ibpcl import checkpoints, storage
from ibpcl.data.pixels import as_trained, scaled
from ibpcl.errors import UserError
from ibpcl.experiments.stored_learners import load, trained_on_unit_range
from ibpcl.methods.own import own_method

# Upper limit for the bytes of the inputs; more is surely a mistake.
MOST = 2**33


def execute(options):
    """Predict, and write or print the probabilities.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl predict``.

    Raises
    ------
    UserError
        If the learner or the inputs cannot be used.
    """
    learner = load(
        options.run, None if options.method is None else own_method(options.method).learner
    )
    x = read_inputs(options.inputs)
    unit = trained_on_unit_range(options.run)
    try:
        p = learner.predict(
            scaled(x) if unit is None else as_trained(x, unit, "inputs"), options.task
        )
    except (TypeError, ValueError) as error:
        raise UserError(f"{options.inputs}: {error}") from error
    except (LookupError, AttributeError, ArithmeticError) as error:
        raise UserError(
            f"{options.run} is damaged: its learner cannot predict: {type(error).__name__}: {error}"
        ) from error
    if options.out is None:
        np.savetxt(sys.stdout, p, "%.6g")
        return
    file = io.BytesIO()
    np.save(file, p, allow_pickle=False)
    storage.write_bytes(Path(options.out), file.getvalue())
    print(f"{options.out}: {p.shape[0]} rows of {p.shape[1]} probabilities")


def read_inputs(path):
    """Return the inputs in an ``.npy`` file as rows, with unchanged values.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    x : ndarray, shape (N, D)
        Images (N, height, width) are flattened.

    Raises
    ------
    UserError
        If the file does not exist, is damaged, or holds anything else.
    """
    try:
        with open(path, "rb") as file:
            shape, dtype = checkpoints.read_header(file)
            announced = math.prod(shape) * dtype.itemsize
            existing = os.fstat(file.fileno()).st_size - file.tell()
        if dtype.kind not in "fiub":
            raise UserError(f"{path}: inputs must be real numbers, got an array of {dtype}")
        if len(shape) not in (2, 3) or announced > MOST:
            raise UserError(
                f"{path}: inputs must be an array of shape (N, D), or (N, height, width), got "
                f"shape {shape}"
            )
        if announced != existing:
            raise UserError(
                f"{path} is damaged: its header announces {announced} bytes, but {existing} follow"
            )
        if not announced:
            raise UserError(
                f"{path}: inputs must have at least one row and one column, got shape {shape}"
            )
        x = np.load(path, allow_pickle=False)
    except FileNotFoundError as error:
        raise UserError(f"{path}: this file does not exist") from error
    except UserError:
        raise
    except (OSError, EOFError, ValueError) as error:
        objects = "bject" in str(error)  # NumPy refuses arrays of objects
        raise UserError(
            f"{path}: {'not an array of numbers' if objects else f'not an .npy file: {error}'}"
        ) from error
    return x.reshape(len(x), -1)

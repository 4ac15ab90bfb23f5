"""``ibpcl predict``: class probabilities of a finished run, for inputs of one's own."""

import io
import sys
from pathlib import Path

import numpy as np

from ibpcl import storage
from ibpcl.errors import UserError
from ibpcl.experiments.runs import load
from ibpcl.methods.own import own_method

MOST = 2**33                                                 # bytes of the inputs; more is surely a mistake


def execute(options):
    """Predict and write, or print, the probabilities."""
    learner = load(options.run, None if options.method is None else own_method(options.method).learner)
    x = read_inputs(options.inputs)
    try:
        p = learner.predict(x, options.task)
    except (TypeError, ValueError) as error:
        raise UserError(f"{options.inputs}: {error}") from error
    if options.out is None:
        np.savetxt(sys.stdout, p, "%.6g")
        return
    file = io.BytesIO()
    np.save(file, p, allow_pickle=False)
    storage.write_bytes(Path(options.out), file.getvalue())
    print(f"{p.shape[0]} rows of {p.shape[1]} probabilities in {options.out}")


def read_inputs(path):
    """Return the inputs of an ``.npy`` file as rows; bytes, of images, become 0..1.

    Raises
    ------
    UserError
        If there is no such file, or it holds anything else.
    """
    try:
        x = np.load(path, allow_pickle=False, mmap_mode="r")
    except FileNotFoundError as error:
        raise UserError(f"{path}: there is no such file") from error
    except (OSError, EOFError, ValueError) as error:
        objects = "bject" in str(error) or "pickle" in str(error)          # as NumPy's messages say it
        raise UserError(f"{path}: {'it holds no array of numbers' if objects else f'not an .npy file: {error}'}"
                        ) from error
    if not isinstance(x, np.ndarray) or x.ndim not in (2, 3) or x.nbytes > MOST:
        shape = f"shape {x.shape}" if isinstance(x, np.ndarray) else "an archive"
        raise UserError(f"{path}: inputs must be an array of shape (N, D), or (N, height, width), got {shape}")
    x = x.reshape(len(x), -1)
    return x.astype(np.float32) / np.float32(255) if x.dtype == np.uint8 else np.array(x)

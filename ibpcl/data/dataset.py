"""Data sets: labelled images before they are cut into tasks."""

from typing import NamedTuple

import numpy as np

from ibpcl.errors import UserError


class DataError(UserError):
    """Error of a data set that cannot be used.

    The message states in one line which file is wrong, why, and what to do.
    """


class Dataset(NamedTuple):
    """Images with their labels, as bytes: in grey-scale images 0 = background and 255 = ink.

    Attributes
    ----------
    name : str
        Name by which the set is loaded, such as ``"mnist"``.
    train_images : ndarray of uint8, shape (N, 28, 28)
        Training images; read-only if they come from a file.  Images in colour have the shape
        (N, H, W, 3).
    train_labels : ndarray of uint8, shape (N,)
        Their classes, indices into ``class_names``.
    test_images : ndarray of uint8, shape (M, 28, 28)
        Test images, with the same axes.
    test_labels : ndarray of uint8, shape (M,)
        Their classes, indices into ``class_names``.
    class_names : tuple of str, length C
        Name of each class.
    """

    name: str
    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    class_names: tuple[str, ...]


def is_web_page(path):
    """Return whether a file is a web page, which a failed download may leave in place of the file.

    Parameters
    ----------
    path : path-like
        File to examine; its first bytes are read.

    Returns
    -------
    web_page : bool
        True if it begins like HTML or XML.
    """
    with open(path, "rb") as file:
        return starts_as_web_page(file.read(1024))


def starts_as_web_page(start):
    r"""Return whether the first bytes of a file are those of a web page.

    Parameters
    ----------
    start : bytes
        First bytes of the file.

    Returns
    -------
    web_page : bool
        True if they begin like HTML or XML.

    Examples
    --------
    >>> starts_as_web_page(b"\n<!DOCTYPE html>"), starts_as_web_page(b"\0\0\x08\x03")
    (True, False)
    """
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:64].lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml"))


def check_dataset(dataset):
    """Return a data set after checking that its arrays fit together.

    Parameters
    ----------
    dataset : Dataset
        The data set; images may have a size other than 28 x 28, and three colours.

    Returns
    -------
    dataset : Dataset
        The argument.

    Raises
    ------
    DataError
        If images are missing or not uint8 of shape (N, H, W) or (N, H, W, 3), labels are not
        integers of shape (N,), counts or image sizes differ, or a label has no class name.

    Examples
    --------
    >>> images, labels = np.zeros((3, 28, 28), np.uint8), np.array([0, 1, 1], np.uint8)
    >>> check_dataset(Dataset("blank", images, labels, images, labels, ("a", "b"))).class_names
    ('a', 'b')
    """
    for part in ("train", "test"):
        images = getattr(dataset, f"{part}_images")
        labels = getattr(dataset, f"{part}_labels")
        what = f"Dataset {dataset.name!r}: {part}"
        if images.dtype != np.uint8 or not (
            images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)
        ):
            raise DataError(
                f"{what}_images must be uint8 of shape (N, H, W) or (N, H, W, 3), got "
                f"{images.dtype} {images.shape}"
            )
        if labels.dtype.kind not in "iu" or labels.ndim != 1:
            raise DataError(
                f"{what}_labels must be integers of shape (N,), got {labels.dtype} {labels.shape}"
            )
        if images.size == 0:
            raise DataError(f"{what}_images are empty, got shape {images.shape}")
        if len(images) != len(labels):
            raise DataError(f"{what} has {len(images)} images but {len(labels)} labels")
        if labels.min() < 0 or labels.max() >= len(dataset.class_names):
            raise DataError(
                f"{what}_labels must lie in 0 .. {len(dataset.class_names) - 1}, "
                f"got labels from {labels.min()} to {labels.max()}"
            )
    if dataset.train_images.shape[1:] != dataset.test_images.shape[1:]:
        raise DataError(
            f"Dataset {dataset.name!r}: train_images and test_images must have the same size, "
            f"got {dataset.train_images.shape[1:]} and {dataset.test_images.shape[1:]}"
        )
    return dataset

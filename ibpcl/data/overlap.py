"""Test images that say little about learning: duplicates of training images, and blank images.

notMNIST has both: fonts share glyphs, and the I of many sans-serif fonts is a full square.
"""

import numpy as np


def duplicates_of_training(dataset):
    """Return which test images also occur, pixel by pixel, among the training images.

    Parameters
    ----------
    dataset : ibpcl.data.dataset.Dataset
        The data set; labels are not compared.

    Returns
    -------
    duplicates : ndarray of bool, shape (M,)
        True for a duplicate.

    Examples
    --------
    >>> from ibpcl.data.dataset import Dataset
    >>> images, labels = np.arange(8, dtype=np.uint8).reshape(2, 2, 2), np.zeros(2, np.uint8)
    >>> duplicates_of_training(Dataset("tiny", images, labels, images[::-1] + [[[0]], [[1]]],
    ...     labels, ("a",)))
    array([ True, False])
    """
    training = {image.tobytes() for image in _bytes(dataset.train_images)}
    return np.array([image.tobytes() in training for image in _bytes(dataset.test_images)])


def blank(dataset):
    """Return which test images have only one grey value.

    Parameters
    ----------
    dataset : ibpcl.data.dataset.Dataset
        The data set.

    Returns
    -------
    blank : ndarray of bool, shape (M,)
        True for a blank image.

    Examples
    --------
    >>> from ibpcl.data.dataset import Dataset
    >>> images, labels = np.array([[[7, 7]], [[7, 8]]], np.uint8), np.zeros(2, np.uint8)
    >>> blank(Dataset("tiny", images, labels, images, labels, ("a",)))
    array([ True, False])
    """
    pixels = dataset.test_images.reshape(len(dataset.test_images), -1)
    return (pixels == pixels[:, :1]).all(axis=1)


def rows_of(inputs, images):
    """Return which inputs of a task are among some images.

    Parameters
    ----------
    inputs : ndarray of float32, shape (N, D)
        Inputs of a task: bytes divided by 255, in the original order of pixels, as from
        :class:`ibpcl.data.tasks.SplitStream`.
    images : ndarray of uint8, shape (M, H, W)
        Images with H * W = D pixels.

    Returns
    -------
    matches : ndarray of bool, shape (N,)
        True for an input that equals one of the images.

    Examples
    --------
    >>> rows_of(np.array([[0.0, 1.0], [1.0, 1.0]], np.float32), np.array([[[255, 255]]], np.uint8))
    array([False,  True])
    """
    wanted = {image.tobytes() for image in _bytes(images)}
    return np.array(
        [row.tobytes() in wanted for row in _bytes(np.rint(255 * np.asarray(inputs)))], bool
    )


def _bytes(images):
    return np.ascontiguousarray(images).astype(np.uint8, copy=False)

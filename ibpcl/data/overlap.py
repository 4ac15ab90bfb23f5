"""Test images that say little about learning: those that also occur in training, and those without
a picture.

notMNIST has both: fonts share glyphs, and the I of many a sans-serif font is a full square.
"""

import numpy as np


def duplicates_of_training(dataset):
    """Return which test images, (M,) bool, also occur pixel for pixel among the training images,
    whatever their labels.

    >>> from ibpcl.data.dataset import Dataset
    >>> images, labels = np.arange(8, dtype=np.uint8).reshape(2, 2, 2), np.zeros(2, np.uint8)
    >>> duplicates_of_training(Dataset("tiny", images, labels, images[::-1] + [[[0]], [[1]]],
    ...     labels, ("a",)))
    array([ True, False])
    """
    training = {image.tobytes() for image in _bytes(dataset.train_images)}
    return np.array([image.tobytes() in training for image in _bytes(dataset.test_images)])


def blank(dataset):
    """Return which test images, (M,) bool, have pixels that are all alike.

    >>> from ibpcl.data.dataset import Dataset
    >>> images, labels = np.array([[[7, 7]], [[7, 8]]], np.uint8), np.zeros(2, np.uint8)
    >>> blank(Dataset("tiny", images, labels, images, labels, ("a",)))
    array([ True, False])
    """
    pixels = dataset.test_images.reshape(len(dataset.test_images), -1)
    return (pixels == pixels[:, :1]).all(axis=1)


def rows_of(inputs, images):
    """Return which inputs, (N,) bool, are one of the images, as bytes divided by 255 in their first
    order of pixels.

    Parameters
    ----------
    inputs : ndarray of float32, shape (N, D)
        Of a task, as :class:`ibpcl.data.tasks.SplitStream` makes them.
    images : ndarray of uint8, shape (M, H, W)
        With D = H * W.

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

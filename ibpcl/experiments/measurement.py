"""Settings for measuring a generative model, in addition to those of its method."""

from dataclasses import dataclass

from ibpcl.options import Checked, option


@dataclass(frozen=True, init=False)
class Measurement(Checked):
    """Settings for measuring a generative model: numbers of images and samples.

    The images are always the first ones of their class.

    Parameters
    ----------
    *values
        The fields below, by position.
    **given
        The fields below, by name.

    Attributes
    ----------
    likelihood_samples : int
        Importance samples per image for log p(x), after each task.
    final_samples : int
        Importance samples per image for log p(x), after the last task.
    likelihood_images : int or None
        Maximum number of test images per task for log p(x), after each task; None for all.
    final_images : int or None
        Maximum number of test images per task for log p(x), after the last task; None for all.
    code_images : int
        Maximum number of training images per class whose codes are used for classification.
    code_test_images : int
        Maximum number of test images per class that are classified by their codes.
    inference_samples : int
        Samples of z under each task, to recognize the task of an image.

    Raises
    ------
    TypeError, ValueError
        If a value is not an integer, or below 1.
    """

    likelihood_samples: int = option(
        100, "Samples per image for log p(x) and the reconstruction, after each task.", at_least=1
    )
    final_samples: int = option(
        5000, "Samples per image for log p(x) after the last task.", at_least=1
    )
    likelihood_images: int | None = option(
        200, "Maximum number of test images per task for log p(x), after each task.", at_least=1
    )
    final_images: int | None = option(
        100, "Maximum number of test images per task for log p(x), after the last task.", at_least=1
    )
    code_images: int = option(
        300,
        "Maximum number of training images per class: neighbours, or labelled images.",
        at_least=1,
    )
    code_test_images: int = option(
        100,
        "Maximum number of test images per class that are classified by their codes.",
        at_least=1,
    )
    inference_samples: int = option(
        20, "Samples of z under each task, to find the task of an image.", at_least=1
    )

"""How a generative model is measured: the keys that a run on images without labels has besides its
method's.
"""

from dataclasses import dataclass

from ibpcl.options import Checked, option


@dataclass(frozen=True, init=False)
class Measurement(Checked):
    """How much is spent on measuring; all images are the first ones of their class.

    Raises
    ------
    TypeError, ValueError
        If a value is not a whole number, or below 1.
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

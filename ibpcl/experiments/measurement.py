"""How a generative model is measured: the keys that a run on images without labels has besides its method's."""

from dataclasses import dataclass

from ibpcl.methods import Checked, option


@dataclass(frozen=True)
class Measurement(metaclass=Checked):
    """How much is spent on measuring; all images are the first ones of their class.

    Raises
    ------
    TypeError, ValueError
        If a value is not a whole number, or below 1.
    """

    likelihood_samples: int = option(100, "Samples an image for log p(x) and the reconstruction, after each task.",
                                     at_least=1)
    final_samples: int = option(5000, "Samples an image for log p(x) after the last task.", at_least=1)
    likelihood_images: int | None = option(200, "At most so many test images a task for log p(x), after each task.",
                                           at_least=1)
    final_images: int | None = option(100, "At most so many test images a task for log p(x), after the last task.",
                                      at_least=1)
    code_images: int = option(300, "At most so many training images a class as neighbours, or as labelled ones.",
                              at_least=1)
    code_test_images: int = option(100, "At most so many test images a class to be classified by their codes.",
                                   at_least=1)
    inference_samples: int = option(20, "Samples of z under each task, to find the task of an image.", at_least=1)

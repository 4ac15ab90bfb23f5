"""How a generative model is measured: the keys that a run on images without labels has besides its method's."""

from dataclasses import dataclass

from ibpcl.methods import option


@dataclass(frozen=True)
class Measurement:
    """How much is spent on measuring; all images are the first ones of their class.

    Raises
    ------
    ValueError
        If a number is below 1.
    """

    likelihood_samples: int = option(100, "Samples an image for log p(x) and the reconstruction, after each task.")
    final_samples: int = option(5000, "Samples an image for log p(x) after the last task.")
    likelihood_images: int | None = option(200, "At most so many test images a task for log p(x), after each task.")
    final_images: int | None = option(100, "At most so many test images a task for log p(x), after the last task.")
    code_images: int = option(300, "At most so many training images a class as neighbours, or as labelled ones.")
    code_test_images: int = option(100, "At most so many test images a class to be classified by their codes.")
    inference_samples: int = option(20, "Samples of z under each task, to find the task of an image.")

    def __post_init__(self):
        for name, value in vars(self).items():
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")

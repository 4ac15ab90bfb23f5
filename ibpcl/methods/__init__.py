"""One published method a file, all with the face of :class:`ibpcl.continual.learner.Learner`."""

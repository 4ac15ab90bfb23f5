"""What a user got wrong, told apart from what the program got wrong."""


class UserError(ValueError):
    """A mistake in a configuration, in the data, or in where results shall go.

    The message is one line for its reader: what is wrong, what is allowed, what came.  Any other exception is a mistake
    of the program and keeps its traceback.
    """

"""Judge the referee's answers."""


def judge_referee(task, verdict, case):
    """Judge one planted mistake."""
    raise NotImplementedError

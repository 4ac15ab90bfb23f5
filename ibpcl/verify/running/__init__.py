"""Running a user's code: state between calls, errors, time limits, and a separate process."""

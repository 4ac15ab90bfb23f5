"""Running a user's code: its state, its errors, its time, and the process that it runs in."""

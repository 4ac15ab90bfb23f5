"""Running a submission: a worker in a sandbox, asked for values over a pipe, within limits."""

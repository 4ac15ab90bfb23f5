"""``ibpcl check``: the derivations, verified; what it prints is made in :mod:`ibpcl.proofs.command`."""

from ibpcl.proofs.command import run


def execute(options):
    """Verify what the command line names and return the exit code."""
    return run(options)

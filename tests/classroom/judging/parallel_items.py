"""Work for the pool in ``test_accepting``: a module of its own, since each process of the pool
imports it.
"""

import os
import signal
import time


def work(item):
    """Do what an item says, in a process of the pool."""
    if item == "raise":
        raise ValueError("from inside")
    if item == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "sleep":
        time.sleep(60)
    if item == "memory":
        return len(bytearray(64 << 30))
    return item * 2

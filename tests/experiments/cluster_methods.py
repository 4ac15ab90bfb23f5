"""A method that fails in the middle of its second task as a file beside the data asks for; workers
import it.
"""

import multiprocessing
import os
import signal
import time
from pathlib import Path

from ibpcl.errors import TrainingError
from ibpcl.experiments import run_figures
from ibpcl.methods.naive import Naive

SIGNALS = {"kill": signal.SIGKILL, "stop": getattr(signal, "SIGSTOP", None)}

# a worker: a run's own figures take longer than it
if multiprocessing.parent_process() is not None:
    run_figures.draw = lambda *arguments, **options: None


class Fragile(Naive):
    """Naive training, with a log of what was begun, in the folder of the variable FRAGILE."""

    def learn(self, task, watch=None):
        folder = Path(os.environ["FRAGILE"])
        with open(folder / "log", "a", encoding="utf-8") as log:
            log.write(f"{self.seed} {task.name}\n")
        if task.name != "0/1":
            watch = watch._replace(on_epoch=self.failing(folder, watch.on_epoch))
        return super().learn(task, watch)

    def failing(self, folder, on_epoch):
        def after(record, vector):
            on_epoch(record, vector)
            for plan in folder.glob(f"{self.seed}-*"):
                if "once" in plan.name:
                    plan.unlink()
                what = plan.name.split("-")[1]
                if what == "raise":
                    raise TrainingError("the loss is not finite")
                if what == "wait":
                    while plan.exists():
                        time.sleep(0.01)
                else:
                    os.kill(os.getpid(), SIGNALS[what])

        return after

"""The ratios of steps and products in processor time on one thread."""

import pytest

from benchmarks.speed import steps
from ibpcl.bench import autoencoder, timing
from ibpcl.bench.measure import QUICK
from ibpcl.bench.problem import Sizes


def test_each_step_is_compared_with_its_products(monkeypatch):
    for module in (timing, autoencoder):
        monkeypatch.setattr(module, "PAUSE", 0.0)
    rows = steps.rows(QUICK._replace(sizes=Sizes(1, 4, 784, 5, 10), rounds=1, examples=20))
    assert [row.name for row in rows] == [
        "classifier, ten classes",
        "classifier, two classes",
        "classifier, dense inputs",
        "autoencoder, masked",
        "autoencoder, finetune",
    ]
    assert all(row.milliseconds > 0 and row.ratio > 0 for row in rows)


@pytest.mark.parametrize("variable", steps.ONE_THREAD)
def test_more_than_one_thread_is_refused(variable, monkeypatch, capsys):
    for name in steps.ONE_THREAD:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv(variable, "2")
    monkeypatch.setattr("sys.argv", ["steps"])
    with pytest.raises(SystemExit):
        steps.main()
    assert variable in capsys.readouterr().err

"""The paper's numbers are those of the paper."""

import pytest

from ibpcl.paper import numbers as paper


@pytest.mark.parametrize(
    ("row", "benchmark", "value", "deviation"),
    [
        ("npbcl", "split-mnist", 99.819, 0.1),
        ("npbcl", "split-notmnist", 97.152, 0.2),
        ("npbcl", "permuted-mnist", 98.180, 0.2),
        ("npbcl", "split-fashion-mnist", 98.986, 0.2),
        ("npbcl-coreset", "split-mnist", 99.834, 0.1),
        ("npbcl-coreset", "permuted-mnist", 98.163, 0.3),
        ("naive", "split-mnist", 79.615, 0.7),
        ("vcl", "split-notmnist", 93.732, 0.3),
        ("vcl-coreset", "split-fashion-mnist", 98.154, 0.3),
        ("rcl", "permuted-mnist", 98.005, 0.2),
        ("imm", "split-fashion-mnist", 88.765, 0.4),
        ("ewc", "split-notmnist", 90.297, 0.6),
    ],
)
def test_the_table_of_accuracies(row, benchmark, value, deviation):
    printed = paper.accuracy(row, benchmark)
    assert (printed.value, printed.deviation) == (value, deviation)
    assert "final mean accuracies" in printed.place


def test_fashion_mnist_of_the_paper_is_that_which_is_cut_anew():
    assert (
        paper.accuracy("npbcl", "fashion-resplit")
        == paper.accuracy("npbcl", "split-fashion-mnist")
        is not None
    )


def test_the_table_of_other_metrics():
    assert paper.metric("npbcl", "BWT").value == 1.33e-5
    assert paper.metric("naive", "BWT", 100).value == pytest.approx(-3.6)
    assert {paper.metric(row, "FWT").value for row in paper.METRICS} == {0.1}


def test_acc_of_the_one_table_repeats_the_other():
    for row in paper.METRICS:
        assert paper.metric(row, "Acc").value == paper.accuracy(row, "permuted-mnist").value


def test_the_best_of_each_column_is_ours_as_the_paper_prints_it_bold():
    for i, best in enumerate(("npbcl-coreset", "npbcl", "npbcl", "npbcl-coreset")):
        assert max(paper.ACCURACY, key=lambda row: paper.ACCURACY[row][i + 1][0]) == best


def test_what_the_paper_does_not_print_is_none():
    assert paper.accuracy("independent", "split-mnist") is None
    assert paper.accuracy("npbcl", "split-glyphs") is None
    assert paper.metric("imm", "BWT") is None and paper.metric(None, "Acc") is None
    assert paper.authors_code("log", 1.0, "accuracy") is None
    assert paper.authors_code("logit", 1 / 784, "accuracy").source == "changed code"

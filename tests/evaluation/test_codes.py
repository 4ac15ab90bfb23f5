"""Nearest neighbours against brute force, the choice of encoders, and few labels."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.errors import UserError
from ibpcl.evaluation import codes
from ibpcl.evaluation.few_labels import few_label_error
from ibpcl.evaluation.linear import LinearModel

RNG = np.random.default_rng(1)
# Two tasks whose images lie along different axes.
MODELS = [
    LinearModel([[3.0, 0.0, 0.0]], 0.3, prior_mean=1.0),
    LinearModel([[0.0, 3.0, 0.0]], 0.3, prior_mean=1.0),
]


def images(count):
    labels = RNG.integers(0, 2, count)
    x = np.stack(
        [
            models.decode(1 + RNG.standard_normal((1, 1)))[0]
            for models in (MODELS[label] for label in labels)
        ]
    )
    return x + 0.3 * RNG.standard_normal(x.shape), labels


def brute_force(points, labels, x, k):
    """Vote by a plain loop."""
    order = sorted(range(len(points)), key=lambda i: float(np.sum((points[i] - x) ** 2)))[:k]
    votes = Counter(labels[i] for i in order)
    most = max(votes.values())
    return next(labels[i] for i in order if votes[labels[i]] == most)


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(2, 4))
def test_neighbours_are_those_of_brute_force(seed, k, classes):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((20, 3))
    test = rng.standard_normal((8, 3))
    labels = rng.integers(0, classes, 20)
    truth = rng.integers(0, classes, 8)
    expected = np.mean(
        [brute_force(points, labels, x, k) != y for x, y in zip(test, truth, strict=True)]
    )
    assert codes.knn_error(points, labels, test, truth, (k,))[0] == expected


def test_several_numbers_of_neighbours_at_once_are_those_one_by_one():
    points = RNG.standard_normal((30, 4))
    test = RNG.standard_normal((50, 4))
    labels = RNG.integers(0, 3, 30)
    truth = RNG.integers(0, 3, 50)
    errors = codes.knn_error(points, labels, test, truth)
    assert errors.tolist() == [
        codes.knn_error(points, labels, test, truth, (k,))[0] for k in codes.NEIGHBOURS
    ]
    assert codes.knn_error(points, labels, points, labels, (1,))[0] == 0


@pytest.mark.parametrize(
    ("points", "neighbours", "what"),
    [
        (np.zeros((2, 1)), (3,), r"neighbours must lie in 1\.\.2"),
        (np.zeros((2, 1)), (0, 1), "neighbours must"),
        (np.array([[np.nan], [0.0]]), (1,), "finite"),
    ],
)
def test_points_without_neighbours_are_refused(points, neighbours, what):
    with pytest.raises(ValueError, match=r"codes\.knn_error: .*" + what):
        codes.knn_error(points, np.array([0, 1]), np.zeros((1, 1)), np.array([0]), neighbours)


def test_nobody_to_ask_makes_no_errors():
    assert codes.knn_error(
        np.zeros((2, 1)), np.array([0, 1]), np.zeros((3, 1)), np.zeros(3, int), ()
    ).shape == (0,)


def test_the_task_under_which_an_image_is_most_probable_is_mostly_its_own():
    x, labels = images(200)
    exact = np.stack([model.exact(x) for model in MODELS], axis=1)
    # one factor: q is exact
    np.testing.assert_allclose(codes.task_scores(MODELS, x), exact, rtol=1e-8)
    inferred = codes.choose_tasks("inferred", MODELS, x, None)
    np.testing.assert_array_equal(inferred, exact.argmax(axis=1))
    assert 0.8 < np.mean(inferred == labels) < 1


def test_only_the_oracle_looks_at_labels():
    x, labels = images(20)
    np.testing.assert_array_equal(codes.choose_tasks("oracle", MODELS, x, labels), labels)
    np.testing.assert_array_equal(codes.choose_tasks("common", MODELS, x, None), 1)
    with pytest.raises(ValueError, match="way must be one of oracle, inferred, common, got 'true'"):
        codes.choose_tasks("true", MODELS, x, labels)


def test_codes_are_posterior_means_or_samples_around_them():
    x, labels = images(30)
    found = codes.encode(MODELS, x, labels)
    for n in range(30):
        np.testing.assert_allclose(found[n], MODELS[labels[n]].encode(x[n : n + 1])[0][0])
    drawn = [codes.encode(MODELS, x, labels, np.random.default_rng(seed)) for seed in range(400)]
    np.testing.assert_allclose(np.mean(drawn, axis=0), found, atol=0.03)
    sigma = np.exp(MODELS[0].encode(x)[1])[0]
    np.testing.assert_allclose(np.std(drawn, axis=0), np.tile(sigma, (30, 1)), rtol=0.15)


def test_different_encoders_are_recognized_on_the_same_images():
    noise = RNG.standard_normal((60, 3))
    marked = [LinearModel(np.eye(3), 1.0, offset=10.0 * t) for t in range(4)]
    assert codes.mask_leak(marked, noise).tolist() == [0] * len(codes.NEIGHBOURS)
    same = [LinearModel(np.eye(3), 1.0) for _ in range(4)]
    assert codes.mask_leak(same, noise)[0] > 0.6  # chance is 0.75


def test_moving_a_tasks_codes_changes_no_likelihood_and_yet_makes_the_oracles_error_zero():
    """So the error of the oracle says nothing about the model of the images."""
    noise = RNG.standard_normal((80, 3))
    eye = np.eye(3)
    labels = np.repeat([0, 1], 40)
    plain = [LinearModel(eye), LinearModel(eye)]
    moved = [LinearModel(eye, offset=-shift, prior_mean=shift) for shift in (-20.0, 20.0)]
    errors = []
    for models in (plain, moved):
        points = codes.encode(models, noise, codes.choose_tasks("oracle", models, noise, labels))
        errors.append(
            codes.knn_error(points[::2], labels[::2], points[1::2], labels[1::2], (3,))[0]
        )
    for before, after in zip(plain, moved, strict=True):
        np.testing.assert_allclose(before.exact(noise), after.exact(noise))
    assert errors[0] > 0.3 and errors[1] == 0


def test_few_labels_by_hand():
    points = np.array([[0.0], [1.0], [10.0], [11.0], [12.0]])
    classes = np.array([0, 0, 1, 1, 1])
    found = few_label_error(
        points, classes, np.array([[0.4], [11.4], [4.9]]), np.array([0, 1, 1]), (1, 2, 3), draws=6
    )
    assert found.labels.tolist() == [1, 2] and found.errors.shape == (2, 6)
    # 4.9 is nearer to 0 and to 1 than to 10: wrong in every draw; the others are right.
    np.testing.assert_allclose(found.errors, 1 / 3)
    with pytest.raises(ValueError, match=r"labels must hold a number in 1\.\.2, got \(3,\)"):
        few_label_error(points, classes, points, classes, (3,))


def test_more_labels_help_and_draws_are_nested_and_reproducible():
    centres = np.eye(3) * 1.5
    classes = np.repeat(np.arange(3), 60)
    test = np.repeat(np.arange(3), 40)
    points, x = (centres[c] + RNG.standard_normal((len(c), 3)) for c in (classes, test))
    found = few_label_error(points, classes, x, test, draws=20)
    assert found.labels.tolist() == [1, 2, 5, 10, 20, 50]
    mean = found.errors.mean(axis=1)
    assert mean[0] > mean[3] > 0 and mean[0] - mean[-1] > 0.05
    np.testing.assert_array_equal(
        few_label_error(points, classes, x, test, (5,), draws=20).errors[0], found.errors[2]
    )
    # The same images are labelled whatever their codes are: a rotation changes nothing.
    turn, _ = np.linalg.qr(RNG.standard_normal((3, 3)))
    turned = few_label_error(points @ turn, classes, x @ turn, test, draws=20)
    np.testing.assert_array_equal(turned.errors, found.errors)


def test_a_map_of_the_codes_keeps_far_groups_apart():
    pytest.importorskip("sklearn")
    points = np.concatenate([RNG.standard_normal((25, 5)), 30 + RNG.standard_normal((25, 5))])
    flat = codes.tsne(points)
    labels = np.repeat([0, 1], 25)
    assert flat.shape == (50, 2)
    assert codes.knn_error(flat, labels, flat, labels, (3,))[0] == 0


def test_without_scikit_learn_the_user_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.manifold", None)
    with pytest.raises(UserError, match="scikit-learn"):
        codes.tsne(np.zeros((9, 2)))

"""H-IBP-VCL: IBP-VCL with one layer, shared sticks with several, and children that drop out."""

import numpy as np
import pytest
from scipy import stats

from ibpcl.continual.loop import learn_stream
from ibpcl.inference.backend import backend
from ibpcl.methods import hibp_vcl, ibp_vcl, method
from ibpcl.methods.hibp_vcl import HIBPVCL, Settings
from ibpcl.models import starts
from ibpcl.models.elbo import GRADIENT, Prior, elbo, elbo_vjp
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.models.units import Units, with_shared_sticks
from ibpcl.noise import Key

NUMPY = backend("numpy")
COMMON = {
    "hidden": (8, 5),
    "epochs": 3,
    "likelihood_epochs": 2,
    "batch": 20,
    "rate": 0.02,
    "mask_rate": 0.05,
    "alpha": 20.0,
    "prediction_samples": 10,
}


def learner_of(seed=1, **changes):
    return HIBPVCL(Settings(**COMMON | changes), seed, "numpy")


@pytest.mark.parametrize("changes", [{}, {"offsets": True}, {"single_head": True}])
def test_with_one_layer_it_is_ibp_vcl_bit_for_bit(make_task, changes):
    keys = COMMON | {"hidden": (8,)} | changes
    ours = HIBPVCL(Settings(**keys), 1, "numpy")
    theirs = ibp_vcl.IBPVCL(ibp_vcl.Settings(**keys), 1, "numpy")
    for t in range(2):
        histories = [learner.learn(make_task(t), progress=False) for learner in (ours, theirs)]
        assert [one.elbo for one in histories[0]] == [other.elbo for other in histories[1]]
    for t in range(2):
        np.testing.assert_array_equal(ours.assemble(t)[1], theirs.assemble(t)[1])
    x = make_task(0).x_test
    np.testing.assert_array_equal(ours.predict(x, 0), theirs.predict(x, 0))


def test_with_two_layers_it_is_not_ibp_vcl(make_task):
    ours = learner_of()
    theirs = ibp_vcl.IBPVCL(ibp_vcl.Settings(**COMMON), 1, "numpy")
    for learner in (ours, theirs):
        learner.learn(make_task(0), progress=False)
    sticks = [
        {
            name
            for name in learner.assemble(0)[0].layout.views(learner.assemble(0)[1])
            if "raw" in name
        }
        for learner in (ours, theirs)
    ]
    assert sticks[0] == {"hidden0.raw_a", "hidden0.raw_b"}
    assert sticks[1] - sticks[0] == {"hidden1.raw_a", "hidden1.raw_b"}


def networks(hidden):
    """A network with shared sticks, and one with sticks in each layer."""
    separate = classifier(6, hidden, Softmax(), 3, Units, "tanh")
    return with_shared_sticks(separate), separate


@pytest.mark.parametrize("hidden", [(5, 4), (4, 5), (4, 4, 3)])
def test_it_is_the_network_with_equal_sticks_in_all_layers(hidden):
    """Same outputs, and the gradient at the sticks is the sum of those of the layers."""
    rng = np.random.default_rng(0)
    shared, separate = networks(hidden)
    vector = shared.initial(starts.normal(rng, 0.5), 0.3, dtype=float)
    for name in ("rho", "sticks"):
        places = shared.layout.block(name)
        vector[places] = rng.normal(size=places.stop - places.start)
    (owner,) = (
        name for name in shared.layers if not getattr(shared.layers[name], "sticks_of", "x")
    )
    apart = np.zeros(separate.layout.size)
    for name, view in separate.layout.views(apart).items():
        source = name if ".raw" not in name else f"{owner}.{name.partition('.')[2]}"
        view[...] = shared.layout.view(vector, source)[: len(view)]
    noise = shared.noise(Key(0, 0, 0, 0), 2, 7, NUMPY, float)
    stick = noise[owner]["stick"]
    own = {
        name: drawn | ({"stick": stick[:, : shared.layers[name].units]} if "mask" in drawn else {})
        for name, drawn in noise.items()
    }
    x = rng.normal(size=(7, 6))
    y = rng.integers(0, 3, 7)
    places = shared.layout.block("mu")
    size = places.stop - places.start
    prior = Prior(np.zeros(size), np.zeros(size), {})
    parts, cache = elbo(shared, vector, prior, x, y, noise, 70, NUMPY, None, 0.5)
    expected, other = elbo(separate, apart, prior, x, y, own, 70, NUMPY, None, 0.5)
    np.testing.assert_allclose(parts, expected, rtol=1e-12)
    gradient = elbo_vjp(GRADIENT, cache)
    theirs = elbo_vjp(GRADIENT, other)
    for part in ("raw_a", "raw_b"):
        total = np.zeros(max(hidden))
        for i, units in enumerate(hidden):
            total[:units] += separate.layout.view(theirs, f"hidden{i}.{part}")
        np.testing.assert_allclose(
            shared.layout.view(gradient, f"{owner}.{part}"), total, rtol=1e-9
        )
    rest = slice(0, shared.layout.block("sticks").start)
    np.testing.assert_allclose(gradient[rest], theirs[rest], rtol=1e-9, atol=1e-12)


def test_the_gradient_of_the_bound_is_right_by_the_complex_step():
    rng = np.random.default_rng(1)
    network, _ = networks((4, 5))
    vector = network.initial(starts.normal(rng, 0.5), 0.3, dtype=float)
    for name in ("rho", "sticks"):
        places = network.layout.block(name)
        vector[places] = rng.normal(size=places.stop - places.start)
    places = network.layout.block("mu")
    size = places.stop - places.start
    prior = Prior(np.zeros(size), np.zeros(size), {"hidden1": (np.full(5, 3.0), np.ones(5))})
    x = rng.normal(size=(7, 6))
    y = rng.integers(0, 3, 7)
    noise = network.noise(Key(0, 0, 0, 0), 2, 7, NUMPY, float)

    def bound(vector):
        return elbo(network, vector, prior, x, y, noise, 70, NUMPY, None, 0.5)

    gradient = elbo_vjp(GRADIENT, bound(vector)[1])
    for _ in range(3):
        direction = rng.normal(size=vector.size)
        value = bound(vector + 1e-20j * direction)[0].total.imag / 1e-20
        assert gradient @ direction == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("c", [0.5, 3.0, 50.0])
def test_children_leave_the_masks_of_an_example_independent_with_the_sticks_probability(c):
    """For two layers and one example: the table of both masks, for any concentration."""
    rng = np.random.default_rng(0)
    pi = 0.3
    draws = 100_000
    children = stats.beta(c * pi, c * (1 - pi)).rvs(size=(2, draws), random_state=rng)
    masks = rng.random((2, draws)) < children
    expected = np.outer([1 - pi, pi], [1 - pi, pi])
    for one in (0, 1):
        for other in (0, 1):
            share = np.mean((masks[0] == one) & (masks[1] == other))
            error = np.sqrt(expected[one, other] * (1 - expected[one, other]) / draws)
            assert share == pytest.approx(expected[one, other], abs=4 * error)
    # two examples of one layer are not independent: the children do matter to their joint law
    both = np.mean(masks[0] & (rng.random(draws) < children[0]))
    assert both > pi**2 + 4 * np.sqrt(pi**2 / draws)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, marks=pytest.mark.slow(reason="the others do this and more")),
        {"offsets": True, "samples": 2},
        {"hidden": (6, 9)},
    ],
)
def test_it_learns_and_keeps(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=12, **changes), [make_task(t) for t in range(2)], progress=False
    )
    assert last.accuracy[1].min() > 0.85
    assert {record.phase for record in last.history} == {"hibp_vcl"}


def test_the_next_prior_of_the_sticks_is_the_posterior(make_task):
    learner = learner_of()
    learner.learn(make_task(0), progress=False)
    history = learner.learn(make_task(1), progress=False)
    assert 0 <= history[0].kl_sticks < 0.5  # it begins at 0: q is its own prior


def test_it_refuses_what_it_cannot_do():
    for wrong in ({"hidden": ()}, {"alpha": 0.0}, {"mask_kl": "other"}):
        with pytest.raises(ValueError, match=f"hibp_vcl: {next(iter(wrong))} must"):
            Settings(**wrong)
    with pytest.raises(ValueError, match=r"hibp_vcl\.predict: unknown task_id 0"):
        learner_of().predict(np.zeros((1, 6)), 0)
    assert method("hibp_vcl").learner is HIBPVCL
    assert hibp_vcl.Settings().hidden == (200, 200)

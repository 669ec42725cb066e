"""The two made data sets follow their definitions: the mixture and the toy."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.sources import load
from fedkin.data.synthetic import linear_toy, synthetic_mixture

# of the authors' script, see test_script_draws_are_those_of_the_authors_script
THETA = [0.419019560418358, -0.6438939882329238, 0.06289976871926806]
ALPHA = [0.7382785628223706, 0.13125525537535349, 0.13046618180227587]
FIRST = [
    0.432165829,
    -0.569422237,
    -0.966334245,
    -0.438538738,
    0.203442172,
    -0.078888174,
    0.421333618,
]
LABELS = [0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0]
ONES = 932


def test_linear_toy_follows_its_model() -> None:
    source = linear_toy(rows=4000, noise=3.0, seed=1)
    assert source.client is not None
    assert np.abs(source.x).max() <= 10
    for k in range(3):
        mine = source.client == k
        residual = source.y[mine] - source.x[mine] @ source.truth["w"][k]
        assert residual.std() == pytest.approx(3.0, rel=0.1)
    zeta = np.stack(
        [
            linear_toy(rows=1, seed=s).truth["w"] - linear_toy(rows=1, seed=s).truth["theta"]
            for s in range(400)
        ]
    )
    np.testing.assert_allclose(zeta.std(axis=(0, 2)), [2, 5, 200], rtol=0.12)


def test_mixture_follows_its_definition() -> None:
    source = synthetic_mixture(clients=40, dim=20, test_rows=400, seed=2)
    assert source.client is not None
    assert source.official_test is not None
    alpha, theta, component = (source.truth[key] for key in ("alpha", "theta", "component"))
    np.testing.assert_allclose(alpha.sum(axis=1), 1)
    assert np.abs(theta).max() <= 1
    assert np.abs(source.x).max() <= 1
    np.testing.assert_allclose(source.x.std(), 1 / np.sqrt(3), rtol=0.01)
    train = np.bincount(source.client[~source.official_test], minlength=40)
    assert train.min() >= 50
    assert train.max() <= 1000
    assert (np.bincount(source.client[source.official_test]) == 400).all()
    for k in range(40):
        mine = component[(source.client == k) & source.official_test]
        np.testing.assert_allclose(np.bincount(mine, minlength=3) / 400, alpha[k], atol=0.12)
    logit = np.einsum("nd,nd->n", source.x, theta[component])
    clear = np.abs(logit) > 0.5  # five deviations of the noise
    np.testing.assert_array_equal(source.y[clear], (logit > 0)[clear])
    near = np.abs(logit) < 0.02
    assert 0.05 < np.mean(source.y[near] != (logit > 0)[near]) < 0.5


def test_mixture_weights_are_dirichlet() -> None:
    alpha = synthetic_mixture(clients=3000, dim=1, test_rows=1, largest=50, seed=1).truth["alpha"]
    assert alpha.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=0.02)
    assert alpha.var() == pytest.approx(1 / 3 * 2 / 3 / (3 * 0.4 + 1), rel=0.05)


def test_mixture_is_seeded_and_refuses_nonsense() -> None:
    one, same, other = (synthetic_mixture(clients=3, dim=4, test_rows=5, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.x, same.x)
    assert one.x.shape != other.x.shape or not np.array_equal(one.x, other.x)
    assert synthetic_mixture(
        clients=3, dim=400, test_rows=500, features="normal"
    ).x.std() == pytest.approx(1, rel=0.01)
    for wrong in (
        {"clients": 0},
        {"alpha": 0},
        {"features": "cauchy"},
        {"largest": 10},
        {"noise": -1},
        {"seed": -1},
        {"seed": 2**32, "draws": "script"},
    ):
        with pytest.raises(FedkinError):
            synthetic_mixture(**wrong)  # type: ignore[arg-type]


def test_script_draws_are_those_of_the_authors_script() -> None:
    """Numbers that the generating lines of data/synthetic/generate_data.py of the authors of FedEM
    (commit b80911f6) made, run without its files, with 6 tasks, dimension 7, 40 test samples and
    its default seed.
    """
    source = synthetic_mixture(clients=6, dim=7, test_rows=40, seed=12345, draws="script")
    assert source.client is not None
    assert source.official_test is not None
    train = np.bincount(source.client[~source.official_test])
    assert train.tolist() == [86, 192, 69, 67, 1000, 936]
    np.testing.assert_allclose(source.truth["theta"][0, :3], THETA, rtol=1e-6)
    np.testing.assert_allclose(source.truth["alpha"][0], ALPHA, rtol=1e-12)
    np.testing.assert_allclose(source.x[0], FIRST, rtol=1e-6)
    assert source.y[:20].tolist() == LABELS
    assert source.y.sum() == ONES
    # its index is never moved: the last component that reaches a row labels it, and 0 is left
    nobody = source.truth["component"] == -1
    assert 0.1 < nobody.mean() < 0.5
    assert not source.y[nobody].any()


def test_script_draws_have_no_other_features() -> None:
    for wrong in ({"draws": "theirs"}, {"draws": "script", "features": "normal"}):
        with pytest.raises(FedkinError, match="draws="):
            synthetic_mixture(clients=3, **wrong)  # type: ignore[arg-type]


def test_a_seed_below_zero_is_refused() -> None:
    with pytest.raises(FedkinError, match=r"linear_toy: seed=-1 is not possible: use 0 or more"):
        linear_toy(seed=-1)
    assert len(linear_toy(seed=2**40).x) == 60  # a run's seed may be larger than a script's


@pytest.mark.parametrize(
    ("name", "numbers", "said"),
    [
        ("synthetic_mixture", {"clients": 10**9}, "more than this machine's memory"),
        ("synthetic_mixture", {"dim": 2**63 - 1}, "more than this machine's memory"),
        ("synthetic_mixture", {"test_rows": 2**62}, "more than this machine's memory"),
        ("synthetic_mixture", {"components": 128}, "components=128 must be 127 or less"),
        ("synthetic_mixture", {"clients": 2, "test_rows": 2, "sigma": -0.0}, "cannot be made of"),
        ("linear_toy", {"rows": 10**12}, "more than this machine's memory"),
        ("linear_toy", {"dim": 2**63 - 1}, "more than this machine's memory"),
        ("linear_toy", {"reach": 1e308}, "cannot be made of these numbers"),
    ],
)
def test_numbers_that_no_machine_has_room_for(name, numbers, said) -> None:
    with pytest.raises(FedkinError, match=said):
        load(name, **numbers)

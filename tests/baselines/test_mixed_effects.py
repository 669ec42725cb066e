"""Mixed-effects models against what is known: shrinkage by hand, and the effects that generated the
data.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedkin.baselines.mixed_effects import mixed_effects
from fedkin.core.errors import FedkinError
from fedkin.core.family import FAMILIES
from fedkin.data.population import Population

CLIENTS, COLUMNS = 12, 3
FIXED = np.array([0.5, 1.0, -0.7, 0.0])


def people(
    family: str, *, slope: float = 0.0, spread: float = 1.0, train: int = 20, seed: int = 0
) -> Population:
    """Clients with intercepts N(0.5, spread²) and slopes of column 0 N(1, slope²); truth keeps the
    clients' own.
    """
    rng = np.random.default_rng(seed)
    per = train + 15 + 25
    own = np.stack([rng.normal(0, spread, CLIENTS), rng.normal(0, slope, CLIENTS)], axis=1)
    x = rng.normal(size=(CLIENTS * per, COLUMNS))
    owner = np.repeat(np.arange(CLIENTS), per)
    link = FIXED[0] + x @ FIXED[1:] + own[owner, 0] + own[owner, 1] * x[:, 0]
    if family == "gaussian":
        y = link + 0.3 * rng.normal(size=len(x))
    elif family == "poisson":
        y = rng.poisson(np.exp(np.clip(0.5 * link, -3, 3)))
    else:
        y = rng.random(len(x)) < 1 / (1 + np.exp(-link))
    starts = np.arange(CLIENTS) * per
    regression = family != "bernoulli"
    return Population(
        name="toy",
        x=torch.from_numpy(x).float(),
        y=torch.from_numpy(np.asarray(y)).to(torch.float32 if regression else torch.int64),
        classes=0 if regression else 2,
        task="regression" if regression else "classification",
        train=tuple(s + np.arange(train) for s in starts),
        val=tuple(s + train + np.arange(15) for s in starts),
        test=tuple(s + train + 15 + np.arange(25) for s in starts),
        truth={"own": own},
        names=tuple(str(k) for k in range(CLIENTS)),
    )


def pooled(group: Population, family: str, steps: int = 3000) -> float:
    """Mean test loss of one model for all: gradient descent on the union, in torch."""
    rows = np.concatenate(group.train)
    w = torch.zeros(COLUMNS + 1, dtype=torch.float64, requires_grad=True)
    x = torch.cat([torch.ones(len(group.x), 1), group.x], 1).double()
    for _ in range(steps):
        loss = FAMILIES[family].nll(x[rows] @ w[:, None], group.y[rows].double()).mean()
        (slope,) = torch.autograd.grad(loss, w)
        w = (w - 0.1 * slope).detach().requires_grad_()
    test = np.concatenate(group.test)
    return float(
        FAMILIES[family].nll((x[test] @ w[:, None]).detach(), group.y[test].double()).mean()
    )


@pytest.mark.rotating
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_better_than_one_model_for_all(family):
    group = people(family, spread=1.5)
    found = mixed_effects(group, family)
    assert found.scores["test"][:, 0].mean() < 0.97 * pooled(group, family)
    own = found.effects.own[:, 0]
    assert np.corrcoef(own, group.truth["own"][:, 0])[0, 1] > 0.85
    assert np.isnan(found.scores["test"][:, 1]).all() == (family != "bernoulli")


def test_the_truth_is_found_again():
    group = people("gaussian", slope=0.8, train=200)
    found = mixed_effects(group, "gaussian", [(0,)])
    x = group.x.numpy()[np.concatenate(group.train)]
    slopes = (found.effects.fixed[1] + found.effects.own[:, 1]) / x[:, 0].std()
    np.testing.assert_allclose(slopes, 1.0 + group.truth["own"][:, 1], atol=0.08)
    np.testing.assert_allclose(found.effects.fixed[2:] / x[:, 1:].std(0), FIXED[2:], atol=0.05)
    assert found.scores["test"][:, 0].mean() == pytest.approx(
        0.5 * 0.3**2, rel=0.15
    )  # nothing but the noise


def test_shrinkage_by_hand():
    """Balanced clients, one constant column: u_k = n τ² / (n τ² + σ²) · (mean_k − mean), τ², σ²
    from the variances.
    """
    group = people("gaussian", train=20)
    rows = np.stack(group.train)
    group = replace(group, x=torch.ones_like(group.x))
    y = group.y.numpy()[rows].astype(float)
    found = mixed_effects(group, "gaussian")
    n, means = y.shape[1], y.mean(1)
    within = ((y - means[:, None]) ** 2).sum() / (CLIENTS * (n - 1))
    between = means.var(ddof=1) - within / n  # REML of the balanced one-way layout
    expected = n * between / (n * between + within) * (means - means.mean())
    np.testing.assert_allclose(found.effects.own[:, 0], expected, rtol=1e-3, atol=1e-4)
    assert found.effects.fixed[0] == pytest.approx(means.mean(), rel=1e-6)
    assert found.effects.fixed[1:].tolist() == [0.0] * COLUMNS
    np.testing.assert_allclose(found.predictions["test"][2], means.mean() + expected[2], atol=1e-3)


@pytest.mark.rotating
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_slopes_are_chosen_by_validation(family):
    candidates = [(), (0,), (1,)]
    group = people(family, slope=2.0, train=60)
    found = mixed_effects(group, family, candidates)
    assert found.slopes == (0,)
    assert set(found.validation) == set(candidates)
    assert found.validation[(0,)] == min(found.validation.values())
    x, y = group.x.clone(), group.y.clone()
    for rows in group.test:  # whatever stands in the test samples
        x[rows], y[rows] = 9.0, 1 - y[rows]
    other = mixed_effects(replace(group, x=x, y=y), family, candidates)
    assert other.slopes == found.slopes
    assert other.validation == found.validation
    np.testing.assert_array_equal(other.effects.own, found.effects.own)
    np.testing.assert_array_equal(other.predictions["val"], found.predictions["val"])


def test_the_same_twice():
    group = people("bernoulli")
    one, two = (mixed_effects(group, "bernoulli") for _ in range(2))
    np.testing.assert_array_equal(one.effects.fixed, two.effects.fixed)


def test_scores_are_those_of_the_predictions():
    group = people("bernoulli")
    found = mixed_effects(group, "bernoulli")
    p, y = found.predictions["test"][3], group.part(3, "test")[1].numpy()
    assert found.scores["test"][3, 0] == pytest.approx(
        -np.mean(np.where(y == 1, np.log(p), np.log(1 - p)))
    )
    assert found.scores["test"][3, 1] == np.mean((p > 0.5) == y)


@pytest.mark.parametrize(
    ("made", "family", "slopes", "sentence"),
    [
        ("gaussian", "gausian", ((),), "did you mean 'gaussian'"),
        ("gaussian", "bernoulli", ((),), "bernoulli needs two classes"),
        ("bernoulli", "poisson", ((),), "poisson needs labels that are numbers"),
        ("gaussian", "poisson", ((),), "poisson needs counts"),
        ("gaussian", "gaussian", (), "slopes is empty"),
        ("gaussian", "gaussian", ((3,),), "column 3 is not there"),
    ],
)
def test_mistakes(made, family, slopes, sentence):
    with pytest.raises(FedkinError, match=sentence):
        mixed_effects(people(made), family, slopes)


def test_a_choice_needs_validation_samples():
    group = people("gaussian")
    empty = replace(group, val=tuple(rows[:0] for rows in group.val))
    with pytest.raises(FedkinError, match="chooses slopes by validation"):
        mixed_effects(empty, "gaussian", [(), (0,)])
    assert np.isnan(mixed_effects(empty, "gaussian").scores["val"]).all()


def test_statsmodels_is_an_extra(monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] == "statsmodels"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    with pytest.raises(FedkinError, match="the extra stats: in fedkin"):
        mixed_effects(people("gaussian"), "gaussian")


def test_columns_that_determine_each_other_are_told_in_one_sentence() -> None:
    found = people("gaussian")
    twice = replace(found, x=torch.cat([found.x, found.x[:, :1]], dim=1))
    with pytest.raises(FedkinError, match=r"determine each other.*data\.drop"):
        mixed_effects(twice, "gaussian")

"""Rules of robust aggregation on known vectors."""

import math

import numpy as np
import pytest
import torch

from fedkin.core.aggregation import Contributions, Reply, RuleContext, aggregated, summed_of
from fedkin.core.errors import FedkinError
from fedkin.core.tree import map_tree
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.transforms import robust
from fedkin.transforms.updates import flattened
from tests.engine.small import content

FIVE = torch.tensor(
    [[1.0, 9.0, -2.0], [2.0, 7.0, 5.0], [100.0, 8.0, 1.0], [3.0, -50.0, 0.0], [2.5, 6.0, 4.0]],
    dtype=torch.float64,
)


@pytest.mark.certifies("median", "closed form")
def test_the_median_of_known_vectors():
    found, kept = robust.median(FIVE)
    assert found.tolist() == [2.5, 7.0, 1.0]
    assert kept.tolist() == pytest.approx([0, 1 / 3, 1 / 3, 0, 1 / 3])
    even, kept = robust.median(FIVE[:4])
    assert even.tolist() == [2.5, 7.5, 0.5]  # the mean of the middle two
    assert kept.tolist() == pytest.approx([0, 2 / 3, 2 / 3, 2 / 3])


@pytest.mark.certifies("trimmed_mean", "closed form")
def test_the_trimmed_mean_of_known_vectors():
    found, kept = robust.trimmed_mean(FIVE, 1)
    assert found.tolist() == pytest.approx([7.5 / 3, 21 / 3, 5 / 3])
    assert kept.tolist() == pytest.approx([0, 2 / 3, 2 / 3, 2 / 3, 1.0])


@pytest.mark.certifies("geometric_median", "closed form")
def test_the_geometric_median_of_points_on_a_line_is_their_median():
    places = torch.tensor([-3.0, 0.5, 1.0, 40.0, 7.0], dtype=torch.float64)
    direction = torch.tensor([0.6, -0.8, 0.0], dtype=torch.float64)
    shift = torch.tensor([5.0, 1.0, 2.0], dtype=torch.float64)
    found, kept = robust.geometric_median(places[:, None] * direction + shift, 2000)
    assert found.tolist() == pytest.approx((1.0 * direction + shift).tolist(), abs=1e-6)
    assert kept.argmax() == 2
    assert kept.argmin() == 3


@pytest.mark.certifies("geometric_median", "closed form")
def test_the_geometric_median_of_a_triangle_is_where_its_angles_are_120_degrees():
    corners = torch.tensor([[0.0, 0.0], [4.0, 0.0], [1.0, 3.0]], dtype=torch.float64)
    point, _ = robust.geometric_median(corners, 2000)
    arms = (corners - point) / (corners - point).norm(dim=1, keepdim=True)
    cosines = [float(arms[a] @ arms[b]) for a, b in ((0, 1), (1, 2), (0, 2))]
    assert cosines == pytest.approx([-0.5, -0.5, -0.5], abs=1e-6)


def test_the_geometric_median_resists_just_below_half_with_its_usual_steps():
    """51 honest clients, 50 far away that agree. From the mean 100 steps end at 8,428."""
    draw = torch.Generator().manual_seed(0)
    honest = torch.randn(51, 50, dtype=torch.float64, generator=draw) * 0.1
    for far in (10.0, 1e4, 1e15):
        away = torch.full((50, 50), far, dtype=torch.float64)
        found, _ = robust.geometric_median(torch.cat([honest, away]), 100)
        end, _ = robust.geometric_median(torch.cat([honest, away]), 20_000)
        assert float((found - end).norm()) < 0.1
        assert float((found - honest.mean(0)).norm()) < 5.0


def test_the_geometric_median_starts_well_where_its_start_is_one_of_the_points():
    cross = torch.tensor([[0.0, 0], [1, 0], [-1, 0], [0, 2], [0, -2]], dtype=torch.float64)
    found, _ = robust.geometric_median(cross, 50)
    assert found.tolist() == [0.0, 0.0]
    off = torch.cat([cross, torch.tensor([[9.0, 0.0], [9.5, 0.0], [-18.5, 0.0]])])
    start, _ = robust.geometric_median(off, 2000)
    assert start.tolist() == pytest.approx([0.0, 0.0], abs=1e-6)


def _krum(vectors, f):
    """Blanchard et al. (2017), section 3, word by word."""
    n = len(vectors)
    scores = []
    for i in range(n):
        others = sorted(
            sum((vectors[i][c] - vectors[j][c]) ** 2 for c in range(vectors.shape[1]))
            for j in range(n)
            if j != i
        )
        scores.append(sum(others[: n - f - 2]))
    return np.argsort(scores, kind="stable")


@pytest.mark.certifies("krum", "reference")
@pytest.mark.parametrize(("n", "f", "m", "seed"), [(7, 2, 1, 0), (9, 3, 4, 1), (11, 2, 5, 2)])
def test_krum_chooses_as_a_plain_computation_does(n, f, m, seed):
    vectors = np.random.default_rng(seed).normal(size=(n, 4)) ** 3
    chosen = sorted(_krum(vectors, f)[:m].tolist())
    found, kept = robust.krum(torch.from_numpy(vectors), f, m)
    assert kept.nonzero().flatten().tolist() == chosen
    assert found.tolist() == pytest.approx(vectors[chosen].mean(0).tolist(), abs=1e-12)


def test_a_geometric_median_that_is_no_median_is_seen():
    """The tests above would notice a mean in its place."""
    mean = FIVE.mean(0)
    found, _ = robust.geometric_median(FIVE, 500)
    assert not math.isclose(float(mean[0]), float(found[0]), abs_tol=1)


@pytest.mark.certifies("norm_bound", "law")
@pytest.mark.parametrize("method", ["fedavg", "fedem"])
def test_a_client_that_claims_many_samples_counts_as_one_under_a_bound(method):
    told = [{"name": "norm_bound", "bound": 1.0}]
    parts = assemble(parse({**content(method), "transforms": told})[0])
    received = parts.method.broadcast(parts.method.server(parts.federation.start), 0)
    like = parts.method.expected_update(received, parts.infos[0])
    replies = {0: Reply(map_tree(lambda leaf: leaf - 50, like), 4e6)}
    replies |= {client: Reply(like, 40.0) for client in range(1, 10)}
    how = parts.method.aggregation
    found = aggregated(how, replies, lambda: RuleContext(lambda client: received, 1, None))
    base = summed_of(how, like)
    moved = float((flattened(found.mean) - flattened(base)).norm())
    assert moved <= 1.0001 / 10  # a tenth of one shortened update


@pytest.mark.parametrize("method", ["ds_fl", "fedmd"])
def test_predictions_are_no_updates_that_a_bound_could_shorten(method):
    given = {**content(method), "transforms": [{"name": "norm_bound", "bound": 1.0}]}
    with pytest.raises(FedkinError, match=r"sends predictions, .* try median"):
        assemble(parse(given)[0])


RULES = {
    "norm_bound": {"bound": 1.0},
    "median": {},
    "trimmed_mean": {},
    "geometric_median": {},
    "krum": {"attackers": 1},
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("method", ["scaffold", "feddyn", "fedproto"])
def test_a_server_that_computes_with_the_mean_gets_no_rule_in_its_place(method, name):
    """Clients of scaffold and feddyn correct themselves by their true changes, whatever the rule
    makes of them; fedproto divides sums of classes by counts.
    """
    given = {**content(method), "transforms": [{"name": name, **RULES[name]}]}
    with pytest.raises(FedkinError, match=rf"transform {name} changes .* of {method} computes"):
        assemble(parse(given)[0])


@pytest.mark.parametrize(
    "told", [{"name": "trimmed_mean", "share": 0.2}, {"name": "krum", "attackers": 1}]
)
def test_too_few_replies_are_told_and_not_averaged(told):
    """Replies that are lost must not turn a rule into the mean."""
    given = content("fedavg", run__clients=5, run__participation=1.0)
    method = assemble(parse({**given, "transforms": [told]})[0]).method
    rule = method.aggregation.rule

    def given_by(clients):
        rows = {k: Reply({"update": FIVE[k]}, 1.0) for k in clients}
        return Contributions(rows, lambda client: {}, ())

    rule(given_by(range(5)))
    with pytest.raises(FedkinError, match=f"transform {told['name']}: 4 replies arrived, too few"):
        rule(given_by(range(4)))

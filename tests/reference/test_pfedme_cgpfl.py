import numpy as np
import pytest

from tests.reference.kmeans import brute_force, lloyd
from tests.reference.model import flatten
from tests.reference.pfedme_cgpfl import (
    cgpfl,
    cgpfl_heur,
    choose_k,
    clustering_cost,
    match,
    moreau_client,
    pfedme,
    server_update,
    trade_off,
)
from tests.reference.quadratics import quadratic_gradient
from tests.reference.toy import assert_close, make_data, make_model, make_plan

SIZES = [5, 9, 4, 7, 6, 5]


def scalar_clients(*targets):
    """f_i(w) = ½ (w - b_i)²."""
    return {k: {"x": np.array([[1.0]]), "y": np.array([b])} for k, b in enumerate(targets)}


def w(value):
    return {"w": np.array([float(value)])}


def test_pfedme_golden():
    # λ = 1, η = 1/4, S = R = 1, β = 1/2, server α = 1/2, ω = θ = 0, b = 2 and 4. Round 0: θ = b/4 =
    # 1/2, 1; ω_i = 0 - ½ (0 - θ) = 1/4, 1/2; mean 3/8; w = 3/16. Round 1, client 0: θ = 1/2 - ¼
    # ((1/2 - 2) + (1/2 - 3/16)) = 51/64; from ω instead of the old θ: 3/16 - ¼ (3/16 - 2) = 41/64.
    data, plan = scalar_clients(2.0, 4.0), [{0: [None], 1: [None]}] * 2
    active = [[0, 1], [0]]
    run = pfedme(
        w(0), data, plan, active, 1.0, 0.25, 0.5, 1, alpha=0.5, gradient=quadratic_gradient
    )
    assert_close(run[0]["personal"][0], w(0.5))
    assert_close(run[0]["uploads"][1], w(0.5))
    assert_close(run[0]["server"]["model"], w(3 / 16))
    assert_close(run[1]["personal"][0], w(51 / 64))
    assert_close(run[1]["personal"][1], w(1.0))
    # ω_0 = 3/16 - ½ (3/16 - 51/64) = 63/128, alone: w = ½ 3/16 + ½ 63/128 = 87/256
    assert_close(run[1]["server"]["model"], w(87 / 256))
    for restart in ("step", "round"):
        again = pfedme(
            w(0),
            data,
            plan,
            active,
            1.0,
            0.25,
            0.5,
            1,
            0.5,
            persist=False,
            restart=restart,
            gradient=quadratic_gradient,
        )
        assert_close(again[1]["personal"][0], w(41 / 64))


def test_restart_by_step_and_by_round_differ_within_a_round():
    # b = 4, λ = 1, η = 1/4, β = 1/2, ω = 0. r = 0: θ = 1, ω = 1/2. r = 1 from ω: θ = 1/2 + ¼ 7/2 =
    # 11/8; going on from θ = 1: θ = 1 - ¼ (-3 + 1/2) = 13/8.
    client = scalar_clients(4.0)[0]
    args = (w(0), None, client, [None, None], 1.0, 0.25, 0.5, 1)
    assert_close(
        moreau_client(*args, persist=False, restart="step", gradient=quadratic_gradient)[1],
        w(11 / 8),
    )
    assert_close(
        moreau_client(*args, persist=False, restart="round", gradient=quadratic_gradient)[1],
        w(13 / 8),
    )
    assert_close(moreau_client(*args, persist=True, gradient=quadratic_gradient)[1], w(13 / 8))


def test_cgpfl_golden():
    # η (1 + λ) = 1 makes θ exact: θ = (b + ω)/2, and β λ = 1 makes ω_i = θ. b = 0, 2, 10, 14, all
    # of cluster 1, whose model is 0: uploads 0, 1, 5, 7; k-means from 0 and 1 ends in {0, 1}, {5,
    # 7} with means 1/2, 6 (test_lloyd_by_hand). Old models (5, 0): the match of least distance is 6
    # ~ 5, 1/2 ~ 0. α = 1/2: models (5.5, 0.25). Round 1: uploads b/2 + ω/2 = 0.125, 1.125 | 7.75,
    # 9.75, from the extreme ones: means 0.625, 8.75: models (7.125, 0.4375).
    data, plan = scalar_clients(0.0, 2.0, 10.0, 14.0), [{k: [None] for k in range(4)}] * 2
    run = cgpfl(
        [w(5), w(0)],
        data,
        plan,
        [[0, 1, 2, 3]] * 2,
        1.0,
        0.5,
        1.0,
        1,
        2,
        [[0, 1], [0, 3]],
        alpha=0.5,
        assignment=dict.fromkeys(range(4), 1),
        gradient=quadratic_gradient,
    )
    np.testing.assert_allclose([run[0]["uploads"][k]["w"][0] for k in range(4)], [0, 1, 5, 7])
    assert [m["w"][0] for m in run[0]["server"]["models"]] == [5.5, 0.25]
    assert run[0]["server"]["assignment"] == {0: 1, 1: 1, 2: 0, 3: 0}
    assert [m["w"][0] for m in run[1]["server"]["models"]] == [7.125, 0.4375]
    assert [run[1]["personal"][k]["w"][0] for k in range(4)] == [0.125, 1.125, 7.75, 9.75]


def test_matching_and_empty_clusters():
    assert match(np.array([[0.0], [10.0]]), np.array([[9.0], [1.0]])) == [1, 0]
    assert match(np.array([[0.0], [10.0], [20.0]]), np.array([[19.0]])) == [2]
    # new (4, 0) against old (0, -10): 4 ~ 0 with 0 ~ -10 costs 14 in l2, and so does 4 ~ -10 with 0
    # ~ 0; squared, 116 < 196
    assert match(np.array([[0.0], [-10.0]]), np.array([[4.0], [0.0]]), squared=True) == [0, 1]
    # equal uploads: k-means leaves cluster 1 empty, only one model moves, the other keeps
    models, assignment, _ = server_update([w(0), w(9)], {7: w(8), 8: w(8)}, [0, 1], 1.0)
    assert [m["w"][0] for m in models] == [0.0, 8.0]
    assert assignment == {7: 1, 8: 1}


@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("persist", [True, False])
@pytest.mark.parametrize("alpha", [1.0, 0.6])
def test_one_cluster_is_pfedme(kind, persist, alpha):
    data, start, plan = make_data(1, SIZES), make_model(2, kind), make_plan(3, SIZES, 3, 4)
    active = [[0, 1, 2, 3, 4, 5], [1, 4, 5], [0, 1]]
    a = pfedme(start, data, plan, active, 3.0, 0.05, 0.1, 2, alpha, persist)
    b = cgpfl(
        start, data, plan, active, 3.0, 0.05, 0.1, 2, 1, [[0], [1], [1]], alpha, persist=persist
    )
    for t in range(3):
        assert_close(a[t]["server"]["model"], b[t]["server"]["models"][0])
        for k in a[t]["personal"]:
            assert_close(a[t]["personal"][k], b[t]["personal"][k])


def test_partial_participation_and_permuted_seeds():
    data, start, plan = make_data(1, SIZES), make_model(2), make_plan(3, SIZES, 2, 2)
    active = [[0, 1, 2, 3, 4, 5], [1, 4, 5]]
    args = (start, data, plan, active, 3.0, 0.05, 0.1, 2, 2)
    a, b = cgpfl(*args, [[0, 1], [0, 2]]), cgpfl(*args, [[1, 0], [2, 0]])
    for t in range(2):
        for k in a[t]["personal"]:
            assert_close(a[t]["personal"][k], b[t]["personal"][k])
    for k in (0, 2, 3):
        assert a[1]["server"]["assignment"][k] == a[0]["server"]["assignment"][k]
        assert_close(a[1]["personal"][k], a[0]["personal"][k])


def test_heuristic_golden():
    # uploads 0, 1, 5, 7, one sample each, d = 1, m = 4: log(e m / d) = 1 + ln 4. cost(1) = variance
    # = 32.75 / 4 = 8.1875, cost(2) = (1/4 + 1/4 + 1 + 1) / 4 = 0.625. e(1) = sqrt((1 + ln 4)/4) +
    # 8.1875 μ, e(2) = sqrt((1 + ln 4)/2) + 0.625 μ: equal at μ = 0.0423.
    points, sizes = np.array([[0.0], [1.0], [5.0], [7.0]]), [1, 1, 1, 1]
    root = np.sqrt((1 + np.log(4)) / 4)
    K, values = choose_k(points, sizes, 0.05, brute_force)
    assert K == 2
    np.testing.assert_allclose(values, [root + 0.05 * 8.1875, np.sqrt(2) * root + 0.05 * 0.625])
    assert choose_k(points, sizes, 0.04, brute_force)[0] == 1
    # sizes weigh the cost: (3·0.25 + 0.25 + 1 + 1) / 6 around the same centroids
    assert clustering_cost(points, [3, 1, 1, 1], np.array([[0.5], [6.0]])) == pytest.approx(0.5)
    # clamp: d = m gives log e = 1, and more parameters than samples never less
    assert trade_off(2, 10, 10, 0.0, 5.0) == pytest.approx(np.sqrt(2.0))
    assert trade_off(2, 10, 1000, 0.0, 5.0) == pytest.approx(np.sqrt(200.0))
    assert trade_off(2, 10, 20, 0.0, 5.0) == pytest.approx(np.sqrt(4.0))


def test_lloyd_choice_against_brute_force():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    points = np.concatenate([c + 0.1 * rng.normal(size=(2, 2)) for c in centres])
    seeds = {1: [0], 2: [0, 2], 3: [0, 2, 4]}
    exact, exact_values = choose_k(points, [5] * 6, 0.5, brute_force)
    got, values = choose_k(points, [5] * 6, 0.5, lambda p, K: lloyd(p, seeds[K])[0])
    assert got == exact == 3
    assert values[2] == pytest.approx(exact_values[2])
    assert all(
        v >= e - 1e-12 for v, e in zip(values, exact_values, strict=True)
    )  # equal sizes: brute force is the least cost


def test_heur_run_is_cgpfl_with_the_chosen_k():
    data, start, plan = make_data(1, SIZES), make_model(2), make_plan(3, SIZES, 3, 2)
    active, seeds = [[0, 1, 2, 3, 4, 5]] * 3, {1: [0], 2: [0, 3], 3: [0, 3, 4]}
    K, values, run = cgpfl_heur(
        start, data, plan, active, 3.0, 0.05, 0.5, 2, 50.0, seeds, lambda t, K: list(range(K))
    )
    assert int(np.argmin(values)) + 1 == K
    assert len(values) == 3
    same = cgpfl(
        start, data, plan, active, 3.0, 0.05, 0.5, 2, K, [seeds[K], list(range(K)), list(range(K))]
    )
    for t in range(3):
        for a, b in zip(run[t]["server"]["models"], same[t]["server"]["models"], strict=True):
            assert_close(a, b)
    points = np.array([flatten(run[0]["uploads"][k]) for k in active[0]])
    cost = clustering_cost(points, SIZES, lloyd(points, seeds[K])[0])
    assert values[K - 1] == pytest.approx(trade_off(K, sum(SIZES), 12, 50.0, cost))
    assert (
        cgpfl_heur(start, data, plan, active, 3.0, 0.05, 0.5, 2, 0.0, seeds, lambda t, K: [0])[0]
        == 1
    )

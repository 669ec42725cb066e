import numpy as np
import pytest

from tests.reference.local_fedavg import fedavg
from tests.reference.model import combine, flatten, unflatten, whole
from tests.reference.ppfl import (
    copy_theta,
    forward,
    iterate_probabilities,
    label_affinity,
    laplacian_row,
    loss_and_gradients,
    mirror_step,
    output_loss,
    penalty,
    ppfl,
    split,
)
from tests.reference.toy import assert_close, finite_difference, make_data, make_model, make_plan

SIZES = [5, 9, 4]
ALL = [0, 1, 2]


def canonical_start(kind, K, names=None):
    parts = [split(make_model(40 + k, kind), names) for k in range(K)]
    return {"com": parts[0][0], "canonical": [p[1] for p in parts]}


def test_golden_alternate():
    # GLM linear, x = 1, y = 3, θ = (1, 3), c = (1/2, 1/2): ŷ = 2, ∇_c = (ŷ - y) (1, 3) = (-1, -3).
    # lr_c = ln 2: c ∝ (2, 8) = (0.2, 0.8). New ŷ = 0.2 + 2.4 = 2.6, slope -0.4: ∇θ_k = -0.4 c_k =
    # (-0.08, -0.32). lr = 1/2, E = 1: θ = (1.04, 3.16).
    data = {0: {"x": np.array([[1.0]]), "y": np.array([3.0])}}
    start = {"com": {}, "canonical": [{"weight": np.array([[1.0]])}, {"weight": np.array([[3.0]])}]}
    for structure in (1, 2):
        run = ppfl(
            start,
            data,
            [{0: [whole(data[0])]}],
            [[0]],
            0.5,
            np.log(2.0),
            0.0,
            structure=structure,
            family="linear",
        )[0]
        np.testing.assert_allclose(run["personal"][0], [0.2, 0.8])
        np.testing.assert_allclose(
            [m["weight"][0, 0] for m in run["server"]["theta"]["canonical"]], [1.04, 3.16]
        )
        # blocks in the order theta, c: θ first, with the old c: slope -1: θ = 1.25, 3.25; then ŷ =
        # 2.25, g = -0.75 (1.25, 3.25)
        both = [{0: [whole(data[0])]}] * 2
        run = ppfl(
            start,
            data,
            both,
            [[0]] * 2,
            0.5,
            1.0,
            0.0,
            schedule="random",
            blocks=["theta", "c"],
            structure=structure,
            family="linear",
        )
        np.testing.assert_allclose(run[0]["personal"][0], [0.5, 0.5])
        ratio = np.exp(0.75 * 2.0)
        np.testing.assert_allclose(run[1]["personal"][0], [1 / (1 + ratio), ratio / (1 + ratio)])
        np.testing.assert_allclose(
            [m["weight"][0, 0] for m in run[1]["server"]["theta"]["canonical"]], [1.25, 3.25]
        )


def test_golden_laplacian():
    # Equal canonical models: ∇_c f is the same in both coordinates and falls out. W = 1, c_0 =
    # (1/2, 1/2), c_1 = (3/4, 1/4), λ = 1. (LC)_0 = 2 c_0 - c_0 - c_1 = (-1/4, 1/4) = -(LC)_1. lr_c
    # = 2 ln 2: factors exp(-2 ln 2 · 2 · ∓1/4) = (2, 1/2) and (1/2, 2). c_0 ∝ (1, 1/4) = (0.8,
    # 0.2); c_1 ∝ (3/8, 1/2) = (3/7, 4/7), from the OLD c_0.
    data, model = make_data(1, SIZES[:2]), make_model(2)
    plan = make_plan(3, SIZES[:2], 1, 1)
    start = {"com": {}, "canonical": [model, model]}
    c = {0: np.array([0.5, 0.5]), 1: np.array([0.75, 0.25])}
    for how in ({"schedule": "alternate"}, {"schedule": "random", "blocks": ["c"]}):
        run = ppfl(
            start,
            data,
            plan,
            [[0, 1]],
            0.1,
            2 * np.log(2.0),
            1.0,
            np.ones((2, 2)),
            membership=c,
            **how,
        )[0]
        np.testing.assert_allclose(run["personal"][0], [0.8, 0.2])
        np.testing.assert_allclose(run["personal"][1], [3 / 7, 4 / 7])


def test_laplacian_and_affinity():
    rng = np.random.default_rng(0)
    W = label_affinity(rng.integers(0, 5, size=(4, 3)))
    C = rng.dirichlet(np.ones(2), size=4)
    L = np.diag(W.sum(axis=1)) - W
    rows = np.array([laplacian_row(W, C, i) for i in range(4)])
    np.testing.assert_allclose(rows, L @ C, atol=1e-14)
    assert penalty(W, C) == pytest.approx(np.trace(C.T @ L @ C))
    numeric = finite_difference(lambda v: penalty(W, v.reshape(4, 2)), C.ravel())
    np.testing.assert_allclose(
        2.0 * rows.ravel(), numeric, atol=1e-8
    )  # eq. 21: the gradient is 2 (LC)_i
    # histograms (3, 4) and (4, 3): cosine 24/25; an empty one is similar to nobody
    np.testing.assert_allclose(
        label_affinity([[3, 4], [4, 3], [0, 0]]), [[1, 0.96, 0], [0.96, 1, 0], [0, 0, 0]]
    )


def test_mirror_step_floor():
    # weights e^0 : e^-1000 -> (1, 0) -> floor (1, 1e-6) -> / 1.000001
    got = mirror_step(np.array([0.5, 0.5]), np.array([0.0, 1000.0]), 1.0)
    np.testing.assert_allclose(got, [1 / 1.000001, 1e-6 / 1.000001], rtol=1e-14)
    assert got.sum() == pytest.approx(1.0, abs=1e-15)


CASES = [
    ("mlr", None, 1, "model", "softmax"),
    ("mlr", None, 2, "model", "softmax"),
    ("dnn", None, 1, "model", "softmax"),
    ("dnn", None, 2, "model", "softmax"),
    ("dnn", None, 1, "layer", "softmax"),
    ("dnn", ["out.weight", "out.bias"], 1, "model", "softmax"),
    ("dnn", ["out.weight", "out.bias"], 2, "model", "softmax"),
    ("dnn", ["hidden.weight", "hidden.bias"], 2, "model", "softmax"),
    *[("glm", None, s, "model", f) for s in (1, 2) for f in ("linear", "logistic", "poisson")],
]


@pytest.mark.parametrize(("kind", "names", "structure", "mix", "family"), CASES)
def test_gradients_by_finite_differences(kind, names, structure, mix, family):
    rng = np.random.default_rng(0)
    K, b = 3, 5
    if kind == "glm":
        canonical = [
            {"weight": 0.5 * rng.normal(size=(1, 3)), "bias": 0.1 * rng.normal(size=1)}
            for _ in range(K)
        ]
        theta = {"com": {}, "canonical": canonical}
        y = {
            "linear": rng.normal(size=b),
            "logistic": rng.integers(0, 2, b),
            "poisson": rng.poisson(2.0, b),
        }[family]
    else:
        theta, y = canonical_start(kind, K, names), rng.integers(0, 3, b)
    x, weight, c = rng.normal(size=(b, 3)), rng.dirichlet(np.ones(b)), rng.dirichlet(np.ones(K))
    how = {"structure": structure, "mix": mix, "family": family}
    loss, by_theta, by_c = loss_and_gradients(theta, c, x, y, weight, **how)
    assert loss == pytest.approx(output_loss(forward(theta, c, x, **how), y, weight, family)[0])

    def at_c(v):
        return loss_and_gradients(theta, v, x, y, weight, **how)[0]

    np.testing.assert_allclose(by_c, finite_difference(at_c, c), atol=1e-7)
    for part in [("com", None)] + [("canonical", k) for k in range(K)]:
        block = theta["com"] if part[0] == "com" else theta["canonical"][part[1]]
        exact = by_theta["com"] if part[0] == "com" else by_theta["canonical"][part[1]]
        if not block:
            continue

        def at_block(v, part=part, block=block):
            moved = copy_theta(theta)
            if part[0] == "com":
                moved["com"] = unflatten(v, block)
            else:
                moved["canonical"][part[1]] = unflatten(v, block)
            return loss_and_gradients(moved, c, x, y, weight, **how)[0]

        np.testing.assert_allclose(
            flatten(exact), finite_difference(at_block, flatten(block)), atol=1e-7
        )


def test_glm_golden():
    # one row x = 1, c = (1/2, 1/2), θ = (0, ln 3). Logistic, eq. 11: ŷ = ½ ½ + ½ ¾ = 5/8; eq. 12:
    # σ(½ ln 3) = √3 / (1 + √3). Poisson, eq. 11: ŷ = ½ (1 + 3) = 2; eq. 12: ŷ = √3. Linear: ½ ln 3
    # both ways.
    theta = {
        "com": {},
        "canonical": [{"weight": np.array([[0.0]])}, {"weight": np.array([[np.log(3.0)]])}],
    }
    c, x = np.array([0.5, 0.5]), np.array([[1.0]])
    root = np.sqrt(3.0)
    expected = {
        "logistic": (5 / 8, root / (1 + root)),
        "poisson": (2.0, root),
        "linear": (np.log(3.0) / 2, np.log(3.0) / 2),
    }
    for family, pair in expected.items():
        for structure in (1, 2):
            got = forward(theta, c, x, structure, "model", family)[0, 0]
            assert got == pytest.approx(pair[structure - 1], abs=1e-14)
    one, w = np.array([1]), np.array([1.0])
    assert loss_and_gradients(theta, c, x, one, w, 1, "model", "logistic")[0] == pytest.approx(
        -np.log(5 / 8)
    )
    # by c, eq. 11: dL/dŷ = -1/ŷ = -8/5, times the means (1/2, 3/4)
    np.testing.assert_allclose(
        loss_and_gradients(theta, c, x, one, w, 1, "model", "logistic")[2], [-0.8, -1.2]
    )
    assert loss_and_gradients(theta, c, x, one, w, 1, "model", "poisson")[0] == pytest.approx(
        2 - np.log(2)
    )
    assert output_loss(np.array([[2.0]]), np.array([5.0]), w, "linear")[0] == 4.5


@pytest.mark.parametrize("names", [None, ["out.weight", "out.bias"]])
def test_the_two_structures(names):
    rng = np.random.default_rng(0)
    x, y, weight, c = (
        rng.normal(size=(5, 3)),
        rng.integers(0, 3, 5),
        np.full(5, 0.2),
        rng.dirichlet(np.ones(3)),
    )
    theta = canonical_start("dnn", 3, names)
    two = loss_and_gradients(theta, c, x, y, weight, 2)
    one = loss_and_gradients(theta, c, x, y, weight, 1, "layer" if names is None else "model")
    assert one[0] == pytest.approx(
        two[0]
    )  # a final linear layer, or every linear layer: mixing outputs = mixing parameters
    np.testing.assert_allclose(one[2], two[2])
    for k in range(3):
        assert_close(one[1]["canonical"][k], two[1]["canonical"][k])
    assert_close(one[1]["com"], two[1]["com"])
    if names is None:
        assert abs(loss_and_gradients(theta, c, x, y, weight, 1)[0] - two[0]) > 1e-3


@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("structure", [1, 2])
@pytest.mark.parametrize("schedule", ["alternate", "random"])
def test_one_canonical_model_is_fedavg(kind, structure, schedule):
    data, plan = make_data(1, SIZES), make_plan(3, SIZES, 3, 2)
    names = None if kind == "mlr" else ["out.weight", "out.bias"]
    com, canonical = split(make_model(40, kind), names)
    active = [[0, 1, 2], [1, 2], [0, 2]]
    run = ppfl(
        {"com": com, "canonical": [canonical]},
        data,
        plan,
        active,
        0.2,
        0.5,
        0.0,
        schedule=schedule,
        blocks=["theta"] * 3,
        structure=structure,
    )
    reference = fedavg(
        make_model(40, kind), data, plan, active, 0.2 / 2
    )  # a local step is lr / E, E = 2
    whole_lr = ppfl(
        {"com": com, "canonical": [canonical]},
        data,
        plan,
        active,
        0.1,
        0.5,
        0.0,
        structure=structure,
        divide=False,
    )
    for t in range(3):
        for r in (run, whole_lr):
            theta = r[t]["server"]["theta"]
            assert_close({**theta["com"], **theta["canonical"][0]}, reference[t]["server"]["model"])
            assert all(c == pytest.approx([1.0]) for c in r[t]["personal"].values())


def test_one_hot_membership_is_clustered_fl():
    # c one-hot, λ = 0, no floor: canonical model k moves by Σ_{i in its cluster} p_i (θ_i - θ), p_i
    # over ALL clients: the cluster's own FedAvg mixed in with the share of samples P_k; the others'
    # models do not touch it.
    data, plan = make_data(1, SIZES), make_plan(3, SIZES, 1, 2)
    start = canonical_start("mlr", 2)
    c = {0: np.array([1.0, 0.0]), 1: np.array([0.0, 1.0]), 2: np.array([1.0, 0.0])}
    run = ppfl(start, data, plan, [ALL], 0.2, 0.5, 0.0, membership=c, floor=0.0)[0]
    for k, members, share in ((0, [0, 2], 9 / 18), (1, [1], 9 / 18)):
        own = fedavg(start["canonical"][k], data, plan, [members], 0.1)[0]["server"]["model"]
        assert_close(
            run["server"]["theta"]["canonical"][k],
            combine([start["canonical"][k], own], [1 - share, share]),
        )
    for k in data:
        np.testing.assert_allclose(run["personal"][k], c[k], atol=1e-15)


def test_scales_weights_and_permutation():
    data, plan = make_data(1, SIZES), make_plan(3, SIZES, 2, 2)
    start, W = canonical_start("mlr", 2), label_affinity([[3, 1, 1], [2, 5, 2], [0, 2, 2]])
    args = (data, plan, [ALL] * 2, 0.2)
    client = ppfl(start, *args, 0.5, 0.1, W)
    permuted = ppfl({"com": {}, "canonical": start["canonical"][::-1]}, *args, 0.5, 0.1, W)
    for k in data:
        np.testing.assert_allclose(client[1]["personal"][k], permuted[1]["personal"][k][::-1])
        assert client[1]["personal"][k].sum() == pytest.approx(1.0)
    # λ = 0 and uniform p_i = 1/3: p_i ∇f_i with three times the step is ∇f_i
    a = ppfl(start, *args, 0.5, 0.0, c_scale="client", weights="uniform")
    b = ppfl(start, *args, 1.5, 0.0, c_scale="paper", weights="uniform")
    for k in data:
        np.testing.assert_allclose(a[1]["personal"][k], b[1]["personal"][k])
    assert_close(a[1]["server"]["theta"]["canonical"][0], b[1]["server"]["theta"]["canonical"][0])
    # a C-round with the whole data as its first batch is one with the full gradient; θ stands still
    # in it
    full = [{k: [whole(data[k])] for k in data}]
    how = {"schedule": "random", "blocks": ["c"]}
    first = ppfl(start, data, full, [ALL], 0.2, 0.5, 0.1, W, **how)[0]
    second = ppfl(start, data, plan[:1], [ALL], 0.2, 0.5, 0.1, W, c_gradient="full", **how)[0]
    for k in data:
        np.testing.assert_allclose(first["personal"][k], second["personal"][k])
        np.testing.assert_allclose(first["personal"][k], client[0]["personal"][k])
    assert_close(first["server"]["theta"]["canonical"][1], start["canonical"][1])


def test_random_iterate():
    # eq. 16 with ρ = (1/2, 1/2), L = (1, 1): mass η ½ (1 - 4η) for both rounds (the θ-block is the
    # smaller): 0.1·0.6 and 0.2·0.2
    np.testing.assert_allclose(
        iterate_probabilities([0.1, 0.2], (0.5, 0.5), (1.0, 1.0)), [0.6, 0.4]
    )
    with pytest.raises(ValueError, match="too large"):
        iterate_probabilities([1.0], (0.5, 0.5), (1.0, 1.0))

"""FedProx, SCAFFOLD, Ditto, APFL and FedAvg-FT on f_i(w) = ½ (w − b_i)², by hand."""

import numpy as np

from tests.reference.apfl import apfl
from tests.reference.ditto import ditto
from tests.reference.fedprox import fedprox
from tests.reference.finetune import finetune
from tests.reference.quadratics import quadratic_gradient
from tests.reference.scaffold import scaffold
from tests.reference.toy import assert_close


def clients(*targets):
    return {k: {"x": np.array([[1.0]]), "y": np.array([b])} for k, b in enumerate(targets)}


def w(value):
    return {"w": np.array([float(value)])}


def plan(rounds, steps, count=2):
    return [{k: [None] * steps for k in range(count)}] * rounds


def test_fedprox():
    # η = ½, μ = 1, w = 0, b = 4. Step 1: v = 0 + ½ 4 = 2 (no pull at w). Step 2: ∇ = (2 − 4) + (2 −
    # 0) = 0: v = 2.
    run = fedprox(w(0), clients(4.0, 8.0), plan(1, 2), [[0, 1]], 0.5, 1.0, quadratic_gradient)
    assert_close(run[0]["uploads"][0], w(2))
    assert_close(run[0]["server"]["model"], w(3))  # b = 8: 4; mean of 2 and 4


def test_scaffold():
    # η = ½, K = 1, b = 2 and 6, x = 0. Round 1, all: y = 1, 3; c_i = (0 − y) / ½ = −2, −6: ∇f_i(x).
    # x = 2, c = −4. Round 2, client 0 alone: y = 2 − ½ (0 + 2 − 4) = 3: the step along c = mean
    # gradient, not along its own (0). c_0⁺ = −2 + 4 + (2 − 3) / ½ = 0 = ∇f_0(2). Δc = 2: c = −4 + ½
    # · 2 = −3. x = 3.
    run = scaffold(w(0), clients(2.0, 6.0), plan(2, 1), [[0, 1], [0]], 0.5, 1.0, quadratic_gradient)
    assert_close(run[0]["server"]["model"], w(2))
    assert_close(run[0]["server"]["control"], w(-4))
    assert_close(run[1]["server"]["model"], w(3))
    assert_close(run[1]["control"][0], w(0))
    assert_close(run[1]["control"][1], w(-6))
    assert_close(run[1]["server"]["control"], w(-3))


def test_scaffold_with_two_steps_and_a_server_step():
    # b = 4 alone, η = ½: y = 2, 3; c_0⁺ = (0 − 3) / (2 · ½) = −3 = mean of the gradients −4, −2.
    # η_g = 2: x = 6.
    run = scaffold(w(0), clients(4.0), plan(1, 2, 1), [[0]], 0.5, 2.0, quadratic_gradient)
    assert_close(run[0]["server"]["model"], w(6))
    assert_close(run[0]["server"]["control"], w(-3))


def test_ditto():
    # η = ½ for w, ¼ for v, λ = 1, b = 4 and 8, one step: w_k = 2, 4; w = 3. v_0 = 0 + ¼ 4 = 1 (v =
    # w: no pull). Round 2: v_0 = 1 − ¼ ((1 − 4) + (1 − 3)) = 9/4: the pull is to the received 3,
    # not to the 3.5 trained from it.
    run = ditto(
        w(0),
        clients(4.0, 8.0),
        plan(2, 1),
        plan(2, 1),
        [[0, 1]] * 2,
        0.5,
        0.25,
        1.0,
        quadratic_gradient,
    )
    assert_close(run[0]["server"]["model"], w(3))
    assert_close(run[0]["personal"][0], w(1))
    assert_close(run[1]["personal"][0], w(9 / 4))
    assert_close(run[1]["server"]["model"], w(4.5))


def test_apfl():
    # η = ½, α = ½, b = 4 and 8, one step. Round 1: v = w: α stays. v_0 = ½ ½ 4 = 1; w_0 = 2, w_1 =
    # 4: w = 3. "received". Round 2, client 0: v = 1, w = 3, v̄ = 2, ∇f(v̄) = −2; α = ½ − ½ (1 −
    # 3)(−2) = −3/2 → 0. v̄ = w = 3; v stays 1. Client 1: v = 2, w = 3, v̄ = 5/2, ∇ = −11/2: α = ½ −
    # ½ (−1)(−11/2) → 0.
    run = apfl(
        w(0),
        clients(4.0, 8.0),
        plan(2, 1),
        [[0, 1]] * 2,
        0.5,
        0.5,
        True,
        quadratic_gradient,
        "received",
    )
    assert_close(run[0]["local"][0], w(1))
    assert run[0]["alpha"] == {0: 0.5, 1: 0.5}
    assert_close(run[0]["personal"][0], w(2))  # ½ 1 + ½ 3
    assert run[1]["alpha"] == {0: 0.0, 1: 0.0}
    assert_close(run[1]["local"][0], w(1))
    assert_close(run[1]["personal"][0], run[1]["server"]["model"])
    # fixed α: v̄ = 2, v_0 = 1 + ½ ½ 2 = 3/2
    fixed = apfl(
        w(0),
        clients(4.0, 8.0),
        plan(2, 1),
        [[0, 1]] * 2,
        0.5,
        0.5,
        False,
        quadratic_gradient,
        "received",
    )
    assert_close(fixed[1]["local"][0], w(1.5))
    # η = 1/10, b = 1 and −9: v_0 = 1/20, w = −2/5; v̄ = −7/40, ∇ = −47/40: α = ½ + 1/10
    # (9/20)(47/40) = 0.552875
    grows = apfl(
        w(0),
        clients(1.0, -9.0),
        plan(2, 1),
        [[0, 1]] * 2,
        0.1,
        0.5,
        True,
        quadratic_gradient,
        "received",
    )
    np.testing.assert_allclose(grows[1]["alpha"][0], 0.552875)
    # "kept": after round 1 v̄_0 = ½ 1 + ½ 2 = 3/2, with the w that it trained. Round 2: v_0 = 1 + ½
    # ½ (4 − 3/2) = 13/8, w_0 = 7/2, v̄_0 = 41/16; with learned α: ½ − ½ (1 − 3)(3/2 − 4) → 0.
    kept = apfl(
        w(0), clients(4.0, 8.0), plan(2, 1), [[0, 1]] * 2, 0.5, 0.5, False, quadratic_gradient
    )
    assert_close(kept[0]["personal"][0], w(1.5))
    assert_close(kept[1]["local"][0], w(13 / 8))
    assert_close(kept[1]["personal"][0], w(41 / 16))
    kept = apfl(
        w(0), clients(4.0, 8.0), plan(2, 1), [[0, 1]] * 2, 0.5, 0.5, True, quadratic_gradient
    )
    assert kept[1]["alpha"][0] == 0.0


def test_finetune():
    # η = ½, b = 4 and 8: w = 3. Then two steps of ¼: 3 + ¼ 1 = 13/4, 13/4 + ¼ ¾ = 55/16. Client 1
    # never took part: its model starts from w as well: 2 (alone, client 0) + ¼ 6 = 7/2.
    last = {0: [None] * 2, 1: [None]}
    _, tuned = finetune(
        w(0), clients(4.0, 8.0), plan(1, 1), [[0, 1]], 0.5, last, 0.25, quadratic_gradient
    )
    assert_close(tuned[0], w(55 / 16))
    _, tuned = finetune(
        w(0), clients(4.0, 8.0), plan(1, 1), [[0]], 0.5, last, 0.25, quadratic_gradient
    )
    assert_close(tuned[1], w(3.5))

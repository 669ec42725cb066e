import numpy as np
import pytest

from tests.reference.local_fedavg import train
from tests.reference.model import accuracy, mean_loss
from tests.reference.persfl import (
    distillation_dlogits,
    distillation_loss,
    grid_search,
    optimal_teacher,
    persfl,
    stage1,
    student,
)
from tests.reference.toy import (
    assert_close,
    finite_difference,
    make_batches,
    make_data,
    make_model,
    make_plan,
)

SIZES = [5, 9, 4]


def setting(kind="mlr", rounds=4):
    data, start, plan = make_data(1, SIZES), make_model(2, kind), make_plan(3, SIZES, rounds, 2)
    rng = np.random.default_rng(5)
    return data, start, plan, {k: make_batches(rng, n, 3, 4) for k, n in enumerate(SIZES)}


def test_golden():
    # T = 2, teacher logits (2 ln 9, 0): σ(O/T) = (0.9, 0.1); student logits (0, 0): σ(A/T) = (1/2,
    # 1/2). λ = 1/2, y = 1. Soft part: λ T² (1/T) (σ(A/T) - σ(O/T)) = λ T (-0.4, 0.4) = (-0.4, 0.4).
    # Hard part: (1 - λ)(1/2, -1/2) = (1/4, -1/4). KL = 0.9 ln 1.8 + 0.1 ln 0.2; CE of the softened
    # outputs = ln 2; hard CE = ln 2.
    a, o, y, w = (
        np.zeros((1, 2)),
        np.array([[2 * np.log(9.0), 0.0]]),
        np.array([1]),
        np.array([1.0]),
    )
    kl, ln2 = 0.9 * np.log(1.8) + 0.1 * np.log(0.2), np.log(2.0)
    for objective, soft in (("kl", kl), ("gd", ln2)):
        assert distillation_loss(a, o, y, w, 0.5, 2.0, objective) == pytest.approx(
            0.5 * ln2 + 2.0 * soft
        )
        np.testing.assert_allclose(
            distillation_dlogits(a, o, y, w, 0.5, 2.0, objective), [[-0.15, 0.15]]
        )
    # the other direction: KL(A ‖ O) = ½ ln(5/9) + ½ ln 5 = ½ ln(25/9); its gradient by the logits
    # is (1/T) a ∘ (r - a·r), r = ln a - ln o = (ln 5/9, ln 5), a·r = ½ ln(25/9): r - a·r = ln 3
    # (-1, 1), times ½ ½: ¼ ln 3 (-1, 1); times λT² = 2
    assert distillation_loss(a, o, y, w, 0.5, 2.0, "reverse_kl") == pytest.approx(
        0.5 * ln2 + np.log(25 / 9)
    )
    np.testing.assert_allclose(
        distillation_dlogits(a, o, y, w, 0.5, 2.0, "reverse_kl"),
        np.array([[0.25, -0.25]]) + np.log(3) / 2 * np.array([[-1, 1]]),
    )


@pytest.mark.parametrize("objective", ["kl", "gd", "reverse_kl"])
def test_dlogits_by_finite_differences(objective):
    rng = np.random.default_rng(0)
    a, o, y, w = (
        rng.normal(size=(4, 3)),
        rng.normal(size=(4, 3)),
        rng.integers(0, 3, 4),
        rng.dirichlet(np.ones(4)),
    )
    numeric = finite_difference(
        lambda v: distillation_loss(v.reshape(4, 3), o, y, w, 0.3, 5.0, objective), a.ravel()
    )
    np.testing.assert_allclose(
        distillation_dlogits(a, o, y, w, 0.3, 5.0, objective).ravel(), numeric, atol=1e-8
    )


@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_lambda_zero_is_fine_tuning_and_gd_trains_like_kl(kind):
    data, teacher, _, batches = setting(kind)
    tuned = train(teacher, data[0], batches[0], 0.1)
    assert_close(student(teacher, data[0], batches[0], 0.0, 5.0, 0.1), tuned)
    a, b = (
        student(teacher, data[0], batches[0], 0.6, 5.0, 0.1, objective)
        for objective in ("kl", "gd")
    )
    assert_close(a, b)
    reverse = student(teacher, data[0], batches[0], 0.6, 1.0, 0.1, "reverse_kl")
    straight = student(teacher, data[0], batches[0], 0.6, 1.0, 0.1, "kl")
    assert max(np.max(np.abs(reverse[n] - straight[n])) for n in reverse) > 1e-6
    # λ = 1: the student already equals the teacher and stays
    assert_close(student(teacher, data[0], batches[0], 1.0, 5.0, 0.1), teacher)


def test_teacher_is_the_strictly_best_candidate():
    data, start, plan, _ = setting()
    candidates, rounds = stage1(start, data, plan, 0.3)
    assert len(candidates) == len(plan) + 1
    assert_close(candidates[0], start)
    assert_close(candidates[-1], rounds[-1]["server"]["model"])
    for k in data:
        losses = [mean_loss(c, data[k]["x_val"], data[k]["y_val"]) for c in candidates]
        e, teacher, loss = optimal_teacher(candidates, data[k])
        assert e == int(np.argmin(losses))
        assert loss == min(losses)
        assert_close(teacher, candidates[e])
    same = [candidates[0], candidates[0]]
    assert optimal_teacher(same, data[0])[0] == 0  # equal is not better


def test_grid_search_ties():
    data, teacher, _, batches = setting()
    grid = [(0.5, 1.0), (0.0, 1.0), (0.0, 9.0), (1.0, 1.0)]
    chosen, students, scores = grid_search(teacher, data[1], batches[1], grid, 0.2)
    assert_close(students[1], students[2])  # T does nothing at λ = 0
    best = max(accuracy for accuracy, _ in scores)
    lowest = min(loss for accuracy, loss in scores if accuracy == best)
    assert chosen == [i for i, s in enumerate(scores) if s == (best, lowest)][0]  # noqa: RUF015
    assert scores[0] == (
        accuracy(students[0], data[1]["x_val"], data[1]["y_val"]),
        mean_loss(students[0], data[1]["x_val"], data[1]["y_val"]),
    )
    assert grid_search(teacher, data[1], batches[1], [(0.0, 9.0), (0.0, 1.0)], 0.2)[0] == 0


@pytest.mark.parametrize("teacher", ["optimal", "final"])
def test_persfl_is_its_parts(teacher):
    data, start, plan, batches = setting()
    grid = [(lam, T) for lam in (0.0, 0.5, 1.0) for T in (1.0, 5.0)]
    run = persfl(start, data, plan, 0.3, batches, 0.1, grid, teacher=teacher)
    assert len(run) == len(plan) + 1
    last = run[-1]
    candidates, _ = stage1(start, data, plan, 0.3)
    for k in data:
        number = optimal_teacher(candidates, data[k])[0] if teacher == "optimal" else len(plan)
        assert last["teacher_round"][k] == number
        if teacher == "optimal":
            assert run[-2]["teacher_round"][k] == number
        expected = student(
            candidates[number], data[k], batches[k], last["lam"][k], last["T"][k], 0.1
        )
        assert_close(last["personal"][k], expected)
        assert (last["lam"][k], last["T"][k]) == grid[last["chosen"][k]]

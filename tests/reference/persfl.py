"""PersFL: the optimal teacher of each client, then distillation, with plain loops.

PersFL, Algorithm 1: stage 1 lines 3-11 (eq. 2), stage 2 lines 14-25 (eq. 3), and eq. 7 for
PersFL-GD; METHODS.md section 2.

Readings:
- Soft loss "kl": KL( σ(O/T) ‖ σ(A/T) ), teacher first, as line 20 has it (eq. 3 prints the student
  first).
- Soft loss "gd": cross-entropy with the teacher's softened output as target; eq. 7 has the same
  factor λT² as eq. 3.
  Teacher constant, CE = KL + entropy(teacher): "kl" and "gd" have the SAME gradient and train the
  same student from the same (λ, T); only the value of the loss differs. "reverse_kl" (eq. 3 read
  literally: KL( σ(A/T) ‖ σ(O/T) )) does differ.
- The candidates for teacher are every model a client received at the start of a round (the first is
  the initial model)
  and the last aggregate: candidate e is the global model after e rounds, e = 0 … E_G.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan, fedavg
from tests.reference.model import (
    Batch,
    Client,
    Params,
    Snapshot,
    accuracy,
    at,
    backward,
    copy,
    cross_entropy_dlogits,
    cross_entropy_of_logits,
    log_softmax,
    logits,
    mean_loss,
    softmax_vjp,
    step,
)


def soft_loss(
    student: np.ndarray, teacher: np.ndarray, weight: np.ndarray, T: float, objective: str
) -> float:
    """Weighted soft loss between logits [b, C], without the factor λT²: lines 20-21."""
    log_a, log_o = log_softmax(student / T), log_softmax(teacher / T)
    total = 0.0
    for i in range(len(weight)):
        if objective == "kl":
            row = np.sum(np.exp(log_o[i]) * (log_o[i] - log_a[i]))
        elif objective == "gd":
            row = -np.sum(np.exp(log_o[i]) * log_a[i])
        elif objective == "reverse_kl":
            row = np.sum(np.exp(log_a[i]) * (log_a[i] - log_o[i]))
        else:
            raise ValueError(objective)
        total += float(weight[i]) * float(row)
    return total


def soft_dlogits(
    student: np.ndarray, teacher: np.ndarray, weight: np.ndarray, T: float, objective: str
) -> np.ndarray:
    """Its derivative by the student's logits; the teacher is a constant."""
    log_a, log_o = log_softmax(student / T), log_softmax(teacher / T)
    if objective in ("kl", "gd"):
        rows = (np.exp(log_a) - np.exp(log_o)) / T
    elif objective == "reverse_kl":
        rows = (
            softmax_vjp(np.exp(log_a), log_a - log_o) / T
        )  # the derivative of Σ a, which is 0, falls out
    else:
        raise ValueError(objective)
    return np.asarray(weight)[:, None] * rows


def distillation_loss(
    student: np.ndarray,
    teacher: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    lam: float,
    T: float,
    objective: str = "kl",
) -> float:
    """Line 18: (1 - λ) * hardLoss + λT² * softLoss, on logits."""
    hard = cross_entropy_of_logits(student, y, weight)  # line 19
    return (1.0 - lam) * hard + lam * T**2 * soft_loss(student, teacher, weight, T, objective)


def distillation_dlogits(
    student: np.ndarray,
    teacher: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    lam: float,
    T: float,
    objective: str = "kl",
) -> np.ndarray:
    hard = cross_entropy_dlogits(student, y, weight)
    return (1.0 - lam) * hard + lam * T**2 * soft_dlogits(student, teacher, weight, T, objective)


def stage1(
    start: Params, data: Mapping[int, Client], plan: Plan, lr: float | Sequence[float]
) -> tuple[list[Params], list[Snapshot]]:
    """FedAvg with all clients active: ([G received at each round start] + [last aggregate],
    FedAvg's snapshots).

    Section 4.3, eq. 4: min f(w) = 1/N Σ f_i(w), a mean over users that does not see their samples.
    """
    rounds = fedavg(start, data, plan, [list(data)] * len(plan), lr, uniform=True)
    candidates = [copy(start)] + [snapshot["server"]["model"] for snapshot in rounds]
    return candidates, rounds


def optimal_teacher(candidates: Sequence[Params], client: Client) -> tuple[int, Params, float]:
    """Lines 4-10 for one client: (candidate number, copy of it, its validation cross-entropy): a
    later candidate must be strictly better.
    """
    best, best_loss = -1, np.inf
    for e, candidate in enumerate(candidates):
        loss = mean_loss(candidate, client["x_val"], client["y_val"])  # line 5
        if loss < best_loss:  # line 6
            best, best_loss = e, loss  # lines 7-8
    return best, copy(candidates[best]), float(best_loss)


def student(
    teacher: Params,
    client: Client,
    batches: Sequence[Batch],
    lam: float,
    T: float,
    lr: float | Sequence[float],
    objective: str = "kl",
) -> Params:
    """Lines 15-24: A starts from O's weights and takes one step per mini-batch (the epochs laid end
    to end).

    A sequence `lr` is read per step.
    """
    a = copy(teacher)
    for i, (index, weight) in enumerate(batches):
        x, y = client["x"][index], client["y"][index]
        d = distillation_dlogits(logits(a, x), logits(teacher, x), y, weight, lam, T, objective)
        a = step(a, backward(a, x, d), at(lr, i))  # line 22
    return a


def grid_search(
    teacher: Params,
    client: Client,
    batches: Sequence[Batch],
    grid: Sequence[tuple[float, float]],
    lr: float | Sequence[float],
    objective: str = "kl",
) -> tuple[int, list[Params], list[tuple[float, float]]]:
    """(chosen position in grid, all students, [(validation accuracy, validation loss)] of each (λ,
    T) of the grid).

    Highest validation accuracy; among equals the lowest validation loss; among equals the first in
    grid order.
    """
    students, scores = [], []
    for lam, T in grid:
        a = student(teacher, client, batches, lam, T, lr, objective)
        students.append(a)
        scores.append(
            (
                accuracy(a, client["x_val"], client["y_val"]),
                mean_loss(a, client["x_val"], client["y_val"]),
            )
        )
    chosen = 0
    for i in range(1, len(grid)):
        better = scores[i][0] > scores[chosen][0]
        equal_but_lower_loss = (
            scores[i][0] == scores[chosen][0] and scores[i][1] < scores[chosen][1]
        )
        if better or equal_but_lower_loss:
            chosen = i
    return chosen, students, scores


def persfl(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    lr: float | Sequence[float],
    student_plan: Mapping[int, Sequence[Batch]],
    student_lr: float | Sequence[float],
    grid: Sequence[tuple[float, float]],
    objective: str = "kl",
    teacher: str = "optimal",
) -> list[Snapshot]:
    """E_G snapshots of stage 1, then one of stage 2. data[k] needs x_val and y_val. All grid points
    share batches and teacher.

    Stage 1 snapshot: {"server": {"model"}, "personal": {}, "teacher_round": {k}, "teacher_loss":
    {k}}, the teacher being the best of the models received up to the start of that round plus that
    round's aggregate. Stage 2 snapshot: {"server": {"model": final}, "personal": {k: chosen
    student}, "teacher": {k: params}, "teacher_round": {k}, "chosen": {k: position in grid}, "lam":
    {k}, "T": {k}, "students": {k: [params per grid point]}, "scores": {k: [(validation accuracy,
    validation loss)]}}.
    """
    candidates, rounds = stage1(start, data, plan, lr)
    history: list[Snapshot] = []
    for t, snapshot in enumerate(rounds):
        found = {k: optimal_teacher(candidates[: t + 2], data[k]) for k in data}
        history.append(
            {
                "server": snapshot["server"],
                "personal": {},
                "teacher_round": {k: found[k][0] for k in data},
                "teacher_loss": {k: found[k][2] for k in data},
            }
        )
    last: Snapshot = {"server": {"model": copy(candidates[-1])}}
    for name in (
        "personal",
        "teacher",
        "teacher_round",
        "chosen",
        "lam",
        "T",
        "students",
        "scores",
    ):
        last[name] = {}
    for k in data:
        if teacher == "optimal":
            number, o, _ = optimal_teacher(candidates, data[k])
        elif teacher == "final":
            number, o = len(candidates) - 1, copy(candidates[-1])
        else:
            raise ValueError(teacher)
        chosen, students, scores = grid_search(
            o, data[k], student_plan[k], grid, student_lr, objective
        )
        last["teacher_round"][k], last["teacher"][k] = number, o
        last["chosen"][k], last["students"][k], last["scores"][k] = chosen, students, scores
        last["lam"][k], last["T"][k] = grid[chosen]
        last["personal"][k] = copy(students[chosen])
    history.append(last)
    return history

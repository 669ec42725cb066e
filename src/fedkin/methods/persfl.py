"""PersFL (Divi, Farrukh & Celik, 2021): each client keeps its optimal teacher, then distils from
it. Algorithm 1.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from fedkin.core.aggregation import Mean, Weights
from fedkin.core.hyperparameters import Count, Fractions, NotNegative, Positives, Whole, declared
from fedkin.core.method import (
    ClientContext,
    ClientInfo,
    Method,
    Needs,
    ServerContext,
    class_scores,
)
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, outputs, scan_several
from fedkin.core.tree import Params, Tree
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.coarse_to_fine import Point, coarse_to_fine
from fedkin.methods.parts.persfl.distances import DISTANCES
from fedkin.methods.parts.persfl.earlier_models import message_of, places, round_of, with_earlier

__all__ = ["persfl"]

LAMBDAS = tuple(round(0.05 * i, 2) for i in range(21))
TEMPERATURES = (1.0, 5.0, 9.0, 13.0, 17.0, 21.0, 25.0)

FEW = 32  # points of a grid that is searched whole


class Student(NamedTuple):
    """One point of the grid, trained, and its rank on validation data."""

    parameters: Params
    lam: float
    temperature: float
    rank: tuple[float, float]


@declared
def persfl(
    *,
    lr: float,
    objective: Literal["kl", "reverse_kl", "gd"] = "kl",
    teacher: Literal["optimal", "final"] = "optimal",
    lams: Fractions = LAMBDAS,
    temperatures: Positives = TEMPERATURES,
    student_epochs: Count = 5,
    student_lr: NotNegative | None = None,
    search: Literal["coarse", "grid"] = "coarse",
    margin: NotNegative = 1.0,
    kept: Whole = 0,
    weights: Weights = "uniform",
) -> Method:
    """PersFL. Stage 1 is FedAvg while each client keeps the global model with the least loss on its
    validation data; stage 2 distils, at home, from that teacher: (1−λ) CE + λ T² · soft loss, λ and
    T by validation accuracy, or by the experiment's measure where it is another.

    Readings: eq. 3 has the argmin of the training objective over λ and T; validation chooses them
    here, as it does the teacher (eq. 2). Line 20 and eq. 3 contradict each other on the order of
    the KL. The aggregate of the last round is a candidate too; values that validation cannot tell
    apart are decided by the lower loss, then by the order of the grid; λ = 0 does not depend on T
    and is trained once. Stage 2 has one rate: the schedule's decay is stage 1's.
    Deviations: by default the grid is searched coarsely, and students within one standard error of
    the best are equal to it. The paper's are search = "grid" and margin = 0.

    Args:
        lr: Learning rate of both stages.
        objective: "kl", the teacher first (line 20 of Algorithm 1), "reverse_kl", the student first
            (eq. 3), or "gd" (eq. 7), whose gradient is that of "kl".
        teacher: The client's "optimal" one, or the "final" global model (Table 4).
        lams, temperatures: λ in [0, 1] and T > 0 of the grid; its default is the one that the
            published averages imply.
        student_epochs: Passes over the training data in stage 2.
        student_lr: Learning rate of stage 2; lr if not given.
        search: "grid" trains a student at each of its points, as the paper does; "coarse" some of
            them, then those around the best, a quarter of the default grid.
        margin: Standard errors of the best student's measure within which others count as equal to
            it, so that the lower loss decides; with 0, as in the paper, the measure alone decides.
        kept: How many earlier global models the server keeps, evenly spread over the rounds, for
            newcomers to choose their teacher among; with none it is the last.
        weights: "samples" or "uniform": the weights of stage 1's mean; eq. 4 minimises the uniform
            mean over users.
    """
    base = fedavg(lr=lr, weights=weights)

    def distance(
        w: Params, model: Model, batch: Batch, expert: Tensor, lam: Tensor, t: Tensor
    ) -> Tensor:
        own = model.train_outputs(w, batch.x)
        hard = model.family.nll(own, batch.y)
        ours = class_scores(own)
        soft = DISTANCES[objective](
            torch.log_softmax(expert / t, 1), torch.log_softmax(ours / t, 1)
        )
        return (((1 - lam) * hard + lam * t * t * soft) * batch.weight).sum()

    def step(
        model: Model, w: Params, batch: tuple[Batch, Tensor], rate: Tensor, lam: Tensor, t: Tensor
    ) -> Params:
        return descend(w, gradient(distance)(w, model, *batch, lam, t), rate)

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        after = base.server_update(state, sent, server)
        return with_earlier(after, state, server.key.round, kept) if kept else after

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"teacher": initial, "loss": math.inf, "round": 0}

    def consider(received: Tree, own: Tree, data: ClientContext) -> Tree:
        """Keep the candidate if its validation loss is the least so far (lines 5-9)."""
        w, number = received["parameters"], round_of(received, data.rounds_before)
        loss, _ = data.score(w, "val")
        return {"teacher": w, "loss": loss, "round": number} if loss < own["loss"] else own

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        return base.client_update(received, consider(received, own, data), data)

    def finalize(received: Tree, own: Tree, data: ClientContext) -> Tree:
        own, w = consider(received, own, data), received["parameters"]
        # what a server that stands still sends again keeps the round of its first time
        if teacher == "final" and not same(w, own["teacher"]):
            own = {**own, "teacher": w, "round": round_of(received, data.rounds_before)}
        best = chosen(own["teacher"], data)
        return {
            **own,
            "student": best.parameters,
            "imitation": best.lam,
            "temperature": best.temperature,
        }

    def chosen(expert: Params, data: ClientContext) -> Student:
        """The best student: of the whole grid, or of the points that ``search`` reaches."""
        batches = data.batches(
            "permuted",
            "students",
            epochs=student_epochs,
            beside=class_scores(outputs(data.model, expert, data.whole("train"))),
        )

        def measured(points: Sequence[Point]) -> list[Student]:
            rows = [(lr if student_lr is None else student_lr, lam, t) for lam, t in points]
            models = scan_several(step, expert, batches, rows)
            return [
                Student(w, *point, data.rank(w, "val"))
                for w, point in zip(models, points, strict=True)
            ]

        every, lowest = grid_of(lams, temperatures), min(temperatures)
        if search == "grid" or len(every) <= FEW:
            students = measured(every)
        else:
            students = coarse_to_fine(
                measured,
                _rank,
                (lams, temperatures),
                lambda at: at if at[0] > 0 else (at[0], lowest),
            )
        best = min(students, key=_rank)
        if margin == 0:
            return best
        worst = best.rank[0] + margin * data.rank_error(best.parameters, "val", best.rank)
        return min((one for one in students if one.rank[0] <= worst), key=lambda one: one.rank[1])

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        w = received["parameters"]
        # until it has considered one, its teacher is what it received
        best = w if teacher == "final" or own["loss"] == math.inf else own["teacher"]
        return {"personal": own.get("student", best), "global": w}

    def client_metrics(own: Tree) -> dict[str, float]:
        metrics = {
            "teacher_round": own["round"],
            "imitation": own.get("imitation"),
            "temperature": own.get("temperature"),
        }
        return {name: value for name, value in metrics.items() if value is not None}

    return base._replace(
        name="persfl",
        client=client,
        broadcast=lambda state, client: message_of(state),
        expected_update=lambda received, info: {"parameters": received["parameters"]},
        client_update=client_update,
        server_update=server_update,
        newcomer_placements=lambda state, newcomer, info: places(state),
        personal_models=personal_models,
        finalize=finalize,
        client_metrics=client_metrics,
        needs=Needs(full_participation=True, classes=True, validation=True),
    )


def grid_of(lams: Sequence[float], temperatures: Sequence[float]) -> list[Point]:
    """All points; λ = 0 does not depend on T and is there once."""
    first = min(temperatures)
    return [(lam, t) for lam in lams for t in temperatures if lam > 0 or t == first]


def same(a: Params, b: Params) -> bool:
    """Whether two models have the same bits."""
    return all(torch.equal(a[name], b[name]) for name in a)


def _rank(student: Student) -> tuple[float, float]:
    """By the experiment's measure on validation data, then loss."""
    return student.rank

"""PersFL beside tests/reference/persfl.py: both stages, and what every client chose."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.ops import parallel_scans
from fedkin.methods.persfl import persfl
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import persfl as reference
from tests.reference.model import accuracy, mean_loss

LR, STUDENT_LR, ROUNDS, EPOCHS = 0.8, 0.3, 5, 3
LAMS, TEMPERATURES = (0.0, 0.25, 0.5, 1.0), (1.0, 5.0)
GRID = [(lam, T) for lam in LAMS for T in TEMPERATURES if lam > 0 or T == 1.0]
CASES = {
    "kl, optimal": {},
    "gd, optimal": {"objective": "gd"},
    "reverse kl, optimal": {"objective": "reverse_kl"},
    "kl, final": {"teacher": "final"},
    "gd, final, trace": {"objective": "gd", "teacher": "final", "compile": "trace"},
    "decay": {"milestones": (2,), "decay": 0.2, "compile": "trace"},
    "one rate for both stages": {"student_lr": None},
    "students stay teachers": {"student_lr": 0.0},
}


def make(**case):
    hyper = {"objective": "kl", "teacher": "optimal", "student_lr": STUDENT_LR, "margin": 0.0}
    hyper.update({name: case.pop(name) for name in list(case) if name in hyper})
    kind, rounds = case.pop("kind", "mlr"), case.pop("rounds", ROUNDS)
    method = persfl(lr=LR, lams=LAMS, temperatures=TEMPERATURES, student_epochs=EPOCHS, **hyper)
    model = architecture(kind)
    run = Federated(
        method, population((5, 9, 4, 11, 7, 6), seed=3, val=9), {kind: model}, epochs=2, **case
    ).run(rounds)
    rate = LR if hyper["student_lr"] is None else hyper["student_lr"]
    plan = {k: run.student_plan(rounds + 1, k, EPOCHS) for k in run.infos}
    theirs = reference.persfl(
        arrays(model.initial),
        run.data,
        run.plan(rounds),
        run.rates(LR, rounds),
        plan,
        rate,  # the schedule's decay is stage 1's
        GRID,
        hyper["objective"],
        hyper["teacher"],
    )
    return run, theirs


@pytest.mark.certifies("persfl", "reference")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_persfl(case):
    kind = "dnn" if case.get("objective") != "gd" else "mlr"
    run, theirs = make(kind=kind, **case)
    for t, (moment, other) in enumerate(zip(run.moments, theirs[:-1], strict=True)):
        agree("persfl", moment.state, {"parameters": other["server"]["model"]})
        # a client has seen the model it received in this round (candidate t), not yet this round's
        # aggregate
        seen = dict.fromkeys(run.infos, 0) if t == 0 else theirs[t - 1]["teacher_round"]
        assert {k: own["round"] for k, own in moment.own.items()} == seen
        if t > 0:
            agree(
                "persfl",
                {k: own["loss"] for k, own in moment.own.items()},
                theirs[t - 1]["teacher_loss"],
            )
    end, other = run.finish(), theirs[-1]
    for k, own in end.own.items():
        agree("persfl", own["teacher"], other["teacher"][k])
        agree("persfl", own["student"], other["personal"][k])
        w, x, y = other["personal"][k], run.data[k]["x_test"], run.data[k]["y_test"]
        agree_scores("persfl", end, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
        notes = end.record.notes[k]
        assert notes["teacher_round"] == other["teacher_round"][k]
        assert notes["imitation"] == other["lam"][k]
        if other["lam"][k] < 1:
            assert notes["temperature"] == other["T"][k]
        else:  # a student begins where its loss is smallest, whatever T: rounding decides
            place = GRID.index((notes["imitation"], notes["temperature"]))
            right, loss = other["scores"][k][place]
            best_right, best_loss = other["scores"][k][other["chosen"][k]]
            assert right == best_right
            assert abs(loss - best_loss) < 1e-12
    if case.get("teacher") == "final":
        assert set(other["teacher_round"].values()) == {ROUNDS}


@pytest.mark.certifies("persfl", "reference")
def test_the_choices_differ_between_clients():
    """The comparison above means something: teachers of several rounds, several λ and both T are
    chosen in it.
    """
    teachers, pairs = set(), set()
    for kind in ("mlr", "dnn"):
        _, theirs = make(kind=kind)
        teachers |= set(theirs[-1]["teacher_round"].values())
        pairs |= {(theirs[-1]["lam"][k], theirs[-1]["T"][k]) for k in theirs[-1]["lam"]}
    assert len(teachers) > 2
    assert len({lam for lam, _ in pairs}) > 2
    assert {T for lam, T in pairs if lam > 0} == {1.0, 5.0}


@pytest.mark.parametrize("teacher", ["optimal", "final"])
def test_a_teachers_round_is_that_of_its_model_where_training_ended_early(teacher):
    """The finish keeps the number that was planned: here 31, after two rounds."""
    for number in (3, 31):
        run, theirs = make(teacher=teacher, rounds=2)
        notes = run.coordinator.finish(number, 2).notes
        rounds = {k: of["teacher_round"] for k, of in notes.items()}
        assert rounds == theirs[-1]["teacher_round"]
        assert max(rounds.values()) == 2


@pytest.mark.certifies("persfl", "law")
def test_teacher_and_student_are_chosen_on_validation_data_only():
    """Other test samples change no choice and no model; other validation samples do."""
    people = population((5, 9, 4, 11), seed=3)
    ends = []
    for split in (None, "test", "val"):
        changed = people.x.clone()
        if split:
            rows = np.concatenate(people.rows(split))
            changed[rows] = -2.0 * changed[rows]
        other = type(people)(**{**people.__dict__, "x": changed})
        run = Federated(persfl(lr=LR, lams=LAMS, temperatures=TEMPERATURES), other, epochs=2).run(
            ROUNDS
        )
        ends.append(run.finish())
    names = ("round", "imitation", "temperature")
    plain, by_test, by_val = (
        [([own[n] for n in names], own["student"]["weight"].tobytes()) for own in end.own.values()]
        for end in ends
    )
    assert plain == by_test
    assert plain != by_val


@pytest.mark.certifies("persfl", "law")
@pytest.mark.parametrize("margin", [0.85, 1.0, 3.0])
def test_students_that_validation_cannot_tell_apart_are_chosen_by_their_loss(margin):
    _, theirs = make(kind="dnn")
    run = make(kind="dnn", margin=margin)[0]
    end, moved = run.finish(), 0
    for k, scores in theirs[-1]["scores"].items():
        best, rows = max(right for right, _ in scores), len(run.data[k]["y_val"])
        likely = (best * rows + 2) / (rows + 4)
        least = best - margin * (likely * (1 - likely) / (rows + 4)) ** 0.5
        at = min((i for i, s in enumerate(scores) if s[0] >= least), key=lambda i: scores[i][1])
        agree("persfl", end.own[k]["student"], theirs[-1]["students"][k][at])
        moved += at != theirs[-1]["chosen"][k]
    assert moved > 0


def test_scans_side_by_side_end_where_each_ends_alone(monkeypatch):
    """Stacked or one after the other, with fewer and with more scans than fit beside each other."""
    ends, stacked, alone = [], [], parallel_scans._in_parallel

    def seen(*arguments):
        found = alone(*arguments)
        stacked.append(len(found))
        return found

    monkeypatch.setattr(parallel_scans, "_in_parallel", seen)
    for largest in (parallel_scans.LARGEST_STACKED, 0):
        monkeypatch.setattr(parallel_scans, "LARGEST_STACKED", largest)
        run, _ = make(kind="dnn", compile="trace", rounds=2)
        ends.append(run.finish().own)
    assert stacked == [len(GRID)] * 6
    for k, own in ends[0].items():
        agree("persfl", own["student"], ends[1][k]["student"])
        assert own["imitation"] == ends[1][k]["imitation"]
        if own["imitation"] < 1:  # else temperatures tie, and a machine's last bits choose
            assert own["temperature"] == ends[1][k]["temperature"]


def test_a_step_that_draws_walks_alone(monkeypatch):
    tried = []
    monkeypatch.setattr(parallel_scans, "_in_parallel", lambda *_: tried.append(1) or 1 / 0)
    run, _ = make(kind="dnn", rounds=1)
    assert len(run.finish().own) == len(tried) == 6


def test_a_wrong_search_is_refused():
    with pytest.raises(
        FedkinError, match=r"method\.search of persfl: .*'coarse' or 'grid', not 'fine'"
    ):
        persfl(lr=LR, search="fine")


@pytest.mark.certifies("persfl", "law")
@pytest.mark.parametrize("margin", [0.0, 1.0])
@pytest.mark.parametrize("measure", ["accuracy", "macro_f1"])
def test_students_that_diverge_are_the_last_choice(margin, measure):
    """Students that diverge are the last choice, also at a client of class 0, which argmax finds in
    a row of NaN; where all diverge, the first of the grid is kept.
    """
    people = population((5, 9), val=9)
    people = replace(people, y=torch.zeros_like(people.y))
    for rate, alive in ((0.1, True), (1e308, False)):
        method = persfl(
            lr=LR, lams=LAMS, temperatures=(1.0,), student_lr=rate, student_epochs=2, margin=margin
        )
        run = Federated(method, people, {"dnn": architecture("dnn")}, epochs=1).run(1)
        data, own = replace(run.host.data(2, 1), chosen=measure), run.host.personal_state(1)
        received = run.method.broadcast(run.coordinator.state, 1)
        end = run.method.finalize(received, own, data)
        finite = all(value.isfinite().all() for value in end["student"].values())
        assert finite == alive
        if not alive:
            assert end["imitation"] == LAMS[0]

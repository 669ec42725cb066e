"""PersFL beside tests/reference/persfl.py: both stages, and what every client chose."""

import numpy as np
import pytest

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
}


def make(**case):
    hyper = {"objective": "kl", "teacher": "optimal", "student_lr": STUDENT_LR}
    hyper.update({name: case.pop(name) for name in list(case) if name in hyper})
    kind, rounds = case.pop("kind", "mlr"), case.pop("rounds", ROUNDS)
    method = persfl(lr=LR, lams=LAMS, temperatures=TEMPERATURES, student_epochs=EPOCHS, **hyper)
    model = architecture(kind)
    run = Federated(
        method, population((5, 9, 4, 11, 7, 6), seed=3, val=9), {kind: model}, epochs=2, **case
    ).run(rounds)
    plan = {k: run.student_plan(rounds + 1, k, EPOCHS) for k in run.infos}
    theirs = reference.persfl(
        arrays(model.initial),
        run.data,
        run.plan(rounds),
        run.rates(LR, rounds),
        plan,
        hyper["student_lr"] or LR,  # the schedule's decay is stage 1's
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
        chosen = {
            "teacher_round": other["teacher_round"][k],
            "imitation": other["lam"][k],
            "temperature": other["T"][k],
        }
        assert end.record.notes[k] == chosen
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

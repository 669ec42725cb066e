"""Which method for me: tables from the registry and the certificates."""

from fedkin.cli.listing import choosing
from fedkin.cli.listing.choosing import LINEAR, QUESTIONS, answers, table
from fedkin.core.errors import FedkinError
from fedkin.core.method import Needs
from fedkin.methods import needs
from fedkin.methods.needs import needs_of

NAMES = ["scaffold", "ds_fl", "centralized", "fedrod", "l2sgd", "partial_fl"]


def cells(text):
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines()]


def test_a_row_a_method_in_order() -> None:
    head, _, *rows = cells(table(NAMES))
    assert [row[0] for row in rows] == sorted(NAMES)
    by = {row[0]: row[1] for row in rows}
    assert len(head) == 4
    assert by["centralized"].startswith("the pooled data: a comparator, not federated")
    assert by["ds_fl"] == "unlabeled public set, classes"
    assert by["l2sgd"] == "one architecture, every client in every round"
    assert by["fedrod"].endswith("a model with a head")


def test_a_method_without_defaults_is_in_no_answer(monkeypatch) -> None:
    real = needs.make

    def make(name, hyper, shared):
        if name == "partial_fl":
            raise FedkinError("say what is personal")
        return real(name, hyper, shared)

    monkeypatch.setattr(needs, "make", make)
    by = {row[0]: row[1] for row in cells(table(NAMES))[2:]}
    assert by["partial_fl"] == "depends on its hyper-parameters"
    assert needs_of("partial_fl") is None
    assert all("partial_fl" not in row[1] for row in cells(answers(NAMES)))


def test_what_is_sent_is_what_the_certificate_tells(monkeypatch) -> None:
    sent = {"down": {"parameters": 9, "control": 2}, "up": {}, "setup": {"coefficients": 3}}
    told = {"methods": {"scaffold": {"messages": {"sent": [sent, {}]}}, "ds_fl": {}}}
    monkeypatch.setattr(choosing, "packaged", lambda: told)
    _, _, *rows = cells(table(["scaffold", "ds_fl"]))
    assert rows[1][2:] == ["parameters + control / nothing", "sends coefficients"]
    assert rows[0][2:] == ["–", "–"]


def test_a_question_is_answered_by_methods_that_do_without() -> None:
    _, _, *rows = cells(answers(NAMES))
    by = dict(rows)
    assert list(by) == [*QUESTIONS, LINEAR]
    assert by["clients of different architectures"] == "ds_fl"
    assert by["no public data"] == "fedrod, l2sgd, partial_fl, scaffold"  # no comparator
    assert by["a linear model"] == "ds_fl, l2sgd, scaffold"  # partial_fl divides layers
    assert dict(cells(answers(["centralized"]))[2:])["a linear model"] == "–"


def test_every_question_can_be_answered_no() -> None:
    hard = Needs(True, "labeled", True, True, True, True)
    assert [question for question, fits in QUESTIONS.items() if fits(hard)] == []
    assert needs_of("scaffold").plain_sgd

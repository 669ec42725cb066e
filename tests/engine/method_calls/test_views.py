"""Views that would be scored as something else than what they are."""

import pytest

from fedkin.core.method import plain_prediction
from fedkin.engine.codec import encode
from fedkin.engine.op import Task
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.small import small


def evaluated(tmp_path, **changed):
    """The host and the task of evaluating client 0 by FedAvg with other functions."""
    parts = assemble(small("fedavg"))
    host = host_of(parts._replace(method=parts.method._replace(**changed)), [0], tmp_path)
    down = encode({"parameters": parts.models["mlr"].initial})
    return host, Task(0, down)


def error_of(tmp_path, **changed):
    host, task = evaluated(tmp_path, **changed)
    (answer,) = host.do("evaluate", 1, [task])
    return answer.error


@pytest.mark.parametrize(
    ("views", "says"),
    [
        (lambda d, p, data: {}, "has no view 'personal'"),
        (lambda d, p, data: None, "has no view 'personal'"),
        (lambda d, p, data: {"persnal": d["parameters"]}, "did you mean 'personal'"),
        (lambda d, p, data: {"personal": (1, 2)}, "is a tuple"),
        (
            lambda d, p, data: {"personal": {"1.weight": d["parameters"]["1.weight"]}},
            "its view 'personal' lacks 1.bias of model mlr",
        ),
        (
            lambda d, p, data: {
                "personal": d["parameters"],
                "global": {"1.bias": d["parameters"]["1.bias"]},
            },
            "its view 'global' lacks 1.weight",
        ),
    ],
)
def test_views_that_lack_something_are_refused(views, says, tmp_path):
    assert says in error_of(tmp_path, personal_models=views)


@pytest.mark.parametrize(
    ("predict", "says"),
    [
        (lambda model, q, x: model.outputs(q, x) + 5, "no log-probabilities"),
        (lambda model, q, x: model.outputs(q, x).softmax(1), "no log-probabilities"),
        (lambda model, q, x: model.outputs(q, x).argmax(1), "gives [16] of 16 samples"),
        (lambda model, q, x: None, "gives a NoneType, not log-probabilities"),
    ],
)
def test_predictions_that_are_no_log_probabilities_are_refused(predict, says, tmp_path):
    assert says in error_of(tmp_path, predict=predict)


def test_views_are_looked_at_once(tmp_path):
    calls = []

    def predict(model, q, x):
        calls.append(len(x))
        return plain_prediction(model, q, x)

    host, task = evaluated(tmp_path, predict=predict)
    for _ in range(2):
        (answer,) = host.do("views", 1, [task])
        assert answer.error is None
        assert calls == [16, 16]  # of "personal" and "global"


def test_a_model_that_diverged_and_a_view_that_holds_more_are_let_through(tmp_path):
    def views(d, p, data):
        return {"personal": {**d["parameters"], "another": d["parameters"]["1.bias"]}}

    def predict(model, q, x):
        return plain_prediction(model, q, x) * float("nan")

    assert error_of(tmp_path, personal_models=views) is None
    assert error_of(tmp_path, predict=predict) is None

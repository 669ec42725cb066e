"""A first experiment, as ``fedkin init`` writes it."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.doctor import plan as module
from fedkin.doctor.plan import Answers, plan
from fedkin.setup.build import assemble
from tests.awkward import table


@pytest.fixture
def data(tmp_path):
    return str(table(tmp_path / "a.csv"))


@pytest.fixture
def says(monkeypatch):
    """What the doctor would say, without its trials."""
    told = {"verdict": {"federate": True, "says": "federate"}, "candidates": []}
    told["candidates"] = [{"method": "ditto", "reason": "it gained most"}]
    told["safe"] = ["ditto"]

    def diagnosis(spec, rounds, named):
        if "error" in told:
            raise FedkinError(told["error"])
        return told

    monkeypatch.setattr(module, "diagnosis", diagnosis)
    return told


def test_the_doctors_first_is_chosen(data, says) -> None:
    found = plan(Answers(data, client="site", label="label"), "fedkin init")
    assert (found.method, found.beside) == ("ditto", "local")
    assert found.why == "the doctor says: federate; it gained most"
    assert found.spec.method.name == "ditto"
    assert found.spec.data.client == "site"
    assert "# The doctor says: federate; it gained most." in found.text
    assert found.text.startswith("# Written by: fedkin init\n")
    assert found.safe
    says["safe"] = []
    assert not plan(Answers(data, client="site", label="label"), "fedkin init").safe


@pytest.mark.parametrize(
    ("changed", "beside", "why"),
    [
        ({"verdict": {"federate": False, "says": "stay apart"}}, "ditto", "says: stay apart"),
        ({"verdict": None}, "finetune", "the doctor compares nothing"),
        ({"candidates": []}, "finetune", "the doctor compares nothing"),
        ({"error": "too few rows"}, "finetune", "the doctor could not compare: too few rows"),
    ],
)
def test_without_advice_each_client_is_alone(data, says, changed, beside, why) -> None:
    says.update(changed)
    found = plan(Answers(data, client="site"), "fedkin init")
    assert (found.method, found.beside) == ("local", beside)
    assert why in found.why
    assert not found.safe


@pytest.mark.parametrize("alike", [True, False])
def test_where_parameters_stay_predictions_travel(data, alike) -> None:
    found = plan(Answers(data, client="site", parameters=False, alike=alike), "fedkin init")
    assert found.method == "ds_fl"
    assert found.safe
    assert found.spec.public.source == "held-out"
    assert found.why.startswith("parameters stay: clients exchange predictions only")
    assert found.spec.model.map == ({} if alike else {"large": "dnn", "small": "mlr"})


def test_the_largest_clients_have_the_large_model(data) -> None:
    found = plan(Answers(data, client="site", label="label", alike=False), "fedkin init")
    assembled = assemble(found.spec)
    sizes: dict[str, list[int]] = {"dnn": [], "mlr": []}
    for k, rows in enumerate(assembled.population.train):
        sizes[assembled.infos[k].architecture].append(len(rows))
    assert min(sizes["dnn"]) >= max(sizes["mlr"])
    assert max(sizes["dnn"]) > min(sizes["mlr"])


def test_unlike_devices_and_no_classes(data) -> None:
    found = plan(Answers(data, client="site", label="u", alike=False), "fedkin init")
    assert (found.method, found.beside) == ("local", "finetune")
    assert found.why.startswith("devices train unlike models, and methods that exchange")


def test_invented_clients_are_said_to_be_invented(data, says) -> None:
    found = plan(Answers(data, invented=True), "fedkin init")
    assert found.spec.split.name == "iid"
    assert "# Nobody names clients: rows are divided evenly among invented ones" in found.text

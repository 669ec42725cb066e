"""What is told of an exception of a method's own functions at the server."""

import contextlib
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.method_calls.server_errors import FUNCTIONS, FailedAtServer, with_server_errors
from fedkin.engine.store import StoreError
from fedkin.experiment.training import Engine, begin
from fedkin.methods import make
from fedkin.setup.build import assemble
from tests.engine.coordinated import InProcess, host_of
from tests.engine.small import small


def breaks(*_):
    return {}["params"]


LINE = breaks.__code__.co_firstlineno + 1
FEDAVG = make("fedavg", {}, {"lr": 0.1})
WHERE = rf"KeyError: 'params' \(test_server_errors.py, line {LINE}\)"


@contextlib.contextmanager
def here(parts, folder):
    yield InProcess(host_of(parts, sorted(parts.infos), folder))


def trained(folder, **functions):
    mine = FEDAVG._replace(name="mine", **functions)
    engine = Engine(assemble, here)
    begin(assemble(small(), mine), folder, None, engine)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_method_function_and_line_are_named(name):
    told = with_server_errors(FEDAVG._replace(name="mine", **{name: breaks}))
    with pytest.raises(FailedAtServer, match=rf"^method mine: {name} fails: {WHERE}$") as caught:
        getattr(told, name)({}, 0)
    assert isinstance(caught.value.__cause__, KeyError)  # --verbose shows its lines
    assert caught.value.code == "FED-405"


@pytest.mark.parametrize("name", ["broadcast", "expected_update", "server_update"])
def test_a_run_says_in_which_round(tmp_path, name):
    with pytest.raises(FailedAtServer, match=rf"^round 1: method mine: {name} fails: {WHERE}$"):
        trained(tmp_path, **{name: breaks})


@pytest.mark.parametrize("name", ["server", "check", "server_metrics"])
def test_so_it_is_before_the_first_round(tmp_path, name):
    with pytest.raises(FailedAtServer, match=rf"^method mine: {name} fails: {WHERE}$"):
        trained(tmp_path, **{name: breaks})


def yields(state, replies, server):
    yield state


def reads(*_):
    return Path("weights.pt").read_bytes()


@pytest.mark.parametrize(
    ("update", "says"),
    [
        (yields, "state is a generator after the update"),
        (lambda state, *_: {**state, "seen": "all"}, "seen is a str after the update"),
        (
            reads,
            r"server_update fails: FileNotFoundError: .*line \d+\)$",
        ),
    ],
)
def test_no_update_ends_a_run_without_a_sentence(tmp_path, update, says):
    with pytest.raises(FailedAtServer, match=rf"^round 1: .*{says}"):
        trained(tmp_path, server_update=update)


def test_that_memory_does_not_suffice_is_no_mistake_of_the_function():
    def large(*_):
        raise MemoryError

    with pytest.raises(FailedAtServer, match="server needs more memory than the server has"):
        with_server_errors(FEDAVG._replace(server=large)).server({})


@pytest.mark.parametrize("error", [FedkinError("no"), StoreError("states cannot be read")])
def test_errors_that_say_all_stay_as_they_are(error):
    def refuses(*_):
        raise error

    with pytest.raises(type(error)) as caught:
        with_server_errors(FEDAVG._replace(server=refuses)).server({})
    assert caught.value is error


def test_functions_that_a_method_has_not_stay_away():
    assert with_server_errors(FEDAVG).setup_update is None

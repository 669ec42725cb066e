"""What is told of an exception of a method's own functions at a client."""

import contextlib
import traceback

import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.method_calls.client_errors import FUNCTIONS, with_client_errors
from fedkin.engine.method_calls.errors import error_text
from fedkin.experiment.training import Engine, begin
from fedkin.methods import make
from fedkin.setup.build import assemble
from tests.engine.coordinated import InProcess, host_of
from tests.engine.small import small


def breaks(*_):
    return {}["x"]


FEDAVG = make("fedavg", {}, {"lr": 0.1})
LINE = f"test_client_errors.py, line {breaks.__code__.co_firstlineno + 1}"


@contextlib.contextmanager
def here(parts, folder):
    yield InProcess(host_of(parts, sorted(parts.infos), folder))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_method_function_and_line_are_named(name):
    told = with_client_errors(FEDAVG._replace(name="mine", **{name: breaks}))
    with pytest.raises(KeyError) as caught:
        getattr(told, name)({}, 0)
    assert error_text(caught.value) == f"KeyError: 'x' ({LINE}, in {name} of method mine)"
    assert f"in {name} of method mine" in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", ["client_update", "personal_models"])
def test_a_run_says_so(tmp_path, name):
    mine = FEDAVG._replace(name="mine", **{name: breaks})
    with pytest.raises(FedkinError, match=rf"client \d.*: KeyError: 'x' \({LINE}, in {name} of"):
        begin(assemble(small(), mine), tmp_path, None, Engine(assemble, here))


def test_the_innermost_is_told_and_no_note_of_somebody_else():
    def outer(*given):
        given[0].add_note("in haste")
        return with_client_errors(FEDAVG._replace(name="inner", client_update=inner)).client_update(
            *given
        )

    def inner(error, *_):
        raise error

    told = with_client_errors(FEDAVG._replace(name="outer", client_update=outer))
    with pytest.raises(ValueError, match="no") as caught:
        told.client_update(ValueError("no"), None, None)
    assert error_text(caught.value).endswith(", in client_update of method inner)")


def test_what_a_method_leaves_out_stays_out():
    assert with_client_errors(FEDAVG).finalize is None

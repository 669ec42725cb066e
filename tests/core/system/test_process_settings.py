"""What code of somebody's own sets for the whole process."""

import os

import pytest
import torch

from fedkin.core.system.process_settings import process_settings_kept
from fedkin.core.system.user_code import UserCode
from fedkin.methods import registry
from tests.experiment.registered import registered

MEDDLES = """
import os
import torch
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_grad_enabled(False)
torch.set_num_threads(torch.get_num_threads() + 1)
torch.use_deterministic_algorithms(True, warn_only=True)
torch.set_float32_matmul_precision("medium")
os.chdir("/")
"""


@pytest.fixture(autouse=True)
def settings(own_modules):
    """As every test expects them, whatever this one leaves behind."""
    here, threads = os.getcwd(), torch.get_num_threads()
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
    os.chdir(here)


def settings_now() -> tuple[object, ...]:
    made = torch.zeros(1)
    return (
        made.dtype,
        made.device.type,
        torch.is_grad_enabled(),
        torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_float32_matmul_precision(),
        os.getcwd(),
    )


def test_what_code_sets_for_the_whole_process_ends_with_it() -> None:
    before = settings_now()

    @process_settings_kept()
    def meddle() -> None:
        exec(MEDDLES)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        meddle()
    assert settings_now() == before
    assert before[:3] == (torch.float32, "cpu", True)


def test_what_a_module_sets_at_its_import_does_not_reach_the_runs_of_others(
    tmp_path, monkeypatch
) -> None:
    """Rows of local and fedavg are measured after the import of the method that is added."""
    (tmp_path / "meddles7.py").write_text(f"{MEDDLES}class Net: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before, code = settings_now(), UserCode("model", "")
    code.allow(["meddles7:Net"])
    code.imported("meddles7:Net")
    assert settings_now() == before


def test_nor_does_what_a_package_sets_that_registers_a_method(tmp_path, monkeypatch) -> None:
    file = registered(tmp_path, "meddles8")
    file.write_text(MEDDLES + file.read_text())
    monkeypatch.syspath_prepend(str(tmp_path))
    before = settings_now()
    assert callable(registry()["meddles8"])
    assert settings_now() == before

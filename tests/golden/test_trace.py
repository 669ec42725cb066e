"""The traces themselves: all are known, all are replayed, and a damaged one fails its test."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.golden.trace import SOURCES, Trace, Verdict, folder

HERE = Path(__file__).parent
LIKE = {"weight": torch.zeros(3, 4), "bias": torch.zeros(3)}


def test_every_trace_has_a_test_and_a_source():
    text = "".join(file.read_text("utf-8") for file in HERE.glob("test_*.py"))
    assert [name for name in SOURCES if not re.search(rf'"{name}"', text)] == []
    if not folder().is_dir():
        pytest.skip("no golden traces here")
    assert sorted(file.stem for file in folder().glob("*.npz")) == sorted(SOURCES)


def test_it_is_skipped_only_where_the_folder_is_missing(tmp_path):
    with pytest.raises(pytest.skip.Exception, match="FEDKIN_GOLDEN"):
        Trace("fedavg", tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        Trace("fedavg", tmp_path)


def damaged(tmp_path, **arrays):
    np.savez(tmp_path / "fedavg.npz", **arrays)
    return Trace("fedavg", tmp_path)


def test_a_damaged_file_fails(tmp_path):
    client = np.array([0, 0, 1])
    with pytest.raises(AssertionError, match=r"fedavg.npz has no server.weight"):
        damaged(tmp_path, client=client).tree("server", LIKE)
    short = damaged(
        tmp_path, **{"local.weight": np.zeros((3, 2, 3, 5)), "local.bias": np.zeros((3, 2, 3))}
    )
    with pytest.raises(AssertionError, match=r"local.weight is \(3, 2, 3, 5\), not \(3, 2, 3, 4\)"):
        short.tree("local", LIKE, 3, 2)
    with pytest.raises(AssertionError, match="rows of batches"):
        damaged(tmp_path, client=client, batches=np.full((1, 2, 1, 4), 2)).batches("batches", 1)
    with pytest.raises(AssertionError, match="not finite"):
        damaged(tmp_path, x=np.array([np.nan])).array("x", 1)
    with pytest.raises(AssertionError, match="not a number"):
        damaged(tmp_path, lr=np.zeros(2)).number("lr")


def test_a_verdict_tells_agreement_from_deviation(tmp_path):
    told: list[tuple[str, dict]] = []
    verdict = Verdict(damaged(tmp_path, x=np.zeros(1)), lambda *fact: told.append(fact))
    verdict.leaves("x", "nothing is trained here")
    verdict.compare("w", {"a": torch.tensor([1.0])}, {"a": torch.tensor([1.0 + 4e-16])})
    verdict.compare("v", {"a": torch.tensor([1.0, 2.0])}, {"a": torch.tensor([1.5, 2.0])})
    with pytest.raises(AssertionError, match=r"v is 5.00e-01 apart"):
        verdict.agrees()
    with pytest.raises(AssertionError):
        verdict.deviates("v", "another order", 0.1)
    with pytest.raises(AssertionError, match="theirs"):
        verdict.compare("v", {"a": torch.zeros(1)}, {"a": torch.zeros(2)})
    verdict.agrees("w")
    assert told == []  # not before everything compared is judged
    verdict.deviates("v", "another order", 0.5)
    ((name, fact),) = told
    assert name == "golden"
    assert (fact["file"], fact["source"], fact["commit"]) == (
        "fedavg.npz",
        "omarfoq/FedEM",
        "996fadd",
    )
    assert fact["errors"].keys() == {"w"}
    assert fact["deviations"] == {"v": [0.5, "another order"]}


def test_a_verdict_is_of_every_array(tmp_path):
    told: list[tuple[str, dict]] = []
    trace = damaged(tmp_path, **{"x": np.zeros(1), "alpha": np.zeros(2), "v.weight": np.zeros(2)})
    verdict = Verdict(trace, lambda *fact: told.append(fact))
    verdict.compare("x", torch.from_numpy(trace.array("x", 1)), torch.zeros(1))
    with pytest.raises(AssertionError, match=r"nothing was compared with alpha, v.weight"):
        verdict.agrees()
    verdict.leaves("v", "another test compares it")
    with pytest.raises(AssertionError, match=r"nothing was compared with alpha$"):
        verdict.agrees()
    with pytest.raises(AssertionError, match="has no w"):
        verdict.leaves("w", "not there")
    trace.array("alpha", 2)
    verdict.agrees()
    assert len(told) == 1

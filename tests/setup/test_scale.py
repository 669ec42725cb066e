"""Pixels of one's own pictures enter a model around zero."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fedkin import Experiment, resume, run
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.setup.scale import with_scale


def arrays(folder: Path) -> Path:
    """60 pictures of two channels, four fifths of the first bright; three clients."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 40, (60, 2, 4, 4), dtype=np.uint8)
    x[:, 0] += 200
    np.savez(folder / "own.npz", x=x, y=np.arange(60) % 2, client=np.arange(60) // 20)
    return folder / "own.npz"


def test_each_channel_has_the_scale_of_the_training_rows(tmp_path: Path) -> None:
    spec = parse({"data": {"name": str(arrays(tmp_path))}, "split": {"name": "natural"}})[0]
    assert spec.data.mean == "auto"
    parts = assemble(spec)
    rows = torch.from_numpy(np.concatenate(parts.population.train))
    pixels = parts.population.x[rows].double() / 255
    for found, wanted in (
        (parts.spec.data.mean, pixels.mean((0, 2, 3))),
        (parts.spec.data.std, pixels.transpose(0, 1).flatten(1).std(1)),
    ):
        assert len(found) == 2
        np.testing.assert_allclose(found, wanted, atol=6e-4)
    assert parts.spec.data.mean[0] > 0.8
    assert all(f"{value:.3f}" == f"{value:.3f}".rstrip() for value in parts.spec.data.mean)


def test_test_rows_have_no_say(tmp_path: Path) -> None:
    spec = parse({"data": {"name": str(arrays(tmp_path))}, "split": {"name": "natural"}})[0]
    people = assemble(spec).population
    x = people.x.clone()
    x[torch.from_numpy(np.concatenate([*people.val, *people.test]))] = 255
    same = with_scale(spec, replace(people, x=x)).data
    assert same == with_scale(spec, people).data


@pytest.mark.parametrize("given", [{"mean": []}, {"mean": [0.5]}, {"std": [2.0]}])
def test_what_somebody_gave_stays(tmp_path: Path, given: dict[str, list[float]]) -> None:
    data = {"name": str(arrays(tmp_path)), **given}
    spec = parse({"data": data, "split": {"name": "natural"}})[0]
    found = assemble(spec).spec.data
    assert (list(found.mean), list(found.std)) == (given.get("mean", []), given.get("std", []))


def test_numbers_and_nobodys_rows_have_no_scale(tmp_path: Path) -> None:
    spec = parse({"data": {"name": str(arrays(tmp_path))}, "split": {"name": "natural"}})[0]
    people = assemble(spec).population
    for other in (
        replace(people, x=people.x.float()),
        replace(people, x=people.x[:, 0]),
        replace(people, x=people.x[:1]),
    ):
        found = with_scale(spec, other).data
        assert (found.mean, found.std) == ((), ())


def test_a_run_keeps_the_numbers(tmp_path: Path) -> None:
    asked = Experiment(data=str(arrays(tmp_path)), split="natural", rounds=1, engine="inprocess")
    done = run(asked, out=tmp_path / "run")
    written = parse(
        {"data": {"name": "x/", **_data(tmp_path / "run")}, "split": {"name": "natural"}}
    )[0]
    assert isinstance(written.data.mean, tuple)
    assert len(written.data.mean) == len(written.data.std) == 2
    assert resume(done.folder).summary["fingerprint"] == done.summary["fingerprint"]


def _data(folder: Path) -> dict[str, object]:
    from fedkin.runs.spec import read

    data = read(folder / "experiment.toml")[0]["data"]
    return {key: data[key] for key in ("mean", "std")}

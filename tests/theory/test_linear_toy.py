"""The toy of COMET's Fig. 2 shows what the figure shows, and its example draws it."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from fedkin.data.synthetic import linear_toy
from fedkin.theory.linear_toy import toy


def test_the_toy_shows_what_the_figure_shows() -> None:
    nearest = []
    for seed in range(20):
        result = toy(seed)
        d = result.distances()
        if result.groups[0] == result.groups[1] != result.groups[2]:
            nearest.append(
                all(
                    d["KT with clustering"][k] < min(d["fedavg"][k], d["KT without clustering"][k])
                    for k in (0, 1)
                )
            )
    assert len(nearest) >= 17  # c-means finds the neighbours
    assert np.mean(nearest) >= 0.9


def test_the_toys_fedavg_is_the_pooled_fit() -> None:
    source, result = linear_toy(seed=4), toy(4)
    w = result.fedavg[0]
    gradient = source.x.T.astype(float) @ (source.x.astype(float) @ w - source.y)
    assert np.abs(gradient).max() < 1e-4 * np.abs(source.x.T @ source.y).max()


def test_example_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[2] / "examples" / "linear_toy.py"
    main = runpy.run_path(str(example))["main"]
    for name, magic in (("toy.png", b"\x89PNG"), ("toy.svg", b"<svg")):
        main(str(tmp_path / name))
        assert (tmp_path / name).read_bytes().startswith(magic)
    assert "KT with clustering" in capsys.readouterr().out

"""What server metrics become: flows that lose nobody, groups, weights, neighbours."""

import math
from pathlib import Path

import numpy as np
import pytest

from fedkin.report.collaboration import (
    Groups,
    _alike,
    explained,
    groups_of,
    read_collaboration,
    shares,
)
from fedkin.report.page.content import page
from fedkin.report.records import opened
from tests.report.collaboration_examples import noted


def test_like_memberships_are_one_group_though_another_has_the_same_largest_component(
    tmp_path: Path,
) -> None:
    told = [[0.9, 0.1], [0.88, 0.12], [0.55, 0.45]]
    with opened(noted(tmp_path, [(2, k, "membership", v) for k, v in enumerate(told)])) as run:
        groups = groups_of(read_collaboration(run))
    assert groups == Groups("group", {0: 0, 1: 0, 2: 1})


def test_without_clients_there_are_no_labels() -> None:
    assert shares({}) == {}


def test_the_groups_explain_the_labels_or_not() -> None:
    alike = {k: np.array([1.0, 0.0]) if k < 2 else np.array([0.0, 1.0]) for k in range(4)}
    assert explained(Groups("cluster", {0: 0, 1: 0, 2: 1, 3: 1}), alike) == pytest.approx(1)
    assert explained(Groups("cluster", {0: 0, 1: 1, 2: 0, 3: 1}), alike) == pytest.approx(0)
    assert explained(Groups("cluster", {0: 0, 1: 1}), alike) is None  # no differences


def test_what_is_told_of_the_federation_is_drawn_from_two_rounds_on(tmp_path: Path) -> None:
    told = [(1, -1, "K", 2.0), (1, -1, "spread", 0.5), (2, -1, "spread", 0.25)]
    told += [(at, k, "pull", 0.5) for at in (1, 2) for k in range(3)]
    with opened(noted(tmp_path, told)) as run:
        found = read_collaboration(run)
    assert set(found.shared) == {"spread"}
    assert found.shared["spread"].values.ravel().tolist() == [0.5, 0.25]
    assert set(found.numbers) == {"K", "spread", "pull"} - set(found.shared) - {"K"}


@pytest.mark.parametrize(("parts", "groups"), [(10, range(10)), (3, None)])
def test_a_continuum_has_no_groups(parts: int, groups: range | None) -> None:
    """As many groups as twice the components may be; more are none."""
    apart = np.eye(10) if parts == 10 else np.array([[k, 9.0 - k, 3.0 * k] for k in range(10)])
    found = _alike(apart)
    assert found == (None if groups is None else list(groups))


@pytest.mark.rotating
@pytest.mark.parametrize("told", [1e30, -1e30, 10**30, 0.5, math.inf])
def test_what_a_strangers_record_tells_of_a_client_breaks_no_page(
    told: float, tmp_path: Path
) -> None:
    """Charts ask for finite numbers, and clusters for whole ones: others are not drawn."""
    notes = [(1, k, name, 1) for k in range(3) for name in ("cluster", "share")]
    notes += [(2, k, name, told) for k in range(3) for name in ("cluster", "share")]
    notes += [(2, k, "membership", [0.5, told]) for k in range(3)]
    with opened(noted(tmp_path / "run", notes)) as run:
        assert "<html" in page(run)
        found = read_collaboration(run)
    assert (found.clusters is None) == (told != math.inf)
    assert np.isinf(found.numbers["share"].values).sum() == 0

"""Who the nearest clients of each client are, as the records tell."""

from types import SimpleNamespace

import numpy as np
import pytest

from fedkin.report.neighbours import NEAREST, nearest_clients

NAN = np.nan
RUN = SimpleNamespace(clients={3: None, 7: None, 9: None})


def told(weights=None, memberships=None, clusters=None):
    return SimpleNamespace(weights=weights or {}, memberships=memberships, clusters=clusters)


def memberships(rows):
    values = np.array([rows], dtype=float)
    return SimpleNamespace(values=values, clients=[3, 7, 9], last=lambda: values[-1])


def clusters(*rounds):
    return SimpleNamespace(values=np.array(rounds, dtype=float), clients=[3, 7, 9])


def test_weights_go_before_everything_else() -> None:
    stack = SimpleNamespace(
        clients=[7, 3], mean=lambda: np.array([[0.2, 0.5, 0.3], [0.0, 0.1, 0.9]])
    )
    meaning, nearest = nearest_clients(RUN, told({"alpha": stack}, memberships([[1, 0]] * 3)))
    assert meaning == "mean weight (alpha)"
    assert nearest == {7: [(9, 0.3), (3, 0.2)], 3: [(9, 0.9), (7, 0.1)]}  # never itself


def test_memberships_agree_by_their_inner_product() -> None:
    meaning, nearest = nearest_clients(
        RUN, told(None, memberships([[0.8, 0.2], [0.5, 0.5], [NAN, NAN]]))
    )
    assert meaning == "inner product of the last memberships"
    assert [client for client, _ in nearest[3]] == [7]
    assert nearest[3][0][1] == pytest.approx(0.5)
    assert nearest[9] == []  # it told nothing
    one = memberships([[1.0], [1.0], [1.0]])  # of one component nothing can be said
    assert nearest_clients(RUN, told(None, one)) == ("", {})


def test_who_is_equally_near_stands_in_the_order_of_the_clients() -> None:
    """Whatever the last bits of the products are, which differ between processors."""
    stack = SimpleNamespace(
        clients=[3, 7, 9], mean=lambda: np.array([[0.0, 0.5, 0.5 + 1e-15], [0.0] * 3, [0.0] * 3])
    )
    _, nearest = nearest_clients(RUN, told({"alpha": stack}))
    assert [client for client, _ in nearest[3]] == [7, 9]


def test_clusters_by_the_share_of_rounds_together() -> None:
    found = clusters([0, 0, 1], [0, 1, 1], [NAN, 0, 0], [2, 2, NAN])
    meaning, nearest = nearest_clients(RUN, told(clusters=found))
    assert meaning == "share of rounds in the same cluster"
    assert nearest[3] == [(7, 0.75), (9, 0.25)]  # 3 was in 0 still when it was away
    assert nearest[9] == [(7, 0.5), (3, 0.25)]


def test_only_the_nearest_are_told() -> None:
    many = list(range(20))
    run = SimpleNamespace(clients=dict.fromkeys(many))
    table = np.add.outer(np.zeros(20), np.arange(20.0)) / 20
    stack = SimpleNamespace(clients=many, mean=lambda: table)
    _, nearest = nearest_clients(run, told({"w": stack}))
    assert [client for client, _ in nearest[0]] == [*range(19, 19 - NEAREST, -1)]
    assert [client for client, _ in nearest[19]] == [*range(18, 18 - NEAREST, -1)]

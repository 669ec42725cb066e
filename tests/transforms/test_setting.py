"""Who attacks, and what a server is told of who took part."""

import pytest
import torch

from fedkin.core.aggregation import Mean
from fedkin.core.method import ClientInfo, FederationInit
from fedkin.methods.fedavg import fedavg
from fedkin.methods.feddyn import feddyn
from fedkin.methods.scaffold import scaffold
from fedkin.transforms import attacks
from fedkin.transforms.setting import Setting, blind, first_exchange


def test_attackers_are_a_share_of_the_clients_and_a_function_of_the_seed():
    found = attacks.attackers(Setting(20, 8, 0.4, 5), 0.2)
    assert len(found) == 4
    assert found == attacks.attackers(Setting(20, 8, 1.0, 5), 0.2)
    assert found != attacks.attackers(Setting(20, 8, 1.0, 6), 0.2)


def w(value):
    return {"w": torch.tensor([value], dtype=torch.float64)}


def test_the_first_exchange_is_with_a_client_that_there_is():
    """A node knows of its own client alone, whatever number that has."""
    info = ClientInfo(2, "m", 9, torch.ones(3), 0, 3)
    known = Setting(6, 6, 1.0, 5, infos={4: info._replace(client=4), 2: info})
    start = FederationInit({"m": w(1.5)}, tuple(range(6)), 0, 3, lambda k: w(1.5))
    telling = fedavg(lr=0.1)._replace(
        broadcast=lambda state, client: {**state, "control": client},
        expected_update=lambda received, info: {"control": info.client},
    )
    received, expected = first_exchange(telling, known, start)
    assert (received["parameters"]["w"].item(), received["control"], expected) == (
        1.5,
        2,
        {"control": 2},
    )


@pytest.mark.parametrize("expected", [0.5, 1.5, 2.5, 3.0])
def test_noise_hides_who_took_part_and_the_corrections_still_move_by_the_sum(expected):
    """Changes that add up to 3, of 10 clients, in a private mean Σ / expected: h and c are means
    over all ten, and move by 3/10 whatever number was expected.
    """
    of_feddyn = {"parameters": w(0.0), "slope": w(0.0), "clients": 10}
    sent = Mean((0, 1, 2), {"parameters": w(3 / expected)}, {}, 3.0)
    new = blind(feddyn(lr=0.1, alpha=0.1), expected)(of_feddyn, sent, None)
    assert new["slope"]["w"].item() == pytest.approx(-0.1 * 3 / 10)

    of_scaffold = {"parameters": {"model": w(0.0), "control": w(0.0)}, "clients": 10}
    moved = {"parameters": {"model": w(3 / expected), "control": w(3 / expected)}}
    sent = Mean((0, 1, 2), moved, {}, 3.0)
    new = blind(scaffold(lr=0.1), expected)(of_scaffold, sent, None)
    assert new["parameters"]["control"]["w"].item() == pytest.approx(3 / 10)

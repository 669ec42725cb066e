"""Who attacks."""

from fedkin.transforms import attacks
from fedkin.transforms.setting import Setting


def test_attackers_are_a_share_of_the_clients_and_a_function_of_the_seed():
    found = attacks.attackers(Setting(20, 8, 0.4, 3, 5), 0.2)
    assert len(found) == 4
    assert found == attacks.attackers(Setting(20, 8, 1.0, 9, 5), 0.2)
    assert found != attacks.attackers(Setting(20, 8, 1.0, 9, 6), 0.2)

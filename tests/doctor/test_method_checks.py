"""Methods that break one rule each, and one that breaks none."""

from functools import cache
from pathlib import Path

import pytest
from torch import Tensor

from fedkin.core.codes.families import families
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import declared
from fedkin.core.method import ClientContext, Method
from fedkin.core.ops import scan, sgd_step
from fedkin.core.tree import Tree, map_tree
from fedkin.doctor import method_checks
from fedkin.doctor.method_checks import check_method
from fedkin.methods.fedavg import fedavg

AGAIN, _, RESUMED, REPLAYED, MASKED = method_checks.RULES
HERE = __name__


def grown(tree: Tree, times: int) -> Tree:
    return map_tree(lambda leaf: leaf * (1 + 0.01 * times), tree)


@cache
def met() -> list[int]:
    """What one process keeps beside every state."""
    return []


@declared
def counts_clients(*, lr: float) -> Method:
    """A client's step grows with all that this process has trained before."""
    base = fedavg(lr=lr)

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        met().append(1)
        return base.client_update(
            {"parameters": grown(received["parameters"], len(met()))}, own, data
        )

    return base._replace(name="counts_clients", client_update=client_update)


@declared
def counts_rounds(*, lr: float) -> Method:
    """The server counts rounds in a closure."""
    base, rounds = fedavg(lr=lr), []

    def server_update(state: Tree, arrived, server) -> Tree:
        rounds.append(1)
        return grown(base.server_update(state, arrived, server), len(rounds))

    return base._replace(name="counts_rounds", server_update=server_update)


@declared
def counts_steps(*, lr: float) -> Method:
    """A step counts its calls, of which a recorded one has few."""
    base = fedavg(lr=lr)

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        steps = []

        def step(model, parameters: Tree, batch, rate: Tensor) -> Tree:
            steps.append(1)
            return sgd_step(model, parameters, batch, rate * len(steps))

        end = scan(step, received["parameters"], data.batches(), lr * data.decay)
        return own, {"parameters": end}

    return base._replace(name="counts_steps", client_update=client_update)


def sends_less(*, lr: float) -> Method:
    """Only the weights are sent, and expected_update is FedAvg's."""
    base = fedavg(lr=lr)

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        own, sent = base.client_update(received, own, data)
        weights = {name: w for name, w in sent["parameters"].items() if name.endswith("weight")}
        return own, {"parameters": weights}

    return base._replace(name="sends_less", client_update=client_update)


def verdicts(text: str, *rules: str) -> dict[str, bool | None]:
    with pytest.MonkeyPatch.context() as patch:
        chosen = {rule: method_checks.RULES[rule] for rule in rules or method_checks.RULES}
        patch.setattr(method_checks, "RULES", chosen)
        return {check.rule: check.holds for check in check_method(text)}


@pytest.mark.rotating
def test_a_method_of_fedkin_keeps_them_all() -> None:
    assert set(verdicts("ditto:lam=0.5").values()) == {True}


def test_state_in_a_global_is_found() -> None:
    assert verdicts(f"{HERE}:counts_clients", AGAIN) == {AGAIN: False}


def test_state_in_a_closure_of_the_server_is_found_by_resuming_alone() -> None:
    found = verdicts(f"{HERE}:counts_rounds", AGAIN, RESUMED)
    assert found == {AGAIN: True, RESUMED: False}


def test_a_step_that_counts_is_found_by_replay() -> None:
    assert verdicts(f"{HERE}:counts_steps", AGAIN, REPLAYED) == {AGAIN: True, REPLAYED: False}


def test_where_it_parts_is_told() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method_checks, "RULES", {RESUMED: method_checks.RULES[RESUMED]})
        (check,) = check_method(f"{HERE}:counts_rounds")
    assert check.found.startswith("round 3, client 0: loss ")


def test_masks_apply_to_declared_sums_alone() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method_checks, "RULES", {MASKED: method_checks.RULES[MASKED]})
        (check,) = check_method("fedfomo")
    assert check.holds is None
    assert check.found.endswith("fedfomo needs every message by itself")


def test_what_cannot_run_is_told_and_not_judged(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="did you mean 'ditto'"):
        check_method("dito")
    with pytest.raises(FedkinError, match="did you mean 'lam'"):
        check_method("ditto:lamb=1")


def test_a_message_that_is_not_what_its_method_expects_names_expected_update() -> None:
    told = r"the message lacks parameters/1.bias, which expected_update \(.*\) says it has"
    with pytest.raises(FedkinError, match=told) as error:
        check_method(f"{HERE}:sends_less")
    assert error.value.code == "FED-604"
    assert any("expected_update" in step for step in families()["FED-604"].do)

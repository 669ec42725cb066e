"""Compressed messages: what arrives, what is left out, what the ledger counts, what is refused."""

from types import SimpleNamespace

import pytest
import torch

from fedkin.core.aggregation import Reply, RuleContext, WeightedSum, aggregated
from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo
from fedkin.core.rng import Key
from fedkin.core.tree import map_tree
from fedkin.engine.codec import check, encode
from fedkin.experiment.run import run
from fedkin.methods.fedavg import fedavg
from fedkin.methods.scaffold import scaffold
from fedkin.runs.database import read_only
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.transforms.registry import TransformEntry, made
from fedkin.transforms.setting import Setting
from tests.engine.small import content
from tests.transforms.compression.transform_examples import WAYS

INFO = ClientInfo(4, "net", 10, torch.ones(3), 0, 3)
SETTING = Setting(9, 9, 1.0, 7, infos={4: INFO, 6: INFO._replace(client=6)})
SIZES = (7, 1, 11)
VECTOR = torch.sin(torch.arange(19.0).double() * 2.3) * torch.linspace(0.1, 3, 19).double()


@pytest.mark.parametrize("way", WAYS)
def test_what_is_sent_has_the_shape_that_is_expected(way):
    for sizes in (SIZES, (19,), (0, 5)):
        vector = VECTOR[: sum(sizes)]
        sent = WAYS[way].pack(vector, sizes, Key(3, 2, 1))
        check({"parameters": sent}, {"parameters": WAYS[way].like(sizes)})
        assert len(WAYS[way].unpack(sent, sizes)) == sum(sizes)


RECEIVED = {
    "parameters": {
        "w": torch.tensor([[1.0, -2.0, 0.5], [3.0, 0.0, 9.0]]),
        "buffer:count": torch.tensor(5),
        "b": torch.tensor([10.0]),
    }
}


def update(round, client):
    """What a client changes in a round: awkward, and known."""
    size = torch.sin(torch.arange(6.0) * (round + 2) + client).reshape(2, 3)
    return {"w": size, "buffer:count": torch.tensor(3), "b": torch.tensor([0.01 * round])}


def moving(method=None):
    """A method whose clients change what they get by ``update``."""

    def client_update(received, own, data):
        changed = map_tree(
            lambda a, b: a + b, received["parameters"], update(data.key.round, data.info.client)
        )
        return {"rounds": own.get("rounds", 0) + 1}, {"parameters": changed}

    return (method or fedavg(lr=0.1))._replace(
        client_update=client_update, client=lambda initial, info: {}
    )


def compressed(name, method=None, **parameters):
    return made(TransformEntry(name, parameters))(moving(method), SETTING)


def sent_by(method, own, round, client=4):
    data = SimpleNamespace(info=SETTING.infos[client], key=Key(7, round, client))
    own, message = method.client_update(RECEIVED, own, data)
    expected = method.expected_update(RECEIVED, data.info)
    check(message, expected)
    return own, message


def arrived(method, replies):
    return aggregated(
        method.aggregation, replies, lambda: RuleContext(lambda one: RECEIVED, 1, None)
    )


@pytest.mark.certifies("law")
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("top_k", {"share": 0.3}),
        ("random_k", {"share": 0.3}),
        ("quantize", {"bits": 2}),
        ("quantize", {"bits": 4}),
        ("bfloat16", {}),
    ],
)
def test_what_was_sent_and_what_was_left_out_are_all_updates(name, parameters):
    method = compressed(name, **parameters)
    own = method.client({}, INFO)
    total, arrived_total = torch.zeros(7).double(), torch.zeros(7).double()
    for round in range(1, 9):
        own, message = sent_by(method, own, round)
        found = arrived(method, {4: Reply(message, 10.0)}).mean["parameters"]
        assert list(found) == ["w", "buffer:count", "b"]
        assert int(found["buffer:count"]) == 8  # whole numbers are sent as they are
        truth = update(round, 4)
        total += torch.cat([truth["w"].reshape(-1), truth["b"]]).double()
        arrived_total += torch.cat(
            [(found[one] - RECEIVED["parameters"][one]).reshape(-1) for one in ("w", "b")]
        ).double()
    left = own["left_out"]["parameters"].double()
    assert own["own"] == {"rounds": 8}
    assert float(left.norm()) > 1e-4
    assert (arrived_total + left).tolist() == pytest.approx(total.tolist(), abs=2e-5)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("top_k", {"share": 0.3}),
        ("random_k", {"share": 0.3}),
        ("random_k", {"share": 0.3, "feedback": False}),
        ("quantize", {"bits": 2}),
        ("bfloat16", {}),
    ],
)
def test_a_running_variance_stays_between_those_that_were_sent(name, parameters):
    """A large fall, told in part or twice, would leave it below 0."""
    before = {"w": torch.zeros(8), "buffer:running_var": torch.tensor([1.0, 9.0, 4.0])}
    theirs = torch.tensor([0.01, 0.25, 0.02])

    def client_update(received, own, data):
        return own, {"parameters": {"w": torch.arange(8.0), "buffer:running_var": theirs}}

    method = made(TransformEntry(name, parameters))(
        fedavg(lr=0.1)._replace(client_update=client_update, client=lambda initial, info: {}),
        SETTING,
    )
    own = method.client({}, INFO)
    for round in range(1, 5):
        data = SimpleNamespace(info=INFO, key=Key(7, round, 4))
        own, message = method.client_update({"parameters": before}, own, data)
        check(message, method.expected_update({"parameters": before}, INFO))
        around = RuleContext(lambda one: {"parameters": before}, 1, None)
        found = aggregated(
            method.aggregation, {4: Reply(message, 10.0)}, lambda given=around: given
        ).mean["parameters"]
        if name in ("top_k", "random_k"):
            assert torch.equal(found["buffer:running_var"], theirs)
        assert float(found["buffer:running_var"].min()) >= 0.0099
        assert float(found["buffer:running_var"].max()) <= 0.2501


def test_without_feedback_nothing_is_kept():
    method = compressed("top_k", share=0.3, feedback=False)
    assert method.client({}, INFO) == {}
    own, message = sent_by(method, {}, 1)
    assert own == {"rounds": 1}
    assert len(encode(message)) < len(encode({"parameters": update(1, 4)})) + 200


def test_differences_are_compressed_as_they_are():
    method = compressed("bfloat16", scaffold(lr=0.1))
    assert isinstance(method.aggregation, WeightedSum)
    _, message = sent_by(method, method.client({}, INFO), 2)
    sent = message["parameters"]["update"]["values"].float()
    changed = RECEIVED["parameters"]["w"] + update(2, 4)["w"]
    assert sent[:6].tolist() == pytest.approx(changed.reshape(-1).tolist(), rel=1e-2)


def test_a_mean_of_two_is_that_of_what_they_sent():
    method = compressed("top_k", share=1.0)
    replies = {
        client: Reply(sent_by(method, method.client({}, INFO), 3, client)[1], weight)
        for client, weight in ((4, 1.0), (6, 3.0))
    }
    found = arrived(method, replies).mean["parameters"]["w"]
    mean = RECEIVED["parameters"]["w"] + (update(3, 4)["w"] + 3 * update(3, 6)["w"]) / 4
    assert found.reshape(-1).tolist() == pytest.approx(mean.reshape(-1).tolist(), abs=1e-6)


def test_numbers_that_are_not_finite_are_told_as_training_that_diverged():
    method = moving()._replace(
        client_update=lambda received, own, data: (own, map_tree(lambda x: x / 0, received))
    )
    method = made(TransformEntry("random_k", {"share": 0.2}))(method, SETTING)
    with pytest.raises(FedkinError, match=r"NaN or infinity$"):
        sent_by(method, method.client({}, INFO), 1)


BAD = {
    "share": ("fedavg", [{"name": "top_k", "share": 0.0}], "share: input should be greater than 0"),
    "bits": ("fedavg", [{"name": "quantize", "bits": 3}], "bits: input should be 8, 4 or 2"),
    "no updates": ("comet", [{"name": "top_k", "share": 0.1}], "send no updates: try quantize"),
    "two": (
        "fedavg",
        [{"name": "top_k", "share": 0.1}, {"name": "quantize"}],
        "top_k and quantize both compress what a client sends: choose one",
    ),
    "order": (
        "fedavg",
        [{"name": "median"}, {"name": "quantize"}],
        "median stands before quantize, and a message passes quantize first",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_gets_one_sentence_before_training(case):
    method, asked, sentence = BAD[case]
    with pytest.raises(FedkinError, match=sentence) as told:
        assemble(parse({**content(method), "transforms": asked})[0])
    assert "\n" not in str(told.value)


def bytes_up(folder):
    with read_only(folder) as database:
        rows = database.rows("SELECT bytes FROM messages WHERE direction = 'up' AND round = 2")
    return {size for (size,) in rows}


def test_the_ledger_counts_what_is_sent(tmp_path):
    def size(*transforms):
        given = {**content("fedavg", run__rounds=2), "transforms": list(transforms)}
        (found,) = bytes_up(run(parse(given)[0], tmp_path / str(len(list(tmp_path.iterdir())))))
        return found

    d, header = 650, 400  # digits: 64 · 10 + 10
    plain = size()
    assert 4 * d < plain < 4 * d + header
    assert 0 <= size({"name": "top_k", "share": 0.1}) - 65 * 8 < header  # values and places
    assert 0 <= size({"name": "random_k", "share": 0.1}) - 65 * 4 < header
    assert 0 <= size({"name": "quantize", "bits": 4}) - d / 2 < header
    assert 0 <= size({"name": "bfloat16"}) - 2 * d < header


PRIVACY = {"noise": 0.8, "clip": 0.5, "delta": 1e-5, "seeded": True}


@pytest.mark.rotating
@pytest.mark.parametrize("where", ["server", "client"])
def test_noise_stands_within_compression(where, tmp_path):
    """With every entry sent, a compressed private run is the private run, to rounding."""
    told = {}
    for name, transforms in {"plain": [], "all": [{"name": "top_k", "share": 1.0}]}.items():
        given = content("fedavg", run__rounds=2)
        given |= {"privacy": {**PRIVACY, "where": where}, "transforms": transforms}
        folder = run(parse(given)[0], tmp_path / name)
        with read_only(folder) as database:
            rows = "SELECT client, loss FROM metrics WHERE round = 2 AND split = 'val'"
            told[name] = [loss for _, loss in sorted(database.rows(rows))]
    assert told["all"] == pytest.approx(told["plain"], rel=1e-4)

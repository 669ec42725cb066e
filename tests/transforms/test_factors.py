"""Messages that are factors, and transforms of updates."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from tests.engine.small import content

FACTORS = r"transform \w+ changes updates, and clients of fedkd send factors of theirs"
EACH = "fedkd needs every message by itself"
REFUSED = {
    "top_k": ({"name": "top_k", "share": 0.1}, FACTORS),
    "quantize": ({"name": "quantize", "bits": 8}, FACTORS),
    "bfloat16": ({"name": "bfloat16"}, FACTORS),
    "sign flip": ({"name": "attack", "kind": "sign_flip"}, FACTORS),
    "backdoor": ({"name": "attack", "kind": "backdoor"}, FACTORS),
    "median": ({"name": "median"}, EACH),
    "bound": ({"name": "norm_bound", "bound": 1.0}, EACH),
}


@pytest.mark.parametrize("case", REFUSED)
def test_transforms_of_updates_are_refused(case):
    asked, sentence = REFUSED[case]
    with pytest.raises(FedkinError, match=sentence) as told:
        assemble(parse({**content("fedkd"), "transforms": [asked]})[0])
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "privacy",
    [
        {"secure_aggregation": True},
        {"noise": 1.0, "clip": 1.0, "delta": 1e-5},
    ],
    ids=["masks", "noise"],
)
def test_sums_are_refused(privacy):
    with pytest.raises(FedkinError, match=EACH):
        assemble(parse({**content("fedkd"), "privacy": privacy})[0])


def test_false_labels_are_no_update():
    asked = {"name": "attack", "kind": "label_flip"}
    assert assemble(parse({**content("fedkd"), "transforms": [asked]})[0])
    asked = {"name": "top_k", "share": 0.1}
    assert assemble(parse({**content("fedavg"), "transforms": [asked]})[0])

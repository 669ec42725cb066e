"""Bad replies of real nodes: they are recorded, nothing wrong is merged, and what is
left goes on.
"""

import re

import pytest

from tests.flower.cluster import NAMES, experiment, result
from tests.flower.reference import faulty
from tests.flower.rogues import with_rogues

DEADLINE = 60.0


@pytest.mark.slow
def test_bad_replies_are_recorded_and_never_merged(tmp_path):
    acts = {  # (round, client): what its node does, and what is recorded
        (2, 1): ("nan", "NaN or infinity"),
        (2, 2): ("shape", "expected"),
        (2, 3): ("round", "another round or work"),
        (3, 1): ("client:c0", "another name: c0"),
        (3, 2): ("large:400000", "more than the 300000 allowed"),
        (3, 3): ("full", "cannot be written"),
        (4, 1): ("pickle", "cannot be read"),
        (4, 2): ("die", "its node failed"),
        (4, 3): (f"slow:{DEADLINE + 10}", "no reply within"),
    }
    spec = experiment("comet", run__rounds=5)
    plans = {
        name: {str(r): act for (r, c), (act, _) in acts.items() if NAMES[c] == name}
        for name in NAMES[1:]
    }
    running = with_rogues(spec, plans, deadline=DEADLINE, max_bytes=300_000)
    try:
        found = result(running.run(limit=1500))
        missing = running.missing()
        assert [(round, client) for round, client, _ in missing] == sorted(acts)
        for round, client, why in missing:
            assert re.search(acts[round, client][1], why), (round, client, why)
    finally:
        running.close()
    kept = [(2, 1), (2, 2), (4, 1)]  # their own work stands, their messages are not used
    plain = result(faulty(spec, tmp_path / "plain", set(acts) - set(kept), kept))
    assert found["fingerprint"] == plain["fingerprint"]
    assert found["messages"] == plain["messages"]

"""The ledger against the bytes that cross the wire of one node, TLS and Flower's own traffic
included.
"""

import time

import pytest

from fedkin.runs.database import read_only
from tests.flower.cluster import Cluster, experiment, wait_for
from tests.flower.proxy import Proxy

ROUNDS = 3
IDLE = 15.0  # seconds in which nothing is asked of the node


@pytest.mark.slow
def test_the_ledger_is_what_crosses_the_wire():
    spec = experiment(
        "fedavg",
        model__name="dnn",
        model__hidden=20_000,
        run__rounds=ROUNDS,
        train__steps=1,
        run__clients=2,
    )
    running = Cluster(spec, names=("c0", "c1"))
    proxy = Proxy(running.port)
    try:
        running.configure_node("c1", superlink=f"127.0.0.1:{proxy.port}")
        running.up()
        wait_for(lambda: proxy.up > 0, 60, running)
        polls = per_second(proxy)
        before, began = proxy.counted(), time.monotonic()
        folder = running.run()
        took = time.monotonic() - began
        wire = {way: size - before[way] for way, size in proxy.counted().items()}
        with read_only(folder) as database:
            rows = database.rows("SELECT direction, bytes FROM messages WHERE client = 1")
        ledger = {
            way: sum(size for direction, size in rows if direction == way) for way in ("up", "down")
        }
        (last,) = {size for way, size in rows if way == "down"}
        ledger["down"] += (
            last  # the final evaluation's model is sent, and is no communication of the method
        )
        found = {}
        for way in ("up", "down"):
            polling = polls[way] * took
            found[way] = (wire[way] - polling) / ledger[way]
            print(
                f"{way}: ledger {ledger[way]}, wire {wire[way]}, of that polling "
                f"{polling:.0f} in {took:.0f} s"
            )
        print(found, polls)
        assert ledger["up"] > ROUNDS * 5_000_000
        assert all(1 <= ratio <= 1.02 for ratio in found.values()), found
    finally:
        running.close()
        proxy.close()


def per_second(proxy: Proxy) -> dict[str, float]:
    """What a node and its SuperLink say to each other when there is nothing to do, in bytes a
    second each way.
    """
    before = proxy.counted()
    time.sleep(IDLE)
    return {way: (size - before[way]) / IDLE for way, size in proxy.counted().items()}

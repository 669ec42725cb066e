"""COMET's published communication, from rounds that are really run (Table of the journal paper,
CIFAR-10 column).

100 clients, |P| = 2000, 10 classes, 200 rounds. One prediction matrix is 2000 · 10 = 2e4 scalars.
The paper counts uplinks, and one copy of what is broadcast; the first participants' predictions,
before round 1, are not counted: 200 · (m + c) · 2e4 = 4e6 · (m + c):  m = 10: c = 1 … 4: 4.4e7,
4.8e7, 5.2e7, 5.6e7;  m = 15: 6.4e7 … 7.6e7.
"""

import pytest

from fedkin.methods.comet import comet
from tests.methods.federation import Federated, architecture, population

CLIENTS, PUBLIC, CLASSES, ROUNDS = 100, 2000, 10, 200
PUBLISHED = {
    0.1: {1: 44_000_000, 2: 48_000_000, 3: 52_000_000, 4: 56_000_000},
    0.15: {1: 64_000_000, 2: 68_000_000, 3: 72_000_000, 4: 76_000_000},
}


@pytest.fixture(scope="module")
def people():
    return population([6] * CLIENTS, classes=CLASSES, public=PUBLIC, val=1, test=1)


@pytest.mark.certifies("comet", "messages")
@pytest.mark.parametrize("clusters", [1, 2, 3, 4])
@pytest.mark.parametrize("share", PUBLISHED)
def test_published_communication(people, share, clusters):
    method = comet(lr=0.05, clusters=clusters, public_batch=16)
    models = {"mlr": architecture(classes=CLASSES)}
    run = Federated(method, people, models, steps=1, participation=share).run(3, evaluate=False)
    rounds = [paper_total(moment.record.sent) for moment in run.moments]
    assert len(set(rounds)) == 1, "every round costs the same"
    assert ROUNDS * rounds[0] == PUBLISHED[share][clusters]
    # beside it what is really sent: every participant receives c centroids. c = 1, m = 10: 200 · 20
    # · 2e4 = 8e7
    m = round(share * CLIENTS)
    unicast = {
        sum(sum(item.scalars.values()) for item in moment.record.sent) for moment in run.moments
    }
    assert unicast == {m * (1 + clusters) * PUBLIC * CLASSES}
    assert paper_total(run.introduction.sent) == m * PUBLIC * CLASSES


def paper_total(sent):
    """Scalars of the uplinks plus ONE copy of each broadcast."""
    return sum(
        sum(item.scalars.values()) for item in sent if item.direction == "up" or item.copy == 0
    )

"""What a host can be asked is what it does, and what an envelope takes is all but a model."""

from typing import get_args

import pytest

from fedkin.engine.host import OPS
from fedkin.engine.op import CHANGING, DRAWN, EVALUATIONS, SCORING, STAGES, Op, RemoteOp
from fedkin.flower.envelope import Refused, RemoteStep, opened


def test_a_host_does_what_it_can_be_asked() -> None:
    assert set(OPS) == set(get_args(Op))
    assert {*CHANGING, *EVALUATIONS, *STAGES, *SCORING, *DRAWN, *DRAWN.values()} <= set(OPS)


def test_an_envelope_takes_all_but_the_question_for_a_model() -> None:
    assert {*get_args(Op)} - {*get_args(RemoteOp)} == {"views"}
    for op in get_args(RemoteOp):
        assert opened(RemoteStep, b'{"op": "%s", "round": 1}' % op.encode()).op == op
    with pytest.raises(Refused):
        opened(RemoteStep, b'{"op": "views", "round": 1}')

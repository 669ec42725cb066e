import numpy as np
import pytest

from tests.reference.local_fedavg import fedavg, local
from tests.reference.model import combine, whole
from tests.reference.toy import assert_close, make_data, make_model, make_plan

ZERO = {"weight": np.zeros((2, 1)), "bias": np.zeros(2)}
TINY = {
    0: {"x": np.array([[2.0]]), "y": np.array([1])},
    1: {"x": np.array([[1.0], [1.0], [1.0]]), "y": np.array([0, 0, 0])},
}
TINY_PLAN = [{k: [whole(TINY[k])] for k in TINY}]


def test_golden():
    # p = (1/2, 1/2) everywhere, lr 1/2. Client 0 (x = 2, y = 1): dW = (1, -1), db = (1/2, -1/2) ->
    # W = (-1/2, 1/2), b = (-1/4, 1/4). Client 1 (x = 1, y = 0): dW = db = (-1/2, 1/2) -> W = b =
    # (1/4, -1/4). FedAvg, n = 1 and 3: W_0 = -1/8 + 3/16 = 1/16, b_0 = -1/16 + 3/16 = 1/8.
    alone = local(ZERO, TINY, TINY_PLAN, [[0, 1]], 0.5)[0]["personal"]
    assert_close(alone[0], {"weight": [[-0.5], [0.5]], "bias": [-0.25, 0.25]})
    assert_close(alone[1], {"weight": [[0.25], [-0.25]], "bias": [0.25, -0.25]})
    model = fedavg(ZERO, TINY, TINY_PLAN, [[0, 1]], 0.5)[0]["server"]["model"]
    assert_close(model, {"weight": [[0.0625], [-0.0625]], "bias": [0.125, -0.125]})


@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_reductions(kind):
    sizes = [5, 9, 4]
    data, start, plan = make_data(1, sizes), make_model(2, kind), make_plan(3, sizes, 3, 2)
    alone = local(start, data, plan, [[0, 1, 2]] * 3, 0.1)
    one = fedavg(start, {1: data[1]}, plan, [[1]] * 3, 0.1)  # FedAvg of one client is local
    for t in range(3):
        assert_close(one[t]["server"]["model"], alone[t]["personal"][1])
    first = fedavg(start, data, plan[:1], [[0, 2]], 0.1)[
        0
    ]  # only participants count, normalised among themselves
    assert_close(
        first["server"]["model"], combine([alone[0]["personal"][k] for k in (0, 2)], [5 / 9, 4 / 9])
    )


def test_absent_clients_stand_still_and_order_does_not_matter():
    sizes = [5, 9, 4]
    data, start, plan = make_data(1, sizes), make_model(2), make_plan(3, sizes, 2, 2)
    runs = local(dict.fromkeys(data, start), data, plan, [[0, 1], [1]], [0.1, 0.05])
    assert_close(runs[1]["personal"][0], runs[0]["personal"][0])
    assert_close(runs[1]["personal"][2], start)
    a = fedavg(start, data, plan, [[0, 1, 2]] * 2, 0.1)[1]["server"]["model"]
    b = fedavg(start, data, plan, [[2, 0, 1]] * 2, 0.1)[1]["server"]["model"]
    assert_close(a, b)

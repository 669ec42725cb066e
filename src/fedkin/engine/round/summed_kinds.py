"""Whether what a method's server sums is what its clients send: asked before they work."""

from fedkin.core.aggregation import EachClient, WeightedSum
from fedkin.core.errors import FedkinError, some
from fedkin.core.method import Method
from fedkin.core.tree import Tree

UNSAID = WeightedSum().kinds  # a method may send them in other rounds, as ppfl does


def check_summed(method: Method, expected: Tree) -> None:
    """Refuse a sum over a kind that no message has: it would be missing in the mean.

    Args:
        method: Whose aggregation is looked at.
        expected: The form of a message of the round, {kind: tree}.

    Raises:
        FedkinError: Names the kind, and those that are sent.
    """
    how = method.aggregation
    if isinstance(how, EachClient) or how.kinds == UNSAID:
        return
    if not isinstance(expected, dict) or not expected:
        return  # of a method whose clients send nothing, nothing is summed
    lacking = [kind for kind in how.kinds if kind not in expected]
    if lacking:
        raise FedkinError(
            f"method {method.name} sums {some(lacking)}, which its clients do not send: a message "
            f"has {some(map(str, expected))} (expected_update), and the kinds of its "
            "aggregation must be among these"
        )

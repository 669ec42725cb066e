"""Tests that cannot fail: what their text alone tells.

Whether a test notices a fault is for scripts/plant-faults and scripts/mutate. Here stands what no
run is needed for: a test that asserts nothing, or only what is true of everything.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CHECKS = {
    "raises",
    "fail",
    "warns",
    "deprecated_call",
    "exit",
}  # of pytest, and sys.exit of a child
# They call what raises where it is wrong, and so they can fail: an error is what they look for
BY_RAISING = {
    "test_a_signal_that_is_ignored_stays_so": "the signal would end the process",
    "test_a_worker_that_begins_when_its_run_has_ended_ends_in_silence": "an error is not silent",
    "test_every_kind_of_run_has_a_report": "altair refuses a chart that is none",
    "test_facts_that_are_good_are_used": "what is refused is an error",
    "test_headers_that_are_good_are_used": "what is refused is an error",
    "test_introductions_that_are_good_are_used": "what is refused is an error",
    "test_messages_that_are_good_are_merged": "what is refused is an error",
    "test_a_request_that_is_good_is_obeyed": "what is refused is an error",
    "test_mutated_bytes": "whatever is no BadMessage is an error",
    "test_names_that_exist_are_taken": "warnings are errors there",
    "test_noise_at_the_server_and_at_nodes_is_deployed": "what is not deployed is an error",
    "test_rows_are_valid": "a specification that is none is an error",
    "test_some_random_kills": "each way to die, in a table, ends in an assertion",
    "test_what_fits": "what does not fit is an error",
}


@cache
def nodes_of_tests() -> list[tuple[Path, ast.AST]]:
    """Every node of every file of tests, with the file: to parse them takes seconds."""
    return [
        (path, node)
        for path in sorted(TESTS.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]


def calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            place = node.func
            yield place.attr if isinstance(place, ast.Attribute) else getattr(place, "id", "")


def functions() -> dict[str, list[ast.FunctionDef]]:
    """By name, of all files of tests: a helper is found by its name alone."""
    found = defaultdict(list)
    for _, node in nodes_of_tests():
        if isinstance(node, ast.FunctionDef):
            found[node.name].append(node)
    return found


def looks(node: ast.AST) -> bool:
    """Whether something is asserted here."""
    if any(isinstance(part, ast.Assert) for part in ast.walk(node)):
        return True
    names = set(calls(node))
    return bool(names & CHECKS) or any(name.startswith("assert_") for name in names)


def asserting(known: dict[str, list[ast.FunctionDef]]) -> set[str]:
    """Names of functions that assert something, or call one that does."""
    found = {name for name, nodes in known.items() if any(map(looks, nodes))}
    reached = {
        name: {call for node in nodes for call in calls(node)} for name, nodes in known.items()
    }
    while more := {name for name, to in reached.items() if to & found} - found:
        found |= more
    return found


def test_every_test_asserts_something() -> None:
    known = functions()
    tests = {name for name in known if name.startswith("test_")}
    assert len(tests) > 1500
    assert tests - asserting(known) - set(BY_RAISING) == set()
    assert set(BY_RAISING) <= tests


def true_of_everything(test: ast.expr) -> bool:
    """A constant, a tuple or a generator, "or True", a length or a sum of counts of at least 0, or
    something without a call beside itself.
    """
    if isinstance(test, ast.Constant | ast.Tuple | ast.GeneratorExp | ast.Lambda):
        return not (isinstance(test, ast.Constant) and not test.value)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(true_of_everything(part) for part in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    left, right = test.left, test.comparators[0]
    if isinstance(test.ops[0], ast.GtE) and ast.unparse(right) == "0":
        return isinstance(left, ast.Call) and getattr(left.func, "id", "") == "len"
    same = ast.unparse(left) == ast.unparse(right) and not list(calls(left))
    return same and isinstance(test.ops[0], ast.Eq | ast.Is | ast.LtE | ast.GtE)


def test_nothing_is_asserted_that_is_true_of_everything() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{node.lineno}: {ast.unparse(node.test)}"
        for path, node in nodes_of_tests()
        if isinstance(node, ast.Assert) and true_of_everything(node.test)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    ["1", "'x'", "(a == b, 'why')", "(x for x in y)", "a or True", "len(a) >= 0", "a.b == a.b"],
)
def test_such_assertions_are_found(text: str) -> None:
    assert true_of_everything(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("text", ["a == b", "len(a) > 0", "draw(1) == draw(1)", "x != x", "False"])
def test_others_are_not(text: str) -> None:
    assert not true_of_everything(ast.parse(text, mode="eval").body)


def test_a_test_without_an_assertion_is_found() -> None:
    source = (
        "def helper():\n    assert x\ndef test_a():\n    helper()\ndef test_b():\n    other()\n"
    )
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert asserting({node.name: [node] for node in nodes}) == {"helper", "test_a"}

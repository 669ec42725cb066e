"""What a boundary is, and the values that a stranger would try everywhere."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st


class Boundary(NamedTuple):
    """Hostile values, and what takes them from a stranger."""

    strategy: st.SearchStrategy[Any]
    enter: Callable[[Any], None]


NUMBERS = [0, -1, 1, 2**31, 2**53, 2**63, -(2**63), 10**30, 10**200, 0.5, -0.0, 1e308, 1e-320]
NUMBERS += [float("inf"), float("nan"), True, False]
NAMES = ["", " ", ".", "..", "../..", "/etc/passwd", "a/b", "a\\b", "\0", "x" * 10_000, "9" * 5000]
MARKS = [
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\u202e",
    "\ud800",
    "[bold]x[/]",
    "<script>",
    "=1+1",
    ":",
    "=",
    ",",
]
CODE = ["os:system", "os:system:command='x'", "builtins:exec", "nets:Net"]
KNOWN = [
    "mlr",
    "dnn:hidden=0",
    "dnn:hidden=[[[[",
    "fedavg",
    "digits",
    "synthetic_mixture",
    "held-out",
]
KNOWN += ["natural", "dirichlet:alpha=1e400", "a=b,c=d"]
SHAPED = [None, [], {}, [[]], {"a": {"b": []}}, [1, "a", None], {"": 0}, {"name": "dnn"}]
STRINGS = [*NAMES, *MARKS, *CODE, *KNOWN]
ODD: list[Any] = [*NUMBERS, *STRINGS, *SHAPED]
VALUES = st.one_of(
    st.sampled_from(ODD),
    st.integers(),
    st.floats(),
    st.text(max_size=40),
    st.recursive(
        st.sampled_from(ODD),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=6,
    ),
)
TEXTS = st.one_of(st.text(max_size=60), st.sampled_from(STRINGS))
TOML_VALUES = [  # as a file has them behind the sign of equality
    "1",
    "-1",
    "9" * 5000,
    "0x" + "f" * 5000,
    "1e999",
    "nan",
    "[" * 2000,
    '"x"',
    "'''",
    "true",
    "",
    "{a = 1}",
    '"\\u0000"',
]

"""One fault of a data set: what it is, why it matters, and the keys of a specification that mend
it.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, many
from fedkin.core.toml import BadToml, parse_toml


class Problem(NamedTuple):
    """One fault.

    Attributes:
        kind: a word for programs: "leak", "identifier", "sentinel", "date", "duplicates", …
        says: what was found and where, as the beginning of a sentence.
        why: what would go wrong, and what to do in the file where no key mends it.
        fix: keys of a specification with their values: {"data.drop": ["id"]}; {}: mend the file.
        share: of the rows, or of the clients for faults of clients; None where neither is counted.
        columns: the columns it is about.
        sure: whether the fix is right whatever the column means; else a person has to say so.
    """

    kind: str
    says: str
    why: str
    fix: Mapping[str, Any] = {}
    share: float | None = None
    columns: tuple[str, ...] = ()
    sure: bool = True

    @property
    def sentence(self) -> str:
        """The fault in one sentence, with its fix."""
        return f"{self.says}: {self.why}" + (f" ({self.setting})" if self.fix else "")

    @property
    def setting(self) -> str:
        """The fix as it is typed after --set."""
        return ", ".join(f"{key}={toml_value(value)}" for key, value in self.fix.items())

    def plain(self) -> dict[str, Any]:
        """As JSON has it, with the sentence.

        Returns:
            {field: plain value}, and "sentence".
        """
        return {
            **self._asdict(),
            "fix": dict(self.fix),
            "columns": list(self.columns),
            "sentence": self.sentence,
        }


class Unreadable(FedkinError):
    """Faults that keep a table from being read; each has a fix, with which it can be.

    Args:
        problems: At least one; each has a fix.
        sentence: What is said in place of the first one's sentence; "": that sentence.
    """

    def __init__(self, problems: Sequence[Problem], sentence: str = "") -> None:
        more = len(problems) - 1
        rest = (
            f"; and {many(more, 'column')} more like it: fedkin data check names all"
            if more
            else ""
        )
        super().__init__((sentence or problems[0].sentence) + rest)
        self.problems = tuple(problems)


def toml_value(value: Any) -> str:
    """A value of a specification in one line of TOML.

    >>> toml_value(["a", 1]), toml_value({"age in years": [-1]}), toml_value("drop")
    ('["a", 1]', '{"age in years" = [-1]}', 'drop')

    Args:
        value: What --set is given.

    Returns:
        A text stays bare, but for one that would be read as something else, such as a number.
    """
    if not isinstance(value, str):
        return toml_literal(value)
    try:
        parse_toml(f"value = {value}")
    except BadToml:
        return value if value == value.strip() else toml_literal(value)
    return toml_literal(value)


def typed_setting(key: str, value: Any) -> str:
    """A setting as a shell takes it, whatever a column is called.

    >>> print(typed_setting("data.drop", ["it's"]))
    --set 'data.drop=["it'"'"'s"]'

    Args:
        key: "section.key".
        value: As in a ``fix``.

    Returns:
        The option and its value, in quotes where they are needed.
    """
    return f"--set {shlex.quote(f'{key}={toml_value(value)}')}"


def toml_literal(value: Any) -> str:
    """A value in one line of TOML, texts in quotes.

    Args:
        value: Texts, numbers, booleans, lists and tables of them.

    Returns:
        As it stands in experiment.toml.
    """
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{toml_key(key)} = {toml_literal(item)}" for key, item in value.items())
            + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def toml_key(name: str) -> str:
    """A key of TOML, in quotes where it needs them.

    Args:
        name: Of a column, say.

    Returns:
        The name, or the same in quotes.
    """
    bare = bool(name) and name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)


def merged(fixes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All fixes as one: lists are joined, tables merged, anything else is taken from the last.

    >>> merged([{"data.drop": ["a"]}, {"data.drop": ["b", "a"]}, {"split.least": 5}])
    {'data.drop': ['a', 'b'], 'split.least': 5}

    Args:
        fixes: "section.key" → value, of several problems.

    Returns:
        One fix that is all of them.
    """
    combined: dict[str, Any] = {}
    for fix in fixes:
        for key, value in fix.items():
            combined[key] = _joined(combined.get(key), value)
    return combined


def _joined(before: Any, value: Any) -> Any:
    if isinstance(before, list) and isinstance(value, list):
        return list(dict.fromkeys([*before, *value]))
    if isinstance(before, Mapping) and isinstance(value, Mapping):
        both = {**before, **value}
        return {
            key: _joined(before.get(key), item) if key in value else item
            for key, item in both.items()
        }
    return value

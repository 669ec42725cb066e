"""Whether a study is of the search that is asked for, and in what it differs."""

import json
from typing import Any, TypeGuard

from fedkin.core.errors import cut, some

CODE = "code"  # an attribute of a study: digests of the files that it began with


def other_search(study: Any, now: dict[str, Any]) -> str:
    """In which way a study is of another search; a new one becomes of this one.

    Args:
        study: Optuna's.
        now: "fedkin": the experiment and the space, as plain values; "data": a digest of them;
            CODE: {name: digest} of code that is not fedkin's.

    Returns:
        What follows the folder's name in a sentence; "" where it is of this search.
    """
    known = study.user_attrs
    if known.get("fedkin", now["fedkin"]) != now["fedkin"]:
        unlike = _differences(known["fedkin"], now["fedkin"])
        return f"holds a sweep of another experiment or space{unlike}: choose another --out"
    if known.get("data", now["data"]) != now["data"]:
        return "holds a sweep that began with other data: put them back, or choose another --out"
    code = now[CODE]
    then = known.get(CODE, code)
    then = then if isinstance(then, dict) else {}  # a stranger's study may hold anything
    if changed := sorted(k for k in {*then, *code} if then.get(k) != code.get(k)):
        return (
            f"holds a sweep that began with other code of {', '.join(changed)}: put it back, or "
            "choose another --out"
        )
    asked = {} if "fedkin" in known else {CODE: now[CODE]}  # one from before has no digests
    for name, value in {**asked, "data": now["data"], "fedkin": now["fedkin"]}.items():
        if name not in known:
            study.set_user_attr(name, value)
    return ""


def _differences(then: Any, now: dict[str, Any]) -> str:
    """The first keys that a study has otherwise than it is asked for, in brackets; "" of what is no
    study of fedkin's.
    """
    old, new = _keys(then), _keys(now)
    unlike = [
        f"{json.dumps(key)[1:-1]}: {_shown(old, key)} there, {_shown(new, key)} here"
        for key in dict.fromkeys([*new, *old])
        if _shown(old, key) != _shown(new, key)
    ]
    return f" ({some(unlike, 2)})" if unlike and old else ""


def _keys(searched: Any) -> dict[str, Any]:
    """{"section.key" of the experiment, or "--space key": value}."""
    named: dict[str, Any] = {}
    for section, content in _content(searched, "spec").items():
        keys = {f".{key}": value for key, value in content.items()} if _whole(content) else {}
        named |= {f"{section}{key}": value for key, value in (keys or {"": content}).items()}
    space = _content(searched, "space").items()
    return named | {f"--space {key}": values for key, values in space}


def _content(searched: Any, part: str) -> dict[str, Any]:
    found = searched.get(part) if _whole(searched) else None
    return found if isinstance(found, dict) else {}


def _whole(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether it has keys: a stranger's study may hold anything."""
    return isinstance(value, dict)


def _shown(keys: dict[str, Any], key: str) -> str:
    """In letters that no terminal obeys."""
    return cut(json.dumps(keys[key]), 60) if key in keys else "none"

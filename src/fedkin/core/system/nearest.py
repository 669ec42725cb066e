"""The valid value that is nearest to a wrong one."""

import re

from pydantic_core import ErrorDetails

from fedkin.core.errors import near

STEP = 0.001  # below a bound that is not allowed itself


def closest(error: ErrorDetails) -> str:
    """The hint at the nearest valid value, where what is wrong does not name it already.

    >>> closest({"type": "less_than", "ctx": {"lt": 1.0}, "loc": (), "msg": "", "input": 1.5})
    ': the nearest is just below, such as 0.999'

    Args:
        error: What pydantic found.

    Returns:
        Words to put behind the wrong value in a message; "" where there is nothing to add.
    """
    known = error.get("ctx", {})
    if error["type"] == "literal_error":
        return near(str(error["input"]), re.findall("'([^']*)'", known["expected"]))
    if error["type"] == "tuple_type" and type(error["input"]) in (int, float):
        return f": write [{error['input']}]"
    if error["type"] == "less_than" and isinstance(known["lt"], float):
        return f": the nearest is just below, such as {known['lt'] - STEP:g}"
    return ""

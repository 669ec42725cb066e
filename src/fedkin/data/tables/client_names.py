"""What columns and arrays that name the clients are called."""

import re

PEOPLE = re.compile(
    "(agency|bank|branch|center|centre|client|clinic|company|country|customer|department|device"
    "|employee|facility|farm|holder|hospital|household|institution|lab|laboratory|location|machine"
    "|node|organi[sz]ation|owner|participant|party|patient|person|phone|plant|practice|provider"
    "|region|school|sensor|shop|silo|site|speaker|station|store|student|subject|tenant"
    "|user|worker|writer)s?(ids?|code|key|name|nr|no|num|number)?"
)


def names_people(name: str) -> bool:
    """ "Hospital", "hospital_id", "userId", "Site No."; not "site temperature".

    Args:
        name: Of a column.

    Returns:
        Whether it is what columns of clients are called.
    """
    return PEOPLE.fullmatch(re.sub(r"[\W_]", "", name).lower()) is not None

"""The views of a page that a browser looks at: two widths, each light and dark."""

from collections.abc import Iterable
from itertools import cycle, product
from typing import Any

import pytest

WIDTHS = (390, 1400)  # pixels: a phone and a desk
THEMES = ("light", "dark")
# A page's colours are those of its theme and its lines those of its width: these two views have
# both of each, and pages take them in turn.
IN_TURN = ((390, "dark"), (1400, "light"))


def views(kinds: Iterable[str]) -> list[Any]:
    """Every kind of page in every view; all but one view of each are slow, for scripts/nightly.

    Args:
        kinds: Of pages.

    Returns:
        Parameters (kind, width, theme) of a test.
    """
    return [
        pytest.param(kind, *view, marks=() if view == chosen else pytest.mark.slow)
        for kind, chosen in zip(kinds, cycle(IN_TURN), strict=False)
        for view in product(WIDTHS, THEMES)
    ]

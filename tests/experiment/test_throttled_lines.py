"""Lines about what lasts."""

from fedkin.experiment.throttled_lines import ThrottledLines, line


def listening() -> tuple[ThrottledLines, list[str], list[float]]:
    """A listener with what it said, and the clock that it reads."""
    now = [0.0]
    said: list[str] = []
    return ThrottledLines(said.append, clock=lambda: now[0], patience=3.0), said, now


def test_only_what_lasts_is_told_and_not_too_often() -> None:
    listen, said, now = listening()
    for done in range(11):
        listen("finishing", done, 10)
        now[0] += 1.0
    assert said == [f"finishing: {k} of 10, about {10 - k} s left" for k in (3, 6, 9)]


def test_what_ends_soon_says_nothing_and_the_end_is_no_news() -> None:
    listen, said, now = listening()
    listen("a", 0, 2)
    now[0] = 9.0
    listen("a", 2, 2)
    assert said == []


def test_nothing_done_has_no_estimate() -> None:
    assert line("probing", 0, 3, 60.0) == "probing: 0 of 3"
    assert line("probing", 1, 3, 0.0) == "probing: 1 of 3"
    assert line("probing", 2, 3, 5.0) == "probing: 2 of 3, about 3 s left"


def test_what_lasts_hours_is_told_of_less_and_less_often() -> None:
    listen, said, now = listening()
    for done in range(3600):
        listen("rounds", done, 3600)
        now[0] += 1.0
    assert 20 < len(said) < 60
    assert said[-1].startswith("rounds: 3")

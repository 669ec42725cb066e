"""The words of messages: the nearest choice, cut texts, plurals."""

import pytest

from fedkin.core.errors import (
    FedkinError,
    Halted,
    cut,
    exception_text,
    first_line,
    letters,
    many,
    named_line,
    near,
    some,
    traceback_lines,
    unknown,
)


def test_the_nearest_choice_is_named_and_nothing_where_none_is_like_it() -> None:
    assert "did you mean 'fedavg'" in str(unknown("method", "fedvag", ["comet", "fedavg"]))
    assert near("zzz", ["comet"]) == ""
    assert str(unknown("set", "a", [])).endswith("(choices: none)")


def test_a_name_of_any_length_is_answered_at_once() -> None:
    told = str(unknown("method", "x" * 10**6, [f"name{n}" for n in range(20_000)]))
    assert len(told) < 3000
    assert "\n" not in told


def test_an_error_of_a_library_is_one_line() -> None:
    assert first_line(ValueError("first\nsecond")) == "first"
    assert first_line(KeyError()) == "KeyError"
    assert named_line(ValueError("no")) == "ValueError: no"
    assert len(first_line(ValueError("x" * 900))) == 200


def test_the_lines_of_what_caused_an_error_come_first() -> None:
    def breaks() -> None:
        raise KeyError("params")

    def tells() -> None:
        try:
            breaks()
        except KeyError as error:
            raise FedkinError("server_update fails") from error

    with pytest.raises(FedkinError) as caught:
        tells()
    places = [line for line in traceback_lines(caught.value) if line.startswith("  File")]
    assert [line.rpartition(" in ")[2] for line in places][:2] == ["tells", "breaks"]
    assert places[-1].endswith("in tells")


def test_an_error_that_cannot_be_said_ends_nothing() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("it cannot be said")

    assert named_line(Mute()) == "Mute: Mute"
    assert first_line(OSError("no \udcff.csv")) == "no \\udcff.csv"


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 boxes"), (1, "1 box"), (12_000, "12,000 boxes")]
)
def test_plurals(number: int, told: str) -> None:
    assert many(number, "box", "boxes") == told


def test_long_lists_and_texts_are_cut() -> None:
    assert some(list("abcdefgh")) == "a, b, c, d, e and 3 more"
    assert some(["a", "b"], most=2) == "a, b"
    assert cut("ab" * 600, 3) == "aba…"
    assert letters("PARTIAL fl-x") == "partialflx"


def test_work_that_could_not_go_on_is_a_users_error_too() -> None:
    assert issubclass(Halted, FedkinError)


def test_the_frames_of_torchs_own_code_are_left_out() -> None:
    error = RuntimeError("index out of bounds\nException raised from kernel at x.cpp:130\nframe #0")
    assert exception_text(error) == "index out of bounds"


def test_an_error_in_other_words_keeps_its_code() -> None:
    first = FedkinError("a.csv is not a table")
    first.raised_in = "fedkin.data.formats.csv_file"
    other = first.reworded("your table a.csv cannot be read")
    assert str(other) == "your table a.csv cannot be read"
    assert other.code == first.code != FedkinError("any").code

"""Every line of every command."""

import logging
import signal
import subprocess
import sys

import pytest

from fedkin.experiment.terminal import (
    LONGEST,
    cleans_up_on_signals,
    console,
    ends_with_connection,
    loudness,
    note,
    print_notice,
    say,
    say_all,
    tell_hints,
)

BAD = "a\x1b[2Jb"


def test_no_string_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    loudness(logging.INFO)
    say(BAD)
    say_all(f"{BAD}\tc\n")
    print_notice(f"{BAD}\nsecond")
    console().print(f"[bold]{BAD}")
    out, err = capsys.readouterr()
    assert "\x1b[2J" not in out + err
    assert out.count("a\\x1b[2Jb") == 3
    assert "[bold]" in out  # a text is no markup
    assert err == "a\\x1b[2Jb second\n"


def test_a_programs_own_handler_gets_harmless_lines(caplog: pytest.LogCaptureFixture) -> None:
    note(f"{BAD}\nsecond")
    assert caplog.messages == ["note: a\\x1b[2Jb second"]


def test_a_sentence_on_stderr_is_one_line_with_an_end(capsys: pytest.CaptureFixture[str]) -> None:
    loudness(logging.INFO)
    print_notice("x" * (LONGEST + 5))
    tell_hints(["one", "two", "one"])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "x" * LONGEST + "…"
    assert lines[1:] == ["hint: one", "hint: two"]


@pytest.mark.rotating
def test_a_program_that_imports_fedkin_decides_what_its_logger_does() -> None:
    code = "import logging, fedkin.api; one = logging.getLogger('fedkin'); print(one.handlers)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def test_who_is_told_to_end_ends_as_after_ctrl_c() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), cleans_up_on_signals():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with cleans_up_on_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_who_came_by_ssh_ends_with_it_but_for_nohup_and_tmux(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SSH_CONNECTION", "TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    assert not ends_with_connection()
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 5 10.0.0.2 22")
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup
    try:
        with cleans_up_on_signals():
            assert ends_with_connection()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert not ends_with_connection()
    finally:
        signal.signal(signal.SIGHUP, before)
    monkeypatch.setenv("TMUX", "/tmp/tmux")
    assert not ends_with_connection()

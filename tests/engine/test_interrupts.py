"""Ctrl-C is remembered once."""

import signal
import threading

import pytest

from fedkin.engine.interrupts import interrupts


def test_the_first_is_remembered_and_the_second_ends(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts() as asked:
        assert not asked()
        signal.raise_signal(signal.SIGINT)
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert capsys.readouterr().err.count("ending this round") == 1


def test_another_thread_catches_nothing() -> None:
    found: list[bool] = []

    def work() -> None:
        with interrupts() as asked:
            found.append(asked())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]

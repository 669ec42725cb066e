"""Ctrl-C is remembered once."""

import signal
import threading

import pytest

from fedkin.engine.interrupts import interrupts
from fedkin.experiment.terminal import cleans_up_on_signals


def test_the_first_is_remembered_and_the_second_ends(caplog: pytest.LogCaptureFixture) -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts() as asked:
        assert not asked()
        signal.raise_signal(signal.SIGINT)
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert caplog.text.count("ending this round") == 1


class _Told:
    """Is told to end while it is destroyed: what a destructor raises is lost."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_ending_that_a_destructor_lost_is_found_by_who_asks() -> None:
    with cleans_up_on_signals(), interrupts() as asked:
        assert not asked()
        held = [_Told()]
        held.clear()
        with pytest.raises(KeyboardInterrupt):
            asked()
    with interrupts() as asked:
        assert not asked()


def test_another_thread_catches_nothing() -> None:
    found: list[bool] = []

    def work() -> None:
        with interrupts() as asked:
            found.append(asked())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]

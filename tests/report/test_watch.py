"""The live page over a real socket: who may read it, and that nothing is written."""

import http.client
import logging
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.report import live, watch
from fedkin.report.watch import Watch
from tests.report.records_for_tests import write


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that takes no time."""
    monkeypatch.setattr(live, "run_page", lambda run: f"page of {run.folder.name}")


@contextmanager
def served(folder: Path) -> Iterator[Watch]:
    with Watch(folder) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield found
        finally:
            found.shutdown()
            thread.join()


def asked(
    server: Watch, path: str | None = None, host: str | None = None, verb: str = "GET"
) -> tuple[http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    headers = {} if host is None else {"Host": host}
    connection.request(verb, f"/{server.token}/" if path is None else path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def files(folder: Path) -> dict[str, tuple[float, bytes]]:
    return {
        str(path): (path.stat().st_mtime, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_page_follows_the_run_and_nothing_is_written(tmp_path: Path) -> None:
    folder = write(tmp_path / "comet", finished=False)
    before = files(tmp_path)
    with served(folder) as server:
        answer, text = asked(server)
        assert (answer.status, answer.headers["Refresh"]) == (200, "10")
        assert "This run is not finished" in text
        assert files(tmp_path) == before
        with sqlite3.connect(folder / "run.db") as database:
            database.execute("UPDATE facts SET value = 'true' WHERE name = 'finished'")
        answer, text = asked(server)
        assert answer.headers["Refresh"] is None
        assert "This run is not finished" not in text
    assert server.server_address[0] == "127.0.0.1"
    assert answer.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", ""])
def test_other_hosts_are_refused(short: None, tmp_path: Path, host: str) -> None:
    """A name that somebody else's DNS leads to this machine."""
    with served(write(tmp_path / "x")) as server:
        answer, text = asked(server, host=host)
        assert (answer.status, text) == (403, "This host is not served.")
        assert asked(server, host=f"localhost:{server.server_port}")[0].status == 200


def test_nothing_without_the_token(short: None, tmp_path: Path) -> None:
    with served(write(tmp_path / "x")) as server:
        for path in (
            "/",
            "/x/",
            f"/{server.token}",
            f"/{server.token}/run.db",
            f"/{server.token}/../",
        ):
            assert asked(server, path)[0].status == 404, path
        for verb in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
            assert asked(server, verb=verb)[0].status == 501, verb
        assert asked(server, "/" + "x" * 70_000)[0].status == 414


def test_the_name_of_a_folder_may_be_no_text(short: None, tmp_path: Path) -> None:
    try:
        folder = write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/run\xff")))
    except OSError:
        pytest.skip("this system takes no such name")
    with served(folder) as server:
        assert asked(server)[1] == "page of run\\udcff"


def test_a_folder_of_runs_is_compared(tmp_path: Path) -> None:
    for name in ("local", "comet"):
        write(tmp_path / name, method=name)
    with served(tmp_path) as server:
        answer, text = asked(server)
    assert answer.status == 200
    assert "2 runs side by side" in text


def test_no_more_at_once_than_there_is_room_for(
    short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "AT_ONCE", 1)
    with served(write(tmp_path / "x")) as server:
        slow = socket.create_connection(("127.0.0.1", server.server_port))
        slow.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            asked(server)
        slow.close()


def test_a_page_that_cannot_be_made_is_told_in_the_browser_and_on_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(run: object) -> str:
        raise KeyError("a note")

    caplog.set_level(logging.DEBUG, "fedkin")
    with served(write(tmp_path / "x")) as server:
        with monkeypatch.context() as patched:
            patched.setattr(live, "run_page", fails)
            answer, text = asked(server)
        assert (answer.status, answer.headers["Refresh"], text) == (500, "10", watch.FAILED)
        monkeypatch.setattr(live, "run_page", lambda run: "whole")
        assert asked(server)[1] == "whole"
    said, *traced = caplog.messages
    assert said == "error: the page could not be made: KeyError: 'a note'"
    assert any("in fails" in line for line in traced)  # of --verbose
    assert {record.levelname for record in caplog.records[1:]} == {"DEBUG"}


@pytest.mark.parametrize(
    ("error", "said"), [(BrokenPipeError(), 0), (TimeoutError(), 0), (ValueError("odd"), 1)]
)
def test_who_goes_away_is_nobodys_mistake(
    error: Exception, said: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Watch(write(tmp_path / "x")) as server:
        try:
            raise error
        except Exception:
            server.handle_error(None, None)
    assert [one.levelname for one in caplog.records if one.levelname != "DEBUG"] == said * ["ERROR"]


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="is not a run directory, and holds none"):
        Watch(tmp_path)

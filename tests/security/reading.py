"""``python reading.py OUT SECONDS``: reading commands on the run directories named on stdin, each
line ``DIRECTORY<tab>COMMAND,COMMAND…``, under a tracer.

Prints one JSON line a command and directory. The tracer counts what reading must not do: write
outside of the run directory and of OUT, reach the network, start a process. It ends a command that
takes so many seconds of the processor. SQLite's own files are beyond it: tests look at the folders
afterwards.
"""

import io
import json
import os
import resource
import signal
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

WRITES = (
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "shutil.",
)
FORBIDDEN = (
    "socket.connect",
    "socket.bind",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
)
CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def commands(run: str, out: str) -> dict[str, list[str]]:
    """Every command that looks at a run directory, and those that go on with one.

    ``out`` holds samples.npz, which an honest run can use.
    """
    samples = f"{out}/samples.npz"
    return {
        "show": ["show", run],
        "show --json": ["show", run, "--json"],
        "compare": ["compare", run],
        "compare --html": ["compare", run, "--html", f"{out}/page.html"],
        "compare --markdown": ["compare", run, "--markdown", f"{out}/page.md"],
        "report": ["report", run],
        "export": ["export", run, "--client", "1", "--out", f"{out}/export"],
        "predict": ["predict", run, "--client", "1", "--data", samples, "--out", f"{out}/p.csv"],
        "join": ["join", run, "--data", samples],
        "resume": ["resume", run],
        "track": ["track", run, "--tensorboard", f"{out}/logs"],
        "audit": ["audit", run],
    }


class Tracer:
    """What happened outside of the folders that may be written to."""

    def __init__(self) -> None:
        self.allowed: tuple[str, ...] = ()
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def watch(self, *folders: Path) -> None:
        """From now on these folders may be written to, and nothing was seen; with none, nobody
        looks.
        """
        self.allowed, self.seen = tuple(os.path.realpath(folder) for folder in folders), []

    def _inside(self, path: Any) -> bool:
        if isinstance(path, int):
            return True  # a file that is open: it was asked about when it was opened
        real = os.path.realpath(os.fsdecode(path))
        return real == os.devnull or any(
            real == one or real.startswith(one + os.sep) for one in self.allowed
        )

    def _in_open_folder(self, event: str, arguments: tuple[Any, ...]) -> bool:
        """What shutil.rmtree removes within a folder that it has open: the folder itself was asked
        about.
        """
        return event in ("os.remove", "os.rmdir") and arguments[1] != -1

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.allowed:
            return
        if event.startswith(FORBIDDEN):
            self.seen.append(f"{event} {arguments!r}"[:200])
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & CHANGING:
            if not self._inside(arguments[0]):
                self.seen.append(f"write {arguments[0]!r}")
        elif (
            event.startswith(WRITES)
            and not self._inside(arguments[0])
            and not self._in_open_folder(event, arguments)
        ):
            self.seen.append(f"{event} {arguments[0]!r}")


class TooLong(BaseException):
    """Nothing that a command would catch."""


def late(number: int, frame: Any) -> None:
    raise TooLong


def one(command: list[str], seconds: int) -> dict[str, Any]:
    """What came of one command in this process."""
    from fedkin.cli.app import app

    said, error, began, code, bug = io.StringIO(), io.StringIO(), time.monotonic(), 0, ""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)  # by the clock, for who waits without working
    with redirect_stdout(said), redirect_stderr(error):
        try:
            app(command)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException as trouble:  # what nobody foresaw is what is looked for
            bug = f"{type(trouble).__name__}: {trouble}"[:300]
    signal.alarm(0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    told = {
        "code": code,
        "out": said.getvalue()[:50_000],
        "err": error.getvalue()[:10_000],
        "bug": bug,
    }
    return {**told, "seconds": round(time.monotonic() - began, 2)}


def main(out: Path, seconds: int) -> None:
    """Each directory in its turn."""

    signal.signal(signal.SIGALRM, late)
    signal.signal(signal.SIGPROF, late)
    tracer = Tracer()
    for line in sys.stdin:
        place, _, chosen = line.rstrip("\n").partition("\t")
        run = Path(place)
        for name, command in commands(place, str(out)).items():
            if name in chosen.split(","):
                tracer.watch(run, out)
                found = one(command, seconds)
                seen = tracer.seen
                tracer.watch()
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
                print(
                    json.dumps(
                        {"run": str(run), "command": name, **found, "seen": seen, "mb": peak}
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

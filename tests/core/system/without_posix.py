"""``python without_posix.py FOLDER``: fedkin where the names are absent that Windows has not.

What it cannot fake: sys.platform, by which torch and the standard library choose their own ways;
backslashes in paths; that an open file is not removed; the rights of NTFS.
"""

import contextlib
import importlib
import io
import os
import pkgutil
import shutil
import signal
import socket
import sys
import types
from pathlib import Path
from unittest import mock

import filelock

# What other packages import when they are loaded, by ways that Windows has of its own.
OTHERS = (
    *("altair", "asyncio", "filelock", "multiprocessing.connection", "multiprocessing.pool"),
    *("pandas", "rich.console", "safetensors.torch", "sqlite3", "tempfile", "torch", "typer"),
    *("flwr.app", "flwr.clientapp", "flwr.serverapp", "cryptography.x509", "ray", "optuna"),
    *("sklearn.datasets", "scipy.optimize", "scipy.stats", "ssl", "subprocess", "urllib.request"),
)
MODULES = ("fcntl", "grp", "pwd", "resource", "syslog", "_posixshmem", "nis", "crypt", "spwd")
OF_OS = """chown chroot fchown fchmod fdatasync fork forkpty fstatvfs getegid geteuid getgid
    getgroups getloadavg getpgid getpgrp getpriority getresuid getsid getuid killpg lchown mkfifo
    mknod nice pread preadv pwrite pwritev sched_getaffinity sched_setaffinity setpgid setsid
    setuid statvfs sync sysconf ttyname uname wait wait3 wait4 O_ASYNC O_CLOEXEC O_DIRECTORY
    O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC WNOHANG posix_fadvise posix_spawn memfd_create
    sendfile eventfd"""
OF_SIGNAL = """SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1
    SIGUSR2 alarm pause pthread_sigmask setitimer sigwait"""
OF_SOCKET = "AF_UNIX SCM_RIGHTS SO_REUSEPORT recv_fds send_fds"
ABSENT = ((os, OF_OS), (signal, OF_SIGNAL), (socket, OF_SOCKET))


def taken_away() -> None:
    """From here on nothing of it is there."""
    for name in OTHERS:
        with contextlib.suppress(ImportError):  # an extra that is not installed
            importlib.import_module(name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    own = types.ModuleType("os")
    own.__dict__.update(vars(os))
    filelock._unix.os = own  # type: ignore[attr-defined]  # its way on Windows is another file
    for module, names in ABSENT:
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    assert not hasattr(os, "getuid")


def every_module() -> int:
    """How many there are; each is imported."""
    import fedkin

    found = 0
    for part in pkgutil.walk_packages(fedkin.__path__, "fedkin."):
        if part.name == "fedkin.__main__":
            continue
        try:
            importlib.import_module(part.name)
        except ModuleNotFoundError as error:
            if not error.name or error.name in MODULES or error.name.startswith("fedkin"):
                raise
        found += 1
    return found


def typed(*words: str) -> tuple[int, str]:
    """What ``fedkin WORDS`` ends with, and all that it says."""
    from fedkin.cli.app import main

    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with (
        mock.patch.object(sys, "argv", ["fedkin", *words]),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    said.flush()
    return code, said.buffer.getvalue().decode()  # type: ignore[attr-defined]


def main(folder: Path) -> None:
    taken_away()
    assert every_module() > 400
    run = str(folder / "run")
    short = ["--rounds", "2", "--clients", "3", "--method", "ditto", "--set", "train.epochs=1"]
    for words, told in (
        (["run", "--out", run, "--engine", "processes", *short], "one process does the work"),
        (["show", run], "ditto"),
        (["report", run], "report.html"),
        (["compare", run], "ditto"),
        (["export", run, "--client", "0", "--out", str(folder / "model")], "model"),
        (["data"], "digits"),
        (["methods"], "comet"),
    ):
        code, said = typed(*words)
        assert code == 0, (words, said)
        assert told in said, (words, said)
    code, said = typed("deploy", "superlink", str(folder))
    assert code != 0
    assert "needs Linux or macOS" in said, said
    kept = Path(os.environ["XDG_CACHE_HOME"])
    assert list(kept.rglob("*")), "nothing is kept below the home"
    print("all of it")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

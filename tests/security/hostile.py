"""Run directories as a stranger might make them: each leads a reader out of them, or on without an
end.
"""

import json
import os
import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

MAGIC = bytes.fromhex("d9d505f920a163d7")


def page_size(record: bytes) -> int:
    """Of a database."""
    size: int = struct.unpack(">H", record[16:18])[0]
    return size


def journal(
    record: Path, named: Path | None, pages: dict[int, bytes] | None = None, size: int | None = None
) -> bytes:
    """A rollback journal of a record: these pages are put back, and ``named`` is the
    super-journal.
    """
    content = record.read_bytes()
    page = page_size(content)
    kept = pages or {}
    nonce = 7
    found = MAGIC + struct.pack(">IIIII", len(kept), nonce, size or len(content) // page, 512, page)
    found = found.ljust(512, b"\0")
    for number, old in kept.items():
        check = nonce + sum(old[at] for at in range(page - 200, 0, -200))
        found += struct.pack(">I", number) + old + struct.pack(">I", check & 0xFFFFFFFF)
    if named is not None:
        name = os.fsencode(named)
        found += struct.pack(">I", 0x40000000 // page + 1) + name
        found += struct.pack(">II", len(name), sum(name) & 0xFFFFFFFF) + MAGIC
    return found


def changed(run: Path, *statements: str) -> None:
    """The record after these statements of its maker's."""
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for statement in statements:
            connection.execute(statement)


def instead(run: Path, table: str, view: str) -> None:
    """A view in the place of a table."""
    changed(run, f"DROP TABLE {table}", f"CREATE VIEW {table} AS {view}")


def fact(run: Path, name: str, text: str) -> None:
    """Another value of a fact, as JSON or not."""
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as connection:
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, text))


def endless(run: Path) -> None:
    """The root page of ``notes`` names itself as each of its children, twenty levels deep."""
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for k in range(2000):
            connection.execute("INSERT INTO events VALUES (?, 1, 'missing', ?)", (k % 3, "x" * 200))
        connection.execute("COMMIT")
        ((root,),) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'events'"
        ).fetchall()
    path = run / "run.db"
    whole = bytearray(path.read_bytes())
    page = page_size(whole)
    leaves = [at for at in range(root * page, len(whole), page) if whole[at] == 13]
    inner = [
        root - 1,
        *(at // page for at in leaves[:18]),
    ]  # pages that become a ladder, each of two rungs to the next
    for here, then in zip(inner, [*inner[1:], leaves[-1] // page]):
        at = here * page
        cells = [page - 9 * (k + 1) for k in range(300)]
        body = bytearray(page)
        body[0:12] = struct.pack(">BHHHBI", 5, 0, len(cells), cells[-1], 0, then + 1)
        for k, cell in enumerate(cells):
            body[12 + 2 * k : 14 + 2 * k] = struct.pack(">H", cell)
            body[cell : cell + 6] = struct.pack(">I", then + 1) + bytes([0x81, k % 128])
        whole[at : at + page] = body
    path.write_bytes(whole)


def linked(name: str, there: bool = True) -> Callable[[Path, Path], None]:
    """Something of the run's own as a link to the victim."""

    def plant(run: Path, victim: Path) -> None:
        path = run / name
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(victim if there else victim.with_name("made"))

    return plant


def hard(name: str) -> Callable[[Path, Path], None]:
    """The same as a second name of the victim's file."""

    def plant(run: Path, victim: Path) -> None:
        (run / name).unlink(missing_ok=True)
        os.link(victim, run / name)

    return plant


def pipe(name: str) -> Callable[[Path, Path], None]:
    """A pipe in the place of a file: who opens it waits for ever."""

    def plant(run: Path, victim: Path) -> None:
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)

    return plant


def sql(*statements: str) -> Callable[[Path, Path], None]:
    return lambda run, victim: changed(run, *statements)


def facts(name: str, value: Any) -> Callable[[Path, Path], None]:
    text = value if isinstance(value, str) else json.dumps(value)
    return lambda run, victim: fact(run, name, text)


def text(name: str, content: bytes) -> Callable[[Path, Path], None]:
    def plant(run: Path, victim: Path) -> None:
        (run / name).write_bytes(content)

    return plant


def super_journal(run: Path, victim: Path) -> None:
    (run / "run.db-journal").write_bytes(journal(run / "run.db", victim))


def logged(run: Path, victim: Path) -> None:
    """A database with a write-ahead log: a reader makes files beside it."""
    whole = bytearray((run / "run.db").read_bytes())
    whole[18:20] = b"\2\2"
    (run / "run.db").write_bytes(whole)


def log_is_a_link(run: Path, victim: Path) -> None:
    logged(run, victim)
    (run / "run.db-shm").symlink_to(victim)
    (run / "run.db-wal").symlink_to(victim)


def sparse(name: str, size: int) -> Callable[[Path, Path], None]:
    def plant(run: Path, victim: Path) -> None:
        with open(run / name, "wb") as file:
            file.truncate(size)

    return plant


COUNT = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) SELECT"
DEEP = "[" * 100_000 + "]" * 100_000
HUGE = "9" * 200_000
ESCAPES = "char(27) || ']0;owned' || char(7) || char(27) || '[2J' || char(10) || 'b'"

PLANTS: dict[str, Callable[[Path, Path], None]] = {
    "report is a link": linked("report.html"),
    "report is a link to nothing": linked("report.html", there=False),
    "record is a link": linked("run.db"),
    "journal is a link": linked("run.db-journal"),
    "lock is a link": linked("run.lock"),
    "lock is a link to nothing": linked("run.lock", there=False),
    "lock has a second name": hard("run.lock"),
    "record has a second name": hard("run.db"),
    "specification is a link": linked("experiment.toml"),
    "checkpoint is a link": linked("checkpoint"),
    "state is a link": linked("state"),
    "joined is a link": linked("joined"),
    "export is a link": linked("export"),
    "nodes are a link": linked("nodes.json"),
    "record is a pipe": pipe("run.db"),
    "journal is a pipe": pipe("run.db-journal"),
    "specification is a pipe": pipe("experiment.toml"),
    "lock is a pipe": pipe("run.lock"),
    "journal names another": super_journal,
    "write-ahead log": logged,
    "write-ahead log is a link": log_is_a_link,
    "endless view of rounds": lambda run, _: instead(
        run,
        "rounds",
        f"{COUNT} k AS round, 'round' AS phase, '[]' AS participants, '{{}}' AS seconds FROM n",
    ),
    "endless view of facts": lambda run, _: instead(
        run, "facts", f"{COUNT} k AS name, '1' AS value FROM n"
    ),
    "endless view of clients": lambda run, _: instead(
        run,
        "clients",
        f"{COUNT} k AS client, k AS name, '' AS architecture, 1 AS train, 1 AS val, 1 AS test "
        "FROM n",
    ),
    "endless pages": lambda run, _: endless(run),
    "a trigger": sql("CREATE TRIGGER t AFTER INSERT ON rounds BEGIN DELETE FROM metrics; END"),
    "a computed column": sql(
        "DROP TABLE events",
        "CREATE TABLE events (round INTEGER, client INTEGER, kind TEXT, text TEXT AS "
        "(hex(zeroblob(900000000))))",
    ),
    "a virtual table": sql("CREATE VIRTUAL TABLE words USING fts5(a)"),
    "accuracy of 1e308": sql("UPDATE metrics SET accuracy = 1e308"),
    "loss of 1e308": sql("UPDATE metrics SET loss = 1e308"),
    "loss is a text": sql("UPDATE metrics SET loss = 'low'"),
    "round is a text": sql("UPDATE metrics SET round = 'one' || round WHERE client = 0"),
    "round of 1e18": sql("UPDATE rounds SET round = 1000000000000000000 WHERE round = 2"),
    "client is a blob": sql("INSERT INTO notes VALUES (1, x'00ff', 'cluster', '1')"),
    "bytes below none": sql("UPDATE messages SET bytes = -9223372036854775808"),
    "direction is a tag": sql("UPDATE messages SET direction = '<script>'"),
    "participants are deep": sql(f"UPDATE rounds SET participants = '{DEEP}'"),
    "participants are a number": sql("UPDATE rounds SET participants = '3'"),
    "seconds are a list": sql("UPDATE rounds SET seconds = '[1]'"),
    "seconds are a text": sql("""UPDATE rounds SET seconds = '{"total": "long"}'"""),
    "seconds have many digits": sql(f"""UPDATE rounds SET seconds = '{{"total": {HUGE}}}'"""),
    "a note is deep": sql(f"UPDATE notes SET value = '{DEEP}'"),
    "a note of 12 million letters": sql(
        "UPDATE notes SET value = '\"' || hex(zeroblob(6000000)) || '\"' WHERE client = 0"
    ),
    "notes of a million letters": sql(
        "UPDATE notes SET value = '\"' || hex(zeroblob(500000)) || '\"'"
    ),
    "reasons of a million letters": sql(
        "INSERT INTO events SELECT round, client, 'missing', hex(zeroblob(500000)) FROM notes"
    ),
    "a reason of 18 million letters": sql(
        "INSERT INTO events VALUES (1, 0, 'missing', hex(zeroblob(9000000)))"
    ),
    "a note is no JSON": sql("UPDATE notes SET value = '{'"),
    "a note of another kind": sql("""UPDATE notes SET value = '{"a": [1, {"b": null}]}'"""),
    "a histogram is a number": sql("UPDATE clients SET histogram = '7'"),
    "a histogram is deep": sql(f"UPDATE clients SET histogram = '{DEEP}'"),
    "a name is a terminal's command": sql(f"UPDATE clients SET name = {ESCAPES} WHERE client = 1"),
    "a name is markup": sql(
        "UPDATE clients SET name = '[bold red]a[/]</script><script>x' WHERE client = 1"
    ),
    "a name leads out": sql("UPDATE clients SET name = '../../made' WHERE client = 1"),
    "a client has 2**53 samples": sql(
        f"UPDATE clients SET train = {2**53}, val = {2**53}, test = {2**53}"
    ),
    "states lead out": sql("INSERT INTO states VALUES (0, '../../made')"),
    "facts are a list": facts("spec", [1, 2]),
    "facts are deep": facts("spec", DEEP),
    "facts have many digits": facts("rounds", HUGE),
    "planned rounds are a text": facts("rounds", "'many'"),
    "planned rounds of 1e18": facts("rounds", 10**18),
    "hyper-parameters are a number": facts("hyper", 3),
    "class names are a number": facts("class_names", 3),
    "newcomers are a number": facts("newcomers", 3),
    "newcomers are empty dicts": facts("newcomers", [{}]),
    "what was said is a number": facts("said", 3),
    "the version is deep": facts("version", DEEP),
    "no database": text("run.db", b"not a database" * 1000),
    "half a database": lambda run, _: (
        (run / "run.db").write_bytes((run / "run.db").read_bytes()[:9000]) and None
    ),
    "no tables": sql(
        *(f"DROP TABLE {name}" for name in ("facts", "rounds", "metrics", "messages"))
    ),
    "an endless specification": sparse("experiment.toml", 1 << 40),
    "a deep specification": text("experiment.toml", b"a = " + DEEP.encode()),
    "a specification of many digits": text("experiment.toml", b"run.seed = " + HUGE.encode()),
    "a specification of many dots": text("experiment.toml", b".".join([b"a"] * 300_000) + b" = 1"),
    "a specification that is no text": text("experiment.toml", b"\xff\xfe" * 100),
}
"""What is planted in a run directory (first argument), against a victim beside it (second): by what
it is.
"""

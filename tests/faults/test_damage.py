"""Lost workers, full disks, damaged files: one sentence each; what is committed stays readable; no
pickle.
"""

import errno
import os
import re
import shutil
import signal
import sqlite3
import tempfile
import threading
from pathlib import Path

import pytest
import torch

import fedkin
from fedkin.core.errors import FedkinError, Halted
from fedkin.engine.transports import processes
from fedkin.engine.transports.processes import Processes
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.runs import checkpoint
from fedkin.runs.database import read_only
from fedkin.runs.directory import LOCK
from fedkin.setup.loaded_run import load
from tests.engine.small import FORKED, outcome, small

PACKAGE = Path(fedkin.__file__).parent


class Stop(Exception):
    """Ends a run from its progress callback."""


def one_sentence(error: FedkinError) -> str:
    text = str(error)
    assert text
    assert "\n" not in text
    assert "Traceback" not in text
    return text


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(small("pfedme"), tmp_path_factory.mktemp("finished") / "run")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that ended in its second round, with round 1 committed."""
    folder = tmp_path_factory.mktemp("stopped") / "run"

    def stop(record):
        if record.round == 2:
            raise Stop

    with pytest.raises(Stop):
        run(small("pfedme"), folder, progress=stop)
    return folder


@pytest.fixture
def broken(stopped, tmp_path):
    return Path(shutil.copytree(stopped, tmp_path / "run"))


def test_a_stopped_run_is_resumed(broken, finished):
    assert outcome(resume(broken)) == outcome(finished)
    before = {path: path.stat().st_mtime_ns for path in broken.rglob("*") if path.name != LOCK}
    assert resume(broken) == broken  # a finished run is left as it is
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_worker_that_is_killed(tmp_path, monkeypatch, finished):
    monkeypatch.setattr(processes, "subprocess", FORKED)
    spec = small("pfedme", engine__name="processes", engine__workers=2)
    victims = []
    ask = Processes.ask

    def asking(self, op, round, orders):
        if round == 2 and op == "local":
            victims.append(self._processes[1].pid)
            threading.Timer(0.01, os.kill, (victims[0], signal.SIGKILL)).start()
            self._processes[1]._process.join(5)
        return ask(self, op, round, orders)

    monkeypatch.setattr(Processes, "ask", asking)
    with pytest.raises(
        FedkinError,
        match=r"worker process 1 ended \(exit code -9\); what is committed can be resumed: "
        rf"fedkin resume {tmp_path / 'run'}$",
    ) as lost:
        run(spec, tmp_path / "run")
    assert lost.value.code == "FED-603"
    monkeypatch.setattr(Processes, "ask", ask)
    assert outcome(resume(tmp_path / "run")) == outcome(finished)


def test_a_worker_that_does_not_start(tmp_path, monkeypatch):
    monkeypatch.setattr(processes.sys, "executable", shutil.which("false"))
    with pytest.raises(FedkinError, match=r"worker process 0 did not start \(exit code 1\)"):
        run(small("fedavg", engine__name="processes", engine__workers=1), tmp_path / "run")


def test_a_failure_in_a_worker_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "subprocess", FORKED)
    spec = small("pfedme", engine__name="processes", engine__workers=2)

    def stop(record):
        if record.round == 1:
            shutil.rmtree(tmp_path / "run" / "checkpoint")

    with pytest.raises(
        FedkinError, match=r"cannot be written.*No such file.*Committed up to round 1"
    ) as caught:
        run(spec, tmp_path / "run", progress=stop)
    one_sentence(caught.value)


def test_a_client_that_fails_is_recorded(tmp_path):
    from fedkin.methods.local import local

    base = local(lr=0.05)

    def work(down, own, data):
        if data.info.client == 2 and data.key.round == 2:
            raise ValueError("sensor unplugged")
        return base.client_update(down, own, data)

    spec = small("local", run__participation=1.0)
    folder = run(spec, tmp_path / "run", method=base._replace(client_update=work))
    with read_only(folder) as database:
        ((*when, reason),) = database.rows("SELECT * FROM events")
        assert when == [2, 2, "missing"]
        assert reason.startswith("ValueError: sensor unplugged (test_damage.py, line ")
        assert database.last_round() == 4
        scores = database.rows(
            "SELECT round, accuracy, loss FROM metrics WHERE client = 2 AND split = 'val'"
        )
    assert scores[0][1:] == scores[1][1:] != scores[2][1:]  # its model stood still in round 2


def test_too_few_replies(tmp_path):
    from fedkin.methods.local import local

    def work(down, own, data):
        if data.key.round == 2:
            raise ValueError("all unplugged")
        return base.client_update(down, own, data)

    base = local(lr=0.05)
    with pytest.raises(
        FedkinError, match=r"round 2: 0 usable replies, at least 1 needed.*unplugged"
    ) as caught:
        run(small("local"), tmp_path / "run", method=base._replace(client_update=work))
    one_sentence(caught.value)
    done = resume(tmp_path / "run", method=base)  # repaired, and continued
    assert outcome(done) == outcome(run(small("local"), tmp_path / "plain"))


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("state", ["memory", "disk"])
def test_disk_full(state, tmp_path, monkeypatch, finished):
    def fill(record):
        if record.round == 2:
            monkeypatch.setattr("fedkin.core.files._put", full)

    with pytest.raises(Halted, match="No space left on device") as caught:
        run(small("pfedme", engine__state=state), tmp_path / "run", progress=fill)
    one_sentence(caught.value)
    with read_only(tmp_path / "run") as database:
        assert database.last_round() == 2  # progress comes after the commit
    monkeypatch.undo()
    load(tmp_path / "run")
    assert outcome(resume(tmp_path / "run"))["fingerprint"] == outcome(finished)["fingerprint"]


def test_database_full(tmp_path, monkeypatch, finished):
    def fill(record):
        if record.round == 1:
            monkeypatch.setattr("fedkin.runs.recorder.put_rows", lambda *_: no_space())

    def no_space():
        raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(Halted, match=r"disk is full\. Committed up to round 1") as caught:
        run(small("pfedme"), tmp_path / "run", progress=fill)
    one_sentence(caught.value)
    monkeypatch.undo()
    load(tmp_path / "run")
    assert outcome(resume(tmp_path / "run")) == outcome(finished)


def test_a_reader_in_the_way(tmp_path, finished):
    """A database browser that holds a transaction: rounds wait for it, the run goes on."""
    readers = []

    def read(record):
        if record.round == 1:
            readers.append(sqlite3.connect(tmp_path / "run" / "run.db", isolation_level=None))
            readers[0].execute("BEGIN")
            readers[0].execute("SELECT * FROM rounds").fetchall()
        if record.round == 2:
            with read_only(tmp_path / "run") as database:
                assert database.last_round() == 1
            readers[0].close()

    assert outcome(run(small("pfedme"), tmp_path / "run", progress=read)) == outcome(finished)


@pytest.mark.parametrize("where", ["/proc/fedkin/run", "file/run", "file"])
def test_unwritable_folders(where, tmp_path):
    (tmp_path / "file").write_text("a file")
    with pytest.raises(FedkinError) as caught:
        run(small("fedavg"), tmp_path / where)
    assert where.split("/")[-1] in one_sentence(caught.value)


def test_no_space_for_the_first_file(tmp_path, monkeypatch):
    monkeypatch.setattr("fedkin.core.files._put", full)
    with pytest.raises(Halted, match=r"cannot be written.*No space left"):
        run(small("fedavg"), tmp_path / "run")
    monkeypatch.undo()
    run(small("fedavg"), tmp_path / "run")  # the folder may be used again


def test_no_space_for_the_samples(tmp_path, monkeypatch):
    """It is the temporary folder that is full, not the run's."""

    def save(*_, **__):
        raise OSError("115008 requested and 65408 written")

    monkeypatch.setattr("fedkin.data.population.np.save", save)
    where = re.escape(tempfile.gettempdir())
    with pytest.raises(
        Halted, match=f"^{where} cannot hold the samples.*115008 requested.*TMPDIR"
    ) as caught:
        run(small("fedavg", engine__name="processes"), tmp_path / "run")
    one_sentence(caught.value)


def test_what_fails_beside_the_folder_is_not_its_fault(tmp_path):
    """A closed pipe behind the progress, say."""

    def gone(record):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        run(small("fedavg"), tmp_path / "run", progress=gone)
    with checkpoint.alone(tmp_path / "run"):  # it let go
        pass


def test_a_folder_in_use(broken):
    with checkpoint.alone(broken), pytest.raises(Halted, match="being written by another process"):
        resume(broken)
    resume(broken)


def test_a_folder_with_something_in_it(finished, tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    for folder, more in ((finished, r", or: fedkin resume .*"), (tmp_path, "")):
        with pytest.raises(FedkinError, match=f"exists and is not empty: choose .*run.out.{more}$"):
            run(small("fedavg"), folder)


def hit(path: Path, damage) -> None:
    path.write_bytes(damage(path.read_bytes()))


def newest(folder: Path, of: str) -> Path:
    (path,) = (folder / "checkpoint").glob(f"{of}.*.safetensors")
    return path


def sql(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "run.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


DAMAGE = {
    "no run.db, no toml": (
        lambda f: [(f / n).unlink() for n in ("run.db", "experiment.toml")],
        "not a run directory",
    ),
    "no folder": (lambda f: shutil.rmtree(f), "does not exist"),
    "other version": (
        lambda f: sql(f, "UPDATE facts SET value = '99' WHERE name = 'version'"),
        "written in version 99",
    ),
    "named version": (
        lambda f: sql(f, "UPDATE facts SET value = '\"b\"' WHERE name = 'version'"),
        "in version b",
    ),
    "broken version": (
        lambda f: sql(f, "UPDATE facts SET value = '{' WHERE name = 'version'"),
        "not a readable run",
    ),
    "no version": (lambda f: sql(f, "DELETE FROM facts"), "not a readable run record"),
    "empty run.db": (lambda f: hit(f / "run.db", lambda b: b""), "not a readable run record"),
    "not a database": (
        lambda f: hit(f / "run.db", lambda b: b"hello" * 999),
        "not a readable run record",
    ),
    "truncated run.db": (lambda f: hit(f / "run.db", lambda b: b[: len(b) // 2]), "run.db"),
    "pages of run.db lost": (
        lambda f: hit(f / "run.db", lambda b: b[:8192] + bytes(len(b) - 8192)),
        "run.db",
    ),
    "no toml": (lambda f: (f / "experiment.toml").unlink(), "experiment.toml does not exist"),
    "damaged toml": (
        lambda f: hit(f / "experiment.toml", lambda b: b[: len(b) // 2 - 3] + b"["),
        "experiment.toml",
    ),
    "toml of bytes": (
        lambda f: hit(f / "experiment.toml", lambda b: b"\xff\xfe"),
        "cannot be read",
    ),
    "empty toml": (
        lambda f: hit(f / "experiment.toml", lambda b: b""),
        "is empty: put back a copy of it",
    ),
    "edited toml": (
        lambda f: hit(f / "experiment.toml", lambda b: re.sub(rb"\nlr = \S+", b"\nlr = 0.5", b)),
        r"train\.lr is not what this run began with",
    ),
    "no checkpoint": (lambda f: shutil.rmtree(f / "checkpoint"), "is missing from its checkpoint"),
    "no server state": (
        lambda f: newest(f, "server").unlink(),
        r"server\.2\.safetensors is missing",
    ),
    "no client state": (lambda f: newest(f, "0").unlink(), r"0\..\.safetensors is missing"),
    "empty state": (lambda f: hit(newest(f, "0"), lambda b: b""), r"0\..\.safetensors is damaged"),
    "truncated state": (
        lambda f: hit(newest(f, "0"), lambda b: b[:-5]),
        r"0\..\.safetensors is damaged",
    ),
    "truncated server": (
        lambda f: hit(newest(f, "server"), lambda b: b[:-5]),
        r"server\.2\.safetensors is damaged",
    ),
    "pickled state": (
        lambda f: torch.save({"theta": {}}, newest(f, "0")),
        r"0\..\.safetensors is damaged",
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_told_in_one_sentence(case, broken):
    damage, sentence = DAMAGE[case]
    with read_only(broken) as database:
        assert database.last_round() == 2
    damage(broken)
    with pytest.raises(FedkinError, match=sentence) as caught:
        resume(broken)
    one_sentence(caught.value)


def test_a_run_that_began_before_an_option_existed_goes_on(broken):
    sql(
        broken,
        "UPDATE facts SET value = json_remove(value, '$.train.precision') WHERE name = 'spec'",
    )
    resume(broken)
    with read_only(broken) as database:
        assert database.facts()["finished"]


@pytest.mark.parametrize("case", ["truncated state", "no client state", "truncated server"])
def test_damage_that_a_worker_sees(case, broken, monkeypatch):
    monkeypatch.setattr(processes, "subprocess", FORKED)
    hit(
        broken / "experiment.toml", lambda b: b.replace(b'"inprocess"', b'"processes"\nworkers = 2')
    )
    damage, sentence = DAMAGE[case]
    damage(broken)
    with pytest.raises(FedkinError, match=sentence) as caught:
        resume(broken)
    one_sentence(caught.value)


def test_other_data(broken, monkeypatch):
    from fedkin.data.population import Population

    digest = Population.digest
    monkeypatch.setattr(Population, "digest", lambda self: "another" + digest(self))
    with pytest.raises(FedkinError, match="the data are not those that this run began with"):
        resume(broken)


def test_data_that_changed(tmp_path):
    """The same on a real file: one number of a CSV changes between two parts of a run."""
    rows = [f"{i % 3},{i * 0.01},{(i * 7) % 11},{i % 2}" for i in range(120)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["site,a,b,label", *rows]))
    spec = small(
        "fedavg",
        data__name=str(table),
        data__client="site",
        split__name="natural",
        run__clients=None,
    )
    del spec.split.__pydantic_extra__["alpha"]

    def stop(record):
        raise Stop

    with pytest.raises(Stop):
        run(spec, tmp_path / "run", progress=stop)
    table.write_text("\n".join(["site,a,b,label", *rows[:-1], "2,9.0,9,1"]))
    with pytest.raises(FedkinError, match="the data are not those"):
        resume(tmp_path / "run")


def test_looking_does_not_touch_a_run(broken):
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in broken.rglob("*")}
    hit_engine = (broken / "experiment.toml").read_bytes()
    coordinator, _, _ = load(broken)
    coordinator.views(0, 1)
    assert {
        path: (path.stat().st_mtime_ns, path.stat().st_size) for path in broken.rglob("*")
    } == before
    assert (broken / "experiment.toml").read_bytes() == hit_engine


def test_looking_at_states_on_disk_leaves_them(tmp_path):
    seen = []

    def look(record):
        if record.round == 2:
            load(tmp_path / "run")  # of the last commit, while the run goes on
            seen.append(sorted(path.name for path in (tmp_path / "run" / "state").iterdir()))

    settings = {"engine__state": "disk", "run__commit_every": 0}
    folder = run(small("local", **settings), tmp_path / "run", progress=look)
    assert seen
    assert outcome(folder) == outcome(run(small("local"), tmp_path / "plain"))


FORBIDDEN = re.compile(
    r"(import|from) "
    r"(pickle|joblib|cloudpickle|dill|marshal|shelve)|torch\.(load|save)\b|allow_pickle\s*=\s*True"
    r"|\bpickle\.\w|\b(eval|exec)\(|\.recv\(|\.send\(|yaml\.load|read_pickle|to_pickle"
)


def test_no_pickle_anywhere():
    for planted in (
        "import pickle",
        "x = torch.load(p)",
        "np.load(p, allow_pickle = True)",
        "line.recv()",
    ):
        assert FORBIDDEN.search(planted)
    found = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in path.read_text().splitlines()
        if FORBIDDEN.search(line.split("#")[0].replace(".eval()", ""))
    ]
    assert found == []


def test_numpy_files_are_read_without_pickle():
    loads = [
        line
        for path in PACKAGE.rglob("*.py")
        for line in re.findall(r"np\.load\([^\n]*(?:\n[^\n]*)?", path.read_text())
        if "allow_pickle=False" not in line
    ]
    assert loads == []

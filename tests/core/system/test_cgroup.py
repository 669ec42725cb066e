"""What a container may use of a machine's cores and memory, by files of any content."""

import os
from pathlib import Path

import pytest

from fedkin.core.system import cgroup, posix
from fedkin.core.system.cgroup import most_memory, quota


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 64 cores without a limit."""
    (tmp_path / "groups").mkdir()
    monkeypatch.setattr(cgroup, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(cgroup, "OWN", tmp_path / "own")
    monkeypatch.setattr(posix.os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    return tmp_path


def put(folder: Path, **files: str | bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        whole = content if isinstance(content, bytes) else content.encode()
        (folder / name.replace("__", ".")).write_bytes(whole)


def test_a_container_has_the_cores_of_its_quota(machine: Path) -> None:
    assert (quota(), posix.cores()) == (None, 64)
    for content, cores in (
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("50000 100000\n", 1),
        ("1000 100000", 1),
        ("9900000 100000\n", 64),
        ("max 100000\n", 64),
    ):
        put(machine / "groups", cpu__max=content)
        assert posix.cores() == cores, content


def test_a_group_of_groups_has_the_least_of_their_quotas(machine: Path) -> None:
    put(machine, own="1:name=systemd:/a\n0::/a/b/c\n")
    put(machine / "groups", cpu__max="2000000 100000")
    put(machine / "groups" / "a", cpu__max="300000 100000")
    put(machine / "groups" / "a" / "b" / "c", cpu__max="400000 100000")
    assert quota() == 3
    put(machine / "groups" / "a" / "b", cpu__max="100000 100000")
    assert quota() == 1


@pytest.mark.parametrize("name", ["cpu", "cpu,cpuacct"])
def test_the_first_version_has_its_quota_in_two_files(machine: Path, name: str) -> None:
    put(machine, own=f"12:memory:/a\n4:{name}:/docker/ab\n")
    whole = machine / "groups" / name
    put(whole, cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n")
    assert quota() is None
    put(whole / "docker" / "ab", cpu__cfs_quota_us="250000\n", cpu__cfs_period_us="100000\n")
    assert quota() == 3
    # in a container the group that it is told of may be at the root
    (whole / "docker" / "ab" / "cpu.cfs_quota_us").unlink()
    put(whole, cpu__cfs_quota_us="100000\n")
    assert quota() == 1


def test_a_group_of_groups_has_the_least_of_their_memory(machine: Path) -> None:
    whole = posix.memory()
    put(machine, own="1:name=systemd:/a\n0::/slurm/job/step\n")
    put(machine / "groups", memory__max="max\n")
    assert (most_memory(), whole > 2 << 20) == (None, True)
    put(machine / "groups" / "slurm" / "job" / "step", memory__max=f"{2 << 20}\n")
    assert most_memory() == posix.memory() == 2 << 20
    put(machine / "groups" / "slurm", memory__max=f"{1 << 20}\n")
    assert most_memory() == posix.memory() == 1 << 20
    put(machine / "groups" / "slurm" / "job", memory__max="0")
    assert posix.memory() == 1 << 20


def test_the_first_version_has_its_memory_in_a_hierarchy_of_its_own(machine: Path) -> None:
    put(machine, own="4:cpu:/other\n9:memory:/docker/ab\n")
    whole = machine / "groups" / "memory"
    put(whole, memory__limit_in_bytes=f"{2**63 - 4096}\n")  # its word for no limit
    assert most_memory() is None
    put(whole / "other", memory__limit_in_bytes="4096\n")
    put(whole / "docker" / "ab", memory__limit_in_bytes=f"{3 << 20}\n")
    assert most_memory() == 3 << 20


WILD = [
    b"",
    b"\n",
    b"max",
    b"max max",
    b"200000",
    b"200000 0",
    b"0 100000",
    b"-200000 100000",
    b"-200000 -100000",
    b"1e5 1e5",
    b"nan 100000",
    b"inf 1",
    b"9" * 5000 + b" 1",
    b"1 " + b"9" * 5000,
    b"\xff\xfe \x00",
    b"2 0x10",
    b"1_0 1",
    "٣ ١".encode(),
    b"200000 100000 7",
]


@pytest.mark.parametrize("content", WILD)
def test_a_quota_of_any_content_is_none_or_a_number_of_cores(machine: Path, content: bytes) -> None:
    put(machine / "groups", cpu__max=content)
    if not content.strip().isdigit():  # which is one of two files
        put(machine / "groups" / "cpu", cpu__cfs_quota_us=content, cpu__cfs_period_us=b"100000")
    put(machine, own=b"0::/a\n4:cpu:/\n" + content)
    assert posix.cores() == 64
    if not content.strip().isdigit():
        put(machine / "groups" / "cpu", cpu__cfs_quota_us=b"100000", cpu__cfs_period_us=content)
    assert posix.cores() == 64


@pytest.mark.parametrize("content", [one for one in WILD if not one.strip().isdigit()])
def test_a_limit_of_memory_of_any_content_is_none(machine: Path, content: bytes) -> None:
    put(machine / "groups", memory__max=content, memory__limit_in_bytes=content)
    put(machine, own=b"0::/a\n4:memory:/\n" + content)
    assert most_memory() is None


def test_a_list_of_groups_of_any_content_leads_nowhere_else(machine: Path) -> None:
    put(machine / "away", cpu__max="100000 100000")
    for content in (
        b"0::/../away\n",
        b"0::../away\n",
        b"0::/a/../../away\n",
        b"4:../away:/\n",
        b"0::" + bytes(machine / "away") + b"/.\n",
        b"0::/\0\n:::\n0:\n\n\xff",
        b"0::" + b"/x" * 50_000,
        b"0::/" + b"x" * 5_000,
        b"1:cpu:/a\n" * 100_000,
    ):
        put(machine, own=content)
        assert posix.cores() == 64, content[:40]
    (machine / "own").unlink()
    (machine / "own").mkdir()
    (machine / "groups" / "cpu.max").mkdir()
    assert posix.cores() == 64


def test_files_are_read_up_to_a_bound(machine: Path) -> None:
    put(machine / "groups", cpu__max=b"200000 100000" + b" " * (8 << 20))
    assert posix.cores() == 64
    (machine / "groups" / "cpu.max").unlink()
    os.mkfifo(machine / "groups" / "cpu.max")
    assert posix.cores() == 64  # which nobody writes to

"""Which files something is made of, and their digest."""

from pathlib import Path

from fedkin.certificates.sources import digest_of, file_of, files_from, imported


def test_imports_are_followed_within_packages_and_each_file_once() -> None:
    root = "fedkin.masks.server"
    found = files_from({root: file_of(root)}, ("fedkin.masks",))
    assert list(found) == sorted(found)
    assert {root, "fedkin.masks.client", "fedkin.masks.keys", "fedkin.masks.wire"} < set(found)
    assert all(name.startswith("fedkin.masks.") and path.is_file() for name, path in found.items())
    assert list(files_from({root: file_of(root)}, ())) == [root]


def test_a_module_taken_from_its_package_is_that_module(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        "from fedkin.masks import keys, vectors\nfrom fedkin.masks.terms import Terms\n"
        "from fedkin.core.tree import Tree\n"
    )
    assert imported(file, ("fedkin.masks",)) == [
        "fedkin.masks.keys",
        "fedkin.masks.vectors",
        "fedkin.masks.terms",
    ]


def test_a_digest_is_of_names_and_text_and_of_no_line_ends(tmp_path: Path) -> None:
    files = {"a": tmp_path / "a.py", "b": tmp_path / "b.py"}
    for path in files.values():
        path.write_bytes(b"x = 1\ny = 2\n")
    plain = digest_of(files)
    files["b"].write_bytes(b"x = 1\r\ny = 2\r\n")
    assert digest_of(files) == plain
    assert digest_of({"c": files["a"], "b": files["b"]}) != plain
    files["b"].write_bytes(b"x = 1\ny = 3\n")
    assert digest_of(files) != plain

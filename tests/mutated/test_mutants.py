"""What scripts/mutate changes, and what it leaves alone."""

from tests.mutated.mutants import mutants

SOURCE = '''"""A docstring with 3 numbers."""
LIMIT: int = 5


def kept(rows, most=2):
    """Of 7."""
    if len(rows) > most and rows:
        raise ValueError("1 too many")
    found = sorted(rows, key=len)[0]
    note(found, rows)
    return f"{found + 1}"


class Other:
    def way(self, a, b):
        return a - b if a else min(a, b)
'''


def changed(*functions: str) -> set[tuple[str, str]]:
    return {(one.old, one.new) for one in mutants("a.py", SOURCE, functions)}


def test_each_kind_of_change() -> None:
    found = changed()
    assert found >= {
        ("5", "6"),
        ("2", "3"),
        ("0", "1"),
        ("len(rows) > most", "(len(rows) >= most)"),
        ("len(rows) > most and rows", "(len(rows) > most or rows)"),
        ("len(rows) > most and rows", "(not (len(rows) > most and rows))"),
        ("sorted(rows, key=len)", "(list(rows))"),
        ("sorted(rows, key=len)", "(sorted(rows))"),
        ("note(found, rows)", "pass"),
        ("note(found, rows)", "(note(rows, found))"),
        ("a - b", "(a + b)"),
        ("a - b if a else min(a, b)", "(min(a, b) if a else a - b)"),
        ("min(a, b)", "(max(a, b))"),
    }
    assert len(found) == 13  # no text, no f-string, no type, no error that is raised


def test_only_the_functions_that_are_named() -> None:
    assert changed("way") == {
        ("a - b", "(a + b)"),
        ("a - b if a else min(a, b)", "(min(a, b) if a else a - b)"),
        ("min(a, b)", "(max(a, b))"),
    }
    (one, *_) = mutants("a.py", SOURCE, ("way",))
    assert (one.function, one.lines) == ("Other.way", (16, 16))


def test_a_mutant_stands_in_its_place() -> None:
    for one in mutants("a.py", SOURCE):
        text = one.applied(SOURCE.encode()).decode()
        assert text.replace(one.new, one.old, 1) == SOURCE or one.new in text
        compile(text, "a.py", "exec")


def test_a_number_that_does_not_change_is_no_mutant() -> None:
    found = {(one.old, one.new) for one in mutants("a.py", "MOST, LEAST = 1e30, 1e3\n")}
    assert found == {("1e3", "1001.0")}

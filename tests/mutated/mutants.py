"""Mutants of a source file: one small change each, found by its syntax tree.

What is changed: comparisons, arithmetic, and/or, conditions, constants, the order of two arguments,
keyword arguments, minimum and maximum, a sort, a statement. What is not: texts, f-strings, types,
decorators, assertions, errors that are raised, and how charts look.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
OTHERS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
UNORDERED = {"isinstance", "issubclass", "getattr", "hasattr", "cast", "max", "min"}
WITHOUT_EFFECT = {"encoding", "strict", "exist_ok", "parents", "indent"}
LOOKS = {"Axis", "Header", "Legend", "Scale", "TitleParams", "properties", "resolve_scale"}


class Mutant(NamedTuple):
    """``start`` to ``end`` (bytes of the source) become ``new``."""

    file: str
    function: str
    line: int
    lines: tuple[int, int]  # of the statement that it is in, without what is below a header
    start: int
    end: int
    old: str
    new: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {short(self.old)} → {short(self.new)}"


def short(text: str) -> str:
    """One line of at most 60 letters."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"


def mutants(file: str, source: str, functions: tuple[str, ...] = ()) -> list[Mutant]:
    """Every mutant of a file; of these functions only, and what they hold, if any is named."""
    finder = _Finder(file, source, functions)
    finder.visit(ast.parse(source))
    return finder.found


class _Finder(ast.NodeVisitor):
    """Walks a file, and collects."""

    def __init__(self, file: str, source: str, functions: tuple[str, ...]) -> None:
        self.file, self.functions = file, functions
        self.raw = source.encode()
        self.starts = [0]
        for line in self.raw.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.within: list[str] = []
        self.lines = (1, 1)
        self.found: list[Mutant] = []

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Raise)):
            return
        if isinstance(node, ast.Call) and _looks(node):
            return
        if isinstance(node, ast.keyword) and node.arg in WITHOUT_EFFECT:
            return
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            self.lines = (node.lineno, max(last, node.lineno))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            self.within.append(node.name)
            inner = node.body if isinstance(node, ast.ClassDef) else [node.args, *node.body]
            for part in inner:
                self.visit(part)
            self.within.pop()
            return
        if not self.functions or set(self.functions) & set(self.within):
            for new in _changed(node):
                self._add(node, new)
        for part in _parts(node):
            self.visit(part)

    def _add(self, node: ast.AST, new: str) -> None:
        at = node.test if isinstance(node, (ast.If, ast.While)) else node
        assert isinstance(at, (ast.expr, ast.stmt, ast.keyword))
        assert at.end_lineno is not None
        assert at.end_col_offset is not None
        start = self.starts[at.lineno - 1] + at.col_offset
        end = self.starts[at.end_lineno - 1] + at.end_col_offset
        old = self.raw[start:end].decode()
        name = ".".join(self.within) or "module"
        mutant = Mutant(self.file, name, at.lineno, self.lines, start, end, old, new)
        try:
            ast.parse(mutant.applied(self.raw))
        except SyntaxError:
            return
        self.found.append(mutant)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """What is below a node, but for types and for texts that nobody computes with."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield part


def _looks(node: ast.Call) -> bool:
    """Whether a call says only how a chart looks."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return name in LOOKS or name.startswith(("mark_", "configure"))


def _changed(node: ast.AST) -> Iterator[str]:
    """The mutants of one node, as source."""
    if isinstance(node, ast.Compare):
        swapped = COMPARED[type(node.ops[0])]
        yield _put(ast.Compare(node.left, [swapped(), *node.ops[1:]], node.comparators))
    elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED and not _text(node):
        yield _put(ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right))
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _put(ast.BoolOp(other, node.values))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield _put(node.operand)
    elif isinstance(node, (ast.If, ast.While)):
        yield _put(ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.IfExp):
        yield _put(ast.IfExp(node.test, node.orelse, node.body))
    elif isinstance(node, ast.Constant):
        yield from _constant(node)
    elif isinstance(node, ast.Call):
        yield from _call(node)
    elif isinstance(node, ast.AugAssign) or _call_alone(node):
        yield "pass"


def _call_alone(node: ast.AST) -> bool:
    """A statement that is nothing but a call."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _constant(node: ast.Constant) -> Iterator[str]:
    if isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node.value, (int, float)) and node.value + 1 != node.value:  # 1e30 is
        yield repr(node.value + 1)


def _call(node: ast.Call) -> Iterator[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in OTHERS:
        kept = [] if name == "sorted" else node.keywords
        yield _put(ast.Call(ast.Name(OTHERS[name]), node.args, kept))
    plain = [one for one in node.args[:2] if not isinstance(one, ast.Starred)]
    if len(plain) == 2 and name not in UNORDERED:
        yield _put(ast.Call(node.func, [plain[1], plain[0], *node.args[2:]], node.keywords))
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg not in WITHOUT_EFFECT:
            left = [one for one in node.keywords if one is not keyword]
            yield _put(ast.Call(node.func, node.args, left))


def _text(node: ast.BinOp) -> bool:
    """Whether texts are joined: any other operator would be an error at once."""
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )


def _put(node: ast.expr) -> str:
    return f"({ast.unparse(ast.fix_missing_locations(node))})"

"""The mistakes that are tried: where they can be made in a module, and how."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_PAIRS = [
    ("min", "max"),
    ("amin", "amax"),
    ("argmin", "argmax"),
    ("nanmin", "nanmax"),
    ("nanargmin", "nanargmax"),
    ("minimum", "maximum"),
    ("clamp_min", "clamp_max"),
    ("any", "all"),
    ("tril", "triu"),
]
_SWAPS = dict(_PAIRS) | {right: left for left, right in _PAIRS}
# Functions whose behaviour is words, and keywords that only assert something that already holds.
_WORDS = {"__repr__", "__str__"}
_SPEAKING = {"warn", "listed", "InputError", "manual_seed"}
_ASSERTING = {"strict", "seed"}  # nor is one seed better than another
_TINY = 1e-3


@dataclass(frozen=True)
class Mutant:
    """One mistake in one module.

    Attributes:
        path: The module's file, from the root of the repository.
        number: Its position among the module's mutants.
        where: The function or method (qualified name) that holds it; empty at module or class level.
        lines: First and last line of the statement that is changed.
        before: That statement, or the head of it, as it is.
        after: The same with the mistake.
    """

    path: str
    number: int
    where: str
    lines: tuple[int, int]
    before: str
    after: str

    @property
    def name(self) -> str:
        """What it is called in the record of a run: it stays the same when lines move."""
        return f"{self.path}::{self.where or '<module>'}: {self.before} -> {self.after}"


@dataclass
class _Finder(ast.NodeVisitor):
    """Visits every node where a mistake can be made, and notes how to make it and how to take it back."""

    found: list[tuple[str, ast.stmt, Callable[[], Callable[[], None]]]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    outermost: str = ""
    statement: ast.stmt | None = None
    assigned: set[str] = field(default_factory=set)
    indexing: bool = False

    # -- what is left alone ----------------------------------------------------------------------------

    def visit_Raise(self, node: ast.Raise) -> None:  # ast's own naming
        """Errors are said in words."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Only the value."""
        if node.value is not None:
            self._within(node, [node.value])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Only the body: bases and decorators are structure."""
        self.names.append(node.name)
        for one in node.body:
            self.visit(one)
        self.names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Default values belong to what surrounds the function; its annotations and decorators are left alone."""
        if node.name in _WORDS:
            return
        self._within(node, [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)])
        outermost, assigned = self.outermost, self.assigned
        self.outermost = outermost or ".".join([*self.names, node.name])
        self.assigned = {one.arg for one in [*node.args.args, *node.args.kwonlyargs]}
        self.names.append(node.name)
        for one in node.body:
            self.visit(one)
        self.names.pop()
        self.outermost, self.assigned = outermost, assigned

    # -- statements ------------------------------------------------------------------------------------

    def generic_visit(self, node: ast.AST) -> None:
        """Keeps the statement that a node is in."""
        if isinstance(node, ast.stmt):
            self.statement = node
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.visit(child)
                    if isinstance(node, ast.stmt) and name != "body":
                        self.statement = node

    def visit_Expr(self, node: ast.Expr) -> None:
        """A statement that is dropped, unless it is a docstring or says something."""
        if isinstance(node.value, ast.Constant) or _speaks(node.value):
            return
        self._drop(node)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Another operator, or nothing at all."""
        self.statement = node
        self._operator(node)
        self._drop(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """A name that is given a second value, or an entry of something, keeps its first."""
        names = {one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)}
        entry = any(isinstance(target, ast.Subscript | ast.Attribute) for target in node.targets)
        if self.outermost and (entry or names <= self.assigned):
            self._drop(node)
        self.generic_visit(node)
        self.assigned |= names

    def visit_If(self, node: ast.If) -> None:
        """The condition always or never holds."""
        self._condition(node)

    def visit_While(self, node: ast.While) -> None:
        """The loop is never entered."""
        self._condition(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """The same for an expression."""
        self._condition(node)

    def _condition(self, node: ast.If | ast.While | ast.IfExp) -> None:
        if isinstance(node, ast.stmt):
            self.statement = node
        for value in (True, False):
            if not (value and isinstance(node, ast.While)):
                self._put(node, "test", ast.Constant(value))
        self.generic_visit(node)

    # -- expressions -----------------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> None:
        """Other comparisons."""
        for position, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                self._put(node, "ops", [*node.ops[:position], other(), *node.ops[position + 1 :]])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Another arithmetic operator."""
        self._operator(node)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """And for or."""
        self._put(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """A sign or a `not` that is lost."""
        if isinstance(node.op, ast.USub):
            self._put(node, "op", ast.UAdd())
        elif isinstance(node.op, ast.Not | ast.Invert):
            self._put(node, "operand", ast.UnaryOp(type(node.op)(), node.operand))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Another number, or the other truth."""
        value = node.value
        if isinstance(value, bool):
            self._put(node, "value", not value)
        elif isinstance(value, int):
            self._put(node, "value", value + 1)
            if not (value == 0 and self.indexing):  # of one column, the last is the first
                self._put(node, "value", value - 1)
        elif isinstance(value, float):
            self._put(node, "value", value + 1)
            # Twice a tolerance, or twice 1.0, which is 1.0 + 1, would say nothing more.
            if _TINY < abs(value) != 1:
                self._put(node, "value", 2 * value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Knows its indices from other numbers."""
        self.visit(node.value)
        self.indexing = True
        self.visit(node.slice)
        self.indexing = False

    def visit_Name(self, node: ast.Name) -> None:
        """The least for the greatest."""
        if node.id in _SWAPS and isinstance(node.ctx, ast.Load):
            self._put(node, "id", _SWAPS[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """The least for the greatest."""
        if node.attr in _SWAPS and isinstance(node.ctx, ast.Load):
            self._put(node, "attr", _SWAPS[node.attr])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Its parts, unless it speaks."""
        if not _speaks(node):
            self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """`clamp(min=…)` for `clamp(max=…)`."""
        if node.arg in _ASSERTING:
            return
        if node.arg in ("min", "max"):
            self._put(node, "arg", _SWAPS[node.arg])
        self.generic_visit(node)

    # -- how -------------------------------------------------------------------------------------------

    def _operator(self, node: ast.BinOp | ast.AugAssign) -> None:
        other = _ARITHMETIC.get(type(node.op))
        text = any(isinstance(one, ast.Constant | ast.JoinedStr) and _is_text(one) for one in ast.walk(node))
        if other is not None and not text:
            self._put(node, "op", other())

    def _within(self, statement: ast.stmt, nodes: list[ast.expr]) -> None:
        self.statement = statement
        for node in nodes:
            self.visit(node)

    def _put(self, node: ast.AST, name: str, value: object) -> None:
        def do() -> Callable[[], None]:
            before = getattr(node, name)
            setattr(node, name, value)
            return lambda: setattr(node, name, before)

        assert self.statement is not None
        self.found.append((self.outermost, self.statement, do))

    def _drop(self, node: ast.stmt) -> None:
        def do() -> Callable[[], None]:
            kind, fields = node.__class__, dict(node.__dict__)
            place = {key: fields[key] for key in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
            node.__class__ = ast.Pass
            node.__dict__.clear()
            node.__dict__.update(place)

            def undo() -> None:
                node.__class__ = kind
                node.__dict__.clear()
                node.__dict__.update(fields)

            return undo

        self.found.append((self.outermost, node, do))


def mutants(path: Path, root: Path) -> list[Mutant]:
    """Every mistake that is tried in a module, in the order of its text."""
    tree, name = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(root).as_posix()
    found: dict[tuple[tuple[int, int], str], Mutant] = {}
    for number, (where, statement, do) in enumerate(_sites(tree)):
        lines, before = _extent(statement), _head(statement)
        undo = do()
        after = _head(statement)
        undo()
        found.setdefault((lines, after), Mutant(name, number, where, lines, before, after))
    return list(found.values())


def mutated(source: str, number: int) -> ast.Module:
    """The module with the mistake of that number in it."""
    tree = ast.parse(source)
    _sites(tree)[number][2]()
    return ast.fix_missing_locations(tree)


def _sites(tree: ast.Module) -> list[tuple[str, ast.stmt, Callable[[], Callable[[], None]]]]:
    finder = _Finder()
    finder.visit(tree)
    return finder.found


def _speaks(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return getattr(called, "id", getattr(called, "attr", None)) in _SPEAKING


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def _extent(statement: ast.stmt) -> tuple[int, int]:
    """The lines of a statement; of one with a body, those of its head."""
    body = getattr(statement, "body", None)
    if body:
        return statement.lineno, max(statement.lineno, body[0].lineno - 1)
    return statement.lineno, statement.end_lineno or statement.lineno


def _head(statement: ast.stmt) -> str:
    """The statement in one line; without its body, if it has one."""
    return " ".join(next(_heads(statement)).split())


def _heads(statement: ast.stmt) -> Iterator[str]:
    text = ast.unparse(statement)
    if isinstance(statement, ast.FunctionDef):
        yield f"def {statement.name}({ast.unparse(statement.args)})"
    yield text.splitlines()[0] if getattr(statement, "body", None) else text

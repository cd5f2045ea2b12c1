"""Putting a mistake into a process: into functions that are already imported, or into a module before its import."""

import ast
import gc
import importlib.machinery
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType

from tools.mutants.sites import mutated

Key = tuple[str, str, int]  # file, qualified name, first line


def live_functions(folder: Path) -> dict[Key, list[FunctionType]]:
    """Every function object that was made from the source below a folder, wrapped or not."""
    found: dict[Key, list[FunctionType]] = {}
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(str(folder)):
            found.setdefault(_key(one.__code__), []).append(one)
    return found


def patch(path: Path, number: int, where: str, functions: dict[Key, list[FunctionType]]) -> bool:
    """Give the imported functions of that name the code with the mistake; False if that is not possible."""
    source = path.read_text(encoding="utf-8")
    changed = list(_codes(compile(mutated(source, number), str(path), "exec", dont_inherit=True), where))
    there = [functions.get(_key(code), []) for code in changed]
    if not changed or not all(there):
        return False
    for code, live in zip(changed, there, strict=True):
        for function in live:
            if len(function.__code__.co_freevars) != len(code.co_freevars):
                return False
            function.__code__ = code
    return True


def patch_before_import(path: Path, number: int) -> None:
    """Have the module's text with the mistake in it when it is imported, and no stored bytecode of it."""
    wrong = ast.unparse(mutated(path.read_text(encoding="utf-8"), number)).encode()
    loader = importlib.machinery.SourceFileLoader
    get_data, path_stats = loader.get_data, loader.path_stats

    def data(self: importlib.machinery.SourceFileLoader, name: str) -> bytes:
        return wrong if name == str(path) else get_data(self, name)

    def stats(self: importlib.machinery.SourceFileLoader, name: str) -> object:
        if name == str(path):
            raise OSError("no bytecode for this one")
        return path_stats(self, name)

    loader.get_data, loader.path_stats = data, stats  # type: ignore[method-assign,assignment]
    sys.dont_write_bytecode = True


def _codes(code: CodeType, where: str) -> Iterator[CodeType]:
    """The code objects with that qualified name (a property and its setter share one)."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_qualname == where:
                yield one
            else:
                yield from _codes(one, where)


def _key(code: CodeType) -> Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno

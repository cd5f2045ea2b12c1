"""Import every module of a package, so that one file is enough to add something that registers itself."""

import sys
from importlib import import_module
from pkgutil import iter_modules


def import_modules(package: str) -> None:
    """Import the modules of a package that was imported, in the order of their names."""
    for name in sorted(one.name for one in iter_modules(sys.modules[package].__path__)):
        import_module(f"{package}.{name}")

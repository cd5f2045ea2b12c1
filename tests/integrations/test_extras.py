import sys
from importlib import import_module
from pathlib import Path

import pytest

from tunedprior.checks import import_optional
from tunedprior.errors import MissingExtraError


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(MissingExtraError, match=r'pip install "tunedprior\[ray\]"'):
        import_optional("no_such_package.part", "ray")


@pytest.mark.parametrize(("extra", "package"), [("ax", "ax"), ("baybe", "baybe"), ("dask", "distributed")])
def test_an_integration_without_its_package_names_the_extra(
    extra: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"tunedprior.integrations.{extra}", raising=False)
    with pytest.raises(MissingExtraError, match=rf'pip install "tunedprior\[{extra}\]"'):
        import_module(f"tunedprior.integrations.{extra}")


def test_what_a_package_itself_lacks_is_not_blamed_on_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacking_something.py").write_text("import no_such_package_either\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as caught:
        import_optional("lacking_something", "ray")
    assert not isinstance(caught.value, MissingExtraError)

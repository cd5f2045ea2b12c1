from pathlib import Path

import pytest

from tunedprior.checks import import_optional
from tunedprior.errors import MissingExtraError


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(MissingExtraError, match=r'pip install "tunedprior\[ray\]"'):
        import_optional("no_such_package.part", "ray")


def test_what_a_package_itself_lacks_is_not_blamed_on_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacking_something.py").write_text("import no_such_package_either\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as caught:
        import_optional("lacking_something", "ray")
    assert not isinstance(caught.value, MissingExtraError)

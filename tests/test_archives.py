"""What `make package` would notice in a wheel and in an sdist."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.release.archives import contents, faults_of_sdist, faults_of_version, faults_of_wheel, tracked_in

SOURCE = Path(__file__).parents[1] / "src"
DATA = {"py.typed", "report/page.html", "web/static/page.js", "web/static/style.css", "web/templates/home.html"}
METADATA = b"Version: 0.1.0\nDescription-Content-Type: text/markdown\n\n# tunedprior\n"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel as it should be."""
    path = tmp_path / "tunedprior-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in tracked_in(SOURCE):
            archive.writestr(name, "")
        archive.writestr("tunedprior-0.1.0.dist-info/METADATA", METADATA)
        archive.writestr("tunedprior-0.1.0.dist-info/entry_points.txt", "")
        archive.writestr("tunedprior-0.1.0.dist-info/licenses/LICENSE", "")
    return path


def test_what_is_read_at_run_time_belongs_to_the_package() -> None:
    wanted = tracked_in(SOURCE)
    assert {f"tunedprior/{name}" for name in DATA} < wanted
    others = [one for one in (SOURCE / "tunedprior").rglob("*") if one.is_file() and "__pycache__" not in one.parts]
    assert {one.relative_to(SOURCE).as_posix() for one in others} == wanted


def test_a_wheel_as_it_should_be(wheel: Path) -> None:
    files = contents(wheel)
    assert faults_of_wheel(files, tracked_in(SOURCE)) == []
    assert faults_of_version(files, "0.1.0") == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tunedprior/py.typed", "lacks tunedprior/py.typed"),
        ("tunedprior/web/templates/home.html", "lacks tunedprior/web/templates/home.html"),
        ("tunedprior-0.1.0.dist-info/licenses/LICENSE", "lacks licenses/LICENSE"),
    ],
)
def test_a_wheel_that_lacks_something(wheel: Path, name: str, said: str) -> None:
    files = contents(wheel)
    del files[name]
    [fault] = faults_of_wheel(files, tracked_in(SOURCE))
    assert said in fault


@pytest.mark.parametrize("name", ["tests/test_archives.py", "benchmarks/__init__.py", "tunedprior/scratch.txt"])
def test_a_wheel_with_what_is_not_the_packages(wheel: Path, name: str) -> None:
    [fault] = faults_of_wheel({**contents(wheel), name: b""}, tracked_in(SOURCE))
    assert name in fault


def test_a_wheel_of_another_version_or_without_a_description(wheel: Path) -> None:
    files = contents(wheel)
    assert len(faults_of_version(files, "0.2.0")) == 1
    assert len(faults_of_version({"a.dist-info/METADATA": b"Version: 0.1.0\n\n"}, "0.1.0")) == 1


def test_an_sdist_is_read_without_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "tunedprior-0.1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("tunedprior-0.1.0/README.md")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"hi"))
    files = contents(path)
    assert files == {"README.md": b"hi"}
    said = faults_of_sdist(files, ["tunedprior/py.typed"])
    assert "The sdist lacks src/tunedprior/py.typed." in said
    assert not any("README.md" in one for one in said)

"""The command that writes the hashes of pins, on an index in a folder."""

import os
import re
from pathlib import Path

import pytest

from tools.release.hashes import main

#: pip brings its own copies of libraries along, some of which warn on newer Pythons.
pytestmark = pytest.mark.filterwarnings("ignore")
PINS = '# Some tools.\n\na-tool==1.0; python_version < "4"\nOther.One==2.0.post1\n'
HASHED = f"""\
# Some tools.

a-tool==1.0; python_version < "4" \\
    --hash=sha256:{"1" * 64} \\
    --hash=sha256:{"3" * 64}
Other.One==2.0.post1 \\
    --hash=sha256:{"5" * 64}
"""
FILES = {
    "a-tool": {
        "a_tool-1.0.tar.gz": "sha256=" + "3" * 64,
        "a_tool-1.0-py3-none-any.whl": "sha256=" + "1" * 64,
        "a_tool-1.0.1-py3-none-any.whl": "sha256=" + "2" * 64,
        "a_tool-1.0.exe": "sha256=" + "4" * 64,
    },
    "other-one": {"other_one-2.0.post1-py3-none-any.whl": "sha256=" + "5" * 64},
    "careless": {"careless-1.0.tar.gz": "md5=" + "6" * 32},
}


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of pages, as an index answers them, is what pip is configured with."""
    for name, files in FILES.items():
        page = tmp_path / "simple" / name / "index.html"
        page.parent.mkdir(parents=True)
        links = "\n".join(f'<a href="/files/{file}#{of}">{file}</a>' for file, of in files.items())
        page.write_text(f"<!DOCTYPE html>\n<html><body>\n{links}\n</body></html>\n", encoding="utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())


@pytest.mark.parametrize("before", [PINS, HASHED, HASHED.replace("1" * 64, "0" * 64)])
def test_hashes_are_those_of_all_files_of_a_version(before: str, tmp_path: Path) -> None:
    """Whether there were some before, or not; comments and conditions stay."""
    file = tmp_path / "requirements.txt"
    file.write_text(before, encoding="utf-8")
    assert main([str(file)]) == 0
    assert file.read_text(encoding="utf-8") == HASHED


@pytest.mark.parametrize(
    ("pin", "said"),
    [
        ("a-tool==9.0", "The index has no file of a-tool==9.0."),
        ("unknown==1.0", "The index has no file of unknown==1.0."),
        ("careless==1.0", "The index names no sha256 for a file of careless==1.0."),
    ],
)
def test_a_pin_without_hashes_is_refused(pin: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"{pin}\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=re.escape(said)):
        main([str(file)])
    assert file.read_text(encoding="utf-8") == f"{pin}\n"

"""`python -m tools.release`: build a wheel and an sdist, check both, and use the wheel where nothing else is installed.

It needs the packages in `tools/release/requirements.txt` (`make package` installs them by their hashes), the build
backend among them. The pins of `constraints.txt` hold for what is installed with the wheel.
"""

import os
import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from shutil import copyfile, rmtree
from tempfile import TemporaryDirectory

from cffconvert.citation import Citation

from tools.release.archives import contents, faults_of_sdist, faults_of_version, faults_of_wheel, tracked_in

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "dist"
SMOKE = Path(__file__).with_name("smoke.py")
#: With the build backend that is installed here, whose hash was compared.
BUILD = ("-m", "build", "--no-isolation")


def main() -> int:
    """Command line; the first thing that is wrong ends it."""
    version = str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
    rmtree(BUILT, ignore_errors=True)
    _step("building the sdist, and the wheel from it")
    _python(sys.executable, [*BUILD, "--outdir", str(BUILT), "."])
    wheel, sdist = BUILT / f"tunedprior-{version}-py3-none-any.whl", BUILT / f"tunedprior-{version}.tar.gz"
    _step("checking metadata, citation and contents")
    _python(sys.executable, ["-m", "twine", "check", "--strict", str(wheel), str(sdist)])
    Citation((ROOT / "CITATION.cff").read_text(encoding="utf-8")).validate()
    found = faults(wheel, sdist, version)
    if found:
        print("\n".join(found))
        return 1
    with TemporaryDirectory(prefix="tunedprior-release-") as folder:
        _use(wheel, Path(folder))
    print(f"{wheel.relative_to(ROOT)} and {sdist.relative_to(ROOT)} are fit to be published.")
    return 0


def faults(wheel: Path, sdist: Path, version: str) -> list[str]:
    """What is wrong with what was built; the wheel came from the sdist, and must be the one that the clone gives."""
    wanted = tracked_in(ROOT / "src")
    in_wheel = contents(wheel)
    found = faults_of_wheel(in_wheel, wanted) + faults_of_sdist(contents(sdist), wanted)
    found += faults_of_version(in_wheel, version)
    with TemporaryDirectory() as folder:
        _python(sys.executable, [*BUILD, "--wheel", "--outdir", folder, "."])
        if (Path(folder) / wheel.name).read_bytes() != wheel.read_bytes():
            found.append("The wheel that the sdist gives is not the one that the clone gives.")
    return found


def _use(wheel: Path, folder: Path) -> None:
    """Install the wheel into a new environment outside the clone, and do what people do: first without extras."""
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    copyfile(ROOT / "README.md", folder / "README.md")
    for extra in ("", "lab"):
        _step(f"using the wheel outside the clone, {f'with [{extra}]' if extra else 'with what it declares alone'}")
        _python(python, ["-m", "pip", "install", "--quiet", f"{wheel}[{extra}]" if extra else str(wheel)])
        _python(python, ["-m", "pip", "check"])
        work = folder / f"work-{extra or 'alone'}"
        work.mkdir()
        # -I: nothing is imported from the folder, from PYTHONPATH, or from what the user installed for himself.
        _python(python, ["-I", str(SMOKE), str(folder / "README.md"), *([extra] if extra else [])], work)


def _step(what: str) -> None:
    print(f"== {what}", flush=True)


def _python(python: str | Path, arguments: Sequence[str], folder: Path = ROOT) -> None:
    pins = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([str(python), *arguments], cwd=folder, env={**os.environ, **pins}, check=True)


if __name__ == "__main__":
    sys.exit(main())

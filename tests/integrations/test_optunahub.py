"""The folder for OptunaHub keeps the registry's rules, and loads as OptunaHub loads it."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import optuna
import pytest

from tunedprior.integrations.optuna import TunedPriorSampler

ROOT = Path(__file__).parents[2]
PACKAGE = "samplers/tunedprior"
FOLDER = ROOT / "optunahub" / PACKAGE
README = (FOLDER / "README.md").read_text()
_, HEADER, BODY = README.split("---\n", 2)
# Where OptunaHub is not installed, its name is that of our folder.
IS_INSTALLED = importlib.util.find_spec("optunahub.hub") is not None
FIELDS = dict(line.split(": ", 1) for line in HEADER.splitlines())


def listed(field: str) -> list[str]:
    """The items of a list in the header, which is written in brackets."""
    return [item.strip(" '\"") for item in FIELDS[field].removeprefix("[").removesuffix("]").split(",")]


def test_all_files_are_there() -> None:
    files = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert files == {"LICENSE", "README.md", "__init__.py", "example.py", "requirements.txt"}
    assert (FOLDER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_header_has_every_field_of_the_template() -> None:
    assert README.startswith("---\n")
    assert set(FIELDS) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert all(value.strip() for value in FIELDS.values())
    assert "Please fill in" not in README
    assert FIELDS["license"] == "MIT License"
    assert "sampler" in listed("tags")
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in listed("optuna_versions"))


def test_the_installed_optuna_is_among_those_it_is_said_to_work_with() -> None:
    majors = {version.split(".")[0] for version in listed("optuna_versions")}
    assert optuna.__version__.split(".")[0] in majors


def test_the_text_has_the_sections_of_the_template() -> None:
    assert re.findall(r"^## (.+)$", BODY, re.MULTILINE) == ["Abstract", "APIs", "Installation", "Example", "Others"]
    assert "### Reference" in BODY
    assert not re.search(r"<[a-zA-Z/!]", BODY)  # HTML would be taken out


def test_all_arguments_are_described() -> None:
    names = TunedPriorSampler.__init__.__code__.co_varnames[1:12]
    described = re.findall(r"^  - `(\w+)`:", BODY, re.MULTILINE)
    assert tuple(described) == names


@pytest.fixture
def module() -> Iterator[ModuleType]:
    """Loaded by OptunaHub where it is installed, and in its way where it is not."""
    name = f"optunahub_registry.package.{PACKAGE.replace('/', '.')}"
    root = FOLDER.parents[1]
    if IS_INSTALLED:
        import optunahub

        yield optunahub.load_local_module(PACKAGE, registry_root=str(root))
    else:
        spec = importlib.util.spec_from_file_location(name, root / PACKAGE / "__init__.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        yield loaded
    sys.modules.pop(name, None)


def test_it_loads_and_gives_a_sampler(module: ModuleType) -> None:
    assert module.__all__ == ["TunedPriorSampler"]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=module.TunedPriorSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    assert len(study.trials) == 2


@pytest.mark.skipif(not IS_INSTALLED, reason="needs OptunaHub")
def test_the_example_runs() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    code = re.search(r"```python\n(.+?)```", BODY, re.DOTALL)
    assert code is not None
    local = f'load_local_module(package="{PACKAGE}", registry_root={str(FOLDER.parents[1])!r})'
    names: dict[str, object] = {}
    exec(code[1].replace(f'load_module(package="{PACKAGE}")', local), names)
    study = names["study"]
    assert isinstance(study, optuna.Study)
    assert study.best_value < 1

"""What the package says of itself: its version, its dependencies and their bounds, its citation, licences of others."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import tunedprior
from tools.release.hashes import without_hashes
from tools.release.licences import DEVELOPED, USED, Licence, closure, declared, licence_tables, stored

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
#: What constraints-oldest.txt covers; Ray, Dask, Ax and BayBE are tested with the newest versions alone.
OLDEST = ("", "files", "plots", "lab", "postgres")
#: The fields that version 1.2.0 of the format has, at the top and of a person or a group.
FIELDS = {
    "abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords",
    "license", "license-url", "message", "preferred-citation", "references", "repository", "repository-artifact",
    "repository-code", "title", "type", "url", "version",
}  # fmt: skip
OF_AUTHORS = {"name", "family-names", "given-names", "affiliation", "orcid", "email", "website"}


def pins(file: str) -> dict[str, Version]:
    """The versions in a file of constraints or of requirements, by canonical name."""
    text = without_hashes((ROOT / file).read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and line[0] != "#"]
    found = [line.partition(";")[0].split("==") for line in lines]
    names = [canonicalize_name(name) for name, _ in found]
    assert len(names) == len(set(names)), "something is pinned twice"
    return {name: Version(version) for name, (_, version) in zip(names, found, strict=True)}


def bound(one: Requirement) -> Version:
    """The lower bound of a requirement, which is all that it has."""
    [only] = one.specifier
    assert only.operator == ">=", f"{one} must have a lower bound, and no other: others may need other versions."
    return Version(only.version)


def test_everything_that_users_install_has_a_lower_bound() -> None:
    for extra in ("", *USED):
        assert all(bound(one) for one in declared()[extra])


def test_the_oldest_versions_are_those_that_are_declared() -> None:
    oldest = pins("constraints-oldest.txt")
    wanted = {canonicalize_name(one.name): bound(one) for extra in OLDEST for one in declared()[extra]}
    del wanted["torch"]  # the file says why
    assert {name: oldest.get(name) for name in wanted} == wanted
    assert oldest["torch"] == pins("constraints.txt")["torch"]


def test_the_newest_versions_are_within_what_is_declared() -> None:
    newest = pins("constraints.txt")
    for extra in ("", *USED):
        assert [one.name for one in declared()[extra] if newest[canonicalize_name(one.name)] < bound(one)] == []


@pytest.mark.parametrize("extra", ["", *USED])
def test_what_has_hashes_is_all_that_users_install(extra: str) -> None:
    """As pinned, but for torch; after a change of a pin, `python -m tools.release.hashes`."""
    hashed, absent = pins("requirements-hashed.txt"), {"torch"}
    needed = {canonicalize_name(one.name) for one in declared()[extra]} | set(closure(declared()[extra], absent))
    assert sorted(needed - set(hashed)) == ["torch"] * ("torch" in needed)
    newest = pins("constraints.txt")
    assert hashed == {name: newest[name] for name in hashed}


def test_the_build_backend_is_the_same_for_a_release() -> None:
    releasing, newest = pins("tools/release/requirements.txt"), pins("constraints.txt")
    needed = {"hatchling", *closure([Requirement("hatchling")], absent=set())}
    assert {name: releasing.get(name) for name in needed} == {name: newest[name] for name in needed}


@pytest.mark.parametrize("file", ["requirements-hashed.txt", "tools/release/requirements.txt"])
def test_every_pin_has_hashes(file: str) -> None:
    """pip would refuse a file in which one has none."""
    text = (ROOT / file).read_text(encoding="utf-8")
    blocks = re.findall(r"^[^#\s].*(?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+$", text, re.MULTILINE)
    assert len(blocks) == len(pins(file))


def test_the_version_is_the_same_everywhere() -> None:
    assert tunedprior.__version__ == PROJECT["version"] == str(CITATION["version"])
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    released = [Version(one.split()[0]) for one in headings if one != "Unreleased"]
    assert headings[0] == "Unreleased" or released[0] == Version(PROJECT["version"])
    assert released == sorted(released, reverse=True)
    assert all(one <= Version(PROJECT["version"]) for one in released)


def test_pythons_are_declared_alike() -> None:
    named = [one.rsplit(" ", 1)[1] for one in PROJECT["classifiers"] if "Python :: 3." in one]
    assert named == ["3.11", "3.12", "3.13"]
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_workflow_calls_what_a_merge_must_pass_with_every_python() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    matrix = job["strategy"]["matrix"]
    checked = re.findall(r"^make (\S+)$", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE)
    assert matrix["target"] == checked
    assert matrix["python"] == [one.rsplit(" ", 1)[1] for one in PROJECT["classifiers"] if "Python :: 3." in one]
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", one) for one in used)
    assert job["steps"][-1]["run"].startswith("make ${{ matrix.target }}")


def test_issue_forms_ask_for_something() -> None:
    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    asked = {form.stem: yaml.safe_load(form.read_text(encoding="utf-8")) for form in forms}
    assert sorted(asked) == ["bug", "config", "question"]
    for name in ("bug", "question"):
        assert asked[name]["name"]
        assert asked[name]["description"]
        fields = [one for one in asked[name]["body"] if one["type"] != "markdown"]
        assert any(one.get("validations", {}).get("required") for one in fields)
        assert len({one["id"] for one in fields}) == len(fields)


def test_every_example_is_listed() -> None:
    listed = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    scripts = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert set(re.findall(r"^\| \[`(\w+\.py)`\]", listed, re.MULTILINE)) == scripts
    assert set(re.findall(r"python examples/(\w+\.py)", listed)) == scripts
    extras = set(PROJECT["optional-dependencies"])
    assert set(re.findall(r"`tunedprior\[(\w+)\]`", listed)) <= extras


def authors_of(entry: dict[str, Any]) -> list[dict[str, str]]:
    return [*entry["authors"], *(one for part in entry.get("references", []) for one in part["authors"])]


def test_the_citation_has_the_fields_of_its_format() -> None:
    """As far as can be told without the schema, which `make package` holds it against."""
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(CITATION) <= FIELDS
    assert CITATION["type"] == "software"
    assert CITATION["license"] == PROJECT["license"]
    for author in authors_of(CITATION):
        assert author
        assert set(author) <= OF_AUTHORS
    assert all({"type", "title", "authors"} <= set(one) for one in CITATION["references"])


def listed() -> dict[str, Licence]:
    """What the page of licences has, by name."""
    rows = [one for each in stored().values() for one in each]
    found = {canonicalize_name(one.name): one for one in rows}
    assert len(found) == len(rows) > 100
    return found


@pytest.mark.parametrize("extra", ["", *USED, *DEVELOPED])
def test_every_dependency_has_its_licence_listed(extra: str) -> None:
    """All that is declared; and of what is installed here, all that it needs in turn."""
    absent: set[str] = set()
    needed = set(closure(declared()[extra], absent)) | absent
    assert needed >= {canonicalize_name(one.name) for one in declared()[extra]}
    assert sorted(needed - set(listed())) == []


def test_licences_are_of_the_versions_that_are_pinned() -> None:
    """A new pin is a reason to look again: `make licences`."""
    newest = pins("constraints.txt")
    assert {name: Version(one.version) for name, one in listed().items()} == {name: newest[name] for name in listed()}


def test_the_tables_of_licences_mark_copyleft() -> None:
    rows = licence_tables()["use"].splitlines()
    (marked,) = [row for row in rows if row.startswith("| tqdm |")]
    assert marked.endswith(" | always | copyleft |")
    assert sum(row.endswith("| copyleft |") for row in rows) == sum(one.is_copyleft for one in stored()["use"])


def test_no_licence_is_of_the_strong_kind() -> None:
    """What the page says in words."""
    marked = [one.licence for one in listed().values() if one.is_copyleft]
    assert marked
    assert [one for one in marked if not re.search(r"LGPL|MPL", one)] == []

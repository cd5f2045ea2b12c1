# `make test` needs python3 (3.11 or newer), make and git; it builds everything else in .venv.
PYTHON ?= python3
BIN := .venv/bin
comma := ,
INSTALLED := .venv/.installed
INTEGRATED := .venv/.installed-integrations
BROWSING := .venv/.installed-browser
RELEASING := .venv-release/.installed
OLDEST := .venv-oldest/.installed
PEERS := .venv-peers/.installed .venv-hebo/.installed .venv-openbox/.installed

.DEFAULT_GOAL := test
.PHONY: test quick demo docs pictures screenshots notebooks lint types imports unit test-integrations postgres test-browser chromium peers package test-oldest licences vulnerabilities mutants campaigns fuzz format clean

test: lint types imports docs unit

# What one runs after each edit: unit tests of the packages that start no processes and no servers.
LONGER := $(addprefix tests/,benchmarks browser cli integrations nets plots report support web)
QUICK := $(filter-out $(LONGER),$(patsubst %/,%,$(wildcard tests/[a-z]*/))) tests/test_checks.py tests/test_house.py
quick: lint
	@echo "== pytest: quick unit tests"
	$(BIN)/python -m pytest -n auto -m "not slow" $(QUICK)

# Pins come from constraints.txt (as a variable, so that they also bind the build backend). Python compiles what it imports:
# to compile every file of every package while it is installed takes half a minute.
$(INSTALLED): pyproject.toml constraints.txt
	@echo "== installing into .venv (once)"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	touch $@

demo: $(INSTALLED)
	$(BIN)/python -m benchmarks demo

lint: $(INSTALLED)
	@echo "== ruff: lint and format"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	@echo "== mypy --strict on src"
	$(BIN)/mypy

imports: $(INSTALLED)
	@echo "== import direction"
	$(BIN)/lint-imports

# Warnings are errors, and so is whatever a page would load from elsewhere; `--quiet` would hide them from `--strict`.
# To read it: open site/index.html.
docs: $(INSTALLED)
	@echo "== documentation: the site, into site/"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Every picture of the README and the documents, from benchmarks/results; a test fails where these changed since.
pictures: $(INSTALLED)
	$(BIN)/python -m benchmarks pictures

# Screenshots of the terminal, a sheet, the page and the report, in Chromium; nothing notices when they are old.
screenshots: $(INSTALLED) chromium
	$(BIN)/python -m tools.screenshots

# The outputs that the notebooks of examples/ are stored with; tests run the cells themselves.
notebooks: $(INSTALLED)
	$(BIN)/python -W ignore -m tools.notebooks

# Tests share the cores among them: libraries that take all of them for one matrix would only wait for each other.
quick unit test-integrations: export OMP_NUM_THREADS := 1

unit: $(INSTALLED)
	@echo "== pytest: tests, doctests, docs and examples"
	$(BIN)/python -m pytest -n auto --ignore=tests/integrations --ignore=tests/browser

# With everything that can be integrated with, and a real PostgreSQL server.
test-integrations: $(INTEGRATED) postgres
	@echo "== pytest: integrations and examples"
	TUNEDPRIOR_INTEGRATIONS=1 $(BIN)/python -m pytest -n auto tests/test_examples.py tests/integrations

$(INTEGRATED): $(INSTALLED) pyproject.toml constraints.txt
	@echo "== installing all integrations into .venv (once)"
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --no-compile --editable '.[dev,all]' plotly
	touch $@

# The server's programs are the system's to install, which takes root; tests that need them are skipped without.
postgres:
	@if command -v initdb pg_ctl >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then \
		echo "== PostgreSQL is installed"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "== installing PostgreSQL"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; \
	else \
		echo "== PostgreSQL's initdb and pg_ctl are missing (Debian: apt-get install postgresql): its tests are skipped"; \
	fi

# A chemist's day at the web page, in a real browser; TUNEDPRIOR_SCREENSHOTS=folder keeps the pictures.
test-browser: $(BROWSING) chromium
	@echo "== pytest: the page in Chromium"
	$(BIN)/python -m pytest tests/browser

$(BROWSING): $(INSTALLED) pyproject.toml constraints.txt
	@echo "== installing what drives a browser into .venv (once)"
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --no-compile --editable '.[dev,browser]'
	touch $@

chromium:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then \
		echo "== Chromium is installed"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "== installing Chromium"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium || \
		echo "== Chromium could not be installed: its tests are skipped"; \
	else \
		echo "== Chromium is missing (Debian: apt-get install chromium): its tests are skipped"; \
	fi

# What the optimiser is compared with: libraries that cannot live together, so each environment is its own. All pins are named,
# so nothing is resolved; an environment that cannot be built says why in its folder, and the others are built all the same.
peers: $(INSTALLED)
	@for stamp in $(PEERS); do $(MAKE) --no-print-directory $$stamp || \
		echo "== $${stamp%/*} could not be installed: see $${stamp%/*}/failed.txt"; done

.venv-%/.installed: benchmarks/peers/requirements/%.txt
	@echo "== installing into .venv-$* (once)"
	test -x .venv-$*/bin/python || $(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --no-deps --requirement $< 2> .venv-$*/failed.txt
	$(if $(filter peers,$*),PIP_CONSTRAINT=constraints.txt .venv-peers/bin/python -m pip install --quiet --no-deps --editable '.[ax$(comma)baybe]' 2>> .venv-peers/failed.txt)
	rm .venv-$*/failed.txt
	touch $@

# A wheel and an sdist in dist/, checked, and used in an environment that has nothing else (docs/releasing.md).
package: $(RELEASING)
	$(dir $(RELEASING))bin/python -m tools.release

$(RELEASING): tools/release/requirements.txt
	@echo "== installing what builds and checks a release into .venv-release (once)"
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-deps --require-hashes --requirement $<
	touch $@

# The oldest versions that are declared to work. Old releases beside newer ones may warn that something of theirs will end;
# that is not ours to mend, and it fails tests only with the versions in constraints.txt.
OLD_WARNINGS := $(foreach kind,DeprecationWarning PendingDeprecationWarning FutureWarning,-W default::$(kind))
CORE := $(addprefix tests/,tables space goals history source_data models model_averaging storage suggestion workspace cli web campaign) tests/test_readme.py
test-oldest: export OMP_NUM_THREADS := 1
test-oldest: $(OLDEST)
	@echo "== pytest: the core, with the oldest versions"
	TUNEDPRIOR_UNCHECKED=1 $(dir $(OLDEST))bin/python -m pytest -n $(or $(JOBS),auto) $(OLD_WARNINGS) $(CORE)

$(OLDEST): pyproject.toml constraints-oldest.txt
	@echo "== installing the oldest versions into .venv-oldest (once)"
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	PIP_CONSTRAINT=constraints-oldest.txt $(@D)/bin/python -m pip install --quiet --editable '.[lab,postgres]' pytest pytest-xdist hypothesis beartype httpx
	touch $@

# The list of the page docs/licences.md, from what is installed with every extra.
licences: $(INTEGRATED) $(BROWSING)
	$(BIN)/python -m tools.release.licences

# Known vulnerabilities of what is pinned, by name and version; it asks the index for its advisories, so it needs a network.
vulnerabilities:
	test -x .venv-advisories/bin/python || $(PYTHON) -m venv .venv-advisories
	.venv-advisories/bin/python -m pip install --quiet pip-audit==2.10.1
	.venv-advisories/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip

# Nets that take longer than tests may (docs/reliability.md has what they found).
mutants: $(INSTALLED)
	$(BIN)/python -m tools.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(JOBS),--jobs $(JOBS))

campaigns: $(INSTALLED)
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m nets.odd_campaigns $(if $(JOBS),--jobs $(JOBS))

fuzz: $(INSTALLED)
	TUNEDPRIOR_FUZZ=$(or $(EXAMPLES),500) $(BIN)/python -m pytest -n auto tests/nets

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-peers .venv-hebo .venv-openbox .venv-release .venv-oldest .venv-advisories build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# `make test` needs python3 (3.11 or newer), make and git; it builds everything else in .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.DEFAULT_GOAL := test
.PHONY: test demo lint types imports unit test-integrations mutants campaigns fuzz format clean

test: lint types imports unit

# Pins come from constraints.txt (as a variable, so that they also bind the build backend).
$(INSTALLED): pyproject.toml constraints.txt
	@echo "== installing into .venv (once)"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --editable '.[dev]'
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

unit: $(INSTALLED)
	@echo "== pytest: tests, doctests, docs and examples"
	$(BIN)/python -m pytest -n auto

# Other people's tools and real processes, with every extra (into the same .venv).
test-integrations: $(INSTALLED)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --editable '.[dev,all]' plotly
	TUNEDPRIOR_INTEGRATIONS=1 $(BIN)/python -m pytest tests/integrations tests/test_examples.py

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
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

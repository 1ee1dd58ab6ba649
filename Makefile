# Everything here works from a clean clone on a machine with python3 (3.11 or newer), make and a package registry.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
SIZE ?= quick
DEMO ?= build

.PHONY: help demo test check docs reproduce comparison bench own-time clean

help: ## say what each target does
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

# The virtual environment is made once and again whenever the requirements change.
$(VENV)/.package: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Paraboloid needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --editable ".[all]"
	@touch $@

$(VENV)/.dev: $(VENV)/.package
	$(PIP) --group dev
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) --group docs
	@touch $@

demo: $(VENV)/.package ## tune a simulated process with four knobs, print the answer, write the report
	@$(BIN)/python examples/process/demo.py "$(DEMO)"

test: $(VENV)/.dev ## install everything and run every test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 # small matrices: BLAS threads only get in each other's way

check: $(VENV)/.dev ## lint, types, layers, doctests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py src

docs: $(VENV)/.docs ## build the documentation, warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

reproduce: $(VENV)/.package ## one experiment per theorem of the paper (SIZE=quick or SIZE=full)
	$(BIN)/paraboloid reproduce --$(SIZE) --output reproduction

comparison: $(VENV)/.package ## measure the README's table and draw its picture (minutes)
	$(BIN)/python benchmarks/comparison.py

bench: $(VENV)/.package ## our own speed and memory, against numpy in the same run
	$(BIN)/python benchmarks/throughput.py

own-time: $(VENV)/.package ## the search's own seconds and memory, beside CMA-ES in the same run (minutes)
	$(PIP) -r benchmarks/requirements.txt
	$(BIN)/python benchmarks/own_time.py

clean: ## remove the virtual environment and everything built
	rm -rf $(VENV) build docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis

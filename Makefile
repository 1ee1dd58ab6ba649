# Everything here works from a clean clone on a machine with python3 (3.11 or newer), make and a package registry.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
SIZE ?= quick
DEMO ?= build

.PHONY: help demo test screenshots check docs reproduce comparison bench bench-full throughput own-time clean

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

test: $(VENV)/.dev ## install everything and run every test, in a real browser too
	@$(BIN)/python tests/web/install_browser.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 # small matrices: BLAS threads only get in each other's way

screenshots: $(VENV)/.dev ## take the pictures of the report and the page that the documentation shows
	@$(BIN)/python tests/web/install_browser.py
	$(BIN)/python docs/take_screenshots.py

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
	$(BIN)/python benchmarks/measured.py

# The rivals have an environment of their own: some ask for older packages than the tests do.
BENCH := .venv-bench
BENCH_PIP := $(BENCH)/bin/python -m pip --disable-pip-version-check install --quiet
$(BENCH)/.quick: pyproject.toml benchmarks/requirements.txt benchmarks/requirements-bench.txt
	$(PYTHON) -m venv $(BENCH)
	@echo '*' > $(BENCH)/.gitignore
	$(BENCH_PIP) --upgrade "pip>=25.1"
	$(BENCH_PIP) --editable ".[report]" -r benchmarks/requirements-bench.txt
	@touch $@

$(BENCH)/.full: $(BENCH)/.quick benchmarks/requirements-bench-full.txt
	$(BENCH_PIP) -r benchmarks/requirements-bench-full.txt
	@touch $@

bench: $(BENCH)/.quick ## all solvers side by side on the quick set (under 20 minutes); again: goes on where it was
	$(BENCH)/bin/python benchmarks/everything.py run --set quick --output build/bench-quick.jsonl
	$(BENCH)/bin/python benchmarks/everything.py analyse build/bench-quick.jsonl

bench-full: $(BENCH)/.full ## the same on the whole set (many hours)
	$(BENCH)/bin/python benchmarks/everything.py run --set full --output build/bench-full.jsonl
	$(BENCH)/bin/python benchmarks/everything.py analyse build/bench-full.jsonl

throughput: $(VENV)/.package ## our own speed and memory, against numpy in the same run
	$(BIN)/python benchmarks/throughput.py

own-time: $(VENV)/.package ## the search's own seconds and memory, beside CMA-ES in the same run (minutes)
	$(PIP) -r benchmarks/requirements.txt
	$(BIN)/python benchmarks/own_time.py

clean: ## remove the virtual environment and everything built
	rm -rf $(VENV) .venv-bench build docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis

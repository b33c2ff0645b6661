# Works on a machine that has only Python (3.11 or newer) and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
WORKERS ?= 2

.PHONY: setup demo test check conformance bench clean

setup: $(STAMP)

# The stamp is renewed when what is installed may have changed; otherwise there is nothing to do.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(STAMP)
	$(BIN)/backemf demo --output out

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: $(STAMP)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m sphinx -W --keep-going -q docs build/docs

conformance: $(STAMP)
	$(BIN)/python scripts/conformance.py
	$(BIN)/python scripts/replays.py

bench: $(STAMP)
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/fit.py

clean:
	rm -rf $(VENV) out build

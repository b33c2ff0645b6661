# Works on a machine that has only Python (3.11 or newer) and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
WORKERS ?= 2

.PHONY: setup demo test check types pages conformance bench mutants proofs dist clean

setup: $(STAMP)

# The stamp is renewed when what is installed may have changed; otherwise there is nothing to do.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(STAMP)
	$(BIN)/backemf demo --output out

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not realtime and not proof"
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "realtime and not proof"

# Types and pages are checked at the same time: each is one process. The measures of the source come last.
check: $(STAMP)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check .
	$(MAKE) --jobs=2 types pages
	$(BIN)/python scripts/measures.py --paths --check

types: $(STAMP)
	$(BIN)/pyright --pythonpath $(BIN)/python

pages: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q docs build/docs

conformance: $(STAMP)
	$(BIN)/python scripts/conformance.py
	$(BIN)/python scripts/replays.py
	$(BIN)/python scripts/lerobot_bus.py
	$(BIN)/python scripts/pythons.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# One sign, factor or side of the source changed at a time: a test must notice. Three samples, an hour or two each.
mutants: $(STAMP)
	$(BIN)/python scripts/mutants.py --fresh

# The long proofs: intervals over many seeds, plans for 50 servos, recorded servos fitted, a recorder killed 200
# times. An hour and a half.
proofs: $(STAMP)
	$(BIN)/python -m pytest -m proof
	BACKEMF_KILLS=200 $(BIN)/python -m pytest tests/recorder/test_kills.py
	BACKEMF_HOSTILE=3 $(BIN)/python -m pytest tests/fuzz/test_commands.py

# The wheel as a stranger gets it: in a clean environment, without extras, it runs the README's first example.
dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python scripts/dist_check.py

clean:
	rm -rf $(VENV) out build dist

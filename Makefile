# Needs make and Python >= 3.11. The first target that is asked for builds .venv from requirements.txt.

PYTHON ?= $(shell for name in python3.11 python3; do \
	"$$name" -c "" >/dev/null 2>&1 && echo "$$name" && break; done)
WORKERS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((cores > 8 ? 8 : cores)))

BIN := .venv/bin
READY := .venv/.ready
PEERS := .venv/.peers
TORCH := .venv-torch/.ready
SOURCES := src tests $(wildcard benchmarks examples docs)

# One thread a process: the parallelism is in the test workers, and timings are comparable.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export NUMBA_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser test-torch test-bounds fuzz faults soak wheel lint format docs examples bench clean

help:
	@echo "make demo      every family on data it generates, with a report in demo-output/"
	@echo "make test      the whole suite, doctests included"
	@echo "make test-browser  the explorer in Chromium, with every family's page"
	@echo "make test-torch  what runs on a GPU, on whatever PyTorch finds, in an environment of its own"
	@echo "make test-bounds  tests of kernels with every index checked, and with compilation off"
	@echo "make fuzz      readers, arguments and forged model files, FUZZ_SECONDS=60 per target"
	@echo "make faults    commands on failing disks and under signals, RUNS=2000"
	@echo "make soak      one process under work; memory must not grow, SECONDS=1800"
	@echo "make wheel     the wheel, built twice to the same bytes and tried in a clean environment, or WHEEL=\"--oldest\""
	@echo "make lint      ruff, mypy, licences, and known weaknesses where pip-audit is installed"
	@echo "make format    ruff's formatter and its safe fixes"
	@echo "make docs      the documentation, in docs/_build/html, with links and spelling checked"
	@echo "make examples  every script in examples/, whose output the gallery shows"
	@echo "make bench     every question in benchmarks/, or BENCH=\"scoring readers --quick\""
	@echo "make clean     remove what the other targets made, .venv included"

$(READY): requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "no python3.11 or python3 found: install Python 3.11 or newer, or set PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
		echo "$(PYTHON) is $$("$(PYTHON)" --version 2>&1); Sigmastar needs Python 3.11 or newer: set PYTHON=..." >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)
	$(BIN)/sigmastar demo --out demo-output

test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --durations=20 --durations-min=5

# Chromium is no Python package: where none is installed these tests are skipped, with a word.
test-browser: $(READY)
	SIGMASTAR_BROWSER=1 $(BIN)/python -m pytest -q -rs tests/browser

# PyTorch takes gigabytes: it gets an environment of its own, so that no other target needs it.
$(TORCH): requirements-torch.txt
	"$(PYTHON)" -m venv .venv-torch
	.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-torch.txt
	@touch $@

test-torch: $(TORCH)
	PYTHONPATH=src .venv-torch/bin/python -m pytest tests/tensors "tests/docs/test_guides.py::test_a_guide_runs_and_says_what_it_shows[gpu]"

# Indices out of bounds are errors here; compiled kernels read whatever lies there. Compiled code is kept apart by
# its flags, so that this run and others do not compile for each other.
KERNEL_TESTS := tests/core/test_clusters.py tests/core/test_integer_counts.py \
	tests/automata/test_context_classes.py tests/automata/test_class_counts.py \
	tests/automata/test_trie.py tests/automata/test_trie_values.py tests/automata/test_restart_filter.py \
	tests/automata/test_ngram_smoothing.py tests/automata/test_expectations.py tests/taggers/test_kernels.py \
	tests/transducers/test_alignment.py tests/transducers/test_refined_chain.py tests/trees/test_automaton.py \
	tests/treebanks/test_kernels.py tests/treebanks/test_lexicon.py \
	tests/treebanks/test_latent_chart.py tests/treebanks/test_span_features.py \
	tests/dependency/test_eisner.py tests/dependency/test_pruning.py tests/dependency/test_inside_outside.py \
	tests/dependency/test_arcs.py tests/dependency/test_grandparents.py \
	tests/pcfg/test_parse_forest.py tests/regression/test_kernels.py \
	tests/grammars/test_span_occurrences.py
INTERPRETED_TESTS := tests/automata/test_trie.py \
	tests/regression/test_kernels.py tests/dependency/test_eisner.py tests/core/test_integer_counts.py

test-bounds: $(READY)
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -q -n $(WORKERS) $(KERNEL_TESTS)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n $(WORKERS) $(INTERPRETED_TESTS)

FUZZ_SECONDS ?= 60
RUNS ?= 2000
SECONDS ?= 1800

fuzz: $(READY)
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS)

faults: $(READY)
	PYTHONPATH=tests $(BIN)/python -m faults --runs $(RUNS)

soak: $(READY)
	PYTHONPATH=tests $(BIN)/python -m soak --seconds $(SECONDS)

wheel: $(READY)
	$(BIN)/python tests/try_wheel.py $(WHEEL)

lint: $(READY)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/python tests/licences.py

format: $(READY)
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

# Pages of modules that are gone would be warnings, so the generated ones are made anew.
docs: $(READY)
	rm -rf docs/_build docs/api/generated docs/generated docs/pictures
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

examples: export MPLBACKEND = Agg
examples: $(READY)
	SIGMASTAR_EXAMPLES=1 $(BIN)/python -m pytest -q -n 2 tests/docs/test_examples.py

# Peers to compare with are no part of the package, and are installed for this target alone.
$(PEERS): benchmarks/requirements.txt $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	@touch $@

bench: $(PEERS)
	$(BIN)/python -m benchmarks $(BENCH)

clean:
	rm -rf .venv .venv-torch build dist demo-output docs/_build docs/api/generated docs/generated docs/pictures .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

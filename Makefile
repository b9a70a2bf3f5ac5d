# `make demo` and `make test` work in a fresh clone that has Python 3.11+, git and make.
PYTHON ?= python3
BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)
export UV_PYTHON_DOWNLOADS = never
export PIP_DISABLE_PIP_VERSION_CHECK = 1

ifneq ($(UV),)
install = $(UV) pip install --quiet --python $(BIN)/python -e '.[$(1)]'
create = $(UV) venv --quiet --python '$(PYTHON)' .venv
else
install = $(BIN)/python -m pip install --quiet -e '.[$(1)]'
create = $(PYTHON) -m venv .venv
endif

.PHONY: demo test street test-kernels lint test-slow test-worlds test-hostile test-browser test-spark bench docs pictures lock coverage clean help

help:
	@echo 'make demo       set up .venv and run the demonstration on real data'
	@echo 'make test       set up .venv and run every check (lint, types, layers, tests)'
	@echo 'make street     ordinary outputs about real people, and generated ones of every kind and size'
	@echo 'make test-slow  the tests that take long'
	@echo 'make test-worlds  worlds that are made up: harmless ones pass, leaks fail, confidences hold'
	@echo 'make test-hostile  10,000 bent inputs, and commands killed at any moment'
	@echo 'make test-browser  the served page in Chromium: clicks, keyboard, axe, kills'
	@echo 'make test-kernels  the tests with the matrix kernels of other processors, 1 and 2 threads'
	@echo 'make test-spark the tests on Spark (needs Java 17)'
	@echo 'make bench      the benchmarks, each beside its reference'
	@echo 'make docs       the site of the documents, in build/site; warnings are errors'
	@echo 'make pictures   the pictures of the first page, drawn from runs'
	@echo 'make coverage   which lines the tests run'
	@echo 'make lock       the versions and hashes of every package of developers'
	@echo 'make clean      remove .venv and caches'

demo: .venv/.demo
	@$(BIN)/tellall demo

# commands and workers that tests start would compile every file of the package again, each of them
unexport PYTHONDONTWRITEBYTECODE
# one thread per process: threads that wait for each other cost more than they save
test street test-slow test-worlds test-hostile: export OPENBLAS_NUM_THREADS = 1
test street test-slow test-worlds test-hostile: export OMP_NUM_THREADS = 1
test: lint
	@$(BIN)/python -m pytest -n auto --dist worksteal

lint: .venv/.dev
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

street: .venv/.dev
	@$(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow' tests/street

test-slow: .venv/.dev
	@$(BIN)/python -m pytest -n auto --dist worksteal -m slow

test-worlds: .venv/.dev
	@$(BIN)/python -m pytest -n auto --dist worksteal -m worlds -rP tests/worlds

test-hostile: .venv/.dev
	@$(BIN)/python -m pytest -n auto --dist worksteal -m hostile -rP tests/hostile

test-browser: export OPENBLAS_NUM_THREADS = 1
test-browser: export OMP_NUM_THREADS = 1
test-browser: .venv/.dev
	@$(BIN)/python -m pytest -n auto --dist worksteal -m browser -rs tests/serve tests/report

# OpenBLAS rounds differently on other processors and with other numbers of threads: no test may notice
test-kernels: .venv/.dev
	@for kernel in Haswell Zen Prescott; do for threads in 1 2; do \
		echo "OPENBLAS_CORETYPE=$$kernel, threads: $$threads"; \
		workers=$$($(BIN)/python -c "import os; print(max(1, os.cpu_count() // $$threads))"); \
		OPENBLAS_CORETYPE=$$kernel OPENBLAS_NUM_THREADS=$$threads OMP_NUM_THREADS=$$threads \
			$(BIN)/python -m pytest -n $$workers --dist worksteal || exit 1; \
	done; done

test-spark: .venv/.dev .venv/.spark
	@$(BIN)/python -m pytest -m spark tests/people/counting

docs: .venv/.demo .venv/.docs
	@$(BIN)/python docs/site/build.py

pictures: .venv/.demo
	@$(BIN)/python docs/site/pictures.py

# subprocesses and workers are not counted: commands are tested in one process, too
coverage: export OPENBLAS_NUM_THREADS = 1
coverage: export OMP_NUM_THREADS = 1
coverage: .venv/.dev
	@$(BIN)/python -m pytest -n auto --dist worksteal --cov=tellall --cov-report=term:skip-covered

lock: .venv/.lock
	@(echo '# Every package of `.[dev]` with its version and hashes; made by `make lock`.'; \
		$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate --quiet) > requirements-dev.tmp && mv requirements-dev.tmp requirements-dev.txt

bench: .venv/.dev
	@$(BIN)/python benchmarks/run.py

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("tellall needs Python 3.11 or newer; got " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 demo") if sys.version_info < (3, 11) else None'
	@$(create)

.venv/.%: pyproject.toml | .venv/bin/python
	@echo 'Setting up .venv ($*) ...' >&2
	@$(call install,$*)
	@touch $@

clean:
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

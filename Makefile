# Everything runs in .venv, which each target makes first if it must. `make help` lists the targets.
PYTHON ?= python3
WORKERS ?= 3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest
# Some systems set PYTHONDONTWRITEBYTECODE=1: then each start of `swarm` would compile its modules again.
COMPILE := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q -j 0
SOURCES := swarm worker
REPOSITORY_CHECKS := tests/tooling/test_repository_text.py tests/cases/test_every_case.py

.DEFAULT_GOAL := help
.PHONY: help setup compile demo test unit integration e2e soak check format format-check lint types imports \
	repository cov bench picture changelog clean

help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/\1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 15

setup: $(STAMP) compile ## make .venv with everything that the other targets need

# The build backend comes first, at its pinned version: an isolated build would fetch another.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) install -c constraints.txt hatchling editables
	$(PIP) install -c constraints.txt --no-build-isolation -e '.[bench,dev]'
	@$(COMPILE) $(VENV)/lib || true
	@touch $@

compile: $(STAMP)
	@$(COMPILE) $(wildcard $(SOURCES)) || true

demo: setup ## run the shipped example team: no API key, no model is called
	@$(BIN)/swarm demo

test: setup ## run all tests but soak and live ones
	@$(PYTEST) -n $(WORKERS)

unit integration e2e: setup ## run one folder of tests
	@$(PYTEST) -n $(WORKERS) tests/$@

soak: setup ## run the long tests at real time
	@SWARM_TIME_SCALE=1 $(PYTEST) -m soak --timeout=1800

check: lint format-check types imports repository ## all that can be said without running the product

format: $(STAMP) ## put sources in their one layout, and fix what ruff can fix
	@$(BIN)/ruff check --fix --exit-zero --quiet .
	@$(BIN)/ruff format .

format-check: $(STAMP)
	@$(BIN)/ruff format --check .

lint: $(STAMP) ## ruff, every rule
	@$(BIN)/ruff check .

types: $(STAMP) ## mypy, strict
	@$(BIN)/mypy

imports: $(STAMP) ## import contracts: imports point down
	@$(BIN)/lint-imports --no-logo

repository: $(STAMP) ## what the repository's text must and must not say
	@$(PYTEST) -q $(REPOSITORY_CHECKS)

cov: setup ## branch coverage, also of child processes: 90 % of all, 100 % of swarm/core
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n $(WORKERS) --timeout=60
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --fail-under=90
	@$(BIN)/coverage report --fail-under=100 --include='swarm/core/*'

bench: setup ## run the benchmarks
	@$(BIN)/python -m benchmarks

picture: setup ## record the demo anew for the README and the docs
	@$(BIN)/python docs/record_demo.py docs/pictures/demo.svg
	@$(BIN)/python docs/record_panes.py docs/pictures/panes.svg
	@$(BIN)/python docs/record_questions.py docs/pictures/questions.svg

changelog: $(STAMP) ## show what the fragments in docs/changes say about the next release
	@$(BIN)/towncrier build --draft --version "$$($(BIN)/python -c 'import swarm; print(swarm.__version__)')"

clean: ## remove .venv and everything that tools left behind
	rm -rf $(VENV) build dist .coverage .coverage.* coverage.xml htmlcov .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find $(wildcard $(SOURCES) tests teams_examples benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +

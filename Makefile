# Everything here works on a machine that has only Python 3.11 and Node 20: the first target that needs it
# makes .venv and installs into it, once for each change of pyproject.toml or constraints.txt.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stepsmith-installed
ARGS ?=
SEED ?= 1
BUDGET ?= 1800

# pip keeps one core busy: beside it `make test` installs VS Code for the browser tests, where that can be. What fails
# there is done again, and told, by the step of that name.
BROWSER_AHEAD = can=yes; for tool in node npm g++ rg; do command -v $$tool > /dev/null || can=no; done; \
	if [ $$can = yes ]; then (cd editor-extension/e2e && node prepare.mjs > /dev/null 2>&1) & fi;

.DEFAULT_GOAL := help
.PHONY: help setup test lint format demo bench mutants soak extension browser clean

help: ## Show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

setup: $(STAMP) ## Make .venv and install what development needs

$(STAMP): pyproject.toml constraints.txt
	@# A .venv without pip is what is left where making it failed: it is made again.
	@$(BIN)/python -m pip --version > /dev/null 2>&1 || { \
		"$(PYTHON)" -c "import sys; sys.exit(sys.version_info < (3, 11))" 2> /dev/null || { \
			echo "Stepsmith needs Python 3.11 or newer, and found $(or $(PYTHON),none);" \
				"install it, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }; \
		"$(PYTHON)" -m venv $(VENV); }
	@$(AHEAD) $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e ".[dev]"; done=$$?; wait; exit $$done
	$(BIN)/python -m compileall -q stepcore  # a cold start should not pay for compiling, even where caching is off
	touch $@

test: AHEAD = $(BROWSER_AHEAD)
test: $(STAMP) ## Run every check and test; in CI (CI=true) a skipped one is a failure, LOAD=8 adds a busy machine
	@$(if $(LOAD),$(BIN)/python scripts/under_load.py $(LOAD) )$(BIN)/python scripts/check.py

lint: $(STAMP) ## Run the style and type checks alone
	@$(BIN)/python scripts/check.py --only lint

format: $(STAMP) ## Format the Python files and apply ruff's safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

demo: $(STAMP) ## Show what Stepsmith does
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/demo.sh

bench: $(STAMP) ## Run the benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

mutants: $(STAMP) ## Test the tests: break the code in small ways and count what goes unnoticed
	$(BIN)/python -m tests.mutation $(ARGS)

soak: $(STAMP) ## Run the hostile corpus, drawn inputs and random programs with SEED= and BUDGET= (seconds of processor time)
	$(BIN)/python -m tests.soak --seed $(SEED) --budget $(BUDGET) $(ARGS)

extension: $(STAMP) ## Build the extension for VS Code: editor-extension/dist/stepsmith.vsix
	cd editor-extension && npm ci --ignore-scripts --no-audit --no-fund && npm run package

browser: extension ## Test the built extension in VS Code in a browser (needs chromium, g++ and ripgrep)
	cd editor-extension/e2e && node prepare.mjs && npm test

clean: ## Remove the environment, caches and built files
	rm -rf editor-extension/node_modules editor-extension/dist editor-extension/bundled/libs editor-extension/bundled/stepsmith
	rm -rf editor-extension/e2e/node_modules editor-extension/e2e/dist
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# Two commands do all the set-up: `make demo` runs the main job offline, `make test` runs the tests.

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name) 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
TASK ?= Summarise sales.csv by channel and write the weekly report in Word with a line chart

PAGE := src/zeno/web/index.html
PAGE_SOURCES := $(shell find web/src web/public -type f) $(wildcard web/*.json web/*.ts web/*.html)
PAGE_CHECKED := web/node_modules/.checked

.PHONY: demo serve test check page wheel chaos peers bench format lock clean

demo: $(VENV)/.installed
	cd examples && ZENO_HOME=$(CURDIR)/.zeno ../$(BIN)/zeno run "$(TASK)" --model offline --out $(CURDIR)/demo

# Without a built page (no Node, no registry) it serves all the same: the API, and a word about the page.
serve: $(VENV)/.installed
	-@$(MAKE) --no-print-directory page
	$(BIN)/zeno serve

# The page, built into the package: whoever installs it needs no Node.
page: $(PAGE)

$(PAGE): $(PAGE_SOURCES) web/run.sh | $(BIN)/python
	sh web/run.sh build

# Looked at again only when something of it has changed.
$(PAGE_CHECKED): $(PAGE_SOURCES) $(wildcard web/tests/* web/scripts/* web/*.js tests/golden/*) docs/openapi.json | $(BIN)/python
	sh web/run.sh check
	touch $@

wheel: $(VENV)/.installed $(PAGE)
	$(BIN)/python -m hatchling build -t wheel

# With throwaway servers of its own: PostgreSQL, MariaDB, Redis, from installed packages.
test: $(VENV)/.developing $(PAGE)
	$(BIN)/python -m tests.with_services $(BIN)/pytest -n auto -rs

# Format, lint, types, contracts and the fast tests; meant to be run before every commit.
check: $(VENV)/.developing $(PAGE_CHECKED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto -m "not slow and not office"

# A thousand seeded trials of `kill -9` of one process and of three instances; a hundred of each are part of `make test`.
chaos: $(VENV)/.developing
	$(BIN)/python -m tests.chaos.trials --trials 1000 --seed 7
	$(BIN)/python -m tests.with_services $(BIN)/python -m tests.chaos.trials --instances 3 --trials 1000 --seed 7
	$(BIN)/python -m tests.with_services $(BIN)/python -m tests.chaos.trials --instances 3 --trials 100 --seed 11 --apart

# Optional: real model servers of other makers, installed by name; see tests/peers/README.md.
peers: $(VENV)/.developing
	sh tests/peers/setup.sh
	ZENO_PEERS=1 $(BIN)/pytest tests/peers -rs

bench: $(VENV)/.developing $(PAGE)
	$(BIN)/python benchmarks/loop.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python -m benchmarks.models
	$(BIN)/python -m benchmarks.repair
	$(BIN)/python -m benchmarks.server
	$(BIN)/python -m benchmarks.page
	$(BIN)/python -m tests.with_services $(BIN)/python -m benchmarks.dispatch
	$(BIN)/python -m tests.with_services $(BIN)/python -m benchmarks.redis_feed
	$(BIN)/python -m tests.with_services $(BIN)/python -m benchmarks.stores
	$(BIN)/python -m tests.with_services $(BIN)/python -m benchmarks.throughput
	$(BIN)/python -m tests.with_services $(BIN)/python -m benchmarks.scaled
	$(BIN)/python -m tests.with_services $(BIN)/python -m benchmarks.archive

format: $(VENV)/.developing
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The lock files hold exact versions with hashes and no addresses.
lock:
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --group build pyproject.toml -o requirements.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --group dev pyproject.toml -o requirements-dev.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --group pyproject.toml:node -o requirements-node.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --group pyproject.toml:otel -c requirements.lock -o requirements-otel.lock

clean:
	rm -rf $(VENV) .zeno demo build dist web/node_modules src/zeno/web

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and was not found."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11: make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --require-hashes -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.developing: requirements-dev.lock $(VENV)/.installed
	$(PIP) install --quiet --require-hashes -r requirements-dev.lock
	touch $@

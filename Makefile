# Every target does its own set-up, in .venv and nowhere else.
# Needs Python 3.11 or newer, a C compiler and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
# What the service in the image can do.
export EXTRAS ?= service,postgres
# The stream that `make run` recalibrates, and where the results go.
STREAM := src/calibrant/data/nycflights.csv.gz
RESULTS := run
SOURCES := $(shell find src -type f ! -path '*/__pycache__/*') meson.build pyproject.toml README.md
# uv installs in a seventh of the time (8 s against 51 s for requirements.txt); pip does it where only pip knows the way to an index. By itself
# uv trusts only the certificates it brings, and a company's proxy has one that the system knows.
export UV_CACHE_DIR := $(CURDIR)/$(VENV)/cache
export UV_SYSTEM_CERTS := true
# Bytecode is kept: uv installs without it, and hundreds of processes would each compile what they import.
unexport PYTHONDONTWRITEBYTECODE
UV := $(BIN)/uv pip install -qq --python $(BIN)/python
COMPILE := $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --quiet --no-header
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps
install = $(UV) -r $(1) || { echo "uv could not install $(1); pip does, which takes longer"; $(PIP) -r $(1); }

.PHONY: help setup run serve test quick slow lint bench docs notebooks wheel dist sbom wheelhouse image workflows lock clean

help:  ## Show this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 10

setup: $(VENV)/requirements-dev $(VENV)/installed  ## Create .venv with everything the other targets need

# What it takes to build the package and to do the main job.
$(VENV)/requirements: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "calibrant needs Python 3.11 or newer; say which with make PYTHON=..."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --constraint requirements.txt uv
	$(call install,requirements.txt)
	@touch $@

# What the service takes besides.
$(VENV)/requirements-service: requirements-service.txt $(VENV)/requirements
	$(call install,requirements-service.txt)
	@touch $@

# What tests, lint, benchmarks and docs take besides, a gigabyte.
$(VENV)/requirements-dev: requirements-dev.txt $(VENV)/requirements
	$(call install,requirements-dev.txt)
	@touch $@

# Installed, not linked: the tests see what a user gets. The build folder makes it incremental.
# It is as old as its begin: what is saved during a build belongs to the next one.
$(VENV)/installed: $(VENV)/requirements $(SOURCES)
	@touch $@.begun
	$(PIP) --no-build-isolation --force-reinstall --config-settings=build-dir=build .
	@mv $@.begun $@

run: $(VENV)/installed  ## The main job, on a bundled real stream; results in run/
	@mkdir -p $(RESULTS)
	$(BIN)/calibrant recalibrate $(STREAM) --score score --outcome outcome --time t \
	  --available landed --due due --silence 1 \
	  --out $(RESULTS)/flights.csv.gz --report $(RESULTS)/flights.html

serve: $(VENV)/requirements-service $(VENV)/installed  ## The service on a live stream; open the address that it prints, Ctrl-C stops it
	@mkdir -p $(RESULTS)
	$(BIN)/calibrant serve --demo --store $(RESULTS)/serve.db

# A file's tests stay in one process: what they share is made once.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

test: setup  ## The tests, the examples in the docs included, on all cores; not those marked slow
	$(PYTEST) -m "not slow"

quick: setup  ## One case of each test, without those marked slow or long
	$(PYTEST) --quick

slow: setup  ## The tests marked slow: browser, Spark, PostgreSQL, wheel, docs, kills
	$(PYTEST) -m slow

lint: setup  ## Style, types and the order of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup  ## Speed, memory and error, beside peers; rewrites the tables in benchmarks/
	$(BIN)/python -m benchmarks

docs: setup  ## The documentation, in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

notebooks:  ## The notebooks in docs/notebooks, from the tutorials
	$(PYTHON) packaging/notebooks.py

# What building for others takes: checks of wheels, of workflows, a list of what is inside.
$(VENV)/requirements-release: requirements-release.txt $(VENV)/requirements
	$(call install,requirements-release.txt)
	@touch $@

wheel: $(VENV)/requirements-release  ## The source distribution and a wheel in dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist/built .
	$(BIN)/auditwheel repair --wheel-dir dist dist/built/*.whl
	mv dist/built/*.tar.gz dist && rm -r dist/built
	$(BIN)/twine check --strict dist/*

dist: wheel  ## The same, used in fresh environments without a compiler
	$(BIN)/python packaging/check_wheel.py dist/*.whl

sbom: $(VENV)/requirements-release  ## A list of what an installed service consists of, in dist/sbom.json (CycloneDX)
	@mkdir -p dist
	$(COMPILE) --extra service --extra postgres --constraint requirements-dev.txt --no-annotate -o dist/service.txt
	@# Of what is dynamic, the version, it says nothing.
	sed "s/^dynamic = .*/version = \"$$($(PYTHON) packaging/version.py)\"/" pyproject.toml > dist/pyproject.toml
	$(BIN)/cyclonedx-py requirements dist/service.txt --pyproject dist/pyproject.toml --output-file dist/sbom.json
	rm dist/service.txt dist/pyproject.toml

wheelhouse: wheel  ## The wheel and those of everything that the service takes, in dist/image/
	rm -rf dist/image && mkdir dist/image
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --only-binary :all: --dest dist/image \
	  --constraint requirements-dev.txt "$$(ls dist/*.whl)[$(EXTRAS)]"

image: wheelhouse  ## The service as a container image, in dist/calibrant.tar; with buildah, without a Docker engine
	bash packaging/build_image.sh
	$(PYTHON) packaging/check_image.py

workflows: $(VENV)/requirements-release  ## Check the workflows in .github, and the Kubernetes manifest in the docs
	$(BIN)/zizmor --offline .github
	sed -n '/^```yaml$$/,/^```$$/{//!p}' docs/deployment.md > $(VENV)/kubernetes.yaml
	$(BIN)/kubernetes-validate --strict $(VENV)/kubernetes.yaml

lock: $(VENV)/requirements  ## Pin the four sets anew, the small ones to the versions of the large one
	$(COMPILE) --group dev -o requirements-dev.txt
	$(COMPILE) --group release --constraint requirements-dev.txt --no-annotate -o requirements-release.txt
	$(COMPILE) --group build --extra plot --constraint requirements-dev.txt --no-annotate -o requirements.txt
	$(COMPILE) --group build --extra service --constraint requirements-dev.txt --no-annotate -o requirements-service.txt

clean:  ## Remove everything that make made
	rm -rf $(VENV) build dist $(RESULTS) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

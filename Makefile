# Everything runs in .venv, which `make install` builds from Python >= 3.11 alone.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help install test lint types layers tests slow bench demo play studies docs matrix wheel release announced browser format pins clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP)  ## build .venv with everything needed for development

# An editable install sees changes of src/ by itself: only these two files call for a new one.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and \
		"pegasos needs Python 3.11 or later, $(PYTHON) is %d.%d: try make PYTHON=python3.12" % v)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

test: lint types layers tests  ## all checks: what CI runs

lint: $(STAMP)  ## style and likely bugs (ruff)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## static types (mypy)
	$(BIN)/mypy

layers: $(STAMP)  ## who may import whom (import-linter)
	$(BIN)/lint-imports

tests: $(STAMP)  ## the tests and the examples in docstrings (pytest), without the slow ones
	$(BIN)/pytest -n 2 --dist loadgroup -q --durations=25

slow: $(STAMP)  ## the slow tests
	$(BIN)/pytest -m slow -q

bench: $(STAMP)  ## the benchmarks
	$(BIN)/python -m benchmarks

demo: $(STAMP)  ## a short tour: tune, save and run models on two small sets
	$(BIN)/pegasos demo -o runs/demo

play: $(STAMP)  ## build the page of `pegasos play` from web/play, and docs/play.html
	$(BIN)/python web/build.py
	$(BIN)/pegasos play -o docs/play.html

studies: $(STAMP)  ## all studies with five seeds, and docs/studies.md; needs PEGASOS_DATA, takes a quarter of an hour
	$(BIN)/python -m studies all --seeds 5 -o runs/studies --page docs/studies.md

docs: $(STAMP)  ## the documentation site in build/docs; examples run, warnings are errors
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	MPLBACKEND=Agg $(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

# Each in a venv of its own: every Python that is here with the newest versions, and the oldest one with the oldest that are declared.
matrix: MATRIX := build/matrix
matrix:  ## the tests with other Pythons and other versions; TESTS=... for some of them
	@for version in 3.11 3.12 3.13 3.14 oldest; do \
		interpreter=python$$( [ $$version = oldest ] && echo 3.11 || echo $$version ); \
		$$interpreter -c '' 2>/dev/null || { echo "$$version: no $$interpreter here"; continue; }; \
		mkdir -p $(MATRIX) && $$interpreter -m venv $(MATRIX)/$$version && : > $(MATRIX)/$$version.txt; \
		[ $$version != oldest ] || $$interpreter tests/oldest_versions.py > $(MATRIX)/$$version.txt; \
		$(MATRIX)/$$version/bin/python -m pip install --quiet --disable-pip-version-check -c $(MATRIX)/$$version.txt -e '.[dev]' && \
		$(MATRIX)/$$version/bin/python -m pytest -n 2 --dist loadgroup -q $(TESTS) || exit 1; \
	done

# An installation from the wheel alone, without the sources at hand.
wheel: $(STAMP)  ## a source distribution and a wheel in dist, and a try of what is in them
	rm -rf dist build/wheel && $(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check build
	build/wheel/bin/python -m build --outdir dist . > build/wheel/log || { cat build/wheel/log; exit 1; }
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(ls dist/*.whl)[app]"
	cp tests/smoke.py build/wheel && cd build/wheel && bin/python smoke.py

release: announced test docs wheel  ## all that must pass before a tag
	@echo "ready: git tag v$(VERSION)"

# What takes no time is asked first.
release announced: VERSION = $(shell $(BIN)/python -c 'from importlib.metadata import version; print(version("pegasos"))')
announced: $(STAMP)
	@git diff --quiet HEAD || { echo "there are changes that are not committed: commit them first"; exit 1; }
	@grep -q "^## \[*$(VERSION)" CHANGELOG.md || { echo "CHANGELOG.md has no heading for $(VERSION): see A release in CONTRIBUTING.md"; exit 1; }

# The pages are tested in a real browser; without it those tests are skipped, and say so.
browser:  ## install Debian's Chromium for the tests of pages, as root
	command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver; }

format: $(STAMP)  ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Without constraints.txt, in a venv of its own: the newest versions that fit together.
pins: PINS := build/pins
pins:  ## renew constraints.txt with the newest versions
	rm -rf $(PINS)
	$(PYTHON) -m venv $(PINS)
	$(PINS)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev,docs]'
	$(PINS)/bin/python -m pip list --format=freeze --exclude pegasos --exclude pip --exclude setuptools > $(PINS)/list
	{ echo "# The versions that 'make install' uses. To renew: make pins"; LC_ALL=C sort -f $(PINS)/list; } > constraints.txt
	rm -rf $(PINS)

clean:  ## remove .venv, caches and builds
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# One command to see it, one to test it; each sets up what it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test forms installed check docs pictures conformance bench fuzz clean

demo: $(VENV)/ready
	$(BIN)/metalloid demo

test: $(VENV)/ready
	$(BIN)/python -m pytest -n auto --dist loadfile

# The tests of the call forms, with the packages they are for; `make test` skips what is not installed.
forms: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[mlx,mlx-lm,torch]'
	$(BIN)/python -m pytest tests/forms tests/runtime

# The wheel in an empty environment, as somebody who installs it has it.
installed: $(VENV)/ready
	$(BIN)/python -m pytest -m installed tests/installed

check: $(VENV)/ready
	$(BIN)/ruff check src tests bench conformance examples docsite
	$(BIN)/ruff format --check src tests bench conformance examples docsite
	$(BIN)/mypy
	$(BIN)/lint-imports

# The pages that commands write, and all pages as a site in build/site.
docs: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m docsite.api
	$(BIN)/python -m docsite.variables
	$(BIN)/python -m docsite.schemas
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

# What the README shows, by Chromium.
pictures: $(VENV)/ready
	$(BIN)/python -m docsite.pictures
	$(BIN)/python -m metalloid.studio.screenshots docs/pictures studio-race
	$(BIN)/python -m metalloid.studio.screenshots docs/pictures studio-stages

conformance: $(VENV)/ready
	$(BIN)/python -m conformance
	$(BIN)/python -m conformance results --backend cpu
	$(BIN)/python -m conformance results --backend both --resume
	$(BIN)/python -m conformance binaries mlx --resume
	$(BIN)/python -m conformance binaries torch --resume
	$(BIN)/python -m conformance binaries sweep mlx --resume
	$(BIN)/python -m conformance binaries sweep torch --resume
	$(BIN)/python -m conformance binaries page
	$(BIN)/python -m conformance tinygrad
	$(BIN)/python -m conformance ggml-host

bench: $(VENV)/ready
	$(BIN)/python -m bench

# Goes on where it was stopped; `--seed` and `--count` choose other programs.
fuzz: $(VENV)/ready
	$(BIN)/python -m tests.engine.fuzz --count 20000 --state .cache/fuzz-state
	$(BIN)/python -m tests.engine.fuzz --count 2000 --seed 100000 --on spaces --state .cache/fuzz-spaces
	$(BIN)/python -m tests.engine.fuzz --count 4000 --seed 200000 --on rows --state .cache/fuzz-rows
	$(BIN)/python -m pytest -n auto -m fuzz

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .conformance build dist

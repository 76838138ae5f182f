# Everything sets itself up: `make demo` and `make test` work on a machine with Python 3.11 or newer, make and
# a compiler. The virtual environment is kept and renewed when pyproject.toml or the versions change.
#
# VERSIONS=locked (the default) installs the tested versions of requirements.lock; VERSIONS=newest installs the
# newest ones that pyproject.toml allows, in an environment of its own (.venv-newest).

PYTHON ?= python3
VERSIONS ?= locked
LOCK := requirements.lock
ifeq ($(VERSIONS),locked)
VENV ?= .venv
# Also while the package is built: older pip reads PIP_CONSTRAINT there, newer pip PIP_BUILD_CONSTRAINT. A relative path:
# pip reads these variables as lists, and a blank in the name of a folder would end an entry.
PINNED := PIP_CONSTRAINT=$(LOCK) PIP_BUILD_CONSTRAINT=$(LOCK)
STATED := pyproject.toml $(LOCK)
else ifeq ($(VERSIONS),newest)
VENV ?= .venv-newest
PINNED :=
EAGER := --upgrade --upgrade-strategy eager
STATED := pyproject.toml
else
$(error VERSIONS must be locked or newest (found '$(VERSIONS)'))
endif
# One worker more than cores: many tests wait for servers, signals and processes.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
SEED ?= 0
BIN := $(VENV)/bin
HASH := $(shell cat $(STATED) | $(PYTHON) -c "import hashlib,sys;print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest()[:12])")
RUN_READY := $(VENV)/.ready-run-$(HASH)
DEV_READY := $(VENV)/.ready-dev-$(HASH)
TRAIN_READY := $(VENV)/.ready-train-$(HASH)
BENCH := .venv-bench
BENCH_READY := $(BENCH)/.ready-$(HASH)
INSTALL := -m pip install --quiet --disable-pip-version-check
PIP := $(PINNED) $(BIN)/python $(INSTALL) $(EAGER)

.PHONY: all all-table blocks browser coverage demo test test-all fuzz newest lint format golden lock bench bench-quick chaos chaos-short mutants cover docs notebooks package pictures interop axelrod ray train servers probe clean help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: $(RUN_READY) ## play a small memory study with a real embedded language model and write its report
	$(BIN)/ostrom run memory --preset smoke --model embedded/smollm2-135m --name demo --report
	@echo "The embedded model has 135 million parameters: it shows that everything works, not how people reason."

# Bytecode is kept: every suite starts hundreds of processes, and each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
# Whole files at a time, so that a fixture of a module is set up once.
PYTEST = $(BIN)/python -m pytest $(SPREAD)
SPREAD = --numprocesses $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder

test: $(DEV_READY) ## run the tests that a change needs, on all cores (WORKERS=0: one after the other); minutes
	$(PYTEST) -m 'not slow'

test-all: $(DEV_READY) ## run all tests, the slow ones too: what every submission must pass
	$(PYTEST) -rs

newest: ## run all tests with the newest versions of everything
	$(MAKE) test-all VERSIONS=newest

lock: ## renew requirements.lock after a change of dependencies (UPGRADE=1: all of it, to the newest versions)
	@command -v uv > /dev/null || { echo "make lock needs uv (pip install uv); nothing else does"; exit 1; }
	echo hatchling | uv pip compile --quiet --universal --python-version 3.11 --extra dev --extra browser \
	  $(if $(UPGRADE),--upgrade) \
	  --no-annotate --no-header --output-file $(LOCK) pyproject.toml -
	{ echo "# Tested versions for Python 3.11 to 3.14, x86_64 and aarch64. Written by: make lock"; cat $(LOCK); } \
	  > $(LOCK).new && mv $(LOCK).new $(LOCK)

lint: $(DEV_READY) ## check style, types, and the expressions and names of YAML declarations
	$(BIN)/ruff check src tests benchmarks chaos tools
	$(BIN)/ruff format --check src tests benchmarks chaos tools
	$(BIN)/mypy
	$(BIN)/python -m tools.declarations

format: $(DEV_READY) ## format the code
	$(BIN)/ruff check --fix src tests benchmarks chaos tools
	$(BIN)/ruff format src tests benchmarks chaos tools

golden: $(DEV_READY) ## write the golden outputs and transcripts anew; read the difference (GOLDEN='-k estimate': some outputs)
	OSTROM_GOLDEN=write $(PYTEST) tests/golden $(if $(GOLDEN),,tests/mechanisms/test_golden.py tests/framing/test_golden.py \
	  tests/replications/test_golden_tables.py) --snapshot-update $(GOLDEN)

chaos: $(DEV_READY) ## break everything that can break: kills, faults, full disks, damage, a million odd inputs (SEED=1: other ones)
	$(BIN)/python -m chaos --seed $(SEED)

chaos-short: $(DEV_READY) ## every part of the failure suite once, with a tenth of its inputs; minutes (SEED=1: other ones)
	$(BIN)/python -m chaos --short --seed $(SEED)

fuzz: $(DEV_READY) ## draw new inputs for every property test, 2,000 each (FUZZ=tests/...: some of them)
	OSTROM_HYPOTHESIS=fuzz $(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 8 -m hypothesis $(FUZZ)

coverage: $(DEV_READY) ## simulate coverage, width and error rates of intervals and verdicts; writes docs/methods.md
	$(BIN)/python -m tools.coverage

browser: $(DEV_READY) ## look at the pages in a real browser (chromium) and check them with axe-core; keeps screenshots
	$(PIP) -e '.[browser]'
	npm install --prefix .browser --no-save --no-package-lock --no-fund --no-audit --silent axe-core@4 || \
	  echo "axe-core could not be fetched (npm): its checks are skipped"
	OSTROM_BROWSER=$${OSTROM_BROWSER:-any} $(BIN)/python -m pytest tests/browser -rs
	@echo "screenshots: .browser/screenshots"

pictures: $(DEV_READY) ## make the pictures of README and docs anew (docs/images), with chromium
	$(BIN)/python -m tools.pictures

cover: $(DEV_READY) ## run all tests and report which lines no test reaches (htmlcov/index.html)
	$(PIP) 'coverage>=7.10'
	$(BIN)/python -m coverage erase
	COVERAGE_CORE=$$($(BIN)/python -c "import sys; print('sysmon' if sys.version_info >= (3, 12) else 'ctrace')") \
	  $(BIN)/python -m coverage run -m pytest $(SPREAD) -rs
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage html --quiet
	$(BIN)/python -m coverage report --skip-covered --sort cover | tail -40

package: $(DEV_READY) ## build the package, check it and install the wheel into an empty environment
	$(PIP) build twine
	OSTROM_PACKAGE=1 $(BIN)/python -m pytest tests/house/test_package.py -rs

docs: $(DEV_READY) ## build the documentation site into site/ (no page loads anything from elsewhere)
	$(PIP) zensical
	$(BIN)/python -m tools.site

blocks: $(DEV_READY) ## run every command of README and docs, also those that draw pages (make test runs the quick ones)
	OSTROM_DOCS=1 $(BIN)/python -m pytest tests/docs -rs

notebooks: $(DEV_READY) ## execute the notebooks of examples/ anew, with the embedded model
	$(PIP) nbclient ipykernel
	mkdir -p demo/notebooks && cp examples/*.ipynb demo/notebooks
	cd demo/notebooks && rm -rf runs && ../../$(BIN)/python ../../tools/notebooks.py *.ipynb
	cp demo/notebooks/*.ipynb examples

INTEROP := .venv-interop
ENVIRONMENTS := .venv-environments
interop: $(DEV_READY) ## read our exports and play our studies with the real packages of others (installs them apart)
	test -x $(INTEROP)/bin/python || $(PYTHON) -m venv $(INTEROP)
	$(INTEROP)/bin/python $(INSTALL) inspect-ai datasets mlcroissant
	-$(INTEROP)/bin/python $(INSTALL) every-eval-ever # needs Python 3.12
	OSTROM_INTEROP="$(CURDIR)/$(INTEROP)/bin/python" $(BIN)/python -m pytest tests/features/exporting -rs
	for package in 'verifiers>=0.4,<0.5' 'openenv>=0.10,<0.11' 'pettingzoo>=1.27,<2'; do \
	  venv="$(ENVIRONMENTS)/$${package%%>*}"; test -x "$$venv/bin/python" || $(PYTHON) -m venv "$$venv" || exit 1; \
	  "$$venv/bin/python" $(INSTALL) -e . "$$package" || exit 1; \
	done
	OSTROM_ENVIRONMENTS="$(CURDIR)/$(ENVIRONMENTS)" $(BIN)/python -m pytest tests/features/environments -rs
	test -x $(ENVIRONMENTS)/lm-eval/bin/python || $(PYTHON) -m venv $(ENVIRONMENTS)/lm-eval
	$(ENVIRONMENTS)/lm-eval/bin/python $(INSTALL) 'lm-eval[api]>=0.4.9,<0.5'
	PATH="$(CURDIR)/$(ENVIRONMENTS)/lm-eval/bin:$$PATH" $(BIN)/python -m pytest tests/probe/test_lm_eval.py -rs

mutants: $(DEV_READY) ## change the engine, models, answers and statistics in many places and list what no test notices
	$(BIN)/python -m tools.mutants $(MUTANTS)

axelrod: $(DEV_READY) ## compare our strategies with the Axelrod library move by move (installs torch)
	$(PIP) 'torch==2.13.0' axelrod
	$(BIN)/python -m pytest tests/agents/strategies -k axelrod -rs

ray: $(DEV_READY) ## test the Ray executor on a real cluster of several nodes (installs Ray)
	$(PIP) -e '.[ray]'
	$(BIN)/python -m pytest tests/engine/ray tests/engine/test_executors.py -rs

train: $(DEV_READY) $(TRAIN_READY) ## test the training of adapters on a tiny model (installs torch, transformers, peft, gguf)
	$(BIN)/python -m pytest tests/probe -rs

SERVERS := .venv-servers
servers: $(DEV_READY) ## start and stop `transformers serve` for real, on the CPU (installs torch and transformers apart)
	test -x $(SERVERS)/bin/python || $(PYTHON) -m venv $(SERVERS)
	$(SERVERS)/bin/python $(INSTALL) 'torch==2.13.0'
	$(SERVERS)/bin/python $(INSTALL) 'torch==2.13.0' 'transformers[serving]>=5.17' gguf accelerate
	OSTROM_SERVERS="$(CURDIR)/$(SERVERS)" $(BIN)/python -m pytest tests/models/test_transformers_serve.py -rs

# Thresholds below the published ones, and a prompt that says what to write about: a model of 135 million parameters does
# not look ahead by itself.
PROBE_OUT ?= demo/probe
PROBE = cd $(PROBE_OUT) && "$(abspath $(BIN))/ostrom"
probe: $(TRAIN_READY) ## the whole fine-tuning probe, small, on the CPU: play, score, train three adapters, play all arms
	mkdir -p $(PROBE_OUT)
	$(PROBE) run probe-source --preset smoke --model embedded/smollm2-135m --prompts "$(CURDIR)/tools/probe/prompts"
	for arm in forward placebo shuffled; do \
	  ($(PROBE) more corpus probe-source --judge scripted/lexicon --forward 7 --quality 7 --specificity 6 --arm $$arm \
	    --out corpora/$$arm) || exit 1; \
	  ($(PROBE) more train corpora/$$arm --base embedded/smollm2-135m --out adapters/$$arm-0 --steps 4 --batch 2) || exit 1; \
	done
	$(PROBE) run probe --preset smoke --report
	@echo "The scripted judge counts words and the model has 135 million parameters: this shows that everything works, and"
	@echo "nothing about what looking forward does. docs/probe.md says what it would take."

bench: $(BENCH_READY) ## measure everything, also against the openai SDK, inspect_ai and Axelrod (installs them apart)
	$(BENCH)/bin/python -m benchmarks

bench-quick: $(DEV_READY) ## measure prompts, generators, calls and tables against plain Python and the recorded result; a minute
	$(BIN)/python -m benchmarks.quick $(if $(RECORD),--record)

# A torch that the CPU is enough for; the newest one of the index would bring gigabytes for GPUs.
$(TRAIN_READY): $(RUN_READY)
	$(PIP) 'torch==2.13.0'
	$(PIP) 'torch==2.13.0' -e '.[train]'
	@touch $@

$(BENCH_READY):
	@echo "setting up $(BENCH) with the libraries to compare with (first time: some minutes)"
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(INSTALL) 'torch==2.13.0'
	$(BENCH)/bin/python $(INSTALL) -e '.[embedded,analysis,report,ray,web,bench]' pytest
	@rm -f $(BENCH)/.ready-*; touch $@

all: ## run every suite that has not ended on this tree and print a table; hours on an idle machine (ONLY='lint chaos SEED=1': these, again)
	$(PYTHON) -m tools.every $(ONLY)

all-table: ## print the table of `make all`: what ran on which commit, minutes, outcome
	@$(PYTHON) -m tools.every --table

clean: ## remove the virtual environments and caches
	rm -rf .venv .venv-newest $(BENCH) $(INTEROP) $(ENVIRONMENTS) $(SERVERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .browser

$(VENV)/bin/python:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "Ostrom needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN_READY): | $(VENV)/bin/python
	@echo "setting up $(VENV) (first time: about a minute)"
	$(PIP) -e '.[embedded,analysis,report,prices]'
	@rm -f $(VENV)/.ready-*; touch $@

$(DEV_READY): | $(VENV)/bin/python
	@echo "setting up $(VENV) for development (first time: about two minutes)"
	$(PIP) -e '.[dev]'
	@rm -f $(VENV)/.ready-*; touch $@ $(RUN_READY)

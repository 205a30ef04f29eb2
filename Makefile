# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
# What is asked for by name runs one by one; the linters and the sanity tests, which this Makefile starts itself, side by side.
ifeq ($(MAKELEVEL),0)
.NOTPARALLEL:
endif
.DEFAULT_GOAL := help

FUZZ_SECONDS ?= 300
SEEDS ?= 100
NUMBER ?= 50
MODULES ?=
CHAOS_WORKERS ?= 1
INVENTORY ?= inventories/simulated
ARGS ?=
PYTEST_ARGS ?=

BIN := .venv/bin
# ansible-lint, ansible-test and antsibull start other commands of .venv by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Without bytecode kept, each ansible-playbook compiles all of Ansible again: more than half of what it takes to start.
unexport PYTHONDONTWRITEBYTECODE
RUN_STAMP := .venv/.requirements
DEV_STAMP := .venv/.requirements-dev
OWN_LINK := .venv/collections/ansible_collections/gpufabric/pyramid
COPY := .build/ansible_collections/gpufabric/pyramid
# Tests wait three quarters of their time, so there are three workers for each core; those that share a lab stay with one.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 1) * 3)))
# Tests in the order of their files, integration first: by size of group, as is usual, a long test alone would start last.
BESIDE := -n $(WORKERS) --dist loadgroup --no-loadscope-reorder
# The tests make some hundred thousand small files, 8 GB: in memory, where it has room for them and what runs beside them, on the disk elsewhere.
# Looked for by the tests alone, and once: what they leave changes the answer.
PLACE = $(shell free=$$( (df --output=avail -k /dev/shm; grep MemAvailable /proc/meminfo) 2>/dev/null | grep -oE '[0-9]+' | sort -n | head -1); \
	[ -w /dev/shm ] && [ "$${free:-0}" -gt 14000000 ] && echo /dev/shm || echo "$${TMPDIR:-/tmp}")/gpf-$(shell echo "$(CURDIR)" | cksum | cut -d ' ' -f 1)
# The tests of some marks: those that run beside others, and those that need the machine for themselves.
side_by_side = place=$(PLACE) && $(BIN)/pytest $(BESIDE) --basetemp=$$place -m "not alone and $(1)" $(PYTEST_ARGS) && rm -rf $$place
one_by_one = $(BIN)/pytest -m "alone and $(1)" tests/integration $(PYTEST_ARGS)
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python

# ansible-core 2.19 runs on these; the first one found makes .venv.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$python && break; done)

.PHONY: help
help: ## Say what can be made
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: setup
setup: $(RUN_STAMP) ## Make .venv with everything that a run needs

.venv/bin/uv:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed and none was found on PATH; name one with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

# ansible.cfg names this link before what is installed below ~/.ansible/collections.
$(OWN_LINK): | .venv/bin/uv
	mkdir -p $(@D)
	ln -sfn ../../../.. $@

# The link that it makes lets ansible-core and pytest import this checkout as gpufabric.pyramid, from any directory.
# OWN_LINK is made where it is missing, also in a checkout that was set up without it.
$(RUN_STAMP): requirements.txt | .venv/bin/uv $(OWN_LINK)
	$(UV) -r requirements.txt
	collections=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ansible_collections; \
		mkdir -p "$$collections/gpufabric"; ln -sfn ../../../../../.. "$$collections/gpufabric/pyramid"
	touch $@

$(DEV_STAMP): requirements-dev.txt $(RUN_STAMP)
	$(UV) -r requirements-dev.txt
	touch $@

.PHONY: validate
validate: $(RUN_STAMP) ## Validate a pod layer by layer: INVENTORY=inventories/mypod ARGS='-e pod_to_layer=links'
	@$(BIN)/ansible-playbook playbooks/validate.yml -i $(INVENTORY) $(ARGS)

.PHONY: doctor
doctor: $(RUN_STAMP) ## Say which layers each node of INVENTORY can be judged on, and what is missing for the others
	@$(BIN)/ansible-playbook playbooks/doctor.yml -i $(INVENTORY) $(ARGS)

.PHONY: node-check
node-check: $(RUN_STAMP) ## Build the program with which a GPU host checks itself: dist/gpufabric-node-check
	@$(BIN)/python -m ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.archive dist/gpufabric-node-check

.PHONY: faults
faults: $(RUN_STAMP) ## List the faults that ARGS='-e simulated_faults=NAME[,NAME]' can put into the simulated pod
	@$(BIN)/python tests/simulated_pod/list_faults.py

.PHONY: incidents
incidents: $(RUN_STAMP) ## Evaluate the documented incidents of tests/incidents and print the result of each; ARGS='NAME NAME' for some
	@$(BIN)/python -m ansible_collections.gpufabric.pyramid.tests.simulated_pod.incidents $(ARGS)

.PHONY: check
check: $(DEV_STAMP) ## Run the linters and the sanity tests, side by side
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint sanity

# What was left out, and why, is pytest's short summary at the end; with CI=true a real fabric that is left out is a failure.
.PHONY: test
test: $(DEV_STAMP) ## Run the tests: every layer, each lab and every fault in it once
	$(call side_by_side,not exhaustive)
	$(call one_by_one,not exhaustive)

# Those that run one by one come last and together: the machines that they boot are booted once.
.PHONY: test-all
test-all: check ## Run all that must hold: linters and sanity, the tests of `make test`, the exhaustive and slow ones
	$(call side_by_side,not exhaustive)
	$(call side_by_side,exhaustive and not long)
	$(call one_by_one,not long)

.PHONY: exhaustive
exhaustive: $(DEV_STAMP) ## Run the exhaustive and slow tests alone, which `make test` leaves out
	$(call side_by_side,exhaustive and not long)
	$(call one_by_one,exhaustive)

.PHONY: long
long: $(DEV_STAMP) ## Run what is too long for each change: incidents as whole playbooks, figures of large pods
	$(BIN)/pytest $(BESIDE) -m long $(PYTEST_ARGS)

.PHONY: unit
unit: $(DEV_STAMP) ## Run the unit tests
	$(BIN)/pytest $(BESIDE) -m "not alone" tests/unit tests/samples $(PYTEST_ARGS)

.PHONY: integration
integration: $(DEV_STAMP) ## Run the playbooks end to end, on the simulated pod and on real fabrics where root and Debian's packages are there
	$(BIN)/pytest $(BESIDE) -m "not alone" tests/integration $(PYTEST_ARGS)
	$(BIN)/pytest -m alone tests/integration $(PYTEST_ARGS)

.PHONY: lint
lint: $(DEV_STAMP) ## Run the linters, and see that the generated docs are fresh
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/yamllint --strict .
	$(BIN)/codespell
	$(BIN)/reuse lint --quiet
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/mypy
	$(BIN)/antsibull-changelog lint
	$(BIN)/python docs/generate.py --check
	$(BIN)/antsibull-docs lint-collection-docs --plugin-docs --skip-rstcheck .
	$(BIN)/ansible-lint --strict

# ansible-test accepts nothing but a real folder of this name, and takes its list of files from the nearest git.
.PHONY: sanity
sanity: $(DEV_STAMP) ## Run ansible-test sanity on a copy in .build
	$(BIN)/python tests/sanity/pip_bootstrap.py
	rm -rf .build
	mkdir -p $(COPY)
	git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do [ ! -e "$$file" ] || printf '%s\0' "$$file"; done \
		| tar -c --null -T - | tar -x -C $(COPY)
	git init --quiet $(COPY)
	cd $(COPY) && ansible-test sanity --local --python $$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

.PHONY: docs
docs: $(RUN_STAMP) ## Write the docs that restate the code
	$(BIN)/python docs/generate.py

.PHONY: site
site: $(DEV_STAMP) ## Build the docs as a site, in .build/site/html
	$(BIN)/python docs/site/build.py .build/site

.PHONY: fuzz
fuzz: $(DEV_STAMP) ## Fuzz every parser for FUZZ_SECONDS, going on with the corpus in .build/fuzz
	$(BIN)/python -m tests.fuzz.parsers .build/fuzz -max_total_time=$(FUZZ_SECONDS)

.PHONY: chaos
chaos: $(DEV_STAMP) ## Run SEEDS random tests, CHAOS_WORKERS side by side: nodes and runs that fail, reboots, inventories and runs that were edited
	$(BIN)/python -m tests.chaos $(SEEDS) --workers $(CHAOS_WORKERS)

.PHONY: interrupts
interrupts: $(DEV_STAMP) ## Interrupt NUMBER runs at random moments, and say what each of them left
	$(BIN)/python -m tests.chaos.interrupts $(NUMBER)

.PHONY: mutate
mutate: $(DEV_STAMP) ## Mutate the modules of tests/mutation/targets.yml, or MODULES='gates.py pairing.py:rail_rounds' of them, and list what no test finds
	$(BIN)/python -m tests.mutation $(MODULES)

.PHONY: clean
clean: ## Remove what was made here, except the runs
	rm -rf .venv .build .ansible .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

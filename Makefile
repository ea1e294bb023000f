# Everything a developer or a first-time user calls. Each target does all it needs.
.PHONY: help setup setup-layers check format quick test structure test-real test-lab bench prove quickstart clean lock
.DEFAULT_GOAL := help

# Compiled files are kept whatever the environment says: half of the time of collecting tests, and of
# each start of Tare in them, is that of compiling.
export PYTHONDONTWRITEBYTECODE :=

# What the tests must find on this host; a lack is an error, not a skip. Not uml: on a CPU with AMX
# its kernel runs no program, and its tests are skipped with that reason.
REQUIRED := root browser perf sshd docker podman gvisor lxc nspawn bubblewrap qemu ssh libvirt vsphere
REQUIRE := $(foreach one,$(REQUIRED),--require $(one))

help:            ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup:           ## install Debian packages and the locked Python environment
	@scripts/setup

check: setup     ## formatting, lints, types
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

format: setup    ## put the code in its one format
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

setup-layers:    ## setup, and what every layer needs
	@scripts/setup --layers

quick: setup     ## unit tests; minutes
	.venv/bin/pytest -m "not slow" -n 2 --dist worksteal tests/unit

test: setup-layers ## unit, contract and short real tests, and coverage; a missing part is an error
	.venv/bin/pytest -m "not slow and not lab" $(REQUIRE) -n 2 --dist worksteal --cov --cov-report=term tests/unit
	.venv/bin/pytest -m "not slow and not lab" $(REQUIRE) tests/browser tests/contract tests/real

test-real: setup-layers ## the long tests too
	.venv/bin/pytest -m "not lab" $(REQUIRE)

test-lab: setup  ## what needs hardware virtualization, on a host that emulates it; half an hour
	.venv/bin/pytest -m "lab and not slow" --require lab tests/lab

structure:       ## packages and their lines, which room imports which, circles of imports
	@scripts/structure

bench: setup     ## what Tare adds to a trial, how it scales, pages, storms; prints tables
	.venv/bin/python benchmarks/harness.py
	.venv/bin/python benchmarks/release.py
	.venv/bin/python benchmarks/contention.py
	.venv/bin/python benchmarks/report_scale.py
	.venv/bin/python benchmarks/page.py
	.venv/bin/python benchmarks/live.py
	.venv/bin/python benchmarks/storm.py
	.venv/bin/python benchmarks/scale.py

prove: setup     ## coverage, false alarms, power and time to decide, compared with other tools
	.venv/bin/python benchmarks/prove.py

quickstart: setup ## run the default study on every platform this host has; write the report
	.venv/bin/tare doctor
	.venv/bin/tare run quick --report

clean: setup     ## remove whatever killed runs left on this host
	.venv/bin/tare clean

lock:            ## renew requirements.lock from pyproject.toml
	python3 -m venv build/lock && build/lock/bin/pip install -q pip-tools
	build/lock/bin/pip-compile -q --allow-unsafe --no-emit-index-url --no-emit-find-links \
		--no-emit-trusted-host --generate-hashes --no-strip-extras --extra dev \
		-o requirements.lock pyproject.toml

# Each target builds what it needs into .venv, which git ignores. CONTRIBUTING.md has them on a page.
PYTHON ?= python3
RUN = .venv/bin/python -P
PIP = .venv/bin/python -m pip --disable-pip-version-check --quiet
SOURCES = meson.build meson.options pyproject.toml $(shell find lucid_erfinv -type f -not -name '*.pyc')

.PHONY: demo test test-frameworks test-exhaustive test-builds test-all apple lint bench sweep clean

demo: .venv/demo
	$(RUN) -m lucid_erfinv sweep

test: .venv/test
	$(RUN) -m pytest

# The adapters, with the frameworks that docs/frameworks.md was checked with: gigabytes.
test-frameworks: .venv/frameworks
	$(RUN) -m pytest tests/test_adapters.py tests/test_guide.py tests/test_node.py tests/test_ops.py

# All float32 inputs at every level, more than 2^31 elements.
test-exhaustive: .venv/test
	$(RUN) -m pytest -m exhaustive

# The tests again on other builds: baseline alone, from the sdist, by clang, under the sanitizers.
test-builds: .venv/test
	sh tests/builds.sh .venv

test-all: test test-frameworks test-exhaustive test-builds

# The macOS parts, as far as Linux can check them.
apple: .venv/apple
	@test ! -e .venv/apple || $(RUN) -m pytest -m apple -n 2 --dist loadfile tests/apple

lint: .venv/lint
	sh tests/lint.sh .venv

bench: .venv/bench
	.venv/bin/python bench/speed.py

sweep: .venv/bench
	.venv/bin/python bench/accuracy.py

clean:
	rm -rf .venv build dist

# What the machine must have, each told in a line.
.venv/bin/python:
	@for c in $${CC:-cc} gcc clang none; do command -v $$c > /dev/null && break; done; test $$c != none || \
	  { echo "a C compiler is missing: on Debian, apt install gcc"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || \
	  { echo "Python's venv is missing: on Debian, apt install python3-venv"; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig as s; sys.exit(not os.path.exists(s.get_path("include") + "/Python.h"))' || \
	  { echo "Python's C headers are missing: on Debian, apt install python3-dev"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/demo: .venv/bin/python $(SOURCES)
	$(PIP) install ".[sweep]"
	@touch $@

.venv/frameworks: .venv/test
	$(PIP) install autograd==1.9.1 jax==0.10.2 "mlx[cpu]==0.32.4" torch==2.13.0
	@touch $@

.venv/apple: .venv/bin/python $(SOURCES) tests/apple/install.sh
	sh tests/apple/install.sh .venv

.venv/test .venv/bench .venv/lint: .venv/%: .venv/bin/python $(SOURCES)
	$(PIP) install ".[$*]"
	@touch $@

# Two commands on a fresh machine: `make demo` and `make test`. CI runs `make test` and `make lint`.
JOBS ?= $(shell nproc)
RELEASE := build/release

.PHONY: demo build test quick lint format mutants sanitize bench setup clean help

help:  ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup:  ## install what is missing from the distribution's packages
	@bash tools/setup.sh

build: setup  ## build the library and the command build/release/tokitai
	@test -f $(RELEASE)/build.ninja || cmake --preset release
	@cmake --build --preset release -j $(JOBS)

demo: build  ## find the devices and verify every operator on each, bit for bit
	@$(RELEASE)/tokitai devices
	@$(RELEASE)/tokitai verify --device cpu

test: build  ## every test
	@ctest --test-dir $(RELEASE) --output-on-failure

quick: build  ## the tests that take under a minute
	@ctest --test-dir $(RELEASE) --output-on-failure -L fast

bench: build  ## time every operator beside the copy bandwidth
	@$(RELEASE)/tokitai bench

lint: setup  ## check format and run clang-tidy
	@bash tools/lint.sh

format: setup  ## format the C++ files in place
	@bash tools/lint.sh --fix

mutants: build  ## break the code on purpose, 25 and more ways, and see each caught
	@/usr/bin/python3 tools/mutants.py

sanitize: setup  ## the tests under the address, undefined-behaviour and thread sanitizers
	@bash tools/sanitize.sh

clean:  ## remove everything that was built
	@rm -rf build

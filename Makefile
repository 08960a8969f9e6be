# Two commands on a fresh machine: `make demo` and `make test`. CI runs `make test` and `make lint`.
JOBS ?= $(shell nproc)
RELEASE := build/release

.PHONY: help demo build test thorough quick kernels bench docs lint format mutants faults fuzz sanitize clean

help:  ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

build:  ## install what is missing, build the library and the command build/release/tokitai
	@bash tools/setup.sh build
	@cmake --preset release -DTOKITAI_TESTS=OFF
	@cmake --build --preset release -j $(JOBS) --target tokitai_command

demo: build  ## find the devices and verify every operator on each, bit for bit
	@$(RELEASE)/tokitai devices
	@$(RELEASE)/tokitai verify --device all

$(RELEASE)/tests:
	@bash tools/setup.sh test
	@cmake --preset release -DTOKITAI_TESTS=ON
	@cmake --build --preset release -j $(JOBS)
.PHONY: $(RELEASE)/tests

test: $(RELEASE)/tests  ## the tests, of the longest a sample
	@ctest --test-dir $(RELEASE) --output-on-failure -j $(JOBS) -LE long

thorough: $(RELEASE)/tests  ## every test, whole: an hour on two cores
	@TOKITAI_THOROUGH=1 ctest --test-dir $(RELEASE) --output-on-failure -j $(JOBS)

quick: $(RELEASE)/tests  ## the tests that take under a minute
	@ctest --test-dir $(RELEASE) --output-on-failure -j $(JOBS) -L fast

kernels: build  ## every kernel compiled and audited for every NVIDIA and AMD target
	@$(RELEASE)/tokitai compile --all --audit

bench: build  ## time every operator beside the copy bandwidth
	@$(RELEASE)/tokitai bench

docs: build  ## make the figures in docs/ anew
	@bash tools/docs.sh $(RELEASE)/tokitai

lint:  ## check the format and run clang-tidy
	@bash tools/setup.sh lint
	@bash tools/lint.sh

format:  ## format the C++ files in place
	@bash tools/setup.sh lint
	@bash tools/lint.sh --fix

mutants:  ## break the code on purpose in many ways and see each caught
	@bash tools/setup.sh test
	@python3 tools/mutants.py

faults: $(RELEASE)/tests  ## break index arithmetic on purpose, see each fault refuted by the prover and caught in lockstep
	@TOKITAI_THOROUGH=1 TOKITAI_CACHE=$(RELEASE)/kernel_cache $(RELEASE)/seeded_test
	@TOKITAI_THOROUGH=1 TOKITAI_CACHE=$(RELEASE)/kernel_cache $(RELEASE)/faults_test
	@python3 proofs/tests/recheck.py $(RELEASE)/tokitai --all

fuzz: $(RELEASE)/tests  ## try 100,000 random command lines: none may crash
	@TOKITAI_COMMAND_LINES=100000 $(RELEASE)/command_lines_test

sanitize:  ## the tests under the address, undefined-behaviour and thread sanitizers
	@bash tools/setup.sh test
	@bash tools/sanitize.sh

clean:  ## remove everything that was built
	@rm -rf build

# A thin front to CMake: the release build is in build/, others in build/NAME (`cmake --list-presets`).
#
#	make setup      install what is missing, or say what to install
#	make build      build/tenon, build/libtenon.a, build/libtenon.so
#	make demo       a tour of the command, on a model that it makes itself
#	make test       all tests of the release build
#	make bench      the benchmarks
#	make valgrind   the unit tests under valgrind, where it is installed
#	make fuzz       each fuzzer for TIME seconds, or RUNS times; ENGINE=afl: by AFL++; TARGETS: some of them
#	make interop    against the other implementations of the formats, where they are installed
#	make install    under PREFIX, in DESTDIR
#	make clean      remove all builds; what setup put into build/deps stays

PREFIX ?= /usr/local
TIME   ?= 60
RUNS   ?= 0
ENGINE ?= libfuzzer
JOBS   ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)

.PHONY: setup build demo test bench valgrind fuzz interop install clean

setup:
	@scripts/setup

build: build/build.ninja
	@cmake --build build -j $(JOBS)

build/build.ninja:
	@cmake --preset release

# By way of $(MAKE), so that setup is over before the build looks for what it installed.
demo: setup
	@$(MAKE) --no-print-directory build
	@scripts/demo build/tenon build/demo

test: setup
	@$(MAKE) --no-print-directory build
	@ctest --preset release -j $(JOBS)

bench: setup
	@$(MAKE) --no-print-directory build
	@cmake --build build -j $(JOBS) --target bench_tenon bench_value
	@if [ -x bench/run ]; then bench/run; else echo "no benchmarks yet"; fi

valgrind: setup
	@scripts/valgrind $(JOBS)

fuzz: setup
	@scripts/fuzz --time $(TIME) --runs $(RUNS) --jobs $(JOBS) --engine $(ENGINE) $(TARGETS)

interop: setup
	@$(MAKE) --no-print-directory build
	@if [ -x tests/interop/run ]; then tests/interop/run build/tenon; else echo "no interop tests yet"; fi

install: build
	@cmake --install build --prefix "$(PREFIX)"

clean:
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +

# Two commands do everything: `make demo` and `make test`. `make help` lists the rest.
PREFIX ?= $(HOME)/.local
CARGO ?= cargo
SCHEDULES ?= 1000000
BIN = target/release

.PHONY: help demo test check build release install uninstall agents browser web bench soak fuzz docs

help:
	@echo "make demo       build and show the main job: no account, no key, under a minute"
	@echo "make test       all checks: format, lints, unit, simulation, real tmux, real agents"
	@echo "make install    sm, sm-hook, sm-agent, completions and man pages into PREFIX ($(PREFIX))"
	@echo "make uninstall  take sm out of your files, then remove them again; PURGE=1 also removes its data"
	@echo "make bench      speed, side by side with what there was before"
	@echo "make soak       the simulation for as long as asked: SCHEDULES=$(SCHEDULES)"
	@echo "make fuzz       every parser of foreign input, 10 s each"
	@echo "make agents     install the pinned real agent programs for the tests into .agents/"
	@echo "make browser    install what the dashboard's tests need: packages of web/, Chromium"
	@echo "make web        build the dashboard; the output in web/dist is committed"

demo: release
	@tools/needs.sh tmux
	@$(BIN)/demo

test: check agents browser
	@tools/check-web.sh
	@tools/test.sh

check:
	@tools/needs.sh cc tmux curl jq zsh fish
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

build:
	$(CARGO) build --workspace --quiet

release:
	@tools/needs.sh cc
	@CARGO="$(CARGO)" tools/build-programs.sh
	$(CARGO) build --release --quiet -p sm-agent -p sm-testkit

agents:
	@tools/install-agents.sh || echo "the real agent programs could not be installed; their tests will say that they are skipped"

browser:
	@tools/install-browser.sh

web: browser
	cd web && npm run --silent build

install:
	@tools/needs.sh cc
	@CARGO="$(CARGO)" tools/build-programs.sh
	$(CARGO) build --release --quiet -p sm-agent
	@PREFIX="$(PREFIX)" tools/install.sh install

uninstall:
	@PREFIX="$(PREFIX)" PURGE="$(PURGE)" YES="$(YES)" tools/install.sh uninstall

bench: release
	@tools/needs.sh tmux jq curl
	@tools/bench.sh

soak:
	SM_SIM_SCHEDULES=$(SCHEDULES) $(CARGO) test --release -p sm-testkit --test simulation -- --nocapture --ignored soak

fuzz:
	@tools/fuzz.sh

docs:
	UPDATE_DOCS=1 $(CARGO) test --quiet -p sm-daemon -p sm-cli docs

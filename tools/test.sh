#!/bin/sh
# All tests. With cargo-nextest if it is here, otherwise with cargo's own runner.
set -eu
cd "$(dirname "$0")/.."
# every fuzz target so long; a plain `cargo test` gives each a second
export SM_FUZZ_SECONDS="${SM_FUZZ_SECONDS:-10}"
# the programs the tests run as programs
cargo build --quiet -p sm-cli -p sm-hook -p sm-agent -p sm-testkit --bins
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --no-fail-fast "$@"
else
    cargo test --workspace --no-fail-fast "$@"
fi

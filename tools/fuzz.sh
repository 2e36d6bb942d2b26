#!/bin/sh
# Every parser of foreign input, SM_FUZZ_SECONDS each (10). A failure prints the seed that repeats it.
set -eu
cd "$(dirname "$0")/.."
export SM_FUZZ_SECONDS="${SM_FUZZ_SECONDS:-10}"
# the daemon that answers the HTTP target
cargo build --quiet -p sm-cli -p sm-hook
cargo test --quiet -p sm-testkit --test fuzz -- --nocapture "$@"

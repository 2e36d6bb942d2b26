#!/bin/sh
# Runs the benchmarks. Arguments: which arms (hooks sends handoff archive events footprint idle; none: all of them),
# and --markdown for a table that can go into docs/benchmarks.md.
set -eu
cd "$(dirname "$0")/.."
exec "${CARGO_TARGET_DIR:-target}/release/bench" "$@"

#!/bin/sh
# Runs the benchmarks. Arguments: which arms (hooks sends handoff archive channel run events monitor footprint idle
# redaction ledger agent page; none: all of them), --markdown for a table that can go into docs/benchmarks.md, and --corpus FOLDER
# with transcripts of your own.
set -eu
cd "$(dirname "$0")/.."
exec "${CARGO_TARGET_DIR:-target}/release/bench" "$@"

#!/bin/sh
# Builds sm-hook, without shared libraries where the system can link it so: agents start it several
# times a turn, and loading libraries is a third of what a start costs.
set -eu
cd "$(dirname "$0")/.."
build="${CARGO:-cargo} rustc --release --quiet -p sm-hook --bin sm-hook"
if [ "$(uname -s)" = Linux ] && $build -- -C target-feature=+crt-static 2>/dev/null; then
    exit 0
fi
exec $build

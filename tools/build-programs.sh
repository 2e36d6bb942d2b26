#!/bin/sh
# Builds sm and sm-hook for use. Where the system can link them so, they have no shared libraries and
# a fixed address: agents start them several times a turn, and most of such a start would be loading
# libraries and adjusting addresses, which also takes two megabytes of the daemon's memory.
# Elsewhere, and with a plain `cargo build`, they are as any other program.
set -eu
cd "$(dirname "$0")/.."
build() {
    plain="${CARGO:-cargo} rustc --release --quiet -p $1 --bin $2"
    if [ "$(uname -s)" = Linux ] &&
        $plain -- -C target-feature=+crt-static -C relocation-model=static 2>/dev/null; then
        return
    fi
    $plain
}
build sm-cli sm
build sm-hook sm-hook

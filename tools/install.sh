#!/bin/sh
# Puts the built programs, completions and man pages into PREFIX, or takes them away again.
set -eu
cd "$(dirname "$0")/.."
action=$1
bin=$PREFIX/bin
man=$PREFIX/share/man/man1
bash_dir=$PREFIX/share/bash-completion/completions
zsh_dir=$PREFIX/share/zsh/site-functions
fish_dir=$PREFIX/share/fish/vendor_completions.d
case $action in
install)
    mkdir -p "$bin" "$man" "$bash_dir" "$zsh_dir" "$fish_dir"
    # a running daemon keeps its old program; a rename never tears it
    for program in sm sm-hook sm-agent; do
        cp "target/release/$program" "$bin/.$program.new"
        mv -f "$bin/.$program.new" "$bin/$program"
    done
    "$bin/sm" man "$man"
    "$bin/sm" completions bash > "$bash_dir/sm"
    "$bin/sm" completions zsh > "$zsh_dir/_sm"
    "$bin/sm" completions fish > "$fish_dir/sm.fish"
    echo "installed into $PREFIX: sm, sm-hook, sm-agent, man pages and completions"
    case ":$PATH:" in
        *":$bin:"*) echo "next: sm doctor" ;;
        *) echo "next: add $bin to your PATH, then run: sm doctor" ;;
    esac
    ;;
uninstall)
    # what names a program that is gone would fail: hooks in every session of the agents, aliases in
    # every shell. PURGE=1 also removes what holds your work, YES=1 does not ask
    if [ -x "$bin/sm" ] && ! "$bin/sm" uninstall ${PURGE:+--purge} ${YES:+--yes}; then
        echo "sm could not be taken out of everything: see above; its programs are still there" >&2
        echo "put that right, then run again: make uninstall" >&2
        exit 1
    fi
    rm -f "$bin/sm" "$bin/sm-hook" "$bin/sm-agent" "$bash_dir/sm" "$zsh_dir/_sm" "$fish_dir/sm.fish" "$man"/sm.1 "$man"/sm-*.1
    rmdir "$man" "$bash_dir" "$zsh_dir" "$fish_dir" 2>/dev/null || true
    for dir in share/man share/bash-completion share/zsh share/fish share bin; do
        rmdir "$PREFIX/$dir" 2>/dev/null || true
    done
    echo "removed sm, sm-hook, sm-agent, man pages and completions from $PREFIX"
    ;;
*) echo "usage: PREFIX=... install.sh install|uninstall" >&2; exit 64 ;;
esac

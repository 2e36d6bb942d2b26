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
    # hooks that name a program which is gone would fail in every session of the agents
    if [ -x "$bin/sm" ] && ! "$bin/sm" hooks remove; then
        echo "the hooks of sm could not be taken out of your agents' settings: see above; nothing was removed" >&2
        echo "take them out by hand, or run: rm \"$bin/sm\" \"$bin/sm-hook\" \"$bin/sm-agent\"; then again: make uninstall" >&2
        exit 1
    fi
    rm -f "$bin/sm" "$bin/sm-hook" "$bin/sm-agent" "$bash_dir/sm" "$zsh_dir/_sm" "$fish_dir/sm.fish" "$man"/sm.1 "$man"/sm-*.1
    rmdir "$man" "$bash_dir" "$zsh_dir" "$fish_dir" 2>/dev/null || true
    for dir in share/man share/bash-completion share/zsh share/fish share bin; do
        rmdir "$PREFIX/$dir" 2>/dev/null || true
    done
    echo "removed sm from $PREFIX. Your sessions' data are still there: sm's state and data folders"
    echo "(see 'Where things are' in the README); sm stop --purge, before uninstalling, removes them too."
    echo "Hooks installed with --scope project are still in those projects: run sm hooks remove there before."
    ;;
*) echo "usage: PREFIX=... install.sh install|uninstall" >&2; exit 64 ;;
esac

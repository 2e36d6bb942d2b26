//! The small program that stands between an agent and the daemon: hooks, the status line, the
//! mailbox waiter, the agent's launcher and the terminal's log.
//!
//! As a hook it must never break or delay the agent: it exits 0 whatever happens (the mailbox's
//! 2 is its way to speak), it waits for nothing without a limit, and it starts nothing it does
//! not need. Secrets come from the environment or the daemon's socket, never from arguments.

mod caller;
mod guard;
mod hook;
mod input;
mod launch;
mod log;
mod mailbox;
mod platform;
mod statusline;

use std::ffi::OsString;
use std::io::Write;

use sm_client::wire::{self, is_plain_word};

const USAGE: &str = "\
sm-hook is started by sm, not by hand.

usage: sm-hook <agent> <event>                        tell the daemon what an agent's hook says
       sm-hook <agent> statusline [--format text] [-- command]
                                                      the agent's status line
       sm-hook <agent> mailbox                        wait for a message for the agent
       sm-hook <agent> guard                          let no sub-agent hand the session over
       sm-hook <agent> … --installed [-- command]     one of these out of the user's own settings
       sm-hook launch <session> <launch>              be the parent of an agent
       sm-hook log <dir> [--quiet-ms N --session S --key K]   write a terminal's output down
       sm-hook park                                   do nothing until ended
";

fn main() {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = args.iter().map(|arg| arg.to_str().unwrap_or("")).collect();
    let code = match words.as_slice() {
        ["launch", session, launch] => launch::run(session, launch),
        ["park"] => park(),
        ["log", _, options @ ..] => {
            never_fail();
            log::run(args[1].as_ref(), options)
        }
        [] | ["--help" | "-h" | "help" | "launch" | "log" | "park", ..] => say(USAGE),
        ["--version" | "-V"] => say(concat!("sm-hook ", env!("CARGO_PKG_VERSION"), "\n")),
        [agent, event, rest @ ..] if is_plain_word(agent) && is_plain_word(event) => {
            never_fail();
            let who = who_speaks(rest);
            // An event may have more words one day; an old hook still tells what it knows.
            match (*event, who) {
                ("statusline", who) => statusline::run(agent, &args[2..], who),
                (_, Speaks::Another) => 0,
                ("guard", Speaks::This) => guard::run(),
                ("mailbox", Speaks::This) => mailbox::run(agent),
                (event, Speaks::This) => hook::run(agent, event),
            }
        }
        _ => say(USAGE),
    };
    std::process::exit(code);
}

/// Which of our hooks tells the daemon about an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaks {
    This,
    /// This one is installed in the user's settings, and another came with the agent's launch.
    Another,
}

fn who_speaks(rest: &[&str]) -> Speaks {
    let mut ours = rest.iter().take_while(|word| **word != "--");
    let is_installed = ours.any(|word| {
        word.strip_prefix(wire::INSTALLED_MARK)
            .is_some_and(|more| more.is_empty() || more.starts_with('='))
    });
    let injected =
        || std::env::var_os(wire::HOOKS_VAR).is_some_and(|value| value == wire::HOOKS_INJECTED);
    if is_installed && injected() {
        Speaks::Another
    } else {
        Speaks::This
    }
}

/// A mistake of ours must look like "nothing to say" to the agent, not like a failed hook.
fn never_fail() {
    std::panic::set_hook(Box::new(|_| std::process::exit(0)));
}

fn say(text: &str) -> i32 {
    let _ = std::io::stderr().write_all(text.as_bytes());
    0
}

/// Something for tmux to run in a session that only keeps its server alive.
fn park() -> i32 {
    loop {
        std::thread::park();
    }
}

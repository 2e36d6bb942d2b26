//! `sm`: the program people and agents use.
//!
//! Arguments are parsed, the daemon is asked, the answer is printed: nothing is decided here.
//! Only `sm serve` starts a runtime; every other command is one or two blocking requests.

#![cfg_attr(not(test), no_main)]

mod attach;
mod call;
mod client;
mod commands;
mod companion;
mod completion;
#[cfg(test)]
mod docs;
mod entry;
mod environment;
mod error;
mod gauge;
mod handoff;
mod print;
mod settings_file;
#[cfg(not(test))]
mod start;
mod text;
mod traces;

use crate::error::{ExitCode, Kind};
use crate::print::Printer;

#[cfg(test)]
fn main() {
    std::process::exit(run().into());
}

fn run() -> ExitCode {
    if completion::answered() {
        return ExitCode::SUCCESS;
    }
    let cli = match commands::parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be done about a closed terminal.
            let _ = error.print();
            return if error.use_stderr() {
                Kind::Usage.exit_code()
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let mut out = Printer::for_stdout();
    let result = commands::run(cli, &mut out);
    // What was said before a failure comes before the failure.
    let flushed = out.flush();
    match result.and_then(|code| flushed.map(|()| code)) {
        Ok(code) => code,
        Err(error) => {
            print::error(&error);
            error.kind.exit_code()
        }
    }
}

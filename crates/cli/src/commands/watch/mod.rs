//! `sm watch`: all sessions on one screen, followed as they change, and what can be done to them.
//!
//! `app` decides, `draw` shows, both pure; `feed` asks the daemon, `terminal` and `screen` are the
//! person's terminal, `run` joins them. Nothing is done here that the other commands cannot do.

mod app;
mod draw;
mod draw_detail;
mod draw_list;
mod editor;
mod feed;
mod group;
mod input;
mod keys;
mod list;
mod look;
mod run;
mod said;
mod screen;
mod terminal;
#[cfg(test)]
mod tests;

use clap::Args;

use crate::client::{Daemon, Which};
use crate::environment;
use crate::error::{CommandError, ExitCode, Result};
use crate::print::Printer;
use crate::text::Signs;

/// Shows all sessions on one screen, live: who works, who waits for you, whose context is nearly full.
///
/// Those that need a person come first. Messages, handoffs, kill, restore and attach are a key away;
/// the keys are in the last line, and `?` shows all of them.
#[derive(Debug, Args)]
#[command(after_help = "\
NO_COLOR=1 shows no colours. Without a UTF-8 locale, or with --ascii, only plain characters are drawn.")]
pub struct Watch {
    /// Also sessions that have exited.
    #[arg(long)]
    all: bool,
    /// Draw with plain characters only.
    #[arg(long)]
    ascii: bool,
}

impl Watch {
    pub fn run(self, out: &mut Printer) -> Result<ExitCode> {
        let terminal = terminal::Terminal::of_person().map_err(|error| {
            CommandError::not_usable(format!("cannot use this terminal: {error}"))
        })?;
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let Some(terminal) = terminal.filter(|_| !dumb) else {
            return Err(
                CommandError::not_usable("sm watch needs a terminal, and this is none")
                    .hint("`sm ls` lists the sessions; `sm events --follow` shows what happens"),
            );
        };
        // Somebody asks for it now: the daemon is started if there is none.
        Daemon::open()?.ensure()?;
        let mut look = out.look.clone();
        if self.ascii || !is_utf8(|name| std::env::var(name).ok()) {
            look.signs = Signs::Ascii;
        }
        let size = terminal.size();
        let size = (size.width, size.height);
        let given = feed::Given {
            env: environment::variables(),
            size,
        };
        let feed = feed::Feed::start(Which::from_all(self.all), given)?;
        run::run(app::App::new(look, size), feed, &terminal, out)
    }
}

/// Whether the locale says that the terminal takes UTF-8. The first that is set counts.
fn is_utf8(get: impl Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| get(name).filter(|value| !value.is_empty()))
        .is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
}

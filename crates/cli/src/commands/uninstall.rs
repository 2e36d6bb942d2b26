//! `sm uninstall`: takes sm out of the files of others, before its programs are removed.

use clap::Args;

use super::stop;
use crate::client::Daemon;
use crate::environment;
use crate::error::{CommandError, Result};
use crate::print::{self, Printer};
use crate::text::{count, one_line};
use crate::traces::{self, Reach, Traces};

/// Takes sm's hooks, aliases and service out of your files; `make uninstall` then removes the programs.
///
/// What holds your work (sessions, handoffs, pins, rules of sm's own agent) is asked about, and stays
/// where nobody can be asked; what stays is listed with the reason.
#[derive(Debug, Args)]
pub struct Uninstall {
    /// End all sessions and remove state, data and everything else that sm has put anywhere.
    #[arg(long)]
    purge: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Only show what would be done.
    #[arg(long)]
    dry_run: bool,
}

impl Uninstall {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let paths = daemon.paths().clone();
        let traces = Traces::find(&paths, Reach::Programs);
        let own = stop::own_places(&paths);
        if self.dry_run {
            return show(&traces, &own, out);
        }
        if self.purge {
            return stop::purge(&daemon, Reach::Programs, self.yes, out);
        }
        let live = stop::what_runs(&daemon)?;
        if !live.is_empty() {
            return Err(CommandError::refused(format!(
                "{} still running, and would lose the programs of sm: {}",
                match live.len() {
                    1 => "1 session is".to_owned(),
                    n => format!("{} are", count(n, "session")),
                },
                one_line(&live.join(", "))
            ))
            .hint("end it: sm kill NAME; or end and remove everything: sm stop --purge"));
        }
        if !traces.wiring.is_empty() {
            out.line("sm is taken out of:")?;
            for trace in &traces.wiring {
                out.line(&format!("  {}", traces::line(trace)))?;
            }
            out.flush()?;
            // Where nobody can be asked it is done: without the programs all of it would fail.
            let may = self.yes
                || !environment::is_interactive()
                || print::confirm("Take sm out of these?");
            if !may {
                return Err(CommandError::refused("nothing was changed")
                    .hint("without sm's programs these would fail: the programs stay too"));
            }
            traces::unwire(&paths, &traces.wiring, out)?;
        }
        if traces.content.is_empty() && own.is_empty() {
            stop::stop_quietly(&daemon)?;
            return out.line("nothing else of sm's is on this machine but its programs");
        }
        if environment::is_interactive() && !self.yes {
            out.line("your work with sm is in:")?;
            show_content(&traces, &own, out)?;
            out.flush()?;
            if print::confirm("Remove that too, for good?") {
                return stop::purge(&daemon, Reach::Programs, true, out);
            }
        }
        stop::stop_quietly(&daemon)?;
        out.line("this stays, as it holds your work (sm uninstall --purge removes it too):")?;
        show_content(&traces, &own, out)?;
        stop::tell_configuration(&paths, out)
    }
}

fn show(traces: &Traces, own: &[std::path::PathBuf], out: &mut Printer) -> Result<()> {
    if traces.is_empty() && own.is_empty() {
        return out.line("nothing of sm's is on this machine but its programs");
    }
    if !traces.wiring.is_empty() {
        out.line("sm would be taken out of:")?;
        for trace in &traces.wiring {
            out.line(&format!("  {}", traces::line(trace)))?;
        }
    }
    if !traces.content.is_empty() || !own.is_empty() {
        out.line("it would be asked about, and with --purge removed:")?;
        show_content(traces, own, out)?;
    }
    Ok(())
}

fn show_content(traces: &Traces, own: &[std::path::PathBuf], out: &mut Printer) -> Result<()> {
    for path in own {
        out.line(&format!("  {}", one_line(&path.display().to_string())))?;
    }
    for trace in &traces.content {
        out.line(&format!("  {}", traces::line(trace)))?;
    }
    Ok(())
}

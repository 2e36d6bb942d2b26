//! One agent after the other on the person's terminal.

use crate::relay::Relay;
use crate::signals::Signals;
use crate::{Brain, Control, Ended, Next, Report, Run, RunError, Terminal};

/// Runs agents on the terminal until the brain says that it is over; the code to exit with. An error
/// only if the first agent cannot be started.
pub fn run(first: Run, terminal: Terminal, brain: &mut dyn Brain) -> Result<i32, RunError> {
    let signals = Signals::listen()?;
    terminal.make_raw()?;
    let mut relay = Relay::new(&terminal, &signals);
    let mut hosted = relay.start(&first)?;
    let code = 'agents: loop {
        brain.started(hosted.agent());
        let report = relay.attend(hosted, brain);
        let mut next = brain.ended(&report);
        hosted = loop {
            take_notices(&mut relay, brain);
            let run = match next {
                Next::Exit(code) => {
                    if needs_undoing(&report) {
                        relay.undo_modes(&report);
                    }
                    break 'agents code;
                }
                Next::Again(run) => run,
            };
            relay.undo_modes(&report);
            relay.show_notices();
            // Nobody is there to be asked: it was meant for us.
            let out = match relay.ending_signal() {
                Some(signal) => Some(128 + signal),
                None => relay.left(brain),
            };
            if let Some(code) = out {
                brain.abandoned(code);
                break 'agents code;
            }
            match relay.start(&run) {
                Ok(hosted) => break hosted,
                Err(error) => {
                    relay.notice(format!("sm: {error}"));
                    next = brain.failed(&error);
                }
            }
        };
    };
    relay.give_back(brain);
    take_notices(&mut relay, brain);
    if let Some(text) = brain.last_words() {
        relay.notice(text);
    }
    relay.show_notices();
    relay.finish_log();
    terminal.restore();
    Ok(code)
}

/// An agent that ended of its own accord has left the terminal as it wants it to be.
fn needs_undoing(report: &Report) -> bool {
    match report.ended {
        Ended::Exited(_) => report.by_us,
        Ended::Signalled(_) => true,
        Ended::TerminalGone => false,
    }
}

fn take_notices(relay: &mut Relay<'_>, brain: &mut dyn Brain) {
    while let Some(control) = brain.control() {
        match control {
            Control::End { agent, .. } => brain.refused(agent, None),
            control => relay.obey(control, brain),
        }
    }
}

//! What the agent is told of its context.

use super::rotation::Notice;
use super::session::State;

pub fn of(notice: Notice, state: &State) -> String {
    let full = match (state.tokens, state.window) {
        (Some(tokens), Some(window)) if window > 0 => {
            format!(
                " at {} % of its window",
                tokens.saturating_mul(100) / window
            )
        }
        (Some(_) | None, Some(_) | None) => String::new(),
    };
    match notice {
        Notice::WrapUp => format!(
            "[sm run] This context is{full} and filling up. Finish what you are doing and begin nothing large; write down in files what must not be lost."
        ),
        Notice::WriteDocument => format!(
            "[sm run] This context is{full}: after this turn the work goes on in a fresh one, which knows only what is written down. Write a handoff document now (`sm handoff --template` shows what belongs in it), run `sm handoff <path>` as your last action, and end your turn. Without it sm hands over what it can see itself."
        ),
    }
}

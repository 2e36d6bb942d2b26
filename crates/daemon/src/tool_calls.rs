//! What agents say of their tool calls, made safe where it comes in: in one line, bounded, without
//! secrets. From here on it is written down, told and shown as it is.

use sm_core::shown;
use sm_core::signal::{Fact, Signal, ToolCall};
use sm_ledger::redact::redact;

const LONGEST_TOOL: usize = 80;
const LONGEST_TEXT: usize = 1000;

pub fn in_signal(signal: &mut Signal) {
    if let Signal::PersonNeeded {
        call: Some(call), ..
    } = signal
    {
        make_safe(call);
    }
}

pub fn in_facts(facts: &mut [Fact]) {
    for fact in facts {
        if let Fact::ToolCalled { call, .. } = fact {
            make_safe(call);
        }
    }
}

fn make_safe(call: &mut ToolCall) {
    call.tool = shown::line(&call.tool, LONGEST_TOOL);
    call.text = shown::line(&redact(&call.text).text, LONGEST_TEXT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::signal::PersonNeed;

    #[test]
    fn what_is_asked_is_shown_without_secrets_in_one_line() {
        let secret = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
        let call = ToolCall {
            tool: "Bash\x1b[2J".into(),
            text: format!(
                "export TOKEN={secret}\ncurl -u ann:hunter2secret99 https://x.example/\x07"
            ),
        };
        let mut facts = [Fact::ToolCalled {
            id: "1".into(),
            call: call.clone(),
        }];
        let mut signal = Signal::PersonNeeded {
            need: PersonNeed::Question,
            call: Some(call),
        };
        in_facts(&mut facts);
        in_signal(&mut signal);
        let Signal::PersonNeeded {
            call: Some(asked), ..
        } = &signal
        else {
            unreachable!("it was one");
        };
        let [Fact::ToolCalled { call, .. }] = &facts else {
            unreachable!("it was one");
        };
        assert_eq!(asked, call);
        assert_eq!(call.tool, "Bash␛[2J");
        assert!(
            !call.text.contains(&secret) && !call.text.contains("hunter2"),
            "{call:?}"
        );
        assert!(call.text.contains("⏎curl"), "{call:?}");
        assert!(call.text.chars().all(|c| !c.is_control()));
    }
}

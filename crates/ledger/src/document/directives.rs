//! What the people said, in their words.

use super::page::Page;
use super::{Frame, LeftOut};
use crate::ledger::{Directive, Ledger};
use crate::text;

/// Characters of a directive that are shown before it is cut.
const WHOLE: usize = 400;

/// What is shorter than this says nothing about what is wanted.
const GREETING: usize = 16;

/// The beginning of a directive on one line.
fn beginning(directive: &Directive, chars: usize) -> String {
    let cut = text::first_chars(&directive.text, chars);
    let mut out = text::squeeze(cut);
    if cut.ends_with(char::is_whitespace) {
        out.push(' '); // cut between two words
    }
    out
}

fn is_cut(directive: &Directive, chars: usize) -> bool {
    directive.length > directive.text.len() || text::chars(&directive.text) > chars
}

fn line(directive: &Directive, chars: usize) -> String {
    let mut out = beginning(directive, chars);
    if is_cut(directive, chars) {
        out.push('…');
    }
    out
}

/// Constraints that hold in every context, each whole.
pub fn pins(frame: &Frame, room: usize, left: &mut LeftOut) -> String {
    let mut page = Page::new(room);
    if frame.pins.is_empty() {
        return String::new();
    }
    page.part("## Constraints (pinned)\n");
    for pin in &frame.pins {
        if !page.part(format!("- {}\n", text::squeeze(pin))) {
            left.pins += 1;
        }
    }
    page.text()
}

/// The objective, and everything else that was said; at most `room` characters together.
pub fn sections(ledger: &Ledger, room: usize, left: &mut LeftOut) -> (String, String) {
    let mut objective = Page::new(room);
    let all: Vec<&Directive> = ledger.directives().collect();
    let spoken: Vec<&Directive> = all.iter().copied().filter(|d| !d.is_notice()).collect();
    // A greeting is no goal, unless there is nothing else.
    let mut first = ledger.words_of_people().filter(|d| !d.is_notice());
    let goal = first.clone().find(|d| d.text.len() >= GREETING);
    let goal = goal.or_else(|| first.next());
    let newest = spoken.last().copied();
    // In little room both are cut alike.
    let lead = if room < 1_000 {
        room / 2 - 30.min(room / 2)
    } else {
        WHOLE
    };
    objective.part("## Objective\n");
    if let Some(goal) = goal {
        objective.part(format!("{}\n", line(goal, lead)));
    }
    let mut shown: Vec<&Directive> = goal.into_iter().collect();
    if let Some(newest) = newest.filter(|newest| goal != Some(newest)) {
        let last = format!("Latest message: {}\n", line(newest, lead));
        if objective.part(last) {
            shown.push(newest);
        }
    }
    let mut room = objective.room();
    let title = "## Also said by the person, in order\n";
    let heading = text::chars(title);
    // As many as fit whole: the short ones first, of equal ones the newest.
    let rest = all.iter().copied().enumerate();
    let mut rest: Vec<(usize, &Directive)> = rest.filter(|(_, d)| !shown.contains(d)).collect();
    rest.sort_by_key(|(place, d)| {
        let length = text::chars(text::first_chars(&d.text, WHOLE));
        (d.is_notice(), length / 8, std::cmp::Reverse(*place))
    });
    let objective = if goal.is_some() {
        objective.text()
    } else {
        String::new()
    };
    let mut taken: Vec<(usize, &Directive, String)> = Vec::new();
    room = room.saturating_sub(heading);
    let mut chosen = objective.clone();
    for (place, directive) in rest {
        let begins = beginning(directive, WHOLE);
        if text::chars(&begins) > 11 && chosen.contains(&begins) {
            continue; // said twice
        }
        let said = line(directive, WHOLE);
        let size = text::chars(&said) + 3;
        if size > room {
            left.directives += 1;
            continue;
        }
        if is_cut(directive, WHOLE) {
            left.cut += 1;
        }
        room -= size;
        chosen.push_str(&said);
        taken.push((place, directive, said));
    }
    // as it was said: what comes from contexts before has no line in this one's record
    taken.sort_by_key(|(place, _, _)| *place);
    let mut said = String::new();
    if !taken.is_empty() {
        said.push_str(title);
    }
    for (_, directive, words) in taken {
        // A short answer says little without its question.
        let asked = directive
            .asked
            .as_deref()
            .map(|asked| text::short(asked, 120));
        match asked {
            Some(asked) if text::chars(&asked) + 12 < room && room > 300 => {
                room -= text::chars(&asked) + 12;
                said.push_str(&format!("- (asked: {asked}) {words}\n"));
            }
            Some(_) | None => said.push_str(&format!("- {words}\n")),
        }
    }
    (objective, said)
}

//! A whole piece of work at the terminal: read, a test that fails, a handoff in the middle, the
//! fix, the test that passes; every change and every command is allowed by a key.

use crate::sum;
use crate::support::{DEADLINE, Person};

#[test]
fn a_real_task_with_a_handoff_in_its_middle_and_every_step_allowed_by_a_key() {
    let person = Person::new("[handoff]\ntokens = 10_000\n");
    let repo = person.repo();
    sum::prepare(&repo, &person.model);
    person.starts((80, 40), &[], &[]);
    person.sees("fake/fake-1");
    person.says(sum::PROMPT);
    assert!(person.model.wait_for_hold("first", DEADLINE));
    // The context fills up with the answers to come, and the new one is nearly empty.
    person.model.control(|c| c.input_tokens = 50_000);
    person.model.release("first");
    // Reading is allowed without a word. The test is not.
    person.allows("sh test.sh");
    person.sees("FAILED sum");
    person.sees("Auto-handoff… (esc to cancel)");
    assert!(person.model.wait_for_hold("document", DEADLINE));
    person.model.control(|c| c.input_tokens = 500);
    person.model.release("document");
    person.sees("Auto-handoff completed");
    let files = person.files();
    assert_eq!(files.len(), 2, "{files:?}");
    assert_eq!(
        sum::is_now(&repo),
        sum::WRONG,
        "nobody has allowed the change yet"
    );
    person.allows("sum.sh");
    person.allows("printf passed");
    person.reads("RUN done");
    person.sees_no("Working");
    sum::assert_fixed(&repo);
    let texts: Vec<String> = files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    let new = texts.iter().find(|text| text.contains("parentSession"));
    let old = texts.iter().find(|text| !text.contains("parentSession"));
    let (new, old) = (new.unwrap(), old.unwrap());
    assert!(old.contains("FAILED sum") && !old.contains("printf passed"));
    assert!(new.contains("printf passed") && !new.contains("FAILED sum"));
}

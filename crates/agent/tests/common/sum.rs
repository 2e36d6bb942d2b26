//! A sum that is wrong, and a model that puts it right: it reads, sees the test fail, is asked for
//! its document in the middle, then changes the file and sees the test pass. The answers called
//! `first` and `document` wait to be released.

use std::path::Path;

use sm_testkit::model::{ScriptedModel, When};

pub const PROMPT: &str = "The sum is wrong: fix it";
pub const WRONG: &str = "echo $(($1 - $2))\n";
pub const RIGHT: &str = "echo $(($1 + $2))\n";

const TEST: &str = "test \"$(sh sum.sh 2 3)\" = 5 || { echo FAILED sum; exit 1; }\necho ok\n";
const ACTS: [(&str, &str); 4] = [
    (
        "sum is wrong",
        "HOLD: first\nTOOL: read {\"path\":\"sum.sh\"}\nTHEN: sh test.sh\nTHEN: true",
    ),
    ("Write a handoff document now", "HOLD: document"),
    (
        "Continue with the next action",
        r#"TOOL: edit {"path":"sum.sh","old_text":"$1 - $2","new_text":"$1 + $2"}"#,
    ),
    (
        "Continue with the next action",
        "THEN: sh test.sh && printf passed > passed",
    ),
];

pub fn prepare(repo: &Path, model: &ScriptedModel) {
    std::fs::write(repo.join("sum.sh"), WRONG).unwrap();
    std::fs::write(repo.join("test.sh"), TEST).unwrap();
    let acts = ACTS.map(|(has, act)| When {
        has: has.to_owned(),
        act: act.to_owned(),
    });
    model.control(|c| c.when.extend(acts));
}

pub fn is_now(repo: &Path) -> String {
    std::fs::read_to_string(repo.join("sum.sh")).unwrap()
}

pub fn assert_fixed(repo: &Path) {
    assert_eq!(is_now(repo), RIGHT);
    let passed = std::fs::read_to_string(repo.join("passed")).unwrap();
    assert_eq!(passed, "passed", "the test was seen to pass");
}

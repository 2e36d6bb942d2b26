//! What sm has written down of a context, when Claude Code is gone in the middle of its work.

use crate::common::ledger::goes_on_from_the_ledger;
use crate::{FREE, claude};

#[test]
fn an_agent_killed_in_the_middle_of_its_work_goes_on_from_the_ledger() {
    let test = "an_agent_killed_in_the_middle_of_its_work_goes_on_from_the_ledger";
    let Some(world) = claude(test) else { return };
    goes_on_from_the_ledger(&world, &FREE, "read l < gate; echo got-$l");
}

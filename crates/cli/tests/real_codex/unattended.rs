//! Nobody is at the keyboard, and Codex runs commands in its sandbox and asks as it does by default.

use crate::common::World;
use crate::common::unattended::by_sm;

#[test]
fn automatic_handoffs_need_nobody() {
    if let Some(world) = World::codex("automatic_handoffs_need_nobody") {
        by_sm(&world, &[]);
    }
}

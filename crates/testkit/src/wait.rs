//! Waiting for evidence, never for time to pass.

use std::time::{Duration, Instant};

/// How often evidence is looked for where nothing announces it.
const EVERY: Duration = Duration::from_millis(5);

/// Looks until something is found or the deadline is over.
pub fn wait_until<T>(deadline: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + deadline;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        let left = until.checked_duration_since(Instant::now())?;
        std::thread::sleep(EVERY.min(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_again_until_found_and_gives_up_at_the_deadline() {
        let mut looks = 0;
        let found = wait_until(Duration::from_secs(10), || {
            looks += 1;
            (looks == 3).then_some("it")
        });
        assert_eq!(found, Some("it"));
        assert_eq!(wait_until(Duration::ZERO, || None::<()>), None);
    }
}

//! What happened to panes, found by comparing two listings. Pure: time comes in.
//!
//! tmux tells that something happened (a hook, a subscription, a closed window) but not reliably
//! what; so every such hint leads to one listing, and the difference to the last one is the truth.
//! An event that could not be handed on is found again by the next comparison: nothing is lost.

use super::ids::PaneId;
use super::pane::PaneInfo;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How the program of a pane ended. Both unknown: tmux never learned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExitStatus {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl ExitStatus {
    pub fn is_known(&self) -> bool {
        self.code.is_some() || self.signal.is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeEvent {
    TitleChanged {
        pane: PaneId,
        title: String,
    },
    /// The pane has another size, or is seen for the first time.
    Resized {
        pane: PaneId,
        cols: u16,
        rows: u16,
    },
    /// The program in the pane ended; the pane is still there and can be read.
    PaneDied {
        pane: PaneId,
        code: Option<i32>,
        signal: Option<i32>,
    },
    /// The pane is gone.
    PaneClosed {
        pane: PaneId,
    },
    /// The server is gone, and every pane with it: no `PaneClosed` is sent for them.
    ServerGone,
}

/// A pane is seen as dead a little before its exit status is there. If it does not come in this
/// time (the program closed its terminal but lives on), it is told without.
const STATUS_PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Life {
    Alive,
    /// Dead since then, told to nobody.
    Dying(Instant),
    Told,
}

#[derive(Debug)]
struct Seen {
    pid: u32,
    title: Option<String>,
    size: Option<(u16, u16)>,
    life: Life,
}

#[derive(Debug, Default)]
pub(crate) struct Watch {
    known: HashMap<PaneId, Seen>,
}

/// Whether to look again without being hinted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LookAgain {
    WhenHinted,
    /// An event could not be handed on.
    Soon,
    /// A pane is dead and tmux does not say how its program ended.
    StatusMissing,
}

impl Watch {
    /// Takes the listing as it is: what was there before we came is no event.
    pub fn start(panes: &[PaneInfo]) -> Self {
        let seen = |pane: &PaneInfo| Seen {
            pid: pane.pid,
            title: Some(pane.title.clone()),
            size: Some((pane.cols, pane.rows)),
            life: if pane.dead.is_some() {
                Life::Told
            } else {
                Life::Alive
            },
        };
        Self {
            known: panes.iter().map(|pane| (pane.pane, seen(pane))).collect(),
        }
    }

    /// `emit` answers whether it took the event.
    pub fn update(
        &mut self,
        panes: &[PaneInfo],
        now: Instant,
        mut emit: impl FnMut(RuntimeEvent) -> bool,
    ) -> LookAgain {
        let mut again = LookAgain::WhenHinted;
        for info in panes {
            let pane = info.pane;
            let seen = self.known.entry(pane).or_insert_with(|| Seen {
                pid: info.pid,
                title: None,
                size: None,
                life: Life::Alive,
            });
            if seen.pid != info.pid || info.dead.is_none() {
                seen.pid = info.pid;
                seen.life = Life::Alive;
            }
            if seen.title.as_ref() != Some(&info.title) {
                let title = info.title.clone();
                if emit(RuntimeEvent::TitleChanged {
                    pane,
                    title: title.clone(),
                }) {
                    seen.title = Some(title);
                } else {
                    again = again.max(LookAgain::Soon);
                }
            }
            let (cols, rows) = (info.cols, info.rows);
            if seen.size != Some((cols, rows)) {
                if emit(RuntimeEvent::Resized { pane, cols, rows }) {
                    seen.size = Some((cols, rows));
                } else {
                    again = again.max(LookAgain::Soon);
                }
            }
            let Some(status) = info.dead else { continue };
            let since = match seen.life {
                Life::Told => continue,
                Life::Alive => now,
                Life::Dying(since) => since,
            };
            let ripe = status.is_known() || now.duration_since(since) >= STATUS_PATIENCE;
            let ExitStatus { code, signal } = status;
            if ripe && emit(RuntimeEvent::PaneDied { pane, code, signal }) {
                seen.life = Life::Told;
            } else {
                seen.life = Life::Dying(since);
                again = again.max(if ripe {
                    LookAgain::Soon
                } else {
                    LookAgain::StatusMissing
                });
            }
        }
        let there: HashSet<PaneId> = panes.iter().map(|info| info.pane).collect();
        let gone: Vec<PaneId> = self
            .known
            .keys()
            .copied()
            .filter(|pane| !there.contains(pane))
            .collect();
        for pane in gone {
            if emit(RuntimeEvent::PaneClosed { pane }) {
                self.known.remove(&pane);
            } else {
                again = again.max(LookAgain::Soon);
            }
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::super::ids::{TmuxSessionId, WindowId};
    use super::*;

    fn pane(id: u32, title: &str, dead: Option<ExitStatus>) -> PaneInfo {
        PaneInfo {
            session: "$1".parse::<TmuxSessionId>().unwrap(),
            session_name: "a".into(),
            window: "@1".parse::<WindowId>().unwrap(),
            pane: format!("%{id}").parse().unwrap(),
            pid: 100 + id,
            dead,
            cols: 80,
            rows: 24,
            command: String::new(),
            title: title.into(),
        }
    }

    fn code(code: i32) -> Option<ExitStatus> {
        Some(ExitStatus {
            code: Some(code),
            signal: None,
        })
    }

    fn check(
        watch: &mut Watch,
        panes: &[PaneInfo],
        now: Instant,
        expected: &[RuntimeEvent],
    ) -> LookAgain {
        let mut events = Vec::new();
        let again = watch.update(panes, now, |event| {
            events.push(event);
            true
        });
        assert_eq!(events, expected);
        again
    }

    #[test]
    fn what_was_there_is_no_event_and_what_changes_is_told_once() {
        let now = Instant::now();
        let one = pane(1, "x", None).pane;
        let mut watch = Watch::start(&[pane(1, "x", None), pane(2, "y", code(3))]);
        let both = |title| [pane(1, title, None), pane(2, "y", code(3))];
        check(&mut watch, &both("x"), now, &[]);
        let changed = RuntimeEvent::TitleChanged {
            pane: one,
            title: "z".into(),
        };
        check(&mut watch, &both("z"), now, &[changed]);
        check(&mut watch, &both("z"), now, &[]);
        let dead = [pane(1, "z", code(0)), pane(2, "y", code(3))];
        let died = RuntimeEvent::PaneDied {
            pane: one,
            code: Some(0),
            signal: None,
        };
        check(&mut watch, &dead, now, &[died]);
        check(&mut watch, &dead, now, &[]);
        check(
            &mut watch,
            &dead[1..],
            now,
            &[RuntimeEvent::PaneClosed { pane: one }],
        );
        check(&mut watch, &dead[1..], now, &[]);
    }

    #[test]
    fn another_size_is_told() {
        let now = Instant::now();
        let mut watch = Watch::start(&[pane(1, "", None)]);
        let mut larger = pane(1, "", None);
        larger.cols = 132;
        let told = RuntimeEvent::Resized {
            pane: larger.pane,
            cols: 132,
            rows: 24,
        };
        check(&mut watch, &[larger.clone()], now, &[told]);
        check(&mut watch, &[larger], now, &[]);
    }

    #[test]
    fn a_pane_first_seen_dead_is_told() {
        let new = pane(4, "t", code(127));
        let mut watch = Watch::default();
        let events = [
            RuntimeEvent::TitleChanged {
                pane: new.pane,
                title: "t".into(),
            },
            RuntimeEvent::Resized {
                pane: new.pane,
                cols: 80,
                rows: 24,
            },
            RuntimeEvent::PaneDied {
                pane: new.pane,
                code: Some(127),
                signal: None,
            },
        ];
        check(&mut watch, &[new], Instant::now(), &events);
    }

    #[test]
    fn a_status_that_is_late_is_waited_for_but_not_for_ever() {
        let now = Instant::now();
        let mut watch = Watch::start(&[pane(1, "", None)]);
        let unknown = [pane(1, "", Some(ExitStatus::default()))];
        assert_eq!(
            check(&mut watch, &unknown, now, &[]),
            LookAgain::StatusMissing
        );
        let died = RuntimeEvent::PaneDied {
            pane: unknown[0].pane,
            code: None,
            signal: None,
        };
        let again = check(&mut watch, &unknown, now + STATUS_PATIENCE, &[died]);
        assert_eq!(again, LookAgain::WhenHinted);
    }

    #[test]
    fn a_respawned_pane_can_die_again() {
        let now = Instant::now();
        let mut watch = Watch::start(&[pane(1, "", code(0))]);
        let mut second = pane(1, "", code(5));
        second.pid = 999;
        let died = RuntimeEvent::PaneDied {
            pane: second.pane,
            code: Some(5),
            signal: None,
        };
        check(&mut watch, &[second], now, &[died]);
    }

    #[test]
    fn an_event_nobody_could_take_comes_again() {
        let now = Instant::now();
        let mut watch = Watch::start(&[pane(1, "a", None), pane(2, "", None)]);
        let listing = [pane(1, "b", code(0))];
        assert_eq!(watch.update(&listing, now, |_| false), LookAgain::Soon);
        let one = listing[0].pane;
        let events = [
            RuntimeEvent::TitleChanged {
                pane: one,
                title: "b".into(),
            },
            RuntimeEvent::PaneDied {
                pane: one,
                code: Some(0),
                signal: None,
            },
            RuntimeEvent::PaneClosed {
                pane: pane(2, "", None).pane,
            },
        ];
        check(&mut watch, &listing, now, &events);
    }
}

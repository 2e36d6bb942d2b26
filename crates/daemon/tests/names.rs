//! Which session is meant, and which names are free.

use proptest::prelude::*;
use sm_core::SessionName;
use sm_daemon::names::{
    Candidate, NameError, Standing, check_free, check_id, default_name, resolve,
};

struct Sessions<'a>(Vec<Candidate<'a>>);

impl<'a> Sessions<'a> {
    fn new(list: &[(&'a str, &'a str, bool)]) -> Self {
        Self(
            list.iter()
                .map(|&(id, name, live)| Candidate {
                    id,
                    name,
                    standing: match live {
                        true => Standing::Live,
                        false => Standing::Ended,
                    },
                })
                .collect(),
        )
    }
    fn iter(&self) -> impl Iterator<Item = Candidate<'a>> + Clone {
        self.0.iter().copied()
    }
    fn resolve(&self, wanted: &str) -> Result<String, NameError> {
        resolve(wanted, self.iter()).map(ToString::to_string)
    }
}

#[test]
fn id_then_live_name_then_past_name_then_prefix() {
    let all = Sessions::new(&[
        ("a1b2", "api", true),
        ("a1c3", "old", false),
        ("b7d4", "api", false),
        ("c000", "a1b2", false), // named like an id: the id wins
        ("d111", "b7", true),    // named like a prefix: the name wins
        ("e222", "fk", true),
        ("e333", "fk2", true),
        ("f444", "twice", false),
        ("f555", "twice", false),
    ]);
    for (wanted, id) in [
        ("a1b2", "a1b2"),
        ("api", "a1b2"),
        ("old", "a1c3"),
        ("a1c", "a1c3"),
        ("b7", "d111"),
        ("b7d", "b7d4"),
        ("fk", "e222"),
        ("fk2", "e333"),
        ("c", "c000"),
    ] {
        assert_eq!(all.resolve(wanted).as_deref(), Ok(id), "{wanted}");
    }
    let error = all.resolve("a1").unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"a1\" fits 2 sessions: a1b2 (api), a1c3 (old)"
    );
    assert_eq!(
        error.hint(),
        "name one by its id, or more of it; `sm ls --all` shows them"
    );
    let error = all.resolve("twice").unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"twice\" fits 2 sessions: f444 (twice), f555 (twice)"
    );
}

#[test]
fn one_that_waits_to_be_restored_goes_before_those_that_have_ended() {
    let (old, lost, live) = (Standing::Ended, Standing::Lost, Standing::Live);
    let candidate = |id, standing| Candidate {
        id,
        name: "api",
        standing,
    };
    for (sessions, expected) in [
        (vec![("a1", old), ("b2", lost), ("c3", old)], Some("b2")),
        (vec![("a1", live), ("b2", lost)], Some("a1")),
        (vec![("a1", lost), ("b2", lost)], None),
    ] {
        let all: Vec<_> = sessions
            .iter()
            .map(|(id, how)| candidate(id, *how))
            .collect();
        let found = resolve("api", all.iter().copied()).ok();
        assert_eq!(found, expected, "{sessions:?}");
    }
}

#[test]
fn what_is_not_there_is_told_with_what_is_near() {
    let all = Sessions::new(&[
        ("a1", "backend", true),
        ("b2", "backend-2", false),
        ("c3", "zebra", true),
    ]);
    for (wanted, hint) in [
        (
            "bakcend",
            "did you mean backend? `sm ls --all` shows all sessions",
        ),
        (
            "zebr",
            "did you mean zebra? `sm ls --all` shows all sessions",
        ),
        (
            "back",
            "did you mean one of backend, backend-2? `sm ls --all` shows all sessions",
        ),
        ("nothing-like-it", "`sm ls --all` shows all sessions"),
        ("", "`sm ls --all` shows all sessions"),
    ] {
        let error = all.resolve(wanted).unwrap_err();
        assert!(matches!(error, NameError::NotFound { .. }), "{error}");
        assert_eq!(error.hint(), hint, "{wanted}");
    }
    assert_eq!(
        all.resolve("x\n").unwrap_err().to_string(),
        "there is no session \"x\\n\""
    );
}

#[test]
fn a_long_list_is_cut() {
    let ids: Vec<String> = (0..50).map(|n| format!("a{n:03}")).collect();
    let list: Vec<(&str, &str, bool)> = ids.iter().map(|id| (id.as_str(), "n", false)).collect();
    let error = Sessions::new(&list).resolve("a").unwrap_err().to_string();
    assert!(
        error.starts_with("\"a\" fits 50 sessions: a000 (n)"),
        "{error}"
    );
    assert!(error.ends_with("and 42 more"), "{error}");
}

#[test]
fn names_of_live_sessions_are_unique() {
    let all = Sessions::new(&[("a1", "api", true), ("b2", "old", false)]);
    assert_eq!(check_free("new", None, all.iter()), Ok(()));
    assert_eq!(check_free("old", None, all.iter()), Ok(()));
    assert_eq!(check_free("api", Some("a1"), all.iter()), Ok(()));
    assert_eq!(
        check_free("api", None, all.iter()).unwrap_err().to_string(),
        "the name \"api\" is taken by session a1"
    );
    assert_eq!(
        check_free("b2", None, all.iter()).unwrap_err().to_string(),
        "the name \"b2\" is the id of a session"
    );
}

#[test]
fn a_default_name_says_agent_and_folder() {
    for (agent, folder, taken, name) in [
        ("claude", "api", &[][..], "claude-api"),
        (
            "claude",
            "/home/me/src/api/",
            &["claude-api"],
            "claude-api-2",
        ),
        ("codex", "My Project (old)", &[], "codex-My-Project-old"),
        ("claude", "", &[], "claude"),
        ("claude", "größe", &[], "claude-gr-e"),
        (".hidden.sh", "..", &[], "hidden.sh"),
        ("", "", &[], "session"),
    ] {
        assert_eq!(default_name(agent, folder, taken), name);
    }
}

proptest! {
    #[test]
    fn a_default_name_is_always_valid(agent in ".{0,80}", folder in ".{0,300}") {
        let mut taken: Vec<String> = Vec::new();
        for _ in 0..12 {
            let busy: Vec<&str> = taken.iter().map(String::as_str).collect();
            let name = default_name(&agent, &folder, &busy);
            prop_assert!(SessionName::new(name.clone()).is_ok(), "{:?}", name);
            prop_assert!(!taken.contains(&name));
            taken.push(name);
        }
    }

    #[test]
    fn resolving_never_panics(wanted in ".{0,200}") {
        let all = Sessions::new(&[("a1", "api", true), ("b2", "old", false)]);
        if let Err(error) = all.resolve(&wanted) {
            prop_assert!(!error.to_string().is_empty() && !error.hint().is_empty());
        }
    }
}

/// Who writes the beginning of an id means that session: a name must not stand in its place.
#[test]
fn a_name_that_begins_anothers_id_is_no_way_to_reach_it() {
    let all = Sessions::new(&[
        ("a1b2c3d4", "api", true),
        ("e5f60718", "a1b2", true), // of before this was refused
        ("99990000", "9999", true), // its own id
    ]);
    let error = all.resolve("a1b2").unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"a1b2\" fits 2 sessions: e5f60718 (a1b2), a1b2c3d4 (api)"
    );
    assert_eq!(all.resolve("9999").as_deref(), Ok("99990000"));
    assert_eq!(all.resolve("a1b").as_deref(), Ok("a1b2c3d4"));
    let free = |name: &str, by| check_free(name, by, all.iter());
    let error = free("a1b2c", None).unwrap_err();
    assert!(matches!(&error, NameError::BeginsAnId { id, .. } if id == "a1b2c3d4"));
    assert!(error.hint().starts_with("choose another name"));
    assert_eq!(free("a1b2c", Some("a1b2c3d4")), Ok(()), "its own");
    assert_eq!(free("a", None), Ok(()), "too short to be meant as an id");
}

/// Ids go before names: a new one must not take what is meant for a session of that name.
#[test]
fn an_id_that_is_somebodys_name_is_refused() {
    let lost = Candidate {
        id: "c3c3c3c3",
        name: "away",
        standing: Standing::Lost,
    };
    let mut all = Sessions::new(&[
        ("a1a1a1a1", "api", true),
        ("b2b2b2b2", "beef", true),
        ("d4d4d4d4", "done", false),
    ]);
    all.0.push(lost);
    for (id, by) in [
        ("api", Some("a1a1a1a1")),
        ("beef0123", Some("b2b2b2b2")),
        ("away", Some("c3c3c3c3")),
        ("away-2", Some("c3c3c3c3")),
        // no abbreviation is as short as that
        ("api0123f", None),
        ("done", None),
        ("0123cafe", None),
    ] {
        let found = check_id(id, all.iter());
        let expected = by.map_or(Ok(()), |by| {
            Err(NameError::IdIsAName {
                id: id.to_owned(),
                by: by.to_owned(),
            })
        });
        assert_eq!(found, expected, "{id}");
    }
    let error = check_id("api", all.iter()).unwrap_err();
    assert!(error.hint().starts_with("leave the id out"));
}

proptest! {
    /// Whatever ids are let in, everybody who is reached by a name stays reached by it.
    #[test]
    fn a_new_id_changes_whom_no_name_means(id in "[a-f0-9]{1,8}", name in "[a-f]{1,8}") {
        let before = [("99999999", name.as_str(), true)];
        prop_assume!(check_id(&id, Sessions::new(&before).iter()).is_ok());
        let all = Sessions::new(&[before[0], (id.as_str(), "another", true)]);
        prop_assert_eq!(all.resolve(&name), Ok("99999999".to_owned()));
    }
}

//! What people see.

use ratatui::style::{Color as Ansi, Modifier};

use super::{app, buffer, choose, day, named, open, shown, types};
use crate::commands::watch::app::{App, Update};
use crate::text::{Color, Signs};

fn ascii(mut app: App) -> App {
    app.look.signs = Signs::Ascii;
    app
}

#[test]
fn the_list_at_80x24() {
    insta::assert_snapshot!(shown(&app(80, 24, day())));
}

#[test]
fn the_list_in_plain_characters() {
    let screen = shown(&ascii(app(80, 24, day())));
    assert!(screen.is_ascii());
    insta::assert_snapshot!(screen);
}

#[test]
fn a_session_at_80x24() {
    let mut app = open(80, 24);
    types(&mut app, "\r");
    insta::assert_snapshot!("output", shown(&app));
    types(&mut app, "2");
    insta::assert_snapshot!("timeline", shown(&app));
    types(&mut app, "3");
    insta::assert_snapshot!("messages", shown(&app));
    types(&mut app, "4");
    insta::assert_snapshot!("handoffs", shown(&app));
}

#[test]
fn a_dialogs_command_has_a_line_of_its_own() {
    let mut app = open(80, 24);
    choose(&mut app, "docs");
    types(&mut app, "\r");
    let screen = shown(&app);
    let head: Vec<&str> = screen.lines().skip(1).take(6).collect();
    insta::assert_snapshot!("asked", head.join("\n"));
    // no width of a list hides which program it is
    for columns in [60, 70, 80, 100, 120, 200] {
        let screen = shown(&super::app(columns, 24, day()));
        assert!(screen.contains("Bash: rm"), "{columns}:\n{screen}");
    }
}

#[test]
fn both_at_200x60() {
    insta::assert_snapshot!("wide", shown(&open(200, 60)));
    let plain = shown(&ascii(open(200, 60)));
    assert!(plain.is_ascii());
    insta::assert_snapshot!("wide_plain", plain);
    insta::assert_snapshot!("just_wide", shown(&open(120, 24)));
}

#[test]
fn families_and_directories() {
    let mut sessions = day();
    let mut child = named("api-tests", "working");
    child.parent = Some("id-api".into());
    let mut grandchild = named("api-tests-fix", "idle");
    grandchild.parent = Some("id-api-tests".into());
    grandchild.cwd = "/srv/elsewhere".into();
    sessions.extend([grandchild, child]);
    let mut app = app(80, 24, sessions);
    types(&mut app, "g");
    insta::assert_snapshot!("by_family", shown(&app));
    types(&mut app, "g");
    insta::assert_snapshot!("by_directory", shown(&app));
}

#[test]
fn nobody_there_and_nothing_found() {
    insta::assert_snapshot!("nobody", shown(&app(80, 24, vec![])));
    let mut app = app(80, 24, day());
    types(&mut app, "/zzz\r");
    assert!(shown(&app).contains("Nothing matches the filter"));
}

#[test]
fn the_last_two_lines() {
    let last = |app: &App| -> String {
        let screen = shown(app);
        let lines: Vec<&str> = screen.lines().collect();
        lines[lines.len() - 2..].join("\n")
    };
    let mut said = Vec::new();
    for typed in ["", "m", "mhello\t", "/te", "K", "h", "?"] {
        let mut app = app(80, 24, day());
        choose(&mut app, "api");
        types(&mut app, typed);
        said.push(last(&app));
    }
    for state in ["queued", "held", "submitted", "consumed", "failed"] {
        let mut app = app(80, 24, day());
        app.told(Update::Sent(Box::new(super::message(state))));
        said.push(last(&app).lines().next().unwrap().to_owned());
    }
    insta::assert_snapshot!(said.join("\n\n"));
}

#[test]
fn help_names_every_key() {
    let mut app = app(80, 24, day());
    types(&mut app, "?");
    insta::assert_snapshot!(shown(&app));
}

#[test]
fn a_daemon_that_is_gone_is_said_and_the_last_known_stays() {
    let mut app = app(80, 24, day());
    app.told(Update::Lost("the daemon was stopped".into()));
    let screen = shown(&app);
    assert!(screen.contains("the daemon was stopped; shown is what was last known"));
    assert!(screen.contains("importer"));
}

#[test]
fn five_hundred_sessions() {
    let many: Vec<_> = (0..500)
        .map(|n| named(&format!("s{n:03}"), "idle"))
        .collect();
    let mut app = app(80, 24, many);
    assert!(shown(&app).contains("500 sessions"));
    for (typed, first, last) in [
        ("", "s000", "s019"),
        ("\x1b[F", "s480", "s499"),
        ("\x1b[H", "s000", "s019"),
    ] {
        types(&mut app, typed);
        let screen = shown(&app);
        assert!(
            screen.contains(first) && screen.contains(last),
            "{typed:?}\n{screen}"
        );
    }
    // wherever one goes, the chosen one is to be seen
    for _ in 0..499 {
        types(&mut app, "j");
        let name = app.session().unwrap().name.clone();
        let mark = format!("▸ idle        {name}");
        assert!(shown(&app).contains(&mark), "{}", shown(&app));
    }
}

#[test]
fn what_others_wrote_stays_text_and_in_its_place() {
    let hostile = "a\x1b]0;t\x07\x1b[2J\u{9b}31m\r\nb\u{202e}日本語e\u{301}🦀";
    for (cols, rows) in [(80, 24), (200, 60), (40, 8), (121, 10)] {
        for typed in ["", "\r", "\r2", "\r3", "\r4", "m", "K"] {
            let mut session = named(&hostile.repeat(20), "working");
            session.id = "id-api".into();
            session.cwd = hostile.repeat(9);
            session.agent = hostile.into();
            session.state_reason = hostile.repeat(30);
            let mut app = app(cols, rows, vec![session]);
            let id = || "id-api".to_owned();
            let mut message = super::message("held");
            message.text = hostile.repeat(30);
            message.reason = Some(hostile.into());
            let mut handoff = super::handoff();
            handoff.copy = hostile.repeat(30);
            app.told(Update::Output(id(), hostile.repeat(40)));
            app.told(Update::Events(
                id(),
                vec![super::event(1, &hostile.repeat(30))],
            ));
            app.told(Update::Messages(id(), vec![message]));
            app.told(Update::Handoffs(id(), vec![handoff]));
            types(&mut app, typed);
            for cell in buffer(&app).content() {
                assert!(
                    !cell.symbol().contains(char::is_control),
                    "{:?}",
                    cell.symbol()
                );
            }
            let screen = shown(&app);
            assert!(
                screen
                    .lines()
                    .all(|line| crate::text::width(line) <= usize::from(cols))
            );
            let keys = screen.lines().last().unwrap();
            assert!(
                ["quit", "yes", "Esc"].iter().any(|key| keys.contains(key)),
                "{keys}"
            );
            let app = ascii(app);
            assert!(shown(&app).is_ascii());
        }
    }
}

#[test]
fn any_size_is_drawn() {
    for cols in (1..60).chain([79, 80, 119, 120, 121, 300]) {
        for rows in (1..12).chain([24, 100]) {
            for typed in ["", "\r", "m", "?", "K"] {
                let mut app = open(cols, rows);
                types(&mut app, typed);
                let screen = shown(&app);
                let small = cols < 40 || rows < 8;
                assert_eq!(
                    screen.starts_with("sm watch"),
                    !small,
                    "{cols}x{rows}\n{screen}"
                );
            }
        }
    }
    assert!(shown(&app(39, 24, day())).starts_with("terminal too small: 40x8 is needed"));
}

/// Where on the screen which look is worn: `text: look`.
fn looks(app: &App) -> Vec<String> {
    let buffer = buffer(app);
    let mut runs: Vec<(String, String)> = Vec::new();
    for y in 0..buffer.area.height {
        runs.push((String::new(), String::new()));
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let look = format!("{:?} {:?}", cell.fg, cell.modifier);
            match runs.last_mut() {
                Some((worn, text)) if *worn == look => text.push_str(cell.symbol()),
                _ => runs.push((look, cell.symbol().to_owned())),
            }
        }
    }
    runs.into_iter()
        .filter(|(look, text)| look != "Reset NONE" && !text.trim().is_empty())
        .map(|(look, text)| format!("{}: {look}", text.trim()))
        .collect()
}

#[test]
fn colours_are_the_sixteen_and_can_be_off() {
    let mut app = app(80, 24, day());
    choose(&mut app, "tests");
    app.look.color = Color::On;
    insta::assert_snapshot!("colours", looks(&app).join("\n"));
    for cell in buffer(&app).content() {
        assert!(!matches!(cell.fg, Ansi::Rgb(..) | Ansi::Indexed(_)));
    }
    app.look.color = Color::Off;
    insta::assert_snapshot!("no_colours", looks(&app).join("\n"));
    for cell in buffer(&app).content() {
        assert_eq!((cell.fg, cell.bg), (Ansi::Reset, Ansi::Reset));
        assert!((Modifier::BOLD | Modifier::REVERSED).contains(cell.modifier));
    }
}

#[test]
fn which_locales_are_utf8() {
    for (set, utf8) in [
        (&[("LANG", "C.UTF-8")][..], true),
        (&[("LANG", "en_US.utf8")], true),
        (&[("LANG", "C")], false),
        (&[], false),
        (&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], false),
        (
            &[("LC_ALL", ""), ("LC_CTYPE", "de_DE.UTF-8"), ("LANG", "C")],
            true,
        ),
    ] {
        let get = |name: &str| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(crate::commands::watch::is_utf8(get), utf8, "{set:?}");
    }
}

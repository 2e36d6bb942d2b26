//! Keys, lists and commands.

use super::*;

#[test]
fn ctrl_c_clears_then_leaves_and_ctrl_d_leaves_an_empty_editor() {
    let mut sim = Sim::new(60, 12);
    sim.types("text");
    assert_eq!(sim.press(Key::Ctrl('d')), [], "there is text");
    assert_eq!(sim.press(Key::Ctrl('c')), []);
    assert!(!sim.screen().contains("text"), "{}", sim.screen());
    assert_eq!(sim.press(Key::Ctrl('c')), []);
    assert!(
        sim.screen().contains("ctrl+c once more leaves"),
        "{}",
        sim.screen()
    );
    sim.later(Duration::from_secs(3));
    assert!(!sim.screen().contains("once more"), "{}", sim.screen());
    assert_eq!(sim.press(Key::Ctrl('c')), []);
    assert_eq!(sim.press(Key::Ctrl('c')), sent(Command::Quit));
    assert_eq!(sim.press(Key::Ctrl('d')), sent(Command::Quit));
    assert_eq!(sim.press(Key::Ctrl('z')), [Action::Suspend]);
}

#[test]
fn a_session_is_chosen_from_a_list() {
    let mut sim = Sim::new(60, 12);
    assert_eq!(sim.says("/resume"), [Action::ListSessions]);
    sim.app.sessions(vec![
        ("   5 min  fix the parser".into(), "/s/1".into()),
        ("     2 h  write docs".into(), "/s/2".into()),
    ]);
    sim.draw();
    assert!(
        sim.screen().contains("›    5 min  fix the parser"),
        "{}",
        sim.screen()
    );
    sim.press(Key::Down);
    assert_eq!(sim.press(Key::Enter), sent(Command::Resume("/s/2".into())));
    assert!(!sim.screen().contains("write docs"), "{}", sim.screen());
}

#[test]
fn a_model_is_chosen_from_a_list_without_the_present_one() {
    let mut sim = Sim::new(60, 12);
    sim.told(Update::Model {
        name: "fake/one".into(),
        thinking: sm_llm::Thinking::Off,
        window: 1000,
    });
    assert_eq!(sim.says("/model"), [Action::ListModels]);
    sim.app
        .models(vec!["fake/one".into(), "fake/two".into(), "x/three".into()]);
    sim.draw();
    assert!(sim.all().contains("model: fake/one"), "{}", sim.all());
    assert!(sim.screen().contains("› fake/two"), "{}", sim.screen());
    sim.press(Key::Down);
    assert_eq!(
        sim.press(Key::Enter),
        sent(Command::SetModel("x/three".into()))
    );
    assert_eq!(sim.says("/model"), [Action::ListModels]);
    sim.app.models(vec!["fake/one".into()]);
    assert_eq!(sim.press(Key::Char('x')), [], "nothing to choose from");
    assert!(sim.screen().contains("❯ x"), "{}", sim.screen());
}

#[test]
fn a_wrong_command_is_given_back() {
    let mut sim = Sim::new(70, 12);
    assert_eq!(sim.says("/handof the parser"), []);
    assert!(
        sim.all().contains("did you mean /handoff?"),
        "{}",
        sim.all()
    );
    assert!(
        sim.screen().contains("❯ /handof the parser"),
        "{}",
        sim.screen()
    );
}

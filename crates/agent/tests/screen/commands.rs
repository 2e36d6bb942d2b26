//! What is typed with a sign before it.

use std::os::unix::fs::PermissionsExt;

use crate::support::Person;

#[test]
fn a_document_is_edited_before_it_is_handed_over() {
    let person = Person::new("");
    let editor = person.home.path().join("editor");
    std::fs::write(&editor, "#!/bin/sh\nsed -i s/frobnicator/gadget/ \"$1\"\n").unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).unwrap();
    let editor = editor.to_str().unwrap();
    person.starts((80, 50), &[("VISUAL", editor)], &[]);
    person.sees("fake/fake-1");
    person.talks("SAY: hello there", "hello there");
    person.says("/handoff --edit");
    person.sees("New session started with handoff context");
    person.presses("C-o");
    person.sees("Build the gadget.");
    person.types("the terminal is ours again");
    person.sees("❯ the terminal is ours again");
}

#[test]
fn a_handoff_is_undone_and_a_session_chosen_from_the_list() {
    let person = Person::sits_down("");
    person.talks("SAY: in the first", "in the first");
    person.says("/handoff");
    person.sees("New session started with handoff context");
    person.talks("SAY: in the second", "in the second");
    person.says("/undo-handoff");
    person.reads("in the first");
    let args = ["clear-history", "-t", "=t:"];
    person.tmux.call(&args).unwrap();
    person.says("/resume");
    person.sees("Sessions of this folder");
    person.presses("Escape");
    person.sees_no("Sessions of this folder");
    person.talks("SAY: going on", "going on");
}

#[test]
fn a_model_is_chosen_from_the_list_and_asked_from_then_on() {
    let person = Person::new("[models.\"fake/fake-2\"]\nwindow = 100_000\n");
    // Nobody else's server is looked for.
    let nowhere = [("OLLAMA_HOST", "127.0.0.1:1")];
    person.starts((80, 24), &nowhere, &[]);
    person.sees("fake/fake-1");
    person.says("/model");
    person.sees("model: fake/fake-1; /model PROVIDER/ID takes any other");
    person.sees("› fake/fake-2");
    person.presses("Enter");
    person.sees("fake/fake-2 ·");
    person.talks("SAY: as another", "as another");
    let asked = person.model.requests().pop().unwrap();
    assert_eq!(asked.body["model"], "fake-2");
}

#[test]
fn a_session_is_chosen_from_the_list_and_gone_on_with() {
    let person = Person::sits_down("");
    person.talks("SAY: in the first", "in the first");
    person.says("/new");
    person.talks("SAY: in the second", "in the second");
    person.says("/resume");
    person.sees("Sessions of this folder");
    // The newest is the one that is open.
    person.presses("Down");
    person.sees("› just now  SAY: in the first");
    person.presses("Enter");
    person.sees_no("Sessions of this folder");
    person.talks("SAY: going on", "going on");
    let asked = person.model.requests().pop().unwrap().body.to_string();
    assert!(asked.contains("in the first") && !asked.contains("in the second"));
    assert_eq!(person.files().len(), 2);
}

#[test]
fn a_command_of_the_persons_own_and_a_file_by_its_name() {
    let person = Person::new("");
    std::fs::create_dir(person.repo().join("src")).unwrap();
    std::fs::write(person.repo().join("src/parser.rs"), "").unwrap();
    person.starts((80, 24), &[], &[]);
    person.sees("fake/fake-1");
    person.says("!echo one; echo t''wo");
    person.reads("! echo one");
    person.reads("  two");
    person.types("look at @pars");
    person.sees("› @src/parser.rs");
    person.presses("Enter");
    person.sees("❯ look at @src/parser.rs");
    person.presses("C-c");
    person.sees_no("look at");
    person.presses("Up");
    person.sees("❯ !echo one");
}

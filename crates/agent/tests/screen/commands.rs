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
    let person = Person::new("[models.\"fake/fake-mini\"]\nwindow = 100_000\n");
    // Nobody else's server is looked for.
    let nowhere = [("OLLAMA_HOST", "127.0.0.1:1")];
    person.starts((80, 24), &nowhere, &[]);
    person.sees("fake/fake-1");
    person.says("/model");
    person.sees("model: fake/fake-1; /model and a part of its name takes any other");
    person.sees("› fake/fake-mini");
    person.presses("Enter");
    person.sees("fake/fake-mini ·");
    person.talks("SAY: as another", "as another");
    let asked = person.model.requests().pop().unwrap();
    assert_eq!(asked.body["model"], "fake-mini");
    // Any part of a name that fits one is its name, and a key takes the next.
    person.says("/model ake-1");
    person.sees("fake/fake-1 ·");
    person.presses("C-p");
    person.sees("fake/fake-mini ·");
    person.presses("C-p");
    person.sees("fake/fake-1 ·");
    person.says("/model fake-");
    person.sees("fits several models: fake/fake-1, fake/fake-mini");
    person.presses("BTab");
    person.sees("fake/fake-1 (minimal) ·");
}

#[test]
fn a_session_is_forked_at_a_prompt_and_exported() {
    let person = Person::sits_down("");
    person.talks("SAY: the first", "the first");
    person.talks("SAY: the second", "the second");
    person.says("/fork");
    person.sees("Fork before");
    person.sees("› SAY: the second");
    person.presses("Enter");
    // What was said there can be changed, and the rest is as it was.
    let given = sm_testkit::wait_until(crate::support::DEADLINE, || {
        let screen = person.screen();
        let editor = screen.lines().rev().find(|line| line.starts_with('❯'))?;
        (editor == "❯ SAY: the second" && !screen.contains("Fork before")).then_some(())
    });
    assert!(given.is_some(), "{}", person.all());
    person.types(" time");
    person.presses("Enter");
    person.reads("the second time");
    person.sees_no("Working");
    let asked = person.model.requests().pop().unwrap().body["messages"].to_string();
    assert!(asked.contains("the first"), "{asked}");
    assert_eq!(asked.matches("the second").count(), 1, "{asked}");
    assert_eq!(person.files().len(), 2);
    for (file, begins) in [
        ("out.md", "# Session"),
        ("out.jsonl", "{\"type\":\"session\""),
        ("out.html", "<!doctype html>"),
    ] {
        person.says(&format!("/export {file}"));
        let text = sm_testkit::wait_until(crate::support::DEADLINE, || {
            std::fs::read_to_string(person.repo().join(file))
                .ok()
                .filter(|text| text.contains("the second time"))
        });
        let text = text.unwrap_or_else(|| panic!("{file}: {}", person.all()));
        assert!(text.starts_with(begins), "{file}: {text}");
        assert!(text.contains("the first"), "{file}: {text}");
    }
    // What is there is never written over.
    person.says("/export out.md");
    person.sees("cannot export to");
}

#[test]
fn a_template_is_a_command_and_the_branch_is_shown() {
    let person = Person::new("");
    let repo = person.repo();
    std::fs::create_dir_all(repo.join(".sm/prompts")).unwrap();
    std::fs::create_dir_all(repo.join(".git")).unwrap();
    std::fs::write(repo.join(".git/HEAD"), "ref: refs/heads/fix-it\n").unwrap();
    std::fs::write(
        repo.join(".sm/prompts/greet.md"),
        "---\ndescription: Greets somebody\n---\nSAY: good $2, $1\n",
    )
    .unwrap();
    person.starts((80, 24), &[], &[]);
    person.sees("~/repo (fix-it)");
    person.types("/gre");
    person.sees("› /greet  Greets somebody");
    person.presses("Tab");
    person.types("\"you there\" morning");
    person.presses("Enter");
    person.reads("good morning, you there");
    person.sees_no("Working");
    person.says("!echo 'ref: refs/heads/other' > .git/HEAD");
    person.sees("~/repo (other)");
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

#[test]
fn a_context_is_compacted_and_the_session_goes_on() {
    let person = Person::sits_down("");
    person.talks("SAY: before it", "before it");
    person.talks("SAY: more of it", "more of it");
    person.says("/compact the parser");
    person.sees("The context is compacted");
    let asked = person.model.requests().pop().unwrap().body.to_string();
    assert!(asked.contains("the parser"), "{asked}");
    person.talks("SAY: after it", "after it");
    let asked = person.model.requests().pop().unwrap().body["messages"].clone();
    assert_eq!(asked.as_array().map(Vec::len), Some(2), "{asked}");
    assert!(
        asked[0].to_string().contains("Build the frobnicator"),
        "{asked}"
    );
    // The same session, and nothing is gone from its file.
    let files = person.files();
    assert_eq!(files.len(), 1);
    let text = std::fs::read_to_string(&files[0]).unwrap();
    assert!(text.contains("more of it") && text.contains("\"type\":\"compaction\""));
    person.says("/new");
    person.says("/compact");
    person.sees("Nothing to compact (no messages yet)");
}

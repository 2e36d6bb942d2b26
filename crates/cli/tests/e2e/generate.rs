//! `sm handoff --generate`: what a person does with the document before it is handed over.

use crate::world::{Ran, World, eventually, text};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A model's document; with `unfit` in the home one that the gate refused twice.
const WRITER: &str = r##"#!/bin/sh
unfit='[]'
if test -e "$HOME/unfit"; then unfit='["no next action"]'; fi
printf '{"document":"# Objective\\nGo on with the boats.\\n\\n# State\\nHalf.\\n\\n# Next\\nThe rest.\\n","told":"by a script","author":"model","unfit":%s}' "$unfit"
"##;

struct Editing {
    world: World,
    sm: std::path::PathBuf,
}

impl Editing {
    fn new() -> Self {
        let mut world = World::new();
        let sm = world.install_writer(WRITER);
        world.agent("api");
        world.send_wait("api", "SAY: count the boats");
        world.wait_for("api", "idle");
        Self { world, sm }
    }

    /// `sm handoff --generate --edit`, with a shell script as the editor.
    fn run(&self, editor: &str) -> Ran {
        let program = self.world.gate("editor.sh");
        std::fs::write(&program, format!("#!/bin/sh\n{editor}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = self.world.env.command(&self.sm);
        command.args(["handoff", "--generate", "--edit", "--session", "api"]);
        // an editor may have arguments; VISUAL goes before EDITOR
        command.env("EDITOR", "false");
        command.env("VISUAL", format!("{} --wait", program.display()));
        Ran::from(command.output().unwrap())
    }

    fn handoffs(&self) -> Value {
        self.world.get("/handoffs?session=api")
    }

    #[track_caller]
    fn handed(&self, generation: u32) -> (Value, String) {
        eventually("the next context", || {
            self.world.show("api")["generation"] == generation
        });
        let newest = self.handoffs()[0].clone();
        let copy = std::fs::read_to_string(text(&newest["copy"])).unwrap();
        (newest, copy)
    }
}

#[test]
fn a_person_changes_a_generated_document_before_it_is_handed_over() {
    let editing = Editing::new();
    let ran = editing.run("test \"$1\" = --wait && echo 'And paint the ninth boat.' >> \"$2\"");
    ran.exits(0);
    let (handoff, copy) = editing.handed(2);
    assert!(copy.contains("Go on with the boats."), "{copy}");
    assert!(copy.contains("And paint the ninth boat."), "{copy}");
    assert_eq!(handoff["author"], "model", "{handoff}");
    assert!(
        text(&handoff["note"]).contains("edited by a person"),
        "{handoff}"
    );
    let told = editing.world.given("Read ").text;
    assert!(told.contains("continue from where you left off"), "{told}");
}

#[test]
fn an_editor_that_fails_or_an_emptied_document_hands_nothing_over() {
    let editing = Editing::new();
    for (editor, said) in [
        ("exit 3", "Handoff cancelled"),
        (": > \"$2\"", "the document was emptied"),
    ] {
        let ran = editing.run(editor).exits(1);
        assert!(ran.err.contains(said), "{editor}: {ran:?}");
        assert!(ran.err.contains("the context stays as it is"), "{ran:?}");
    }
    // what was paid for is still there
    let kept = editing.run("exit 3").err;
    let file = kept
        .split("kept in ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let document = std::fs::read_to_string(Path::new(file.trim())).unwrap();
    assert!(document.contains("Go on with the boats."), "{document}");
    assert_eq!(editing.handoffs().as_array().map(Vec::len), Some(0));
    assert_eq!(editing.world.show("api")["generation"], 1);
}

/// The gate refused the model's twice: what is edited is sm's own, and changed it is the person's.
#[test]
fn the_ledgers_document_in_the_place_of_an_unfit_one_can_be_edited_too() {
    let editing = Editing::new();
    std::fs::write(editing.world.env.home().join("unfit"), "").unwrap();
    editing.run("true").exits(0);
    let (handoff, copy) = editing.handed(2);
    assert_eq!(handoff["author"], "ledger", "{handoff}");
    assert!(copy.contains("count the boats"), "{copy}");
    assert!(!copy.contains("Go on with the boats."), "{copy}");
    editing.world.wait_for("api", "idle");
    editing.world.send_wait("api", "SAY: and the oars");
    editing.world.wait_for("api", "idle");
    editing.run("echo 'Mind the tide.' >> \"$2\"").exits(0);
    let (handoff, copy) = editing.handed(3);
    assert!(copy.contains("Mind the tide."), "{copy}");
    assert_ne!(handoff["author"], "model", "{handoff}");
    assert!(
        text(&handoff["note"]).contains("edited by a person"),
        "{handoff}"
    );
}

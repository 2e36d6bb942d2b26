//! Calls as no model should make them.

use serde_json::{Value, json};
use sm_agent::tools::{Managed, Need, TodoStatus, definitions, needs};

use crate::support::{Place, call, said};

#[tokio::test]
async fn wrong_arguments_are_complained_about_by_every_tool() {
    let place = Place::new();
    for tool in definitions(Managed::ByNobody) {
        let required: Vec<String> =
            serde_json::from_value(tool.parameters["required"].clone()).unwrap();
        let text = place.fails(&tool.name, json!({})).await;
        assert_eq!(
            text,
            format!(
                "{}: the argument `{}` is missing (none were given)",
                tool.name, required[0]
            )
        );
        for wrong in [json!(7), json!([1]), json!({"a": 1}), json!(true)] {
            if tool.name == "todo" && wrong.is_array() {
                continue;
            }
            let text = place
                .fails(&tool.name, json!({ required[0].as_str(): wrong }))
                .await;
            assert!(text.contains("must be"), "{text}");
        }
    }
    let text = place.fails("reed", json!({"path": "x"})).await;
    assert_eq!(
        text,
        "there is no tool \"reed\"; there are read, write, edit, bash, grep, find, todo"
    );
}

#[test]
fn every_tool_is_described_by_a_schema_that_names_what_it_takes() {
    let names: Vec<String> = definitions(Managed::ByNobody)
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(
        names,
        ["read", "write", "edit", "bash", "grep", "find", "todo"]
    );
    let managed = definitions(Managed::BySm);
    let more: Vec<&str> = managed[names.len()..]
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(
        more,
        [
            "mcp__sm__handoff",
            "mcp__sm__handoff_template",
            "mcp__sm__context",
            "mcp__sm__archive_search",
            "mcp__sm__whoami",
        ]
    );
    for tool in definitions(Managed::BySm) {
        assert_eq!(tool.parameters["type"], "object");
        let properties = tool.parameters["properties"].as_object().unwrap();
        for required in tool.parameters["required"].as_array().into_iter().flatten() {
            assert!(properties.contains_key(required.as_str().unwrap()));
        }
    }
    // Part of what providers keep in their caches: the same bytes every time.
    let bytes = |_| -> Vec<String> {
        definitions(Managed::ByNobody)
            .iter()
            .map(|tool| format!("{}{}{}", tool.name, tool.description, tool.parameters))
            .collect()
    };
    assert_eq!(bytes(1), bytes(2));
}

#[tokio::test]
async fn the_list_of_things_to_do_is_kept() {
    let place = Place::new();
    let outcome = place
        .run(
            "todo",
            json!({"todos": [{"text": " a ", "status": "done"}, {"text": "b", "status": "in_progress"}, {"text": "c"}]}),
        )
        .await;
    assert_eq!(said(&outcome), "2 of 3 still to do\n[x] a\n[>] b\n[ ] c");
    let todos = outcome.todos.unwrap();
    assert_eq!(todos[0].text, "a");
    assert_eq!(todos[2].status, TodoStatus::Pending);
    for (wrong, wanted) in [
        (
            json!([{"text": "a", "status": "soon"}]),
            "wrong at item 1: `status` must be",
        ),
        (
            json!([{"text": "a"}, {"text": ""}]),
            "wrong at item 2: `text` must be",
        ),
        (json!(["a"]), "wrong at item 1: `text` must be"),
        (json!(vec![json!({"text": "a"}); 101]), "100 items at most"),
    ] {
        let text = place.fails("todo", json!({ "todos": wrong })).await;
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn a_call_with_wrong_arguments_needs_nothing() {
    for tool in definitions(Managed::ByNobody) {
        for wrong in [Value::Null, json!(7), json!([]), json!({})] {
            let call = call(&tool.name, json!({"path": wrong, "command": wrong}));
            assert_eq!(
                needs(&call, std::path::Path::new("/work"), None),
                Need::Nothing
            );
        }
    }
}

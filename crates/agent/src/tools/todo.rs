//! The list of things to do, which the model keeps and the person sees.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::args::Args;
use super::outcome::ToolOutcome;
use super::paths::cut;

/// Longer lists are no lists.
const MOST: usize = 100;
const LONGEST: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub text: String,
    pub status: TodoStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Done,
}

pub(super) fn run(args: Args<'_>) -> Result<ToolOutcome, String> {
    let list = match args.value("todos") {
        None => return Err(args.missing("todos")),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(args.wrong("todos", "a list", other)),
    };
    if list.len() > MOST {
        return Err(args.complaint("todos", &format!("may have {MOST} items at most")));
    }
    let todos: Vec<Todo> = list
        .iter()
        .enumerate()
        .map(|(index, item)| {
            one(item).map_err(|what| {
                args.complaint("todos", &format!("is wrong at item {}: {what}", index + 1))
            })
        })
        .collect::<Result<_, _>>()?;
    let open = todos
        .iter()
        .filter(|t| t.status != TodoStatus::Done)
        .count();
    let mut text = format!("{} of {} still to do", open, todos.len());
    for todo in &todos {
        let mark = match todo.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[>]",
            TodoStatus::Done => "[x]",
        };
        text.push_str(&format!("\n{mark} {}", todo.text));
    }
    let mut outcome = ToolOutcome::text(text).with(json!({ "todos": todos }));
    outcome.todos = Some(todos);
    Ok(outcome)
}

fn one(item: &Value) -> Result<Todo, &'static str> {
    const STATUS: &str = "`status` must be pending, in_progress or done";
    let text = match item.get("text") {
        Some(Value::String(text)) if !text.trim().is_empty() => text.trim(),
        _ => return Err("`text` must be a string and not empty"),
    };
    let status = match item.get("status") {
        None | Some(Value::Null) => TodoStatus::Pending,
        Some(Value::String(status)) => match status.as_str() {
            "pending" => TodoStatus::Pending,
            "in_progress" => TodoStatus::InProgress,
            // What models have learnt elsewhere.
            "done" | "completed" => TodoStatus::Done,
            _ => return Err(STATUS),
        },
        Some(_) => return Err(STATUS),
    };
    Ok(Todo {
        text: cut(text, LONGEST).to_string(),
        status,
    })
}

//! A history of 50 MB becomes a body in one go: every byte of it is written once, and nothing is
//! copied on the way that grows with the whole.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use serde_json::json;
use sm_llm::{
    Api, Assistant, Block, Message, Request, Thinking, ToolCall, ToolChoice, ToolResult, body,
    known,
};

/// Counts the bytes that are asked for, those of a buffer that grows too.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: usize) {
    // a thread that ends has no counter any more
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + bytes));
}

// SAFETY: every call goes to the system's allocator with the arguments it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new: usize) -> *mut u8 {
        count(new);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new) }
    }
}

/// Turns of a call and its result, ten thousand bytes each.
fn history(api: Api, turns: usize) -> Vec<Message> {
    let mut messages = Vec::with_capacity(2 * turns + 1);
    messages.push(Message::user("go", 0));
    let output = "a line of what a command has printed\n".repeat(270);
    let says: Assistant = serde_json::from_value(json!({
        "api": api.name(), "provider": "p", "model": "m", "stopReason": "toolUse", "content": [],
    }))
    .unwrap();
    for turn in 0..turns {
        let id = format!("call_{turn}");
        messages.push(Message::Assistant(Assistant {
            content: vec![Block::ToolCall(ToolCall {
                id: id.clone(),
                name: "bash".into(),
                arguments: serde_json::Map::from_iter([("command".into(), json!("make"))]),
            })],
            ..says.clone()
        }));
        messages.push(Message::ToolResult(ToolResult {
            tool_call_id: id,
            tool_name: "bash".into(),
            content: vec![Block::text(output.clone())],
            details: None,
            is_error: false,
            timestamp: 0,
        }));
    }
    messages
}

/// The size of the body, and the bytes that were asked for to make it.
fn make(api: Api, turns: usize) -> (usize, usize) {
    let (model, messages) = (known::model("p", api, "m"), history(api, turns));
    let request = Request {
        system: "system",
        messages: &messages,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        thinking: Thinking::Off,
        max_output: 1_000,
        session: "s",
    };
    let before = ASKED.get();
    let body = body(&model, &request);
    (body.len(), ASKED.get() - before)
}

#[test]
fn a_large_history_is_written_once() {
    for api in [
        Api::AnthropicMessages,
        Api::OpenAiResponses,
        Api::OpenAiCompletions,
    ] {
        let (small, asked_for_small) = make(api, 500);
        let (large, asked_for_large) = make(api, 5_000);
        assert!(large > 50_000_000, "{large}");
        // a buffer that doubles asks for no more than four times what it holds in the end
        assert!(
            asked_for_large < 5 * large,
            "{api:?}: {asked_for_large} for {large}"
        );
        let growth = asked_for_large as f64 / asked_for_small as f64;
        assert!(
            growth < 25.0,
            "{api:?}: {growth} times for {} times",
            large / small
        );
    }
}

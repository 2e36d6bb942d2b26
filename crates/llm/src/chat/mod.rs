//! OpenAI Chat Completions, as llama.cpp, Ollama, vLLM and OpenRouter speak them too: the body of
//! a request, and the events of its answer. Pure.

mod body;
mod events;

pub(crate) use body::body;
pub(crate) use events::Reader;

/// The fields in which servers give thoughts, and take them back. A session file keeps the name
/// as the signature of the thoughts.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

//! Answers of models as they stream in, and the histories that are made of them.

use crate::corpus::Corpus;
use crate::harness::fuzz;
use sm_llm::{
    Api, Assistant, Block, Delta, Message, Reading, Request, StopReason, Thinking, ToolChoice,
    ToolResult, body, known,
};

const APIS: [Api; 3] = [
    Api::AnthropicMessages,
    Api::OpenAiResponses,
    Api::OpenAiCompletions,
];

const SEEDS: [&str; 7] = [
    concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"s\"}}\n\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello \\ud83d\\ude00\"}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":12}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ),
    concat!(
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"bash\",\"input\":{}}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"command\\\":\"}}\r\n\r\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\" \\\"ls\\\"}\"}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"x\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
    ),
    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
    concat!(
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"}}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"hm\"}],\"encrypted_content\":\"e\"}}\n\n",
        "data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":\"bash\",\"arguments\":\"\"}}\n\n",
        "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":1,\"delta\":\"{}\"}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":\"bash\",\"arguments\":\"{}\"}}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"usage\":{\"input_tokens\":9,\"output_tokens\":3,\"input_tokens_details\":{\"cached_tokens\":4}}}}\n\n",
    ),
    concat!(
        "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"a\"}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"m\",\"phase\":\"commentary\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]}}\n\n",
        "data: {\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}\n\n",
    ),
    concat!(
        ": OPENROUTER PROCESSING\n\n",
        "data: {\"id\":\"c1\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"reasoning_content\":\"hm\"}}]}\n\n",
        "data: {\"id\":\"c1\",\"choices\":[{\"delta\":{\"content\":\"yes\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"bash\",\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":2}}\n\n",
        "data: [DONE]\n\n",
    ),
    "data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\nerror: {\"code\":500,\"message\":\"x\"}\n\n",
];

/// What came of a stream: the answer or its fault, and all that was told meanwhile.
fn read(api: Api, pieces: &[&[u8]]) -> (Result<Assistant, String>, Option<Assistant>, Vec<Delta>) {
    let model = known::model("p", api, "m");
    let mut told = Vec::new();
    let mut on = |delta| told.push(delta);
    let mut reading = Reading::new(api);
    let mut outcome = Ok(false);
    for piece in pieces {
        outcome = reading.feed(piece, &mut on);
        if !matches!(outcome, Ok(false)) {
            break;
        }
    }
    let outcome = match outcome {
        Ok(true) => Ok(()),
        Ok(false) => reading.end(&mut on),
        Err(broken) => Err(broken),
    };
    match outcome {
        Ok(()) => (Ok(reading.finish(&model)), None, told),
        Err(broken) => (
            Err(broken.to_string()),
            reading.partial(&model, StopReason::Error),
            told,
        ),
    }
}

#[test]
fn answers_of_models() {
    let seeds = SEEDS.map(|seed| seed.as_bytes().to_vec());
    fuzz("answers_of_models", &Corpus::of(seeds), |mut input| {
        let api = *input.rng.pick(&APIS);
        let whole = read(api, &[input.bytes]);
        assert_eq!(whole, read(api, &input.pieces()), "however it arrives");
        let (outcome, partial, told) = whole;
        if let Some(partial) = &partial {
            assert!(!told.is_empty(), "what was told is kept");
            assert_eq!(partial.stop_reason, StopReason::Error);
        }
        // whatever it was: it can be kept, and sent again by every protocol
        let Some(answer) = outcome.ok().or(partial) else {
            return;
        };
        let line = serde_json::to_string(&Message::Assistant(answer.clone())).unwrap();
        let kept: Message = serde_json::from_str(&line).unwrap();
        assert_eq!(kept, Message::Assistant(answer.clone()));
        let mut messages = vec![Message::user("go", 0), kept];
        messages.extend(answer.tool_calls().map(|call| {
            Message::ToolResult(ToolResult {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                content: vec![Block::text(input.text())],
                details: None,
                is_error: false,
                timestamp: 0,
            })
        }));
        for api in APIS {
            let request = Request {
                system: &line,
                messages: &messages,
                tools: &[],
                tool_choice: ToolChoice::Auto,
                thinking: Thinking::High,
                max_output: 4096,
                session: "s",
            };
            let body = body(&known::model("p", api, "m"), &request);
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["stream"], true);
        }
    });
}

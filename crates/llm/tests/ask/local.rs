//! Finding servers on this machine.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use sm_llm::{Api, Places, ServerKind, local_servers_at};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers these paths, and what is asked about these models; everything else with 404.
async fn serve(answers: BTreeMap<&'static str, &'static str>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match connection.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            let mut path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            if path == "/api/show" {
                let length = head.split("content-length: ").nth(1).unwrap();
                let length = length.lines().next().unwrap().parse().unwrap();
                let mut body = vec![0; length];
                connection.read_exact(&mut body).await.unwrap();
                let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
                path = body["model"].as_str().unwrap().to_owned();
            }
            let (status, body) = match answers.get(path.as_str()) {
                Some(body) => ("200 OK", *body),
                None => ("404 Not Found", ""),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = connection.write_all(answer.as_bytes()).await;
        }
    });
    at
}

#[tokio::test]
async fn an_ollama_is_found_with_its_models() {
    let at = serve(BTreeMap::from([
        (
            "/api/tags",
            r#"{"models":[{"name":"llava:7b"},{"name":"embed"},{"name":"old"},{"name":"qwen3:8b"},{"name":"qwen3:4b"},{"name":""},{"odd":1}]}"#,
        ),
        (
            "/api/ps",
            r#"{"models":[{"name":"qwen3:4b","context_length":40960}]}"#,
        ),
        (
            "llava:7b",
            r#"{"capabilities":["completion","vision"],"parameters":"stop \"x\"\nnum_ctx    8192"}"#,
        ),
        ("embed", r#"{"capabilities":["embedding"]}"#),
        (
            "qwen3:8b",
            r#"{"capabilities":["completion","tools","thinking"]}"#,
        ),
        (
            "qwen3:4b",
            r#"{"capabilities":["completion","tools","thinking"]}"#,
        ),
    ]))
    .await;
    let places = Places {
        ollama: Some(at),
        llama_cpp: None,
    };
    let found = local_servers_at(&places).await;
    let models: Vec<_> = found
        .iter()
        .map(|found| &found.model)
        .map(|model| (model.id.as_str(), model.window, model.thinks, model.images))
        .collect();
    assert_eq!(
        models,
        [
            ("qwen3:4b", 40_960, true, false),
            ("qwen3:8b", 4_096, true, false),
            ("old", 4_096, false, false),
            ("llava:7b", 8_192, false, true),
        ]
    );
    let first = &found[0].model;
    assert_eq!(
        (found[0].kind, first.provider.as_str(), first.api),
        (ServerKind::Ollama, "ollama", Api::OpenAiCompletions)
    );
    assert_eq!(first.base_url, format!("http://{at}/v1"));
    assert!(first.key.is_none() && first.max_output < first.window);
}

#[tokio::test]
async fn a_llama_cpp_is_found_with_the_size_of_its_context() {
    let at = serve(BTreeMap::from([
        ("/v1/models", r#"{"object":"list","data":[{"id":"gpt-oss-20b.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":131072}}]}"#),
        ("/props", r#"{"default_generation_settings":{"n_ctx":16384},"modalities":{"vision":false}}"#),
    ]))
    .await;
    let places = Places {
        ollama: None,
        llama_cpp: Some(at),
    };
    let found = local_servers_at(&places).await;
    assert_eq!(found.len(), 1);
    let model = &found[0].model;
    assert_eq!(
        (model.id.as_str(), model.window, model.max_output),
        ("gpt-oss-20b.gguf", 16_384, 8_192)
    );
    assert_eq!(found[0].kind, ServerKind::LlamaCpp);
}

#[tokio::test]
async fn what_is_neither_is_passed_over() {
    let page = serve(BTreeMap::from([
        ("/v1/models", "<html>"),
        ("/api/tags", "[1]"),
    ]))
    .await;
    let other = serve(BTreeMap::from([(
        "/v1/models",
        r#"{"data":[{"id":"x","owned_by":"somebody"}]}"#,
    )]))
    .await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = silent.local_addr().unwrap();
    for (ollama, llama_cpp) in [(page, page), (page, other), (silent, silent)] {
        let places = Places {
            ollama: Some(ollama),
            llama_cpp: Some(llama_cpp),
        };
        assert_eq!(local_servers_at(&places).await, [], "{places:?}");
    }
}

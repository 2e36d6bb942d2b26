//! Finding servers on this machine.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use sm_llm::{Api, Places, ServerKind, local_servers_at};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers these paths, and everything else with 404.
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
            let head = String::from_utf8_lossy(&head).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match answers.get(path) {
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
    let at = serve(BTreeMap::from([(
        "/api/tags",
        r#"{"models":[{"name":"qwen3:8b","capabilities":["completion","tools","thinking"],"details":{"context_length":40960}},{"name":"llava:7b","capabilities":["vision"]},{"name":""},{"odd":1}]}"#,
    )]))
    .await;
    let places = Places {
        ollama: Some(at),
        llama_cpp: None,
    };
    let found = local_servers_at(&places).await;
    let models: Vec<_> = found
        .iter()
        .map(|found| {
            (
                found.model.id.as_str(),
                found.model.thinks,
                found.model.images,
            )
        })
        .collect();
    assert_eq!(
        models,
        [("qwen3:8b", true, false), ("llava:7b", false, true)]
    );
    let qwen = &found[0].model;
    assert_eq!(
        (found[0].kind, qwen.provider.as_str()),
        (ServerKind::Ollama, "ollama")
    );
    assert_eq!((qwen.api, qwen.window), (Api::OpenAiCompletions, 40_960));
    assert_eq!(qwen.base_url, format!("http://{at}/v1"));
    assert!(qwen.key.is_none() && qwen.max_output < qwen.window);
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

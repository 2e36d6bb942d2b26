//! Asking over the network: attempts, deadlines, cancellation. What is asked and what is answered
//! is decided elsewhere.
//!
//! Dropping the future, or cancelling it, closes the connection. Nothing is written to a log.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::answer::Delta;
use crate::classify::{Asked, key_hint};
use crate::failure::Failure;
use crate::http::{Http, Target};
use crate::message::{Assistant, StopReason};
use crate::model::{Api, Model};
use crate::reading::Reading;
use crate::request::Request;
use crate::{anthropic, body, known, retry};

/// The most of a refusal that is read.
const REFUSAL: usize = 64 << 10;
/// How long a refusal may take to be told.
const REFUSAL_TIME: Duration = Duration::from_secs(5);

/// How long and how often a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For the whole: every attempt and every wait between them.
    pub deadline: Duration,
    /// The longest silence. A server of one's own says nothing while it reads a long prompt.
    pub idle: Duration,
    /// At least one is made.
    pub attempts: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(30 * 60),
            idle: Duration::from_secs(5 * 60),
            attempts: 5,
        }
    }
}

/// What asks; one for each process is enough. Making it costs nothing: certificates are read with
/// the first question to a place outside.
#[derive(Debug)]
pub struct Client {
    http: Http,
    first_wait: Duration,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            http: Http::default(),
            first_wait: retry::FIRST,
        }
    }
}

impl Client {
    pub fn new() -> Self {
        Self::default()
    }

    /// With another first wait between attempts than half a second.
    pub fn with_first_wait(first_wait: Duration) -> Self {
        Self {
            first_wait,
            ..Self::default()
        }
    }

    /// Asks, and hands on the answer piece by piece. An attempt that fails before anything of the
    /// answer was told is repeated where that may help; each repetition is told.
    pub async fn ask(
        &self,
        model: &Model,
        request: &Request<'_>,
        limits: Limits,
        cancel: &CancellationToken,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Assistant, Failure> {
        let begun = Instant::now();
        let until = begun
            .checked_add(limits.deadline)
            .unwrap_or_else(|| begun + Duration::from_secs(86_400));
        if cancel.is_cancelled() {
            return Err(Failure::Cancelled { partial: None });
        }
        let target = Target::of(model)?;
        if model.key.is_none() && target.wants_key() {
            return Err(Failure::KeyMissing {
                provider: model.provider.clone(),
                hint: key_hint(&model.provider),
            });
        }
        let question = Question {
            http: self.http.client(&target)?,
            headers: headers(model, request)?,
            body: Bytes::from(body::body(model, request)),
            target,
            model,
            request,
            idle: limits.idle,
            begun,
            until,
            cancel,
        };
        let mut number = 1;
        let mut last = String::new();
        loop {
            let (failure, told) = match question.attempt(&last, on).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            if !failure.may_pass() || number >= limits.attempts.max(1) {
                return Err(failure);
            }
            let wait = retry::wait(number, told, self.first_wait, chance());
            let next = Instant::now() + wait;
            if next >= until {
                // what is known now says more than a deadline would
                return Err(failure);
            }
            number += 1;
            last = failure.to_string();
            on(Delta::Attempt {
                number,
                wait,
                cause: last.clone(),
            });
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Failure::Cancelled { partial: None }),
                () = sleep_until(next) => {}
            }
        }
    }
}

/// One question, for as many attempts as it takes.
struct Question<'a> {
    http: &'a reqwest::Client,
    headers: HeaderMap,
    body: Bytes,
    target: Target,
    model: &'a Model,
    request: &'a Request<'a>,
    idle: Duration,
    begun: Instant,
    until: Instant,
    cancel: &'a CancellationToken,
}

/// A failure, and the wait that the provider asks for.
type Failed = (Failure, Option<Duration>);

/// What ends a wait for the network.
enum Ended {
    Cancelled,
    Deadline,
    Idle,
    Error(reqwest::Error),
}

impl Question<'_> {
    async fn attempt(
        &self,
        last: &str,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Assistant, Failed> {
        let send = self
            .http
            .post(self.target.url.clone())
            .headers(self.headers.clone())
            .body(self.body.clone())
            .send();
        let response = self.wait(send).await;
        let response = response.map_err(|ended| (self.ended(ended, last, None), None))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let page = response.headers().get(CONTENT_TYPE);
        if page.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
            let failure = Failure::Status {
                provider: self.model.provider.clone(),
                status: response.status().as_u16(),
                message: format!("{} answers with a web page", self.target.shown),
            };
            return Err((failure, None));
        }
        on(Delta::Started);
        let answer = self.read(response, last, on).await;
        answer.map_err(|failure| (failure, None))
    }

    async fn read(
        &self,
        mut response: reqwest::Response,
        last: &str,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Assistant, Failure> {
        let mut reading = Reading::new(self.model.api);
        loop {
            let chunk = match self.wait(response.chunk()).await {
                Ok(chunk) => chunk,
                Err(ended) => return Err(self.ended(ended, last, Some(reading))),
            };
            let whole = match chunk {
                Some(bytes) => reading.feed(&bytes, on),
                None => reading.end(on).map(|()| true),
            };
            match whole {
                Ok(false) => {}
                Ok(true) => {
                    let mut answer = reading.finish(self.model);
                    answer.timestamp = now_ms();
                    return Ok(answer);
                }
                Err(broken) if reading.told() => {
                    return Err(Failure::Broken {
                        provider: self.model.provider.clone(),
                        cause: self.asked().safe(&broken.message),
                        partial: self.partial(Some(reading), StopReason::Error),
                    });
                }
                Err(broken) => return Err(self.asked().fault(&broken.kind, &broken.message)),
            }
        }
    }

    /// Waits for the network, but no longer than is allowed.
    async fn wait<T>(&self, what: impl Future<Output = reqwest::Result<T>>) -> Result<T, Ended> {
        let idle = Instant::now().checked_add(self.idle);
        let limit = idle.map_or(self.until, |idle| idle.min(self.until));
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Ended::Cancelled),
            ended = timeout_at(limit, what) => match ended {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(Ended::Error(error)),
                Err(_) if Instant::now() >= self.until => Err(Ended::Deadline),
                Err(_) => Err(Ended::Idle),
            },
        }
    }

    fn ended(&self, ended: Ended, last: &str, reading: Option<Reading>) -> Failure {
        let told = reading.as_ref().is_some_and(Reading::told);
        let cause = match ended {
            Ended::Cancelled => {
                let partial = self.partial(reading, StopReason::Aborted);
                return Failure::Cancelled { partial };
            }
            Ended::Deadline => {
                return Failure::Deadline {
                    after: self.begun.elapsed(),
                    cause: last.to_owned(),
                    partial: self.partial(reading, StopReason::Error),
                };
            }
            Ended::Idle => format!("no answer for {} s", self.idle.as_secs_f64()),
            Ended::Error(error) => self.target.cause(error),
        };
        let cause = self.asked().safe(&cause);
        if told {
            return Failure::Broken {
                provider: self.model.provider.clone(),
                cause,
                partial: self.partial(reading, StopReason::Error),
            };
        }
        Failure::Transport {
            url: self.target.shown.clone(),
            cause,
        }
    }

    async fn refused(&self, mut response: reqwest::Response) -> Failed {
        let status = response.status().as_u16();
        let header = |name: &HeaderName| response.headers().get(name)?.to_str().ok();
        let milliseconds = HeaderName::from_static("retry-after-ms");
        let now = i64::try_from(now_ms() / 1000).unwrap_or(0);
        let told = retry::retry_after(header(&milliseconds), header(&RETRY_AFTER), now);
        let mut text = Vec::new();
        let limit = Instant::now() + REFUSAL_TIME;
        while text.len() < REFUSAL {
            match timeout_at(limit, self.wait(response.chunk())).await {
                Ok(Ok(Some(bytes))) => text.extend_from_slice(&bytes),
                Ok(Err(Ended::Cancelled)) => return (Failure::Cancelled { partial: None }, None),
                // the status alone says enough
                Ok(Ok(None) | Err(Ended::Deadline | Ended::Idle | Ended::Error(_))) | Err(_) => {
                    break;
                }
            }
        }
        text.truncate(REFUSAL);
        (self.asked().status(status, &text, told), told)
    }

    fn partial(&self, reading: Option<Reading>, why: StopReason) -> Option<Box<Assistant>> {
        let mut partial = reading?.partial(self.model, why)?;
        partial.timestamp = now_ms();
        Some(Box::new(partial))
    }

    fn asked(&self) -> Asked<'_> {
        Asked {
            model: self.model,
            choice: self.request.tool_choice,
            body: &self.body,
        }
    }
}

fn headers(model: &Model, request: &Request<'_>) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if model.api == Api::AnthropicMessages {
        let version = HeaderValue::from_static("2023-06-01");
        headers.insert("anthropic-version", version);
        if model.base_url.starts_with(known::ANTHROPIC_URL)
            && anthropic::interleaves(model, request)
        {
            let beta = HeaderValue::from_static("interleaved-thinking-2025-05-14");
            headers.insert("anthropic-beta", beta);
        }
    }
    if let Some(key) = &model.key {
        let key = key.expose().trim();
        let (name, value) = match model.api {
            Api::AnthropicMessages => ("x-api-key", key.to_owned()),
            Api::OpenAiResponses | Api::OpenAiCompletions => {
                ("authorization", format!("Bearer {key}"))
            }
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            Failure::Setup(format!(
                "the key for {} has characters in it that no key has",
                model.provider
            ))
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(0)
}

/// A number in 0..1; without chance, waits are not spread.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 1.0,
    }
}

//! A kept-alive HTTP connection to a daemon's socket: what is measured is the daemon, not connecting.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;

/// No answer takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Link {
    stream: UnixStream,
    buffer: Vec<u8>,
}

pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// From sending the request until the whole answer was there.
    pub took: Duration,
}

impl Answer {
    /// The body of a good answer.
    pub fn json(&self) -> Result<Value> {
        if !(200..300).contains(&self.status) {
            return Err(format!("{}: {}", self.status, String::from_utf8_lossy(&self.body)).into());
        }
        Ok(serde_json::from_slice(&self.body)?)
    }
}

impl Link {
    pub fn open(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(64 << 10),
        })
    }

    pub fn get(&mut self, target: &str) -> Result<Answer> {
        self.ask("GET", target, &[], "")
    }

    pub fn post(&mut self, target: &str, body: &str) -> Result<Answer> {
        self.ask("POST", target, &[], body)
    }

    pub fn ask(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Answer> {
        let mut request = format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request.push_str("content-type: application/json\r\n");
        }
        request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        let began = Instant::now();
        self.stream.write_all(request.as_bytes())?;
        let head = loop {
            if let Some(at) = self
                .buffer
                .windows(4)
                .position(|window| window == b"\r\n\r\n")
            {
                break at + 4;
            }
            self.fill()?;
        };
        let text = String::from_utf8_lossy(&self.buffer[..head]).to_ascii_lowercase();
        let status = text
            .split(' ')
            .nth(1)
            .and_then(|word| word.parse().ok())
            .ok_or("no status")?;
        let length: usize = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|value| value.trim().parse().ok())
            .unwrap_or(0);
        while self.buffer.len() < head + length {
            self.fill()?;
        }
        let took = began.elapsed();
        let body = self.buffer[head..head + length].to_vec();
        self.buffer.drain(..head + length);
        Ok(Answer { status, body, took })
    }

    fn fill(&mut self) -> Result<()> {
        let filled = self.buffer.len();
        self.buffer.resize(filled + (64 << 10), 0);
        let read = self.stream.read(&mut self.buffer[filled..]);
        self.buffer
            .truncate(filled + read.as_ref().map_or(0, |count| *count));
        if read? == 0 {
            return Err("the daemon closed the connection".into());
        }
        Ok(())
    }
}

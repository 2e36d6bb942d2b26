//! Server-sent events from lines. Pure: lines come in, events go out.

/// One event of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    pub id: Option<String>,
    pub event: Option<String>,
    pub data: String,
}

/// Collects lines until an event is complete.
#[derive(Debug, Default)]
pub struct SseReader {
    event: SseEvent,
    has_data: bool,
}

impl SseReader {
    /// An empty line completes an event; comments and unknown fields are ignored.
    pub fn line(&mut self, line: &str) -> Option<SseEvent> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.event.id = Some(value.to_owned()),
            "event" => self.event.event = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_complete_at_an_empty_line() {
        let mut reader = SseReader::default();
        let text =
            ": hi\n\nid: 7\nevent: turn\ndata: {\"a\":1}\nretry: 5\n\ndata:x\ndata: y\n\nid: 8\n";
        let events: Vec<_> = text.lines().filter_map(|line| reader.line(line)).collect();
        let event = |id: Option<&str>, event: Option<&str>, data: &str| SseEvent {
            id: id.map(str::to_owned),
            event: event.map(str::to_owned),
            data: data.to_owned(),
        };
        assert_eq!(
            events,
            [
                event(Some("7"), Some("turn"), "{\"a\":1}"),
                event(None, None, "x\ny")
            ]
        );
    }
}

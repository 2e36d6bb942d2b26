//! The terminal: raw mode, size, input and signals.

use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc::Sender;
use std::thread;

use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::messages::Msg;

/// Raw mode, until dropped.
pub(super) struct Terminal {
    before: Termios,
}

impl Terminal {
    pub(super) fn enter() -> io::Result<Self> {
        let stdin = io::stdin();
        if !isatty(&stdin) {
            return Err(io::Error::other("stdin is not a terminal"));
        }
        let before = tcgetattr(&stdin)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&stdin, OptionalActions::Now, &raw)?;
        // bracketed paste, no cursor
        write("\x1b[?2004h\x1b[?25l");
        Ok(Self { before })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        write("\x1b[?2004l\x1b[?25h");
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Columns and rows.
pub(super) fn size() -> (usize, usize) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

/// Writes to the terminal, past any buffer; a terminal that is gone is noticed by its reader.
pub(super) fn write(text: &str) {
    let stdout = io::stdout();
    let mut bytes = text.as_bytes();
    while !bytes.is_empty() {
        match rustix::io::write(stdout.as_fd(), bytes) {
            Ok(0) | Err(_) => return,
            Ok(written) => bytes = &bytes[written..],
        }
    }
}

/// Starts the threads that listen for keys and signals. A deaf one does not end when it is told to.
pub(super) fn listen(ui: &Sender<Msg>, deaf: bool) -> io::Result<()> {
    let keys = ui.clone();
    thread::Builder::new().name("keys".into()).spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        let stdin = io::stdin();
        loop {
            let news = match rustix::io::read(stdin.as_fd(), &mut buffer) {
                Err(rustix::io::Errno::INTR) => continue,
                // the terminal is gone, as when its window is closed
                Ok(0) | Err(_) => Msg::Leave { code: 129 },
                Ok(count) => Msg::Bytes(buffer[..count].to_vec()),
            };
            let last = matches!(news, Msg::Leave { .. });
            if keys.send(news).is_err() || last {
                return;
            }
        }
    })?;
    let ui = ui.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    // registered before the program goes on, so that none is missed
    let (term, hup, int, size) = runtime.block_on(async {
        let on = |kind| signal(kind);
        io::Result::Ok((
            on(SignalKind::terminate())?,
            on(SignalKind::hangup())?,
            on(SignalKind::interrupt())?,
            on(SignalKind::window_change())?,
        ))
    })?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(forward((term, hup, int, size), deaf, &ui));
        })?;
    Ok(())
}

async fn forward(
    (mut term, mut hup, mut int, mut size): (Signal, Signal, Signal, Signal),
    deaf: bool,
    ui: &Sender<Msg>,
) {
    loop {
        let news = tokio::select! {
            _ = term.recv() => match deaf {
                true => Msg::Lines(vec!["Told to end: not yet".to_owned()]),
                false => Msg::Leave { code: 143 },
            },
            _ = hup.recv() => Msg::Leave { code: 129 },
            _ = int.recv() => Msg::Leave { code: 0 },
            _ = size.recv() => Msg::Resized,
        };
        if ui.send(news).is_err() {
            return;
        }
    }
}

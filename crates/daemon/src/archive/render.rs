//! Bringing the archive up to date: only what is new in the log is read and rendered.
//!
//! Blocks: for threads that may. One at a time for a session, which is the caller's business.

use super::notes::{self, Note, What};
use super::place::{Folder, Parts, Position};
use super::state::{self, State};
use super::text::Text;
use super::times::Marks;
use sm_term::{Line, Size};
use std::collections::VecDeque;
use std::{fs, io};

/// So much is read at once.
const PIECE: usize = 256 << 10;
/// After so much the state is saved, so that a renderer that is killed has not worked for nothing.
const SAVED_EVERY: u64 = 32 << 20;

/// What a catching up did.
pub struct Caught {
    pub state: State,
    /// How many bytes of the log were rendered.
    pub rendered: u64,
    /// What is not in the text: the last lines, and the screen.
    pub rest: Vec<Line>,
}

/// `size`: of the terminal, if nothing is noted about it.
pub fn catch_up(folder: &Folder, size: Size) -> io::Result<Caught> {
    folder.make_archive()?;
    let state = match State::load(folder) {
        // A log that was removed leaves its text.
        Some(state) if folder.log_parts().is_empty() || state.raw <= folder.end_of_log() => state,
        Some(_) | None => fresh(folder, size)?,
    };
    match render(folder, state)? {
        Some(caught) => Ok(caught),
        // The text is not what the state says: once more, from the beginning.
        None => {
            let state = fresh(folder, size)?;
            render(folder, state)?.ok_or_else(|| io::Error::other("the archive cannot be written"))
        }
    }
}

/// Nothing is rendered yet, and nothing of an older try is left.
fn fresh(folder: &Folder, size: Size) -> io::Result<State> {
    for part in folder.text_parts() {
        remove(&folder.text(part))?;
    }
    for path in [folder.state(), folder.index(), folder.screen()] {
        remove(&path)?;
    }
    Ok(State::new(size))
}

fn remove(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// `None`: the text does not reach as far as the state says.
fn render(folder: &Folder, mut state: State) -> io::Result<Option<Caught>> {
    // Listed before the notes are read: a note about bytes that are read is there.
    let mut parts = Parts::new(folder.log_parts(), state.raw);
    let generations = notes::generations(folder);
    let mut notes: VecDeque<(u64, Note)> = notes::read(folder, state.notes).into();
    let Some(mut text) = Text::open(folder, &state, &generations)? else {
        return Ok(None);
    };
    let mut buffer = vec![0; PIECE];
    let mut marks = Marks::default();
    let (mut rendered, mut saved) = (0, 0);
    loop {
        let (at, count) = parts.read(|part| folder.log(part), &mut buffer)?;
        let mut bytes = buffer.get(..count).unwrap_or_default();
        let mut at = at;
        if !bytes.is_empty() {
            marks.catch_up(folder, at);
        }
        while !bytes.is_empty() {
            // What stood until now is looked at before anything is drawn over it.
            if let Some(now) = marks.pass(at) {
                let lines = state.readable.look(now);
                text.write(&lines, &mut state)?;
            }
            obey(&mut notes, at, &mut state, &mut text)?;
            let noted = notes.front().map(|(_, note)| note.position);
            let length = [noted, marks.next()]
                .into_iter()
                .flatten()
                .filter(|next| next.part == at.part)
                .map(|next| (next.offset - at.offset) as usize)
                .fold(bytes.len(), usize::min);
            let (now, later) = bytes.split_at(length);
            state.readable.seek(at.packed());
            let lines = state.readable.feed(now);
            text.write(&lines, &mut state)?;
            at = Position::new(at.part, u64::from(at.offset) + length as u64);
            state.raw = at;
            bytes = later;
        }
        rendered += count as u64;
        if count == 0 {
            break;
        }
        if rendered - saved >= SAVED_EVERY {
            saved = rendered;
            text.flush()?;
            state.save(folder)?;
        }
    }
    let noted = state.notes;
    let end = state.raw;
    obey(&mut notes, end, &mut state, &mut text)?;
    text.flush()?;
    let rest = state.readable.rest();
    if rendered > 0 || state.notes != noted {
        let screen: String = rest.iter().flat_map(|line| [&line.text, "\n"]).collect();
        state::replace(&folder.screen(), screen.as_bytes())?;
        state.save(folder)?;
    }
    Ok(Some(Caught {
        state,
        rendered,
        rest,
    }))
}

/// What is noted up to here is done.
fn obey(
    notes: &mut VecDeque<(u64, Note)>,
    at: Position,
    state: &mut State,
    text: &mut Text<'_>,
) -> io::Result<()> {
    while let Some((next, note)) = notes.front().copied() {
        if note.position > at {
            break;
        }
        notes.pop_front();
        state.notes = next;
        let lines = match note.what {
            What::New { cols, rows } => state.readable.restart(Size::new(cols, rows)),
            What::Size { cols, rows } => state.readable.resize(Size::new(cols, rows)),
            What::Screen => state.readable.look(note.at),
            What::Generation(_) => {
                state.readable.begin_context();
                Vec::new()
            }
        };
        text.write(&lines, state)?;
    }
    Ok(())
}

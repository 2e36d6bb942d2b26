//! Typing into a pane: keys and pastes.
//!
//! What a key does depends on the screen it meets: the same Enter submits a message or approves a
//! tool call. So a key can carry the mark of the screen that was looked at; tmux compares and
//! presses in one step, and presses nothing on any other screen. Nothing is ever typed into copy
//! mode or a dead pane.

use super::connect::Start;
use super::handle::Tmux;
use super::ids::PaneId;
use super::protocol::Reply;
use super::quote::quote;
use super::sanitize::sanitize;
use crate::error::Error;
use sm_core::signal::ScreenMark;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    Enter,
    Escape,
    /// Ctrl+S: puts a draft aside, where an agent has that.
    Stash,
    /// Empties the line.
    Erase,
    Tab,
    BackTab,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    CtrlC,
    CtrlD,
    CtrlS,
    CtrlU,
}

impl Key {
    fn tmux_name(self) -> &'static str {
        match self {
            Self::Enter => "Enter",
            Self::Escape => "Escape",
            Self::Stash => "C-s",
            Self::Erase => "C-u",
            Self::Tab => "Tab",
            Self::BackTab => "BTab",
            Self::Backspace => "BSpace",
            Self::Up => "Up",
            Self::Down => "Down",
            Self::Left => "Left",
            Self::Right => "Right",
            Self::CtrlC => "C-c",
            Self::CtrlD => "C-d",
            Self::CtrlS => "C-s",
            Self::CtrlU => "C-u",
        }
    }
}

/// What became of a key or a paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Typed {
    Done,
    /// The screen is not the one that was looked at, or is in copy mode: nothing was typed.
    ScreenMoved,
}

const DONE: &str = "typed";
const MOVED: &str = "moved";

impl Tmux {
    /// Presses a key; with a guard only if the screen still is the guard's.
    pub async fn press(
        &self,
        pane: PaneId,
        key: Key,
        guard: Option<&ScreenMark>,
    ) -> Result<Typed, Error> {
        let act = format!("send-keys -t {pane} {}", key.tmux_name());
        let line = guarded(pane, guard, &act, None);
        typed(pane, &self.run(line, Start::Never).await?)
    }

    /// Pastes a text, as one bracketed paste where the program asked for these. Control characters
    /// are left out ([`sanitize`]); everything else arrives byte for byte.
    pub async fn paste(
        &self,
        pane: PaneId,
        text: &str,
        guard: Option<&ScreenMark>,
    ) -> Result<Typed, Error> {
        let text = sanitize(text);
        if text.is_empty() {
            return Ok(Typed::Done);
        }
        let buffer = self.unique("paste");
        // -r: a newline stays one; -d: the buffer does not outlive the paste.
        let act = format!("paste-buffer -p -r -d -b {buffer} -t {pane}");
        let undo = format!("delete-buffer -b {buffer}");
        let line = format!(
            "set-buffer -b {buffer} -- {} ; {}",
            quote(&text),
            guarded(pane, guard, &act, Some(&undo))
        );
        match self.run(line, Start::Never).await {
            Ok(replies) => typed(pane, &replies),
            Err(error @ (Error::NotFound(_) | Error::Refused(_))) => {
                // Refused before the paste: the text must not stay behind.
                self.run_raw(undo, Start::Never).await?;
                Err(error)
            }
            Err(other) => Err(other),
        }
    }
}

/// One line: set what is compared with, compare, act or say why not.
///
/// The expected title goes through an option of the pane: inside a format its `,`, `}` and `#`
/// would mean something.
pub(super) fn guarded(
    pane: PaneId,
    guard: Option<&ScreenMark>,
    act: &str,
    undo: Option<&str>,
) -> String {
    let mut line = String::new();
    let mut conditions = vec![
        "#{?pane_dead,0,1}".to_owned(),
        "#{?pane_in_mode,0,1}".to_owned(),
        "#{?pane_input_off,0,1}".to_owned(),
    ];
    if let Some(mark) = guard {
        line = format!(
            "set-option -p -t {pane} @sm_title {} ; ",
            quote(&mark.title)
        );
        conditions.extend([
            format!("#{{==:#{{cursor_x}},{}}}", mark.cursor_x),
            format!("#{{==:#{{cursor_y}},{}}}", mark.cursor_y),
            format!("#{{==:#{{history_size}},{}}}", mark.history),
            format!("#{{==:#{{alternate_on}},{}}}", u8::from(mark.alternate)),
            "#{==:#{pane_title},#{@sm_title}}".to_owned(),
        ]);
    }
    let all = conditions
        .into_iter()
        .reduce(|all, next| format!("#{{&&:{all},{next}}}"))
        .unwrap_or_default();
    let done = format!("{act} ; display-message -p {DONE}");
    let undo = undo.map(|undo| format!("{undo} ; ")).unwrap_or_default();
    let moved = format!("{undo}display-message -p -t {pane} '{MOVED} #{{pane_dead}} #{{pane_id}}'");
    line.push_str(&format!(
        "if-shell -F -t {pane} {} {} {}",
        quote(&all),
        quote(&done),
        quote(&moved)
    ));
    line
}

pub(super) fn typed(pane: PaneId, replies: &[Reply]) -> Result<Typed, Error> {
    let said = replies
        .last()
        .and_then(|reply| reply.lines.first())
        .map(String::as_str);
    let said = said.unwrap_or_default();
    if said == DONE {
        return Ok(Typed::Done);
    }
    let mut why = said.split(' ');
    match (why.next(), why.next(), why.next()) {
        (Some(MOVED), Some("1"), Some(_)) => Err(Error::PaneDead(pane.to_string())),
        (Some(MOVED), Some(_), Some(id)) if id == pane.to_string() => Ok(Typed::ScreenMoved),
        (Some(MOVED), _, _) => Err(Error::NotFound(format!("pane {pane}"))),
        _ => Err(Error::Unexpected(format!("{said:?} to a key"))),
    }
}

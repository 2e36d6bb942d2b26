//! What a fresh process needs to become the agent, all of it made before there is one.
//!
//! Between fork and exec nothing may be allocated, so the search for the program, its arguments and
//! its environment are laid out here as the system wants them.

use std::ffi::{CString, OsStr, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::{Run, RunError};

/// Where programs are if nobody says so.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const SHELL: &std::ffi::CStr = c"/bin/sh";

/// One list of C strings with its pointers.
pub struct Strings {
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Strings {
    fn new(texts: Vec<CString>) -> Self {
        let ends = [std::ptr::null()];
        let pointers = texts.iter().map(|text| text.as_ptr()).chain(ends).collect();
        Self {
            _texts: texts,
            pointers,
        }
    }

    /// Ends with a null pointer.
    pub fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

pub struct Image {
    /// Where it may be, in order, each with the arguments by which a shell runs it if the system
    /// says that it is no program (a script without a first line that names one).
    pub candidates: Vec<(CString, Strings)>,
    pub args: Strings,
    pub env: Strings,
    pub cwd: Option<CString>,
}

impl Image {
    pub fn new(run: &Run) -> Result<Self, RunError> {
        if let Some(cwd) = &run.cwd
            && !cwd.is_dir()
        {
            return Err(RunError::NoDirectory(cwd.clone()));
        }
        let failed = |error: io::Error| RunError::Program {
            program: run.program.clone(),
            error,
        };
        let words: Vec<&OsStr> = std::iter::once(&run.program)
            .chain(&run.args)
            .map(OsString::as_os_str)
            .collect();
        let args = words
            .iter()
            .map(|word| c_string(word))
            .collect::<Result<_, _>>();
        let env = environment(run);
        let path = env.iter().find(|(key, _)| key == "PATH");
        let path = path.map_or_else(|| OsString::from(USUAL_PATH), |(_, path)| path.clone());
        let mut candidates = Vec::new();
        for place in places(&run.program, &path) {
            let place = c_string(&place).map_err(failed)?;
            let rest = words.iter().skip(1).map(|word| c_string(word));
            let by_shell: Vec<CString> = [Ok(SHELL.to_owned()), Ok(place.clone())]
                .into_iter()
                .chain(rest)
                .collect::<Result<_, _>>()
                .map_err(failed)?;
            candidates.push((place, Strings::new(by_shell)));
        }
        let env = env.iter().filter_map(|(key, value)| {
            let mut pair = key.clone();
            pair.push("=");
            pair.push(value);
            // One that no program can be given is left out, as an empty name would be.
            c_string(&pair).ok()
        });
        Ok(Self {
            candidates,
            args: Strings::new(args.map_err(failed)?),
            env: Strings::new(env.collect()),
            cwd: run
                .cwd
                .as_ref()
                .map(|cwd| c_string(cwd.as_os_str()))
                .transpose()
                .map_err(failed)?,
        })
    }

    pub fn shell() -> *const c_char {
        SHELL.as_ptr()
    }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "a zero byte is in its name or arguments",
        )
    })
}

fn environment(run: &Run) -> Vec<(OsString, OsString)> {
    let mut env: Vec<_> = std::env::vars_os().collect();
    for (key, value) in &run.env {
        env.retain(|(known, _)| known != key);
        if let Some(value) = value {
            env.push((key.clone(), value.clone()));
        }
    }
    env
}

/// As a shell looks for it.
fn places(program: &OsStr, path: &OsStr) -> Vec<OsString> {
    if program.is_empty() {
        return Vec::new();
    }
    if program.as_bytes().contains(&b'/') {
        return vec![program.to_owned()];
    }
    std::env::split_paths(path)
        .map(|folder| match folder.as_os_str().is_empty() {
            true => Path::new(".").join(program).into_os_string(),
            false => folder.join(program).into_os_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_as_a_shell_does() {
        for (program, path, expected) in [
            ("claude", "/a:/b", vec!["/a/claude", "/b/claude"]),
            ("claude", ":/b", vec!["./claude", "/b/claude"]),
            ("./claude", "/a:/b", vec!["./claude"]),
            ("/x/claude", "/a", vec!["/x/claude"]),
            ("", "/a", vec![]),
        ] {
            assert_eq!(
                places(program.as_ref(), path.as_ref()),
                expected,
                "{program}"
            );
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused_before_there_is_a_process() {
        let zero = Image::new(&Run::new("true").args(["a\0b"])).err().unwrap();
        assert_eq!(
            zero.to_string(),
            "cannot run true: a zero byte is in its name or arguments"
        );
        let gone = Image::new(&Run::new("true").cwd("/not/there"))
            .err()
            .unwrap();
        assert_eq!(
            gone.to_string(),
            "the working directory /not/there is not there"
        );
    }

    #[test]
    fn variables_are_set_and_taken_away() {
        let run = Run::new("x")
            .env("SM_A", "1")
            .env("SM_A", "2")
            .without_env("PATH");
        let env = environment(&run);
        let values: Vec<_> = env.iter().filter(|(key, _)| key == "SM_A").collect();
        assert_eq!(values, [&(OsString::from("SM_A"), OsString::from("2"))]);
        assert!(env.iter().all(|(key, _)| key != "PATH"));
    }
}

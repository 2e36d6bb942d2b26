//! `fake-agent`: a scripted terminal program that behaves like Claude Code. See
//! `sm_testkit::fake`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sm_testkit::fake::run(
        std::env::args_os()
            .skip(1)
            .map(|arg| arg.to_string_lossy().into_owned()),
    )
}

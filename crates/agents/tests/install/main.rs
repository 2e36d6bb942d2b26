//! Our hooks in the settings of others: put in, and taken out to the byte.

mod claude;
mod codex;

const PROGRAM: &str = "/opt/s m/sm-hook";

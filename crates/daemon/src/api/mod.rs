//! The daemon's HTTP API.
pub mod types;

//! The daemon: one actor per session, executors for its effects, and the API.
pub mod api;
pub mod config;
pub mod names;
pub mod peer;

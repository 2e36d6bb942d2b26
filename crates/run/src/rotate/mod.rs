//! stub
pub mod arguments;
pub mod level;
pub mod rotation;

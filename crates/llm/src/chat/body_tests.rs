//! What is sent and understood.

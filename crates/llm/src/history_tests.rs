//! What a conversation becomes.

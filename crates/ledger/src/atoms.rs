//! Paths, identifiers and hashes in a text: the words that an agent acts on.

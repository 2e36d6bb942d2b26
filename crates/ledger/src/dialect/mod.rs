//! The transcripts of the agents, one file each.

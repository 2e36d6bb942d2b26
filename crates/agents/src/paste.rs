//! Whether a text survives being pasted into an agent's composer: each agent says it for its own.

pub use sm_core::profile::PasteFit;

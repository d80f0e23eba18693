//! What a run makes on a server and removes again, and what it asks before.

pub(crate) mod insistence;
pub(crate) mod probe;
pub(crate) mod publish;
pub(crate) mod workspace;

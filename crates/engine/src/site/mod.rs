//! Resources that a run makes on a server and removes again, and the requests before.

pub(crate) mod probe;
pub(crate) mod publish;
pub(crate) mod retries;
pub(crate) mod workspace;

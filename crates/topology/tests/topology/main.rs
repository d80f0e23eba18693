//! Networks of laboratories: their files, addresses, queues.

#[cfg(test)]
mod bare_hosts;
#[cfg(test)]
mod files;
#[cfg(test)]
mod queues;

//! Captures, as packets and as what is found in them.

#[cfg(test)]
mod captures;
#[cfg(test)]
mod contents;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod rto;
#[cfg(test)]
mod support;

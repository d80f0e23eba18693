//! The servers that tests measure: the demo server, the fault server, and real ones.

#[cfg(test)]
mod demo;
#[cfg(test)]
mod fault;
#[cfg(test)]
mod fault_timing;
#[cfg(test)]
mod real;
#[cfg(test)]
mod support;

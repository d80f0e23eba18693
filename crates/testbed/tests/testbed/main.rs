//! The servers that tests measure: the demo server, the fault server, and real ones.

#![cfg(test)]

mod demo;
mod fault;
mod fault_timing;
mod real;
mod support;

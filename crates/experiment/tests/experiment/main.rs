//! Experiments: their files, their plans and their figures.

#![cfg(test)]

mod builtin;
mod defects;
mod files;
mod simulation;
mod summary;
mod support;

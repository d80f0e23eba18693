//! The binary against servers that misbehave.

mod support;

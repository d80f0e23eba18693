//! What people and programs get to see, from runs made by hand.

mod documents;
mod layout;
mod runs;

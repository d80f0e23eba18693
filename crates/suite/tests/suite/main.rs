//! Suites: what is built in, what is documented, what is said about errors.

#[cfg(test)]
mod builtin;
#[cfg(test)]
mod documentation;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod written;

//! Experiments: their files, their plans and their figures.

#[cfg(test)]
mod builtin;
#[cfg(test)]
mod defects;
#[cfg(test)]
mod files;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod summary;
#[cfg(test)]
mod support;

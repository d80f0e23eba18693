//! One file for each sub-command.

pub(crate) mod analyze;
pub(crate) mod capture;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod diagnose;
pub(crate) mod gallery;
pub(crate) mod gates;
pub(crate) mod generate;
pub(crate) mod lab;
pub(crate) mod load;
mod point_verdicts;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod search;
pub(crate) mod servers;
mod single;
pub(crate) mod suites;
pub(crate) mod sweep;
pub(crate) mod traffic;
pub(crate) mod webstone;

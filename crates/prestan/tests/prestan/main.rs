//! The binary as a user runs it: against the demo server, servers that misbehave, and real ones.

#[cfg(test)]
#[macro_use]
mod support;

#[cfg(test)]
mod adapt;
#[cfg(test)]
mod analyze;
#[cfg(test)]
mod analyze_reasons;
#[cfg(test)]
mod as_written;
#[cfg(test)]
mod auth;
#[cfg(test)]
mod background;
#[cfg(test)]
mod background_faults;
#[cfg(test)]
mod beside;
#[cfg(test)]
mod calendars;
#[cfg(test)]
mod captures;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod challenges;
#[cfg(test)]
mod clean;
#[cfg(test)]
mod clean_up;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod compare;
#[cfg(test)]
mod compare_budget;
#[cfg(test)]
mod conditions;
#[cfg(test)]
mod debug;
#[cfg(test)]
mod delay;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod diagnose;
#[cfg(test)]
mod diagnose_endings;
#[cfg(test)]
mod diagnose_features;
#[cfg(test)]
mod early_responses;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod every_command;
#[cfg(test)]
mod experiments;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod first_hour;
#[cfg(test)]
mod first_screen;
#[cfg(test)]
mod flames;
#[cfg(test)]
mod full_disk;
#[cfg(test)]
mod gallery;
#[cfg(test)]
mod generators;
#[cfg(test)]
mod guides;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod http2;
#[cfg(test)]
mod http_versions;
#[cfg(test)]
mod in_front;
#[cfg(test)]
mod inside;
#[cfg(test)]
mod inside_series;
#[cfg(test)]
mod interruption;
#[cfg(test)]
mod labels;
#[cfg(test)]
mod laboratory;
#[cfg(test)]
mod labs;
#[cfg(test)]
mod load;
#[cfg(test)]
mod load_real;
#[cfg(test)]
mod load_steps;
#[cfg(test)]
mod load_trouble;
#[cfg(test)]
mod load_ways;
#[cfg(test)]
mod mid_run;
#[cfg(test)]
mod named_parts;
#[cfg(test)]
mod oddities;
#[cfg(test)]
mod open_loops;
#[cfg(test)]
mod page;
#[cfg(test)]
mod picture;
#[cfg(test)]
mod pull_requests;
#[cfg(test)]
mod readers;
#[cfg(test)]
mod real_servers;
#[cfg(test)]
mod record;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod search;
#[cfg(test)]
mod server_view;
#[cfg(test)]
mod shells;
#[cfg(test)]
mod suite_beside;
#[cfg(test)]
mod sweep;
#[cfg(test)]
mod targets;
#[cfg(test)]
mod terminals;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod verdicts;
#[cfg(test)]
mod webstone;
#[cfg(test)]
mod webstone_real;
#[cfg(test)]
mod webstone_trouble;

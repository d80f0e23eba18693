//! Reports for people and programs, from runs made by hand.

#![cfg(test)]

mod answers;
mod background;
mod campaign_reports;
mod campaign_shapes;
mod campaigns;
mod captures;
mod charts;
mod compared_inside;
mod comparisons;
mod diagnoses;
mod documents;
mod estimates;
mod first_screen;
mod flames;
mod galleries;
mod hostile;
mod layout;
mod load_steps;
mod loads;
mod notes;
mod numbers;
mod outline;
mod page;
mod runs;
mod sweeps;
mod twice;

//! What people and programs get to see, from runs made by hand.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod background;
#[cfg(test)]
mod campaign_reports;
#[cfg(test)]
mod campaign_shapes;
#[cfg(test)]
mod campaigns;
#[cfg(test)]
mod captures;
#[cfg(test)]
mod charts;
#[cfg(test)]
mod compared_inside;
#[cfg(test)]
mod comparisons;
#[cfg(test)]
mod diagnoses;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod estimates;
#[cfg(test)]
mod first_screen;
#[cfg(test)]
mod flames;
#[cfg(test)]
mod galleries;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod layout;
#[cfg(test)]
mod load_steps;
#[cfg(test)]
mod loads;
#[cfg(test)]
mod notes;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod outline;
#[cfg(test)]
mod page;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod sweeps;
#[cfg(test)]
mod twice;

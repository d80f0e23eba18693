//! How far a campaign is: a bar on a terminal, and a line for each trial elsewhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::bar::{BarOf, TerminalBar};
use crate::forecast::roughly;
use crate::output::tell;
use crate::watch::{FRAME, Following};

/// What a trial takes beside the time in which background settles, before one has ended, in seconds.
const USUAL_OVERHEAD: f64 = 4.0;

/// What is known of the trials of a campaign.
#[derive(Debug, Clone)]
pub(super) struct CampaignForecast {
    planned: usize,
    done: usize,
    /// Of trials that ended since the program started, in seconds.
    took: Vec<f64>,
    /// Before one has ended.
    expected: f64,
}

impl CampaignForecast {
    /// `settle`: mean time in seconds for which background lasts before anything is measured.
    pub(super) fn new(planned: usize, done: usize, settle: f64) -> CampaignForecast {
        CampaignForecast {
            planned,
            done,
            took: Vec::new(),
            expected: settle + USUAL_OVERHEAD,
        }
    }

    /// A trial has ended.
    pub(super) fn add(&mut self, seconds: f64) {
        self.done += 1;
        self.took.push(seconds);
    }

    /// Mean time of a trial, in seconds.
    fn each(&self) -> f64 {
        match self.took.len() {
            0 => self.expected,
            count => self.took.iter().sum::<f64>() / count as f64,
        }
    }

    /// Time that is left in seconds, if the trial under way has taken some time already.
    pub(super) fn left(&self, under_way: f64) -> f64 {
        let left = self.planned.saturating_sub(self.done);
        let each = self.each();
        if left == 0 {
            return 0.0;
        }
        each * (left - 1) as f64 + (each - under_way).max(0.0)
    }

    /// Share that is done, of the time of all.
    fn share(&self, under_way: f64) -> f64 {
        let all = self.each() * self.planned.max(1) as f64;
        (1.0 - self.left(under_way) / all).clamp(0.0, 1.0)
    }
}

/// Shows how far a campaign is.
pub(super) struct CampaignProgress {
    shared: Arc<Mutex<ShownCampaign>>,
    bar: Option<TerminalBar>,
    _following: Following,
}

struct ShownCampaign {
    forecast: CampaignForecast,
    begun: Instant,
    trial_begun: Instant,
    /// The trial under way.
    trial: String,
}

impl CampaignProgress {
    pub(super) fn new(forecast: CampaignForecast) -> CampaignProgress {
        let shared = Arc::new(Mutex::new(ShownCampaign {
            forecast,
            begun: Instant::now(),
            trial_begun: Instant::now(),
            trial: String::new(),
        }));
        let bar = TerminalBar::begin(BarOf::Suite);
        let shown = Arc::clone(&shared);
        let draw = move |bar: &TerminalBar| lock(&shown).draw(bar);
        CampaignProgress {
            shared,
            _following: Following::drawing(bar.clone(), FRAME, draw),
            bar,
        }
    }

    /// A trial begins.
    pub(super) fn begin(&self, trial: &str) {
        let mut shown = lock(&self.shared);
        trial.clone_into(&mut shown.trial);
        shown.trial_begun = Instant::now();
    }

    /// It has ended. `what` came out of it.
    pub(super) fn end(&self, took: Duration, what: &str) {
        let (line, is_failed) = {
            let mut shown = lock(&self.shared);
            shown.forecast.add(took.as_secs_f64());
            let forecast = &shown.forecast;
            let left = match forecast.left(0.0) {
                0.0 => String::new(),
                left => format!("; about {} left", roughly(left)),
            };
            let (done, planned, trial) = (forecast.done, forecast.planned, &shown.trial);
            let took = took.as_secs_f64();
            (
                format!("trial {done} of {planned} ({trial}): {took:.1} s{what}{left}"),
                !what.is_empty(),
            )
        };
        match &self.bar {
            Some(bar) if is_failed => bar.suspend(|| tell(&line)),
            Some(_) => {}
            None => tell(&line),
        }
    }
}

impl ShownCampaign {
    fn draw(&self, bar: &TerminalBar) {
        let under_way = self.trial_begun.elapsed().as_secs_f64();
        let forecast = &self.forecast;
        bar.set_position(forecast.share(under_way));
        bar.set_message(&self.trial);
        let left = roughly(forecast.left(under_way));
        let elapsed = self.begun.elapsed().as_secs();
        let (done, planned) = (forecast.done, forecast.planned);
        bar.set_prefix(&format!(
            "{done} of {planned} trials  {elapsed} s, about {left} left"
        ));
        bar.tick();
    }
}

fn lock(shared: &Mutex<ShownCampaign>) -> MutexGuard<'_, ShownCampaign> {
    // What a thread that panicked knew of the campaign is still so.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_tell_how_long_the_next_ones_take() {
        let mut forecast = CampaignForecast::new(10, 4, 5.0);
        assert_eq!(forecast.left(0.0), 6.0 * 9.0);
        assert_eq!(forecast.left(4.0), 5.0 * 9.0 + 5.0);
        forecast.add(20.0);
        forecast.add(10.0);
        assert_eq!(forecast.left(0.0), 4.0 * 15.0);
        // A trial that takes longer than the others is about to end.
        assert_eq!(forecast.left(100.0), 3.0 * 15.0);
        assert!((forecast.share(0.0) - 0.6).abs() < 1e-9);
        for _ in 0..4 {
            forecast.add(15.0);
        }
        assert_eq!((forecast.left(3.0), forecast.share(3.0)), (0.0, 1.0));
    }
}

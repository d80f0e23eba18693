//! Progress of a campaign: a bar on a terminal, and otherwise a line for each trial.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use campaign::{CampaignForecast, CampaignObserver};

use runner::words::roughly;
use terminal::bar::{BarOf, TerminalBar};
use terminal::output::print_message;
use terminal::watch::{FRAME, Following};

/// Displays a campaign on standard error.
#[derive(Default)]
pub(super) struct CampaignConsole(Option<CampaignProgress>);

impl CampaignObserver for CampaignConsole {
    fn begins(&mut self, forecast: CampaignForecast) {
        self.0 = Some(CampaignProgress::new(forecast));
    }

    fn trial_begins(&mut self, trial: &str) {
        if let Some(progress) = &self.0 {
            progress.begin(trial);
        }
    }

    fn trial_ended(&mut self, took: Duration, remarks: &str) {
        if let Some(progress) = &self.0 {
            progress.end(took, remarks);
        }
    }
}

struct CampaignProgress {
    shared: Arc<Mutex<ShownCampaign>>,
    bar: Option<TerminalBar>,
    _following: Following,
}

struct ShownCampaign {
    forecast: CampaignForecast,
    begun: Instant,
    trial_begun: Instant,
    trial: String,
}

impl CampaignProgress {
    fn new(forecast: CampaignForecast) -> CampaignProgress {
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

    fn begin(&self, trial: &str) {
        let mut shown = lock(&self.shared);
        trial.clone_into(&mut shown.trial);
        shown.trial_begun = Instant::now();
    }

    fn end(&self, took: Duration, what: &str) {
        let line = {
            let mut shown = lock(&self.shared);
            let took = took.as_secs_f64();
            shown.forecast.add(took);
            let forecast = &shown.forecast;
            let left = match forecast.left(0.0) {
                0.0 => String::new(),
                left => format!("; about {} left", roughly(left)),
            };
            let (done, planned, trial) = (forecast.done, forecast.planned, &shown.trial);
            format!("trial {done} of {planned} ({trial}): {took:.1} s{what}{left}")
        };
        match &self.bar {
            Some(bar) if !what.is_empty() => bar.suspend(|| print_message(&line)),
            Some(_) => {}
            None => print_message(&line),
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
    // State of a thread that panicked is still valid.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

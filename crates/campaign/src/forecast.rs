//! How long a campaign still takes: its trials last as long as those before.

/// What a trial takes beside the time in which background settles, before one has ended, in seconds.
const USUAL_OVERHEAD: f64 = 4.0;

/// How long the trials of a campaign take.
#[derive(Debug, Clone)]
pub struct CampaignForecast {
    /// Trials of the campaign.
    pub planned: usize,
    /// Those that are measured, or were made since the program started.
    pub done: usize,
    /// Of trials that ended since the program started, in seconds.
    took: Vec<f64>,
    /// Before one has ended.
    expected: f64,
}

impl CampaignForecast {
    /// `settle`: mean time in seconds for which background lasts before anything is measured.
    pub(crate) fn new(planned: usize, done: usize, settle: f64) -> CampaignForecast {
        CampaignForecast {
            planned,
            done,
            took: Vec::new(),
            expected: settle + USUAL_OVERHEAD,
        }
    }

    /// A trial has ended.
    pub fn add(&mut self, seconds: f64) {
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
    pub fn left(&self, under_way: f64) -> f64 {
        let left = self.planned.saturating_sub(self.done);
        let each = self.each();
        if left == 0 {
            return 0.0;
        }
        each * (left - 1) as f64 + (each - under_way).max(0.0)
    }

    /// Share that is done, of the time of all.
    pub fn share(&self, under_way: f64) -> f64 {
        let all = self.each() * self.planned.max(1) as f64;
        (1.0 - self.left(under_way) / all).clamp(0.0, 1.0)
    }
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

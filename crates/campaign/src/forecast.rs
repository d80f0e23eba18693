//! Forecast of a campaign: its trials take as long as those before.

/// Time of a trial in seconds without the settling of background, before one has ended.
const USUAL_OVERHEAD: f64 = 4.0;

/// Forecast of the trials of a campaign.
#[derive(Debug, Clone)]
pub struct CampaignForecast {
    /// Number of trials of the campaign.
    pub planned: usize,
    /// Number of trials that are measured, or were made since the program started.
    pub done: usize,
    /// Durations in seconds of trials that ended since the program started.
    took: Vec<f64>,
    /// Expected duration before one has ended.
    expected: f64,
}

impl CampaignForecast {
    /// `settle`: mean time in seconds in which background settles before the measurement.
    pub(crate) fn new(planned: usize, done: usize, settle: f64) -> CampaignForecast {
        CampaignForecast {
            planned,
            done,
            took: Vec::new(),
            expected: settle + USUAL_OVERHEAD,
        }
    }

    /// Adds a trial that has ended.
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

    /// Remaining time in seconds, if the current trial has taken `under_way` already.
    pub fn left(&self, under_way: f64) -> f64 {
        let left = self.planned.saturating_sub(self.done);
        let each = self.each();
        if left == 0 {
            return 0.0;
        }
        each * (left - 1) as f64 + (each - under_way).max(0.0)
    }

    /// Share of the time of all trials that has passed.
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

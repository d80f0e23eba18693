//! Background requests, sent as by http_load: an open loop with a new connection for each.

use std::path::PathBuf;
use std::time::Duration;

use experiment::RequestsSpec;
use lab::BuiltLab;
use record::{Event, EventKind, Moments, Nanos, Outcome, Sample};

use super::programs::{LabProgram, prestan};
use super::servers::{TrialServers, length_of};
use super::{TOLERANCE, TrialFailure, TrialOutcome, TrialTask};

/// Time limit of a request in http_load.
const TIMEOUT: &str = "60s";

/// Most concurrent requests: http_load has as many at a given rate.
const MOST_UNDER_WAY: f64 = 1000.0;

/// Rate in bit/s below which there are no requests: rates cannot be 0.
const NOTHING: u64 = 1;

pub(super) struct BackgroundRequests<'a> {
    name: &'a str,
    /// Planned rate of contents in bit/s.
    rate: f64,
    length: u64,
    run: PathBuf,
    pub(super) program: LabProgram,
}

impl<'a> BackgroundRequests<'a> {
    /// Begins to send them; `None` if there are none.
    pub(super) fn start(
        name: &'a str,
        spec: &RequestsSpec,
        lab: &BuiltLab,
        servers: &TrialServers,
        task: &TrialTask<'_>,
    ) -> Result<Option<BackgroundRequests<'a>>, TrialFailure> {
        if spec.rate.bits_per_second() <= NOTHING {
            return Ok(None);
        }
        let length = length_of(&spec.path)?;
        let rate = spec.rate.bits_per_second() as f64;
        let each_second = rate / (8.0 * length as f64);
        let nanos = task.spec.settle.nanos() + task.spec.longest.nanos();
        let longest = Duration::from_nanos(nanos) + Duration::from_secs(60);
        let most = (each_second * longest.as_secs_f64()).ceil();
        let run = lab.temporary_files().join(format!("requests-{name}"));
        let mut command = prestan("load")?;
        command
            .args([
                "GET",
                &servers.url(lab, task.spec, &spec.to, Some(&spec.path))?,
            ])
            .args(["--rate", &format!("{each_second:.9}")])
            .args(["--arrivals", "constant", "--no-keep-alive", "--warmup", "0"])
            .args(["--users", &most.clamp(16.0, MOST_UNDER_WAY).to_string()])
            .args(["--duration", &format!("{}s", longest.as_secs())])
            .args(["--timeout", TIMEOUT, "--max-failures", "none", "--quiet"])
            .args(["--seed", &task.seed.to_string(), "--save"])
            .arg(&run);
        servers.introduce(&spec.to, &mut command);
        let label = format!("requests {name}, from {} to {}", spec.from, spec.to);
        Ok(Some(BackgroundRequests {
            name,
            rate,
            length,
            run,
            program: LabProgram::start(lab, &spec.from, label, command)?,
        }))
    }

    /// Arrived contents until the interruption. Requests in flight may end a little later.
    pub(super) fn figures(
        &self,
        is_congested: bool,
        result: &mut TrialOutcome,
    ) -> Result<(), TrialFailure> {
        let run = rundir::load(&self.run).map_err(|error| TrialFailure::of(&error))?;
        let ended = |event: &Event| match event.kind {
            EventKind::MeasuringEnded { .. } => Some(event.at),
            _ => None,
        };
        let end = run.events.iter().find_map(ended).unwrap_or(Nanos::MAX);
        let counted = CountedRequests::of(&run.samples, self.length, end);
        let name = self.name;
        let Some(share) = counted.share() else {
            result.warn(format!("requests {name}: none was sent"));
            return Ok(());
        };
        let planned = counted.planned as f64;
        result.figure(format!("{name}.share"), share);
        result.figure(format!("{name}.throughput"), share * self.rate);
        result.figure(format!("{name}.failed"), counted.failed as f64 / planned);
        // The last request is in flight at the interruption.
        let missing = planned - counted.files;
        if !is_congested && missing > (TOLERANCE * planned).max(1.0) {
            result.warn(format!(
                "requests {name} did not have their rate within 2 %, although no link was congested"
            ));
        }
        Ok(())
    }
}

/// Requests of an open loop with constant intervals, each of which stands for one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct CountedRequests {
    planned: u64,
    /// Requests in flight at the end have not failed.
    failed: u64,
    /// Arrived contents in files, including parts of those in flight at the end.
    files: f64,
}

impl CountedRequests {
    /// Counts requests planned before the end.
    fn of(samples: &[Sample], length: u64, end: Nanos) -> CountedRequests {
        let mut counted = CountedRequests::default();
        for sample in samples
            .iter()
            .filter(|sample| sample.moments.planned <= end)
        {
            let part = (sample.bytes_received as f64 / length as f64).min(1.0);
            let is_ok = sample.outcome == Outcome::Ok;
            let whole = if is_ok { 1.0 } else { part };
            counted.planned += 1;
            counted.files += whole * arrived(&sample.moments, end);
            counted.failed += u64::from(!is_ok && sample.outcome != Outcome::Cancelled);
        }
        counted
    }

    /// Arrived share of what was planned.
    fn share(&self) -> Option<f64> {
        (self.planned > 0).then(|| self.files / self.planned as f64)
    }
}

/// Share of a response that had arrived at the end, if its bytes came at a constant rate.
fn arrived(moments: &Moments, end: Nanos) -> f64 {
    let first = moments.first.or(moments.sent).unwrap_or(moments.started);
    match moments.done {
        Some(done) if done > end => {
            let span = done.saturating_sub(first).max(1) as f64;
            end.saturating_sub(first) as f64 / span
        }
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(outcome: Outcome, bytes_received: u64, first: Nanos, done: Nanos) -> Sample {
        let mut sample = Sample {
            outcome,
            bytes_received,
            ..Sample::blank()
        };
        sample.moments.first = Some(first);
        sample.moments.done = Some(done);
        sample
    }

    #[test]
    fn parts_of_contents_count_as_far_as_they_arrived() {
        let samples = [
            sample(Outcome::Ok, 1234, 10, 90),
            // A request that went on after the end.
            sample(Outcome::Ok, 1234, 50, 150),
            sample(Outcome::Cancelled, 500, 0, 200),
            sample(Outcome::Cancelled, 500, 110, 200),
            sample(Outcome::Reset, 250, 10, 20),
        ];
        let counted = CountedRequests::of(&samples, 1000, 100);
        assert_eq!((counted.planned, counted.failed), (5, 1));
        assert_eq!(counted.files, 1.0 + 0.5 + 0.25 + 0.0 + 0.25);
        assert_eq!(counted.share(), Some(2.0 / 5.0));
        assert_eq!(CountedRequests::of(&[], 1000, 100).share(), None);
        let mut later = Sample::blank();
        later.moments.planned = 101;
        assert_eq!(CountedRequests::of(&[later], 1000, 100).planned, 0);
    }
}

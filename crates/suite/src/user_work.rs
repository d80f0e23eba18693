//! Amount of work in a test, for estimates of the remaining time.

use std::time::Duration;

use crate::plan::{Alternative, Limit, Step, TestPlan, Think};

/// Work of a user in a test: requests, whose time depends on the server, and time that is known in
/// advance.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct UserWork {
    /// Requests of set-up, warm-up, measured rounds and clean-up. A choice counts as the mean of
    /// its alternatives.
    pub requests: f64,
    /// Pauses, and the duration of a test that is measured for a time. A random pause counts as its
    /// mean.
    pub time: Duration,
}

impl TestPlan {
    /// Work of each of its users with `warmup` rounds of warm-up, role by role; and the number of
    /// users of each role, of all that the roles have together.
    pub fn work_of_roles(&self, warmup: u32) -> impl Iterator<Item = (u32, UserWork)> {
        self.loops.iter().map(move |test_loop| {
            (
                test_loop.users,
                self.work(steps_work(&test_loop.steps), warmup),
            )
        })
    }

    fn work(&self, round: UserWork, warmup: u32) -> UserWork {
        let outside = steps_work(&self.setup) + steps_work(&self.cleanup);
        outside
            + round.times(f64::from(warmup))
            + match self.limit {
                Limit::Requests(rounds) => round.times(f64::from(rounds)),
                Limit::Duration(time) => UserWork {
                    requests: 0.0,
                    time,
                },
            }
    }
}

impl UserWork {
    /// The same multiplied.
    pub fn times(self, factor: f64) -> UserWork {
        let seconds = self.time.as_secs_f64() * factor;
        UserWork {
            requests: self.requests * factor,
            time: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
        }
    }
}

impl std::ops::Add for UserWork {
    type Output = UserWork;

    fn add(self, other: UserWork) -> UserWork {
        UserWork {
            requests: self.requests + other.requests,
            time: self.time.saturating_add(other.time),
        }
    }
}

fn steps_work(steps: &[Step]) -> UserWork {
    let all = steps.iter().map(step_work);
    all.fold(UserWork::default(), |sum, one| sum + one)
}

fn step_work(step: &Step) -> UserWork {
    let requests = |requests| UserWork {
        requests,
        time: Duration::ZERO,
    };
    match step {
        Step::Request(_) => requests(1.0),
        Step::Page(page) => requests(page.files.len() as f64),
        Step::Repeat { times, steps, .. } => steps_work(steps).times(f64::from(*times)),
        Step::Choose(alternatives) => {
            let total: f64 = alternatives.iter().map(|one| one.weight).sum();
            let mean = |Alternative { weight, steps }: &Alternative| {
                steps_work(steps).times(weight / total)
            };
            let all = alternatives.iter().map(mean);
            all.fold(UserWork::default(), |sum, one| sum + one)
        }
        Step::Think(think) => UserWork {
            requests: 0.0,
            time: mean_pause(*think),
        },
        Step::Pace(time) => UserWork {
            requests: 0.0,
            time: *time,
        },
        // One of them.
        Step::When {
            steps, otherwise, ..
        } => (steps_work(steps) + steps_work(otherwise)).times(0.5),
        Step::Start(_) | Step::Stop(_) | Step::EndTest | Step::EndRun | Step::Users(_) => {
            UserWork::default()
        }
    }
}

fn mean_pause(think: Think) -> Duration {
    match think {
        Think::Constant(time) | Think::Exponential(time) => time,
        Think::Uniform(from, to) => from.saturating_add(to) / 2,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    fn workloads(tests: &str, duration: Option<Duration>) -> Vec<(f64, f64)> {
        let text = format!("suite: mix\nneeds: http\ntests:\n{tests}");
        let spec = crate::parse("mix", &text).unwrap();
        let overrides = crate::Overrides {
            duration,
            ..crate::Overrides::default()
        };
        let plan = crate::resolve("mix", &text, &spec, &overrides).unwrap();
        let tests = plan.tests.iter().flat_map(|test| test.work_of_roles(2));
        tests
            .map(|(_, work)| work)
            .map(|work| (work.requests, work.time.as_secs_f64()))
            .collect()
    }

    #[test]
    fn requests_are_counted_with_set_up_repetitions_choices_and_pauses() {
        let all = "  - name: Repeated
    requests: 10
    setup: [{GET: a}, {repeat: 100, steps: [{GET: b}]}]
    loop: [{GET: a, measure: Once}, {repeat: 3, steps: [{GET: b, measure: Often}]}]
    cleanup: [{GET: c}]
  - name: Chosen
    requests: 4
    loop:
      - choose:
          - {weight: 3, steps: [{GET: a, measure: A}]}
          - {weight: 1, steps: [{repeat: 5, steps: [{GET: b, measure: B}]}]}
      - think: {uniform: [500ms, 1500ms]}
";
        assert_eq!(
            workloads(all, None),
            [(101.0 + 1.0 + 12.0 * 4.0, 0.0), (6.0 * 2.0, 6.0)]
        );
        let time = Some(Duration::from_secs(30));
        assert_eq!(
            workloads(all, time),
            [(101.0 + 1.0 + 2.0 * 4.0, 30.0), (2.0 * 2.0, 32.0)]
        );
    }
}

//! The operations of a load, which executes a suite repeatedly, an operation at a time.
//!
//! An operation is one iteration of the loop of a test. If the loop is nothing but a choice, it is
//! one alternative, so that operations can be drawn, or taken in turn, over all tests.

use std::sync::Arc;

use record::{Http, TestId, Verify};

use crate::plan::{Plan, RequestPlan, Step};

/// One operation of a user.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationPlan {
    /// Test of its loop.
    pub test: TestId,
    /// Index of the loop in its test.
    pub in_loop: usize,
    /// Indices of the alternatives that lead to its steps, from the outermost choice.
    pub choices: Vec<usize>,
    /// Frequency relative to the others.
    pub weight: f64,
    /// Kind of its content.
    pub kind: OperationKind,
}

/// Content of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationKind {
    /// One request.
    Request,
    /// The files of a page.
    Page,
    /// Several steps in order.
    Steps,
}

impl Plan {
    /// The operations of a load of this plan, in the order of the suite. An alternative beside a
    /// measured one is an operation, too, measured or not.
    pub fn operations(&self) -> Vec<OperationPlan> {
        let mut found = Vec::new();
        for test in &self.tests {
            for (in_loop, test_loop) in test.loops.iter().enumerate() {
                let at = (test.id, in_loop);
                add(&test_loop.steps, 1.0, at, &mut Vec::new(), &mut found);
            }
        }
        found
    }

    /// The requests in the loops of all tests.
    pub fn looped_requests(&self) -> impl Iterator<Item = &Arc<RequestPlan>> {
        let loops = self.tests.iter().flat_map(|test| &test.loops);
        loops.flat_map(|test_loop| requests(&test_loop.steps))
    }

    /// All requests: in set-ups, loops and clean-ups.
    pub fn requests(&self) -> impl Iterator<Item = &Arc<RequestPlan>> {
        let tests = self.tests.iter();
        let outside = tests.flat_map(|test| [&test.setup, &test.cleanup]);
        let outside = outside.flat_map(|steps| requests(steps));
        outside.chain(self.looped_requests())
    }

    /// Sets the verification of responses of everything that is measured.
    pub fn set_verify(&mut self, verify: Verify) {
        self.change_requests(|request| {
            if request.measure.is_some() {
                request.verify = verify;
            }
        });
        self.note_requests();
    }

    /// Sets target and verification of measures: the least verification if requests of one name
    /// differ.
    pub(crate) fn note_requests(&mut self) {
        let mut least = vec![Verify::Full; self.measures.len()];
        let mut targets = vec![0; self.measures.len()];
        for request in self.looped_requests() {
            let Some(measure) = request.measure else {
                continue;
            };
            let least_verify = &mut least[usize::from(measure.0)];
            *least_verify = (*least_verify).max(request.verify);
            targets[usize::from(measure.0)] = request.target;
        }
        for (measure, (verify, target)) in
            self.measures.iter_mut().zip(least.into_iter().zip(targets))
        {
            (measure.verify, measure.target) = (verify, target);
        }
    }

    /// Use of connections by a load, if its tests define it: a load executes all tests together, on
    /// the same connections.
    ///
    /// # Errors
    /// The names of two tests that differ.
    pub fn http(&self) -> Result<Option<Http>, (String, String)> {
        let Some((first, others)) = self.tests.split_first() else {
            return Ok(None);
        };
        match others.iter().find(|other| other.http != first.http) {
            Some(other) => Err((first.name.clone(), other.name.clone())),
            None => Ok(first.http),
        }
    }

    /// Changes all requests.
    pub fn change_requests(&mut self, mut change: impl FnMut(&mut RequestPlan)) {
        for test in &mut self.tests {
            let looped = test.loops.iter_mut().map(|test_loop| &mut test_loop.steps);
            for steps in looped.chain([&mut test.setup, &mut test.cleanup]) {
                change_requests(steps, &mut change);
            }
        }
    }
}

fn add(
    steps: &[Step],
    weight: f64,
    (test, in_loop): (TestId, usize),
    choices: &mut Vec<usize>,
    found: &mut Vec<OperationPlan>,
) {
    if let [Step::Choose(alternatives)] = steps {
        let total: f64 = alternatives.iter().map(|one| one.weight).sum();
        for (position, alternative) in alternatives.iter().enumerate() {
            choices.push(position);
            let weight = weight * alternative.weight / total;
            add(&alternative.steps, weight, (test, in_loop), choices, found);
            choices.pop();
        }
        return;
    }
    found.push(OperationPlan {
        test,
        in_loop,
        choices: choices.clone(),
        weight,
        kind: match steps {
            [Step::Request(_)] => OperationKind::Request,
            // The parts are known only after the first file.
            [Step::Page(page)] if page.parts().is_none() => OperationKind::Page,
            _ => OperationKind::Steps,
        },
    });
}

/// The requests of steps, each as often as written.
fn requests<'p>(steps: &'p [Step]) -> Vec<&'p Arc<RequestPlan>> {
    let of_step = |step: &'p Step| match step {
        Step::Request(request) => vec![request],
        Step::Page(page) => page.files.iter().collect(),
        other => other.inside().into_iter().flat_map(requests).collect(),
    };
    steps.iter().flat_map(of_step).collect()
}

fn change_requests(steps: &mut [Step], change: &mut dyn FnMut(&mut RequestPlan)) {
    for step in steps {
        match step {
            Step::Request(request) => change(Arc::make_mut(request)),
            Step::Page(page) => {
                let files = Arc::make_mut(page).files.iter_mut();
                files.for_each(|file| change(Arc::make_mut(file)));
            }
            other => {
                let inside = other.inside_mut().into_iter();
                inside.for_each(|steps| change_requests(steps, change));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(tests: &str) -> Plan {
        let text = format!("suite: mix\nneeds: http\ntests:\n{tests}");
        let spec = crate::parse("mix", &text).unwrap();
        crate::resolve("mix", &text, &spec, &crate::Overrides::default()).unwrap()
    }

    #[test]
    fn a_loop_is_an_operation_and_a_choice_is_one_of_its_alternatives() {
        let plan = plan(
            "  - name: Chosen
    loop:
      - choose:
          - weight: 3
            steps: [{GET: a, measure: Often}]
          - weight: 1
            steps:
              - choose:
                  - {weight: 1, steps: [{page: Front, steps: [{GET: b, measure: Page}]}]}
                  - {weight: 1, steps: [{GET: c}]}
  - name: InOrder
    loop:
      - GET: a
      - think: {constant: 1ms}
      - repeat: 3
        steps: [{GET: d, measure: D}]
",
        );
        let found: Vec<_> = plan
            .operations()
            .into_iter()
            .map(|one| (one.test.0, one.choices, one.weight, one.kind))
            .collect();
        let expected = [
            (0, vec![0], 0.75, OperationKind::Request),
            (0, vec![1, 0], 0.125, OperationKind::Page),
            (0, vec![1, 1], 0.125, OperationKind::Request),
            (1, vec![], 1.0, OperationKind::Steps),
        ];
        assert_eq!(found, expected);
        assert_eq!(plan.looped_requests().count(), 5);
        assert_eq!(plan.requests().count(), 5);
    }

    #[test]
    fn all_requests_can_be_changed() {
        let mut plan = plan(
            "  - name: All
    setup: [{GET: a}]
    loop:
      - repeat: 3
        steps: [{GET: b, measure: B}]
      - choose:
          - {weight: 1, steps: [{page: Front, steps: [{GET: c, measure: C}]}]}
          - {weight: 1, steps: [{GET: d}]}
    cleanup: [{GET: e}]
",
        );
        plan.change_requests(|request| request.unsupported.push(418));
        let changed = plan.requests().map(|request| request.unsupported.last());
        assert_eq!(changed.collect::<Vec<_>>(), [Some(&418); 5]);
    }
}

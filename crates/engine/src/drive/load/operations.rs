//! The prepared operations of a load, and the choice of the next one.

use std::cell::RefCell;
use std::rc::Rc;

use rand_chacha::ChaCha8Rng;
use suite::{OperationKind, OperationPlan};

use crate::drive::chance::draw;
use crate::drive::context::RunContext;
use crate::drive::driver::{Numbering, Operating};
use crate::drive::step::{PreparedStep, PreparedTests, RequestStep};
use crate::drive::user::choose;

/// The operations of a run, for the users of one thread and server.
pub(super) struct Operations {
    pub(super) tests: PreparedTests,
    all: RefCell<Vec<Rc<OperationPlan>>>,
    in_turn: bool,
    /// Users of some tests have different loops.
    have_roles: bool,
    /// Kind of the operation with the most parts.
    kind: OperationKind,
}

impl Operations {
    /// # Errors
    /// They contain nothing that is measured.
    pub(super) fn new(
        tests: PreparedTests,
        plan: &suite::Plan,
        in_turn: bool,
    ) -> Result<Operations, String> {
        let all = plan.operations();
        let kind = all.iter().map(|one| one.kind).max();
        Ok(Operations {
            have_roles: plan.tests.iter().any(|test| test.loops.len() > 1),
            tests,
            kind: kind.ok_or("the suite has no measured request to make a load of")?,
            all: RefCell::new(all.into_iter().map(Rc::new).collect()),
            in_turn,
        })
    }

    /// Removes operations whose tests cannot be done; false if none remains.
    pub(super) fn keep_possible(&self, context: &RunContext) -> bool {
        let mut all = self.all.borrow_mut();
        all.retain(|one| context.goes_on(one.test));
        !all.is_empty()
    }

    /// The operation with that number, from 1, of a user: drawn by weight, or the next in the order
    /// of the suite. `None` if the user has a role in every test, and none of these roles remains.
    pub(super) fn draw(
        &self,
        rng: &mut ChaCha8Rng,
        number: u64,
        user: u32,
    ) -> Option<Rc<OperationPlan>> {
        let all = self.all.borrow();
        let is_of = |one: &OperationPlan| {
            let test = &self.tests[usize::from(one.test.0)];
            !self.have_roles || test.loop_of(user) == one.in_loop
        };
        let count = || all.iter().filter(|one| is_of(one)).count();
        if self.in_turn {
            let index = number.saturating_sub(1) % count().max(1) as u64;
            let mut of_role = all.iter().filter(|one| is_of(one));
            return of_role.nth(index as usize).cloned();
        }
        let weights = || {
            all.iter()
                .map(|one| if is_of(one) { one.weight } else { 0.0 })
        };
        match (all.len(), weights().sum()) {
            (_, 0.0) => None,
            // Nothing is drawn.
            (1, _) => all.first().cloned(),
            (_, total) => all.get(draw(rng, total, weights())).cloned(),
        }
    }

    pub(super) fn steps(&self, operation: &OperationPlan) -> &[PreparedStep] {
        let test = &self.tests[usize::from(operation.test.0)];
        let mut steps = &test.loops[operation.in_loop].steps[..];
        for choice in &operation.choices {
            match steps {
                [PreparedStep::Choose(alternatives)] => steps = &alternatives[*choice].1,
                _ => unreachable!("a choice was made here"),
            }
        }
        steps
    }

    /// Begins that operation with this number. If each is a request it has its number, too; if each
    /// is a request or a page, visits have it.
    pub(super) fn begin(&self, number: u64, operation: &OperationPlan) -> Operating {
        let is_page = operation.kind == OperationKind::Page;
        Operating {
            visit: (is_page && self.fit_a_pipeline()).then_some(number),
            ..Operating::at_once(match self.kind {
                OperationKind::Request => Numbering::Own(number),
                OperationKind::Page | OperationKind::Steps => Numbering::Each,
            })
        }
    }

    /// True if none has requests that depend on one another's responses.
    pub(super) fn fit_a_pipeline(&self) -> bool {
        self.kind != OperationKind::Steps
    }

    /// True if the files of a page may be fetched in parallel.
    pub(super) fn have_pages(&self) -> bool {
        self.kind != OperationKind::Request
    }

    /// The measured requests of an operation; choices inside it are drawn.
    pub(super) fn requests<'o>(
        &'o self,
        operation: &OperationPlan,
        rng: &mut ChaCha8Rng,
    ) -> Vec<&'o RequestStep> {
        let mut found = Vec::new();
        let mut choose = |alternatives| choose(rng, alternatives);
        PreparedStep::measured(self.steps(operation), &mut choose, &mut found);
        found
    }
}

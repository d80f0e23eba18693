//! The short report: the figures, and one sentence about their limits.

use record::Run;
use stats::Summary;

use crate::clean;
use crate::conclusion::inconclusive_briefly;
use crate::terminal::TextReport;
use crate::warnings::fact;

impl TextReport {
    /// The figures of a first run. Failures and leftovers are never left out.
    pub(super) fn brief(&mut self, run: &Run, summary: &Summary) {
        self.headline(run, summary);
        self.pages(run, summary);
        self.rows(run, summary);
        self.failures(summary);
        self.left_behind(&summary.left_behind);
        self.completeness(summary);
        self.limits(summary);
    }

    /// One sentence, where the first line does not have it already.
    fn limits(&mut self, summary: &Summary) {
        if inconclusive_briefly(summary).is_some() {
            return;
        }
        let of_warning = summary.warnings.first().map(|warning| {
            format!(
                "Limits: {}; `prestan report` prints all warnings and notes",
                fact(warning.kind)
            )
        });
        let usual = || {
            "Limits: one run, on one machine; `prestan report` prints notes, intervals, and how it was \
             measured"
                .to_owned()
        };
        let sentence = of_warning.unwrap_or_else(usual);
        self.line("");
        self.wrapped("", "  ", &clean(&sentence));
    }
}

//! The report of a load that went on beside a run, below that of the run.

use crate::clean;
use crate::json::BesideResult;
use crate::load;
use crate::terminal::TextReport;

impl TextReport {
    /// What was measured of a load that went on beside the run.
    pub(super) fn beside(&mut self, load: &BesideResult<'_>) {
        let BesideResult { name, run, summary } = load;
        let of = &run.plan.load;
        let pace = load::pace(&of.pace).unwrap_or_default();
        self.line("");
        self.wrapped(
            "",
            "  ",
            &format!(
                "Beside the run: {}, suite {}, {pace}, users: {}",
                clean(name),
                clean(&run.plan.suite.name),
                of.users
            ),
        );
        self.line("");
        self.conclusion(summary);
        if let Some(pages) = &summary.pages {
            self.table_of_pages(pages);
        }
        self.rows(run, summary);
        self.throughput(summary);
        self.failures(summary);
        self.left_out(run, summary);
        self.warnings(summary);
        self.left_behind(&summary.left_behind);
        self.completeness(summary);
    }
}

//! A run among those that a report shows, and the parts that texts and pages have in common.

use record::Run;
use stats::{Note, Status, Summary, TestSummary, WarningKind};

use crate::conclusion::inconclusive_briefly;
use crate::document::{Block, ColumnKind, ListItem, ListLook, TableCell, TableColumn, Tone, Words};
use crate::reasons;

/// A run, and its name where there are several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedRun<'a> {
    /// Empty for the only run.
    pub(crate) name: &'a str,
    pub(crate) run: &'a Run,
    pub(crate) summary: &'a Summary,
}

impl<'a> NamedRun<'a> {
    pub(crate) fn only(run: &'a Run, summary: &'a Summary) -> NamedRun<'a> {
        NamedRun {
            name: "",
            run,
            summary,
        }
    }

    /// The runs that have a part, each with it.
    pub(crate) fn with<'r, T>(
        runs: &'r [NamedRun<'r>],
        part: impl Fn(&'r NamedRun<'r>) -> Option<T>,
    ) -> Vec<(&'r NamedRun<'r>, T)> {
        let runs = runs.iter();
        runs.filter_map(|run| Some((run, part(run)?))).collect()
    }

    /// The column of names in a table of runs, where they have some.
    pub(crate) fn column(runs: &[NamedRun<'_>]) -> Option<TableColumn> {
        let is_named = runs.iter().any(|run| !run.name.is_empty());
        is_named.then(|| TableColumn::new("Run", ColumnKind::Text))
    }

    pub(crate) fn cell(self) -> Option<TableCell> {
        (!self.name.is_empty()).then(|| self.name.into())
    }

    pub(crate) fn says(self, sentence: impl Into<String>) -> Words {
        if self.name.is_empty() {
            sentence.into().into()
        } else {
            Words::default().name(self.name).plain(": ").plain(sentence)
        }
    }

    /// A heading about it: `Failures`, or `Failures of apache`.
    fn heading(self, heading: &str) -> String {
        if self.name.is_empty() {
            heading.to_owned()
        } else {
            format!("{heading} of {}", self.name)
        }
    }

    /// The rows that do not describe the server, and why; before all figures.
    pub(crate) fn inconclusive(self) -> Option<Block> {
        let rows = inconclusive_briefly(self.summary)?;
        let words = match self.name {
            "" => Words::default(),
            name => Words::default().name(name).plain(": "),
        };
        let words = words.strong("Inconclusive:").plain(format!(" {rows}."));
        Some(Block::Alert(Tone::Bad, words))
    }

    pub(crate) fn failures(self) -> Block {
        self.failures_of(|_| true)
    }

    /// Those of them that a table of rows has no room for.
    pub(crate) fn further_failures(self) -> Block {
        self.failures_of(|test| {
            test.response.is_some() || test.failed() > 0 || test.failures.len() > 1
        })
    }

    fn failures_of(self, is_shown: fn(&TestSummary) -> bool) -> Block {
        let tests = self.summary.tests.iter();
        let failed = tests.filter(|test| test.status == Status::Failed && is_shown(test));
        let heading = self.heading("Failures");
        Block::list(heading, ListLook::Boxed(Tone::Bad), failed.map(failure))
    }

    /// The warnings, except the one that a mark in the table and its footnote give.
    pub(crate) fn warnings(self) -> Block {
        let warnings = self.summary.warnings.iter();
        let shown = warnings.filter(|warning| warning.kind != WarningKind::FewForPercentiles);
        let heading = self.heading("Warnings");
        Block::list(
            heading,
            ListLook::Boxed(Tone::Caution),
            shown.map(crate::warning),
        )
    }

    /// Collections of Prestan that are still on the server.
    pub(crate) fn leftovers(self) -> Block {
        let left = self.summary.left_behind.iter().map(|left| {
            let whose = if left.own {
                "of this run"
            } else {
                "of an earlier run"
            };
            format!("{} ({whose}): {}", left.url, left.reason)
        });
        let heading = self.heading("Leftovers on the server");
        Block::list(heading, ListLook::Boxed(Tone::Caution), left)
    }

    pub(crate) fn notes(self) -> Block {
        let notes = notes(self.summary);
        Block::list(self.heading("Notes"), ListLook::Boxed(Tone::Plain), notes)
    }
}

/// The notes of all rows; one that several rows have stands once, behind the names of all of them.
fn notes(summary: &Summary) -> Vec<String> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    let mut dominated: Vec<String> = Vec::new();
    for test in &summary.tests {
        for note in &test.notes {
            if let Note::Dominated(share) = note {
                dominated.push(format!("{} {:.0} %", test.name, (share * 100.0).floor()));
                continue;
            }
            let note = reasons::note(note);
            match all.iter_mut().find(|(same, _)| *same == note) {
                Some((_, names)) => names.push(&test.name),
                None => all.push((note, vec![&test.name])),
            }
        }
    }
    let all = all.into_iter();
    let all = all.map(|(note, names)| format!("{}: {note}", names.join(", ")));
    let dominated = (!dominated.is_empty()).then(|| {
        format!(
            "the slowest operation is a large part of the sum of all times, so the mean and its interval \
             depend on it: {}",
            dominated.join(", ")
        )
    });
    all.chain(dominated).collect()
}

fn failure(test: &TestSummary) -> ListItem {
    let all = test.outcomes.plus(&test.left_out_outcomes);
    let counts = match test.failed() {
        0 => "the test as a whole failed".to_owned(),
        _ => reasons::failed(&all),
    };
    let evidence = test.evidence.iter().filter(|_| test.failures.is_empty());
    let groups = test.failures.iter().map(reasons::group);
    let groups = groups.chain(evidence.map(reasons::reason));
    ListItem {
        words: Words::default()
            .strong(&test.name)
            .plain(format!(": {counts}")),
        below: vec![Block::list("", ListLook::Bare, groups)],
        ..ListItem::default()
    }
}

#[cfg(test)]
mod tests {
    use record::EventKind;
    use stats::testing::RunBuilder;

    use super::*;

    #[test]
    fn a_note_of_several_rows_stands_once() {
        let builder = RunBuilder::new(1).test("T", &[("A", "GET"), ("B", "GET"), ("C", "GET")]);
        let row_notes = [("A", "one"), ("B", "two"), ("C", "one")];
        let run = row_notes.into_iter().fold(builder, |builder, (row, note)| {
            builder.event(row, |_, measure| EventKind::Note {
                measure,
                text: note.to_owned(),
            })
        });
        let summary = stats::summarise(&run.build());
        assert_eq!(notes(&summary), ["A, C: one", "B: two"]);
    }
}

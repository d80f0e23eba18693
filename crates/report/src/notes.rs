//! What whoever made runs says about them (`--note`), and the background traffic beside them, in
//! reports of several runs.

use record::{BackgroundRecord, NoteRecord, PlanRecord};

use crate::background::flows_in_words;
use crate::clean;
use crate::document::Words;
use crate::lists::distinct;

/// The notes of runs and their background traffic, each once, in the order of the runs.
pub fn notes_of<'r>(plans: impl IntoIterator<Item = &'r PlanRecord>) -> Vec<NoteRecord> {
    let notes = plans.into_iter().flat_map(|plan| {
        let traffic = plan.background.as_ref().map(background);
        plan.notes.iter().cloned().chain(traffic)
    });
    distinct(notes)
}

fn background(record: &BackgroundRecord) -> NoteRecord {
    let BackgroundRecord { load, file, .. } = record;
    let flows = flows_in_words(&record.components, &record.generators);
    NoteRecord {
        name: "background".to_owned(),
        text: format!("load {load} of {file}: {flows}"),
    }
}

/// `Note disk`: what stands in front of the text of a note.
pub(crate) fn heading(note: &NoteRecord) -> String {
    format!("Note {}", clean(&note.name))
}

/// A fact for each note, with so much behind its name.
pub(crate) fn facts(side: &str, notes: &[NoteRecord]) -> impl Iterator<Item = (String, Words)> {
    let notes = notes.iter();
    notes.map(move |note| (heading(note) + side, note.text.as_str().into()))
}

#[cfg(test)]
mod tests {
    use record::BackgroundComponent;

    use super::*;

    #[test]
    fn a_note_of_several_runs_is_told_once() {
        let note = |name: &str, text: &str| NoteRecord {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        let plan = |notes: &[NoteRecord]| PlanRecord {
            notes: notes.to_vec(),
            ..stats::testing::RunBuilder::new(1).build().plan
        };
        let (disk, other) = (note("disk", "NVMe"), note("disk", "a slow\u{1b} one"));
        let plans = [
            plan(&[disk.clone(), note("os", "Debian")]),
            plan(&[disk.clone(), other.clone()]),
            PlanRecord {
                background: Some(BackgroundRecord {
                    file: "load.yaml".to_owned(),
                    load: "busy".to_owned(),
                    seed: 1,
                    in_process: true,
                    checked_stable: true,
                    components: vec![BackgroundComponent {
                        name: "voice".to_owned(),
                        protocol: "udp".to_owned(),
                        flows: 2,
                        planned_bps: Some(8e5),
                    }],
                    generators: Vec::new(),
                }),
                ..plan(&[])
            },
        ];
        let notes = notes_of(&plans);
        let traffic = note(
            "background",
            "load busy of load.yaml: voice (udp, flows: 2, 800 kbit/s)",
        );
        assert_eq!(notes, [disk, note("os", "Debian"), other, traffic]);
        let named: Vec<(String, Words)> = facts(" (A)", &notes[..1]).collect();
        assert_eq!(named, [("Note disk (A)".to_owned(), "NVMe".into())]);
    }
}

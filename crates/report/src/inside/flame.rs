//! Where a server spends its processor time: functions in words, as JSON, and the frames of a flame
//! graph.

use std::collections::BTreeMap;

use record::{FlameRow, FlameStack, OF_KERNEL};
use stats::{FunctionShare, InsideSummary, StackProfile, Summary};

use super::test_of;
use crate::clean;
use crate::fields::fields;
use crate::figure::percent;
use crate::json::percent as in_percent;
use crate::lists::number_of;

/// What stands above the functions of all rows in a text.
pub(crate) const HEADING: &str = "Functions of the server with most samples, in a pass of its own (all of them are in the flame graphs of --html)";

const MOST_TOLD: usize = 3;
/// Functions of a row in JSON, which has their stacks as well.
const MOST_LISTED: usize = 20;
/// The part of the samples from which it is told that callers are missing.
const MANY: f64 = 0.1;

/// Frames with a smaller part of the samples are not drawn: they would be no wider than a pixel or
/// two.
const LEAST_WIDTH: f64 = 0.002;

/// Functions of a stack that are drawn: a record has half as many at most.
const MOST_DEEP: usize = 256;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FlameFrame<'s> {
    /// Name of the function, without the mark of the kernel.
    pub(crate) name: &'s str,
    pub(crate) is_kernel: bool,
    pub(crate) depth: usize,
    /// Where it begins, and how wide it is, as parts of the whole.
    pub(crate) left: f64,
    pub(crate) width: f64,
    pub(crate) samples: u64,
}

/// Samples with this caller, and what it called in them.
#[derive(Debug, Default)]
struct FlameNode<'s> {
    samples: u64,
    callees: BTreeMap<&'s str, FlameNode<'s>>,
}

fn function(name: &str) -> (&str, bool) {
    let kernel_name = name.strip_suffix(OF_KERNEL);
    (kernel_name.unwrap_or(name), kernel_name.is_some())
}

/// The frames of a flame graph that are wide enough to be seen, the lowest first, and neighbours in
/// the order of their names. The lowest are the names of processes.
pub(crate) fn frames(row: &FlameRow) -> Vec<FlameFrame<'_>> {
    let mut root = FlameNode::default();
    for stack in &row.stacks {
        let samples = stack.count();
        root.samples += samples;
        let mut node = &mut root;
        for name in stack.stack.split(';').take(MOST_DEEP) {
            node = node.callees.entry(name).or_default();
            node.samples += samples;
        }
    }
    let whole = root.samples as f64;
    let mut frames = Vec::new();
    // Level by level, so that no stack is too deep for this.
    let mut level = vec![(0_u64, &root)];
    let mut depth = 0;
    while !level.is_empty() {
        let mut above = Vec::new();
        for (mut left, node) in level {
            for (name, callee) in &node.callees {
                let width = callee.samples as f64 / whole;
                if width >= LEAST_WIDTH {
                    let (name, is_kernel) = function(name);
                    frames.push(FlameFrame {
                        name,
                        is_kernel,
                        depth,
                        left: left as f64 / whole,
                        width,
                        samples: callee.samples,
                    });
                    above.push((left, callee));
                }
                left += callee.samples;
            }
        }
        (level, depth) = (above, depth + 1);
    }
    frames
}

/// `recently_deleted (kernel) 30 % (27 .. 34 %)`, or its number of samples where these are too few.
fn in_words(share: &FunctionShare) -> String {
    let (name, is_kernel) = function(&share.name);
    let kernel = if is_kernel { " (kernel)" } else { "" };
    match share.interval {
        Some((low, high)) => {
            let (low, high) = (percent(low), percent(high));
            let low = low.trim_end_matches(" %");
            format!("{name}{kernel} {} ({low} .. {high})", percent(share.share))
        }
        None => format!("{name}{kernel} in {} samples", share.samples),
    }
}

/// The functions of a row with most samples, and how many samples there are.
pub(crate) fn functions_in_words(profile: &StackProfile) -> String {
    let row = &profile.row;
    let operations = number_of(row.operations, "operation");
    let mut text = format!("{} samples in {operations}", row.samples);
    let functions = profile.functions.iter().take(MOST_TOLD).map(in_words);
    let functions = functions.collect::<Vec<_>>().join(", ");
    if !functions.is_empty() {
        text += &format!(": {functions}");
    }
    clean(&text)
}

pub(crate) fn remarks(inside: &InsideSummary) -> Vec<String> {
    let rows: Vec<&FlameRow> = inside.sampled.iter().map(|sampled| &sampled.row).collect();
    let sum = |of: fn(&FlameRow) -> u64| -> u64 { rows.iter().map(|row| of(row)).sum() };
    let (samples, cut, lost) = (
        sum(|row| row.samples),
        sum(|row| row.cut),
        sum(|row| row.lost),
    );
    let mut remarks = Vec::new();
    if let Some(row) = rows.first() {
        remarks.push(format!(
            "A sample is taken each {:.0} µs of processor time; shares have 95 % intervals.",
            1e6 / f64::from(row.frequency)
        ));
    }
    if cut as f64 > MANY * samples as f64 {
        remarks.push(format!(
            "In {cut} of {samples} samples, callers outside of the kernel are missing: the server, or a library of it, was built \
             without frame pointers (-fno-omit-frame-pointer)."
        ));
    }
    if rows.iter().any(|row| row.by_thread && !row.without_kernel) {
        remarks.push(
            "Of the moment at which a thread gets a processor (finish_task_switch) there are too many samples, as each thread had a \
             timer of its own: run as root."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| row.without_kernel) {
        remarks.push(
            "Functions of the kernel are missing, and so is the time in them: this needs root, or `sysctl \
             kernel.perf_event_paranoid=1`."
                .to_owned(),
        );
    }
    let leading = inside
        .sampled
        .iter()
        .flat_map(|profile| profile.functions.iter().take(MOST_TOLD));
    if leading
        .clone()
        .any(|function| function.name.starts_with('['))
    {
        remarks.push(
            "In brackets: code without names, as its file has no symbols of its own functions."
                .to_owned(),
        );
    }
    let other = sum(|row| row.other);
    if other > 0 {
        remarks.push(format!(
            "{other} samples are of seldom stacks, which are neither drawn nor in the shares: there were too many to keep."
        ));
    }
    if lost > 0 {
        remarks.push(format!(
            "{lost} samples, also of other programs, were lost, as this machine was too busy to take them from the kernel."
        ));
    }
    remarks
}

pub(super) struct FlameProfile<'a> {
    measure: &'a str,
    profile: &'a StackProfile,
    with_stacks: bool,
}

fields! {
    /// Samples of the stacks of the server, in a pass of its own that is not timed.
    FlameProfile<'_>, "Flame", |of| {
        /// Name of the row.
        measure = of.measure,
        /// Operations in this pass.
        operations = of.profile.row.operations,
        /// Samples in a second of processor time.
        frequency_hz = of.profile.row.frequency,
        /// Samples that were taken.
        samples = of.profile.row.samples,
        /// Samples, also of other programs, that the kernel could not hand over.
        lost = of.profile.row.lost,
        /// Samples with fewer than three functions outside of the kernel: their callers are not
        /// known.
        without_callers = of.profile.row.cut,
        /// Samples of seldom stacks beyond those that are kept.
        other = of.profile.row.other,
        /// Whether each thread had a timer of its own: the moment at which it gets a processor then
        /// has too many samples.
        by_thread = of.profile.row.by_thread,
        /// Whether functions of the kernel could not be sampled.
        without_kernel = of.profile.row.without_kernel,
        /// Functions that were executed in most samples, at most 20; their callers do not count.
        functions = &of.profile.functions[..of.profile.functions.len().min(MOST_LISTED)],
        /// The stacks, the most frequent one first. Empty in the data of a page, which has the
        /// graph.
        stacks = if of.with_stacks { &of.profile.row.stacks[..] } else { &[] },
    }
}

fields! {
    /// A function that was executed in samples of a row.
    FunctionShare, "FlameFunction", |function| {
        /// Its name. Functions of the kernel end with `_[k]`; those without a name have that of
        /// their file, in brackets.
        name = &function.name,
        /// Its samples, in the stacks that are kept.
        samples = function.samples,
        /// They in percent of all of these.
        percent = in_percent(function.share),
        /// The 95 % interval of this; null with too few samples.
        ci95 = function.interval.map(|(low, high)| (in_percent(low), in_percent(high))),
    }
}

fields! {
    /// A stack.
    FlameStack, "FlameStack", |stack| {
        /// The name of the process and its functions, callers first, with `;` between them: a
        /// "folded" stack.
        stack = &stack.stack,
        /// Samples with it.
        samples = stack.count(),
    }
}

pub(super) fn profiles<'a>(
    inside: &'a InsideSummary,
    summary: &'a Summary,
    with_stacks: bool,
) -> Vec<FlameProfile<'a>> {
    let profiles = inside.sampled.iter().filter_map(|profile| {
        Some(FlameProfile {
            measure: &test_of(summary, profile.row.measure)?.name,
            profile,
            with_stacks,
        })
    });
    profiles.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::MeasureId;

    use super::*;

    fn row(stacks: &[(&str, u32)]) -> FlameRow {
        let stacks = stacks.iter().map(|(stack, samples)| FlameStack {
            stack: (*stack).to_owned(),
            samples: vec![*samples],
        });
        FlameRow {
            measure: MeasureId(0),
            operations: 10,
            frequency: 4_999,
            samples: 1_000,
            lost: 0,
            cut: 0,
            other: 0,
            by_thread: false,
            without_kernel: false,
            stacks: stacks.collect(),
        }
    }

    #[test]
    fn frames_stand_above_their_callers() {
        let row = row(&[("s;b;c_[k]", 250), ("s;a", 500), ("s;b", 249), ("s;z;y", 1)]);
        let frames = frames(&row);
        let shown: Vec<_> = frames
            .iter()
            .map(|frame| {
                (
                    frame.name,
                    frame.depth,
                    frame.left,
                    frame.samples,
                    frame.is_kernel,
                )
            })
            .collect();
        // What has a thousandth of the width is not drawn, and nothing of what it calls.
        let expected = [
            ("s", 0, 0.0, 1_000, false),
            ("a", 1, 0.0, 500, false),
            ("b", 1, 0.5, 499, false),
            ("c", 2, 0.5, 250, true),
        ];
        assert_eq!(shown, expected);
        assert_eq!(frames[2].width, 0.499);
    }

    #[test]
    fn what_is_missing_in_samples_is_told() {
        let remarks_after = |change: fn(&mut FlameRow)| {
            let mut row = row(&[("s;a", 500)]);
            change(&mut row);
            let inside = InsideSummary {
                sampled: vec![StackProfile {
                    row,
                    functions: Vec::new(),
                }],
                ..InsideSummary::default()
            };
            remarks(&inside).join(" ")
        };
        let whole = remarks_after(|_| {});
        assert_eq!(
            whole,
            "A sample is taken each 200 µs of processor time; shares have 95 % intervals."
        );
        assert!(remarks_after(|row| row.cut = 500).contains("In 500 of 1000 samples, callers"));
        assert!(remarks_after(|row| row.other = 4).contains("4 samples are of seldom stacks"));
        assert!(
            remarks_after(|row| row.lost = 3)
                .contains("3 samples, also of other programs, were lost")
        );
        assert!(remarks_after(|row| row.by_thread = true).contains("run as root"));
        assert!(remarks_after(|row| row.without_kernel = true).contains("perf_event_paranoid=1"));
        assert_eq!(remarks(&InsideSummary::default()), [""; 0]);
    }

    proptest! {
        #[test]
        fn frames_lie_within_their_callers(
            stacks in prop::collection::vec(("[a-c;]{0,8}", 0_u32..100), 0..40)
        ) {
            let stacks: Vec<(&str, u32)> = stacks.iter().map(|(names, count)| (names.as_str(), *count)).collect();
            let row = row(&stacks);
            let frames = frames(&row);
            for frame in &frames {
                prop_assert!(frame.left >= 0.0 && frame.left + frame.width <= 1.0 + 1e-9, "{frame:?}");
                let holds = |other: &&FlameFrame<'_>| {
                    other.depth + 1 == frame.depth
                        && other.left <= frame.left + 1e-9
                        && other.left + other.width >= frame.left + frame.width - 1e-9
                };
                prop_assert!(frame.depth == 0 || frames.iter().any(|other| holds(&other)), "{frame:?}");
            }
        }
    }
}

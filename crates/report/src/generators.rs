//! Other programs that sent background traffic: their commands, and the figures that they report.

use record::{BackgroundEnd, BackgroundGenerator, BackgroundGeneratorEnd, BackgroundRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::units::human;

use crate::background::bits;
use crate::clean;

/// A program that sent background traffic beside the flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "BackgroundGenerator")]
pub struct BackgroundGeneratorJson {
    /// Its name in the traffic file; with `#2` for the second instance.
    pub name: String,
    /// Program and arguments of the source, as they are in the traffic file.
    pub command: Vec<String>,
    /// The same of the sink; empty without one.
    pub sink_command: Vec<String>,
    /// How it ended, and the figures that it reported from its start to its end; `null` where the
    /// record does not have it.
    pub end: Option<BackgroundGeneratorEnd>,
}

pub(crate) fn json(
    record: &BackgroundRecord,
    end: Option<&BackgroundEnd>,
) -> Vec<BackgroundGeneratorJson> {
    let of = |(index, generator): (usize, &BackgroundGenerator)| BackgroundGeneratorJson {
        name: generator.name.clone(),
        command: generator.command.clone(),
        sink_command: generator.sink_command.clone(),
        end: end.and_then(|end| end.generators.get(index).cloned()),
    };
    record.generators.iter().enumerate().map(of).collect()
}

/// The commands that a load starts: `prestan traffic check`. Each line ends with a newline.
pub fn planned_generators(generators: &[BackgroundGenerator]) -> String {
    let lines = generators.iter().flat_map(|generator| {
        let sink = (!generator.sink_command.is_empty()).then(|| {
            format!(
                "generator {} starts the sink {}\n",
                generator.name,
                command(&generator.sink_command)
            )
        });
        let source = format!(
            "generator {} starts the source {}\n",
            generator.name,
            command(&generator.command)
        );
        sink.into_iter().chain([source])
    });
    lines.collect()
}

/// A command for people; arguments with spaces are quoted.
fn command(arguments: &[String]) -> String {
    let quoted = arguments.iter().map(|argument| {
        if argument.is_empty() || argument.contains(char::is_whitespace) {
            format!("'{argument}'")
        } else {
            argument.clone()
        }
    });
    clean(&quoted.collect::<Vec<_>>().join(" "))
}

/// A generator with its command: `generator bulk (iperf3 -c {destination})`.
pub(crate) fn named(generator: &BackgroundGenerator) -> String {
    format!(
        "generator {} ({})",
        clean(&generator.name),
        command(&generator.command)
    )
}

pub(crate) fn in_words(record: &BackgroundRecord, end: Option<&BackgroundEnd>) -> Vec<String> {
    let sentence = |(index, generator): (usize, &BackgroundGenerator)| {
        let head = named(generator);
        match end.and_then(|end| end.generators.get(index)) {
            None => format!("{head}: the record does not have its end"),
            Some(end) => format!("{head}: {}", ended(end)),
        }
    };
    record.generators.iter().enumerate().map(sentence).collect()
}

fn ended(end: &BackgroundGeneratorEnd) -> String {
    let rate = |bytes: u64| match end.seconds.filter(|seconds| *seconds > 0.0) {
        Some(seconds) => format!("{bytes} bytes ({})", bits(bytes as f64 * 8.0 / seconds)),
        None => format!("{bytes} bytes"),
    };
    let time = |ns: u64| human(ns as f64);
    let figures = [
        end.seconds.map(|seconds| format!("{seconds:.1} s")),
        end.sent_bytes.map(|bytes| format!("sent {}", rate(bytes))),
        end.received_bytes
            .map(|bytes| format!("received {}", rate(bytes))),
        end.packets.map(|packets| format!("{packets} datagrams")),
        end.lost.map(|lost| format!("lost {lost}")),
        end.jitter_ns.map(|ns| format!("jitter {}", time(ns))),
        end.mean_delay_ns
            .map(|ns| format!("mean delay {}", time(ns))),
        end.retransmissions
            .map(|count| format!("retransmissions {count}")),
    ];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    let mut said = if figures.is_empty() {
        "it reported no figures".to_owned()
    } else {
        format!(
            "its own figures, from its start to its end: {}",
            figures.join(", ")
        )
    };
    if let Some(why) = &end.report_error {
        said += &format!("; its report could not be read: {}", clean(why));
    }
    format!("{said} ({})", clean(&end.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_labelled_as_those_of_the_program() {
        let arguments = |all: &[&str]| all.iter().map(|&argument| argument.to_owned()).collect();
        let record = BackgroundRecord {
            file: "load.yaml".to_owned(),
            load: "mixed".to_owned(),
            seed: 1,
            in_process: true,
            checked_stable: false,
            components: Vec::new(),
            generators: vec![BackgroundGenerator {
                name: "bulk".to_owned(),
                command: arguments(&["sh", "-c", "send $0"]),
                sink_command: arguments(&["receive"]),
            }],
        };
        let head = "generator bulk (sh -c 'send $0'): ";
        let full = BackgroundGeneratorEnd {
            status: "exit status: 0".to_owned(),
            seconds: Some(2.0),
            sent_bytes: Some(250_000),
            lost: Some(3),
            jitter_ns: Some(1_500),
            ..BackgroundGeneratorEnd::default()
        };
        let broken = BackgroundGeneratorEnd {
            status: "signal: 15".to_owned(),
            report_error: Some("it is empty".to_owned()),
            ..BackgroundGeneratorEnd::default()
        };
        let table = [
            (
                Some(full),
                "its own figures, from its start to its end: 2.0 s, sent 250000 bytes (1.00 Mbit/s), lost 3, \
                 jitter 1.50 µs (exit status: 0)",
            ),
            (
                Some(broken),
                "it reported no figures; its report could not be read: it is empty (signal: 15)",
            ),
            (None, "the record does not have its end"),
        ];
        for (generator, expected) in table {
            let end = BackgroundEnd {
                elapsed: 1,
                components: Vec::new(),
                pacing: record::BackgroundPacing::default(),
                failure: None,
                generators: generator.into_iter().collect(),
            };
            assert_eq!(in_words(&record, Some(&end)), [format!("{head}{expected}")]);
        }
        assert_eq!(
            planned_generators(&record.generators),
            "generator bulk starts the sink receive\n\
             generator bulk starts the source sh -c 'send $0'\n"
        );
    }
}

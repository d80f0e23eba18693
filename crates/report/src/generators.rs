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
    let of = |(place, own): (usize, &BackgroundGenerator)| BackgroundGeneratorJson {
        name: own.name.clone(),
        command: own.command.clone(),
        sink_command: own.sink_command.clone(),
        end: end.and_then(|end| end.generators.get(place).cloned()),
    };
    record.generators.iter().enumerate().map(of).collect()
}

/// The commands that a load starts: `prestan traffic check`. Each line ends with a newline.
pub fn planned_generators(generators: &[BackgroundGenerator]) -> String {
    let lines = generators.iter().flat_map(|own| {
        let sink = (!own.sink_command.is_empty()).then(|| {
            format!(
                "generator {} starts the sink {}\n",
                own.name,
                command(&own.sink_command)
            )
        });
        let source = format!(
            "generator {} starts the source {}\n",
            own.name,
            command(&own.command)
        );
        sink.into_iter().chain([source])
    });
    lines.collect()
}

/// A command for people; arguments with spaces are quoted.
fn command(arguments: &[String]) -> String {
    let quoted = arguments.iter().map(|own| {
        if own.is_empty() || own.contains(char::is_whitespace) {
            format!("'{own}'")
        } else {
            own.clone()
        }
    });
    clean(&quoted.collect::<Vec<_>>().join(" "))
}

/// A generator with its command: `generator bulk (iperf3 -c {destination})`.
pub(crate) fn named(own: &BackgroundGenerator) -> String {
    format!("generator {} ({})", clean(&own.name), command(&own.command))
}

pub(crate) fn in_words(record: &BackgroundRecord, end: Option<&BackgroundEnd>) -> Vec<String> {
    let sentence = |(place, own): (usize, &BackgroundGenerator)| {
        let head = named(own);
        match end.and_then(|end| end.generators.get(place)) {
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
        end.seconds.map(|own| format!("{own:.1} s")),
        end.sent_bytes.map(|own| format!("sent {}", rate(own))),
        end.received_bytes
            .map(|own| format!("received {}", rate(own))),
        end.packets.map(|own| format!("{own} datagrams")),
        end.lost.map(|own| format!("lost {own}")),
        end.jitter_ns.map(|own| format!("jitter {}", time(own))),
        end.mean_delay_ns
            .map(|own| format!("mean delay {}", time(own))),
        end.retransmissions
            .map(|own| format!("retransmissions {own}")),
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
        let arguments = |own: &[&str]| own.iter().map(|&own| own.to_owned()).collect();
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

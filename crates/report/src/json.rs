//! One document for programs: the types of `wire` filled from a run and its summary.

use figures::is_harmful;
use record::{PlanRecord, Run, TestRecord, Verify};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Summary;

use crate::fields::Fields;
use crate::reasons::ended_early;
use crate::targets::{TargetJson, targets};
use crate::{load, webstone, wire};

/// What went on beside a run.
#[derive(Debug, Clone, Copy)]
pub struct BesideResult<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its record; samples are not needed.
    pub run: &'a Run,
    /// What it says.
    pub summary: &'a Summary,
}

/// The result as one JSON document, for which `docs/result.schema.json` is published. Ends with a
/// newline.
pub fn json(run: &Run, summary: &Summary, beside: &[BesideResult<'_>]) -> String {
    let beside = beside.iter().map(|load| wire::BesideJson {
        name: load.name.to_owned(),
        result: document(load.run, load.summary),
    });
    pretty(&wire::ResultDocument {
        beside: beside.collect(),
        ..document(run, summary)
    })
}

/// The JSON schema of [`json`]: the content of `docs/result.schema.json`. Ends with a newline.
#[cfg(feature = "schema")]
pub fn schema() -> String {
    schema_of::<wire::ResultDocument>()
}

#[cfg(feature = "schema")]
pub(crate) fn schema_of<T: schemars::JsonSchema>() -> String {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    pretty(&settings.into_generator().into_root_schema_for::<T>())
}

pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value)
        .expect("only a map with keys other than strings, or a type of ours that refuses, fails");
    visible(&text) + "\n"
}

/// The same document, and harmless on a terminal: JSON itself escapes only the control characters
/// of ASCII. Others can stand in strings only, where an escape means the same.
pub(crate) fn visible(json: &str) -> String {
    let mut units = [0; 2];
    json.chars()
        .fold(String::with_capacity(json.len()), |mut out, c| {
            if c != '\n' && is_harmful(c) {
                let units = c.encode_utf16(&mut units).iter();
                out.extend(units.map(|unit| format!("\\u{unit:04x}")));
            } else {
                out.push(c);
            }
            out
        })
}

pub(crate) fn document(run: &Run, summary: &Summary) -> wire::ResultDocument {
    let (plan, env) = (&run.plan, &run.env);
    wire::ResultDocument {
        schema_version: wire::SCHEMA_VERSION,
        prestan: wire::Program {
            version: plan.prestan.clone(),
        },
        run_id: plan.run_id.clone(),
        suite: plan.suite.clone(),
        params: plan.params.clone(),
        target: plan.target.clone(),
        server: env.server.as_ref().map(Fields::from),
        clock: plan.clock,
        bias_us: summary.clock.bias.as_ref().map(Fields::from),
        missed: summary.clock.missed,
        machine: env.machine.clone(),
        command: plan.command.clone(),
        notes: plan.notes.clone(),
        load: plan.into(),
        started_at: env.started_at.clone(),
        ended_at: env.ended_at.clone(),
        complete: (&summary.complete).into(),
        goal: summary.goal.as_ref().map(Fields::from),
        load_steps: summary.load_steps.iter().map(Fields::from).collect(),
        ended_early: summary.ended_early.iter().map(ended_early).collect(),
        targets: targets(plan, env).iter().map(TargetJson::from).collect(),
        roles: load::roles(plan).collect(),
        left_out: summary.left_out(),
        conclusion: summary.conclusion(),
        inconclusive: crate::inconclusive(summary),
        generator: summary
            .generator
            .iter()
            .map(|generator| self::generator(run, generator))
            .collect(),
        warnings: summary.warnings.iter().map(Fields::from).collect(),
        left_behind: summary.left_behind.clone(),
        tests: summary.tests.iter().map(Fields::from).collect(),
        constraints: summary.constraints.iter().map(Fields::from).collect(),
        webstone: summary
            .pages
            .as_ref()
            .map(|pages| webstone::document(run, pages)),
        background: crate::background::of_run(run, summary),
        inside: crate::inside::of_run(plan.load.users, summary),
        server_view: crate::server_view::of_run(summary),
        beside: Vec::new(),
    }
}

/// Nanoseconds as microseconds, exact to the nanosecond: the quotient is the double nearest to a
/// decimal number with three places, and is printed as that number.
pub(crate) fn us(ns: f64) -> f64 {
    ns.round() / 1000.0
}

/// An estimate as documents have it: six significant digits. Nothing is known to more, and the
/// others differ from machine to machine.
pub(crate) trait KnownDigits {
    /// With no other digits.
    fn known(self) -> Self;
}

impl KnownDigits for f64 {
    fn known(self) -> f64 {
        format!("{self:.5e}").parse().unwrap_or(self)
    }
}

impl KnownDigits for (f64, f64) {
    fn known(self) -> (f64, f64) {
        (self.0.known(), self.1.known())
    }
}

impl KnownDigits for [f64; 2] {
    fn known(self) -> [f64; 2] {
        self.map(f64::known)
    }
}

impl<T: KnownDigits> KnownDigits for Option<T> {
    fn known(self) -> Option<T> {
        self.map(T::known)
    }
}

/// A seed: a number, or the digits of one above 9007199254740991 as text, because many readers of
/// JSON have no other numbers than doubles (RFC 8259, section 6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Seed")]
pub enum SeedJson {
    /// Exact as a double.
    Number(u64),
    /// Digits.
    Text(String),
}

impl From<u64> for SeedJson {
    fn from(seed: u64) -> SeedJson {
        const LARGEST: u64 = (1 << 53) - 1;
        match seed {
            ..=LARGEST => SeedJson::Number(seed),
            _ => SeedJson::Text(seed.to_string()),
        }
    }
}

/// Rounded to three decimals, enough for rates and seconds a person may read.
pub(crate) fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Both ends of the interval of a rate.
pub(crate) fn rates((low, high): (f64, f64)) -> (f64, f64) {
    (thousandths(low), thousandths(high))
}

impl From<&PlanRecord> for wire::LoadJson {
    fn from(plan: &PlanRecord) -> wire::LoadJson {
        let load = &plan.load;
        let own = |test: &TestRecord| Some((test.name.clone(), test.http.as_ref()?.into()));
        wire::LoadJson {
            users: load.users,
            pace: load.pace.clone(),
            requests: load.requests,
            duration_s: load.duration_s,
            until: load.until.clone(),
            http: (&load.http).into(),
            http_of_tests: plan.tests.iter().filter_map(own).collect(),
            verify: Some(plan.verified()).filter(|ways| !ways.iter().all(Verify::is_usual)),
            in_turn: load.in_turn,
            adapt: load.adapt.clone(),
            warmup: load.warmup,
            warmup_s: load.warmup_s,
            timeout_s: load.timeout_s,
            seed: load.seed.into(),
        }
    }
}

fn generator(run: &Run, of: &record::Generator) -> wire::GeneratorJson {
    let all = (of.wall * u64::from(of.workers)).max(1) as f64;
    let share = |part: record::Nanos| (part as f64 / all * 1e4).round() / 1e4;
    wire::GeneratorJson {
        test: run.plan.name_of_test(of.test),
        workers: of.workers,
        wall_s: of.wall as f64 / 1e9,
        cpu_share: share(of.cpu),
        queued_share: of.queued.map(share),
        stalled_s: of.stalled as f64 / 1e9,
        stalls: of.stalls,
        longest_stall_us: us(of.longest_stall as f64),
        lateness_us: of.lateness.as_ref().map(Fields::from),
        exhausted: of.exhausted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_have_six_digits() {
        for (value, expected) in [
            (1.0 / 3.0, 0.333333),
            (1_234_567.8, 1_234_570.0),
            (0.05 * 100.0 + 1e-15, 5.0),
            (-2e-300 / 3.0, -6.66667e-301),
            (0.0, 0.0),
            (f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(value.known().to_bits(), f64::to_bits(expected), "{value}");
        }
        assert_eq!(Some((2.0 / 3.0, 2.0)).known(), Some((0.666667, 2.0)));
    }

    #[test]
    fn seeds_that_are_no_doubles_are_texts() {
        for (seed, expected) in [
            (7, "7"),
            ((1 << 53) - 1, "9007199254740991"),
            (1 << 53, "\"9007199254740992\""),
            (u64::MAX, "\"18446744073709551615\""),
        ] {
            let written = serde_json::to_string(&SeedJson::from(seed));
            assert_eq!(written.ok().as_deref(), Some(expected));
        }
    }
}

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Figures by the text of their characteristic.
struct Measured(BTreeMap<&'static str, (f64, f64, f64)>);

impl FigureSource for Measured {
    fn rows(&self) -> Vec<String> {
        vec!["Get".to_owned(), "Put".to_owned()]
    }

    fn figure(&self, statistic: Statistic, measurement: &str, part: PartOfRun) -> ConstraintFigure {
        let text = match part {
            PartOfRun::Whole => format!("{statistic}({measurement})"),
            PartOfRun::Last(seconds) => format!("{statistic}({measurement}, last {seconds} s)"),
            PartOfRun::Stage(stage) => format!("{statistic}({measurement}, stage {stage})"),
        };
        match self.0.get(&*text) {
            Some(&(low, value, high)) => ConstraintFigure::Known(Known {
                value,
                low,
                high,
                samples: 100,
                seconds: 2.0,
            }),
            None => ConstraintFigure::Unknown(WhyUnknown::NotMeasured),
        }
    }
}

fn scope() -> Scope<'static> {
    Scope {
        subject: ConstraintSubject::Run,
        measurements: vec!["Get", "Put", "Depth1x100", "to open"],
        components: Some(vec!["voice", "bulk.backward"]),
        parameters: BTreeMap::from([("width", 100.0)]),
        constraints: BTreeMap::new(),
    }
}

fn checked(text: &str) -> Result<CheckedConstraint, ConstraintError> {
    Constraint::parse(text)?.check(&scope())
}

#[test]
fn what_is_written_differently_is_printed_in_one_way() {
    let table = r#"
        p99(Get)<5ms => p99(Get) < 5 ms
        p99.9( Get ) <= 1.5s => p99.9(Get) <= 1.5 s
        (mean(Get)) < (5 ms) => mean(Get) < 5 ms
        mean(Get) < 2*(mean(Put)+1 ms) => mean(Get) < 2 * (mean(Put) + 1 ms)
        mean(Get) < (2*mean(Put))+1 ms => mean(Get) < 2 * mean(Put) + 1 ms
        mean(Get)-(mean(Put)-1ms)<0s => mean(Get) - (mean(Put) - 1 ms) < 0 s
        not(failures(Get)>0 or p50<1us) => not (failures(Get) > 0 or p50 < 1 us)
        not failures > 0 and p50 < 1 s => not failures > 0 and p50 < 1 s
        rate(Get) >= 1000/s => rate(Get) >= 1000 /s
        goodput(Get) > 10 MB/s => goodput(Get) > 10 MB/s
        bytes_sent(Get) / 2 < 1KiB => bytes_sent(Get) / 2 < 1 KiB
        p99(Get) +- 5% => p99(Get) ± 5 %
        p99("to open", samples>=100, over >= 1 min) < 1 s => p99("to open", samples >= 100, over >= 60 s) < 1 s
        -mean(Get) > -5 ms => -mean(Get) > -5 ms
        width * mean(Get) < 1 s => width * mean(Get) < 1 s
    "#;
    for [text, expected] in cases::rows(table) {
        let constraint = Constraint::parse(text).unwrap_or_else(|why| panic!("{text}: {why:?}"));
        assert_eq!(constraint.to_string(), expected);
        assert_eq!(Constraint::parse(expected).as_ref(), Ok(&constraint));
        assert!(
            constraint.check(&scope()).is_ok(),
            "{text}: {:?}",
            constraint.check(&scope())
        );
    }
}

#[test]
fn background_traffic_has_components_in_place_of_rows() {
    let table = "
        background_loss<1% => background_loss < 1 %
        background_loss(voice)<=0 => background_loss(voice) <= 0
        background_rate( last 10s ) > 1MB/s => background_rate(last 10 s) > 1 MB/s
        background_rate > 10mbit => background_rate > 10 Mbit/s
        background_rate > 10 Mbit/s => background_rate > 10 Mbit/s
        background_rate > 1.5 gbit/s => background_rate > 1.5 Gbit/s
        goodput(Get) > 64kbit => goodput(Get) > 64 kbit/s
        background_jitter(bulk.backward, last 10 s, over >= 5 s) < 1 ms
            => background_jitter(bulk.backward, last 10 s, over >= 5 s) < 1 ms
        background_delay_variation(over>=5s) < 1 ms => background_delay_variation(over >= 5 s) < 1 ms
    ";
    for [text, expected] in cases::rows(table) {
        let constraint = Constraint::parse(text).unwrap();
        assert_eq!(constraint.to_string(), expected);
        assert!(constraint.check(&scope()).is_ok(), "{text}");
    }
    let wrong = "
        background_loss(Get) < 1 % => no component of the background traffic is called `Get`
        background_loss < 1 ms => a share
        background_loss(voice, stage 2) < 1 % => stages are those of the load
        background_rate(voice) ± 5 % => only estimates have intervals
        p99(last 10 s) < 1 ms => `)` is expected
    ";
    for [text, expected] in cases::rows(wrong) {
        let error = checked(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let none = Constraint::parse("background_loss < 1 %").unwrap();
    let error = none.check_components(&[]).unwrap_err().to_string();
    assert!(error.contains("--background"), "{error}");
    assert!(none.check_components(&["voice"]).is_ok());
}

#[test]
fn a_constraint_on_all_components_is_judged_once_and_not_for_each_row() {
    let figures = Measured(BTreeMap::from([("background_loss()", (0.02, 0.02, 0.02))]));
    let judged = checked("background_loss < 1 %")
        .unwrap()
        .judge(&figures, Quantifier::All);
    assert_eq!(judged.truth, Some(false));
    let read: Vec<String> = judged
        .readings
        .iter()
        .map(|reading| reading.characteristic.to_string())
        .collect();
    assert_eq!(read, ["background_loss"]);
}

#[test]
fn what_makes_no_sense_is_explained_at_its_place() {
    let table = [
        ("", 0, "ends early"),
        ("p99(Get) <", 10, "ends early"),
        ("p99(Get) < 50", 11, "write 50 ms"),
        ("50 > p99(Get)", 5, "write 50 ms"),
        ("failure_rate < 1", 15, "write 1 %"),
        ("rate(Get) > 5 ms", 12, "a rate and a time cannot"),
        ("mean(Get)", 0, "compares something"),
        ("mean(Get) and p99(Get) < 1 s", 0, "this is a time"),
        ("1 < (p99(Get) < 1 s)", 5, "true or false"),
        ("p99(Get) < 5 ms < 6 ms", 16, "cannot follow each other"),
        ("p99(Get) < 5 lightyears", 13, "is no unit; there are ns"),
        ("p98(Got) < 5 ms", 0, "did you mean `Get`"),
        ("p999(Get) < 5 ms", 0, "did you mean `p99.9`"),
        ("median(Get) < 5 ms", 0, "there is no statistic `median`"),
        ("throughput(Get) > 5 /s", 0, "did you mean `rate`"),
        ("widht * mean(Get) < 5 ms", 0, "did you mean `width`"),
        ("Get < 5 ms", 0, "p99(Get) for example"),
        ("p100(Get) < 5 ms", 0, "there is no statistic"),
        ("p99(Get) < 5 ms)", 15, "before `)`"),
        ("(p99(Get) < 5 ms", 16, "`)` is expected"),
        ("p99(Get) = 5 ms", 9, "`==`"),
        ("p99(\"Get) < 5 ms", 4, "closing quotation mark"),
        ("p99() < 5 ms", 4, "name of a measurement"),
        ("p99(Get, often) < 5 ms", 14, "`>=` is expected"),
        ("p99(Get, samples >= 5 ms) < 5 ms", 20, "samples >= 100"),
        ("failures(Get) < 0", 0, "never true"),
        ("failure_rate(Get) <= 100 %", 0, "always true"),
        ("p99(Get) < 1 s and 1 < 2", 19, "always true"),
        ("p99(Get) / 0 < 5 ms", 11, "divided by zero"),
        ("failures(Get) ± 5 %", 0, "only estimates"),
        ("p99(Get) ± 5", 12, "write a share"),
        ("p99(Get) ± 60 %", 12, "at most 50 %"),
        ("p99(Get) < 5 ms $", 16, "`$` is not expected"),
    ];
    for (text, offset, says) in table {
        let error = checked(text).expect_err(text);
        assert!(error.message.contains(says), "{text}: {error:?}");
        assert_eq!(error.offset, offset, "{text}: {error:?}");
    }
    let deep = "(".repeat(100) + "1";
    assert!(
        Constraint::parse(&deep)
            .unwrap_err()
            .message
            .contains("in each other")
    );
    let long = "1 + ".repeat(1000) + "1";
    assert!(
        Constraint::parse(&long)
            .unwrap_err()
            .message
            .contains("at most")
    );
}

#[test]
fn constraints_refer_to_others_but_not_in_a_circle() {
    let (fast, both, circle) = (
        Constraint::parse("p99(Get) < 5 ms").unwrap(),
        Constraint::parse("fast and failures(Get) == 0").unwrap(),
        Constraint::parse("not circle").unwrap(),
    );
    let scope = Scope {
        constraints: BTreeMap::from([("fast", &fast), ("circle", &circle)]),
        ..scope()
    };
    let measured = Measured(BTreeMap::from([
        ("p99(Get)", (0.004, 0.0045, 0.0049)),
        ("failures(Get)", (0.0, 0.0, 0.0)),
    ]));
    let judged = both
        .check(&scope)
        .unwrap()
        .judge(&measured, Quantifier::All);
    assert_eq!(judged.truth, Some(true));
    assert_eq!(judged.readings.len(), 2);
    let error = circle.check(&scope).unwrap_err();
    assert!(error.message.contains("refers to itself"), "{error:?}");
}

#[test]
fn intervals_decide() {
    let measured = Measured(BTreeMap::from([
        ("p99(Get)", (0.004, 0.0045, 0.005)),
        ("p99(Put)", (0.010, 0.0110, 0.012)),
        ("mean(Get)", (0.001, 0.0011, 0.0012)),
        ("mean(Put)", (0.002, 0.0022, 0.0024)),
        ("failures(Get)", (3.0, 3.0, 3.0)),
        ("failures(Put)", (0.0, 0.0, 0.0)),
    ]));
    let (yes, no, open) = (Some(true), Some(false), None);
    let table = [
        ("p99(Get) < 6 ms", yes, yes),
        ("p99(Get) < 4.6 ms", open, yes),
        ("p99(Get) < 3 ms", no, no),
        ("p99(Get) <= 5 ms", yes, yes),
        ("p99(Get) < 5 ms", open, yes),
        ("p99 < 13 ms", yes, yes),
        ("p99 < 9 ms", no, no),
        ("p99 < 11.5 ms", open, yes),
        ("failures == 0", no, no),
        ("mean(Put) > 1.5 * mean(Get)", yes, yes),
        ("mean(Put) > 1.9 * mean(Get)", open, yes),
        ("mean(Put) / mean(Get) < 3", yes, yes),
        ("mean(Put) - mean(Get) < 0 s", no, no),
        ("p99(Depth1x100) < 1 s", open, open),
        ("p99(Depth1x100) < 1 s or p99(Get) < 6 ms", yes, yes),
        ("p99(Depth1x100) < 1 s and p99(Get) < 3 ms", no, no),
        ("not p99(Depth1x100) < 1 s", open, open),
        ("p99(Get, samples >= 1000) < 1 s", open, open),
        ("p99(Get, over >= 1 s) < 1 s", yes, yes),
        ("p99(Get) ± 12 %", yes, yes),
        ("p99(Get) ± 10 %", open, open),
        ("not p99(Get) ± 10 %", open, open),
        ("width * mean(Get) > 90 ms", yes, yes),
    ];
    for (text, with_intervals, as_measured) in table {
        let checked = checked(text).unwrap();
        let judged = checked.judge(&measured, Quantifier::All);
        assert_eq!(judged.truth, with_intervals, "{text}: {judged:?}");
        let judged = checked.judge_as_measured(&measured, Quantifier::All);
        assert_eq!(judged.truth, as_measured, "{text}: {judged:?}");
    }
    let any = checked("failures > 0").unwrap();
    assert_eq!(any.holds(&measured, Quantifier::Any), yes);
    assert_eq!(any.holds(&measured, Quantifier::All), no);
    assert_eq!(any.holds(&Measured(BTreeMap::new()), Quantifier::Any), open);
}

#[test]
fn a_reading_says_what_is_missing() {
    let measured = Measured(BTreeMap::from([("p99(Get)", (0.1, 0.1, 0.1))]));
    let judged = checked("p99(Get, samples >= 1000) < 1 s and p99(Put) < 1 s")
        .unwrap()
        .judge(&measured, Quantifier::All);
    let why: Vec<&ConstraintFigure> = judged
        .readings
        .iter()
        .map(|reading| &reading.figure)
        .collect();
    let few = WhyUnknown::FewerSamples {
        samples: 100,
        least: 1000,
    };
    let expected = [few, WhyUnknown::NotMeasured].map(ConstraintFigure::Unknown);
    assert_eq!(why, expected.iter().collect::<Vec<_>>());
}

/// Expressions over the figures of [`Drawn`].
fn numbers() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("mean(Get)".to_owned()),
        Just("mean(Put)".to_owned()),
        (1_u32..50).prop_map(|ms| format!("{ms} ms")),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone().prop_map(|(a, b)| format!("({a} + {b})")),
            pair.prop_map(|(a, b)| format!("({a} - {b})")),
            (inner.clone(), 1_u32..5).prop_map(|(a, n)| format!("({a} * {n})")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("({a} * ({b} / ({c} + 60 s)))")),
        ]
    })
}

fn truths() -> impl Strategy<Value = String> {
    let sign = prop_oneof![
        Just("<"),
        Just("<="),
        Just(">"),
        Just(">="),
        Just("=="),
        Just("!=")
    ];
    let leaf = (numbers(), sign, numbers()).prop_map(|(a, sign, b)| format!("{a} {sign} {b}"));
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} and {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} or {b})")),
            inner.prop_map(|a| format!("not ({a})")),
        ]
    })
}

/// An interval in milliseconds: its lower end, its width, and two relative positions in it.
type DrawnSpan = (u32, u32, f64, f64);

fn drawn() -> impl Strategy<Value = DrawnSpan> {
    (1_u32..50, 0_u32..50, 0.0..=1.0, 0.0..=1.0)
}

fn figures(
    get: DrawnSpan,
    put: DrawnSpan,
    place: impl Fn(DrawnSpan) -> f64,
    narrow: f64,
) -> Measured {
    let known = |drawn: DrawnSpan| {
        let (low, width) = (f64::from(drawn.0) / 1e3, f64::from(drawn.1) / 1e3);
        let value = low + width * place(drawn);
        let end = |end: f64| value + (end - value) * narrow;
        (end(low), value, end(low + width))
    };
    Measured(BTreeMap::from([
        ("mean(Get)", known(get)),
        ("mean(Put)", known(put)),
    ]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(text in "[ -~±µ]{0,60}") {
        if let Ok(constraint) = Constraint::parse(&text) {
            let _ = constraint.check(&scope());
            let again = Constraint::parse(&constraint.to_string());
            prop_assert_eq!(again, Ok(constraint));
        }
    }

    #[test]
    fn what_is_printed_is_read_again(text in truths()) {
        let constraint = Constraint::parse(&text).unwrap();
        prop_assert_eq!(Constraint::parse(&constraint.to_string()), Ok(constraint));
    }

    /// A decision by intervals is the same for every value within them.
    #[test]
    fn a_decision_holds_for_every_value(text in truths(), get in drawn(), put in drawn()) {
        let constraint = Constraint::parse(&text).unwrap();
        let resolved = constraint.check(&scope());
        prop_assume!(resolved.is_ok());
        let resolved = resolved.unwrap();
        let wide = figures(get, put, |drawn| drawn.2, 1.0);
        if let Some(truth) = resolved.holds(&wide, Quantifier::All) {
            let one = figures(get, put, |drawn| drawn.3, 1.0);
            let other = resolved.judge_as_measured(&one, Quantifier::All).truth;
            prop_assert!(other.is_none_or(|other| other == truth), "{} {:?}", text, other);
            let narrow = figures(get, put, |drawn| drawn.2, 0.5);
            prop_assert_eq!(resolved.holds(&narrow, Quantifier::All), Some(truth));
        }
    }
}

/// Checks a condition on the rows of a comparison.
fn compared(text: &str) -> Result<CheckedConstraint, ConstraintError> {
    Constraint::parse(text)?.check(&Scope {
        subject: ConstraintSubject::Comparison,
        ..scope()
    })
}

#[test]
fn conditions_on_comparisons_have_words_of_their_own() {
    let measured = Measured(BTreeMap::from([
        ("slower(Get)", (0.06, 0.06, 0.12)),
        ("slower(Put)", (0.0, 0.0, 0.03)),
        ("faster(Get)", (0.0, 0.0, 0.0)),
        ("faster(Put)", (0.0, 0.0, 0.2)),
        ("broken(Get)", (0.0, 0.0, 0.0)),
        ("broken(Put)", (1.0, 1.0, 1.0)),
        ("lost(Get)", (0.0, 0.0, 0.0)),
        ("lost(Put)", (0.0, 0.0, 1.0)),
        ("cpu(Get)", (0.03, 0.03, 0.04)),
        ("cpu(Put)", (0.0, 0.0, 0.01)),
        ("fsync(Get)", (0.0, 0.0, 0.0)),
        ("fsync(Put)", (2.0, 2.0, 2.0)),
    ]));
    let (yes, no, open) = (Some(true), Some(false), None);
    let table = [
        ("slower", [yes, open]),
        ("not slower", [no, open]),
        ("slower > 5 %", [yes, no]),
        ("slower > 10 %", [open, no]),
        ("slower >= 20%", [no, no]),
        ("slower > 2 %", [yes, open]),
        ("slower > width * 1 %", [no, no]),
        ("slower > 20 % or broken", [no, yes]),
        ("lost", [no, open]),
        ("lost and broken", [no, open]),
        ("faster < 10 %", [yes, open]),
        ("cpu > 2% or fsync > 0", [yes, yes]),
        ("cpu > 3.5 %", [open, no]),
        ("fsync > 1", [no, yes]),
        ("fsync", [no, yes]),
    ];
    for (text, expected) in table {
        let condition = compared(text).unwrap_or_else(|why| panic!("{text}: {why:?}"));
        let rows = condition.judge_rows(&measured);
        let truths: Vec<_> = rows.iter().map(|row| row.truth).collect();
        assert_eq!(truths, expected, "{text}");
        assert_eq!(rows[0].row.as_deref(), Some("Get"), "{text}");
    }
    let of_one = compared("slower(Get) > 5 % or broken(Get)").unwrap();
    let truth = RowTruth {
        row: None,
        truth: yes,
    };
    assert_eq!(of_one.judge_rows(&measured), [truth]);

    let refused = [
        ("slower > 5", 9, "write 1 %"),
        ("slower > 5 ms", 9, "a share and a time cannot"),
        ("slower 5 %", 7, "an operator is expected"),
        ("slowre > 5 %", 0, "did you mean `slower`"),
        ("slowre(Get) > 5 %", 0, "did you mean `slower`"),
        ("Get > 5 %", 0, "write slower(Get)"),
        ("nothing > 5 %", 0, "a comparison has slower, faster"),
        ("slower(Got) > 5 %", 0, "did you mean `Get`"),
        ("broken or p99(Get) > 5 ms", 10, "is about one server"),
        ("broken or p99 > 5 ms", 10, "is about one server"),
        ("slower(Get, last 10 s)", 0, "all runs of both servers"),
        ("slower(Get) > slower(Put)", 0, "with a share or a number"),
        ("1.5 * slower(Get) > 5 %", 6, "with a share or a number"),
        ("slower >= 0 %", 0, "always true"),
        ("faster > 100 %", 0, "never true"),
        ("broken > 0", 0, "true or false"),
        ("cpu > 2", 6, "write 1 %"),
        ("fsync > 1 ms", 8, "a number and a time cannot"),
        ("fsync > 5 %", 8, "`fsync` is a number"),
        ("fdatasync > 0", 0, "it is among those of `fsync`"),
        ("lstat > 0", 0, "it is among those of `stat`"),
        ("fsync < 0", 0, "never true"),
        ("5 %", 0, "a condition is true or false"),
    ];
    for (text, offset, says) in refused {
        let error = compared(text).expect_err(text);
        assert!(error.message.contains(says), "{text}: {error:?}");
        assert_eq!(error.offset, offset, "{text}: {error:?}");
    }
    // A run has none of them, but a suite may use the words as names.
    for text in [
        "slower(Get) > 5 %",
        "slower > 5 %",
        "not broken",
        "fsync(Get) > 0",
    ] {
        let error = checked(text).expect_err(text);
        assert!(error.message.contains("compares two servers"), "{error:?}");
    }
    let broken = Constraint::parse("failures > 10").unwrap();
    let with_words = Scope {
        parameters: BTreeMap::from([("slower", 2.0)]),
        constraints: BTreeMap::from([("broken", &broken)]),
        ..scope()
    };
    let constraint = Constraint::parse("not broken and mean(Get) < slower * 1 s").unwrap();
    assert!(constraint.check(&with_words).is_ok());
}

//! Drawn figures: one of each kind as a snapshot, and any other one is well-formed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use figures::{
    Along, Anchor, Axis, Dash, Figure, FigureMark, FileStyle, Format, LegendKey, LineStep,
    MarkFill, MarkLook, MarkShape, MarkTone, Panel, Range, Scale, Series, Swatch, Symbol, file,
    svg,
};
use proptest::prelude::*;

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|name| (*name).to_owned()).collect()
}

fn key(name: &str, index: usize, swatch: Swatch) -> LegendKey {
    LegendKey {
        name: name.to_owned(),
        look: MarkLook::of(index),
        swatch,
    }
}

/// Numbers from zero to this one.
fn numbers_to(most: f64, format: Format) -> Axis {
    Axis::numbers(Range::from_zero(Some((0.0, most))), Scale::Linear, format)
}

fn series(key: Option<usize>, marks: Vec<FigureMark>) -> Series {
    Series { key, marks }
}

/// Bars of two servers, one with an interval that leaves the axis, and a word for a missing bar.
fn bars() -> Figure {
    let x = numbers_to(900.0, Format::Time);
    let y = Axis::categories(names(&["Get1K", "Put1K", "Lock"]), 36.0);
    let mut panel = Panel::new(x.named("mean response time"), y, 0.0);
    panel.right = 10;
    for server in 0..2_usize {
        let mut marks = Vec::new();
        for (row, mean) in [412.0, 640.0].into_iter().enumerate() {
            let at = row as f64 - 0.2 + 0.4 * server as f64;
            let mean = mean * (1.0 + server as f64 / 3.0);
            let bar = MarkShape::Rect {
                x: (0.0, mean),
                y: (at - 0.18, at + 0.18),
            };
            let row = names(&["test", "server"])
                .into_iter()
                .chain([Format::Time.value(mean)]);
            marks.push(FigureMark::new(bar, MarkLook::of(server)).with_row(row));
            let interval = MarkShape::Interval {
                along: Along::X,
                at,
                ends: (mean - 50.0, mean + 200.0),
                strokes: true,
            };
            marks.push(FigureMark::new(interval, MarkLook::toned(MarkTone::Ink)));
        }
        let word = MarkShape::text((f64::NEG_INFINITY, 2.0), "not supported");
        marks.push(FigureMark::new(
            word,
            MarkLook::toned(MarkTone::Bad).filled(MarkFill::Soft),
        ));
        panel.series.push(series(Some(server), marks));
    }
    Figure {
        id: "bars".to_owned(),
        title: "Mean response time".to_owned(),
        note: "Whiskers are 95 % intervals.".to_owned(),
        columns: names(&["test", "server", "mean"]),
        keys: vec![key("one", 0, Swatch::Bar), key("other", 1, Swatch::Bar)],
        panels: vec![panel],
    }
}

/// Lines of all kinds over time, with rules, an area and points.
fn lines() -> Figure {
    let time = || {
        Axis::numbers(
            Range {
                exact: true,
                ..Range::from_zero(Some((0.0, 10.0)))
            },
            Scale::Linear,
            Format::Plain,
        )
    };
    let times = Axis::numbers(Range::of(Some((10.0, 9_000.0))), Scale::Auto, Format::Time);
    let mut upper = Panel::new(time(), times.named("response time"), 160.0);
    upper.title = "A panel".to_owned();
    let curve = |index: usize| -> Vec<(f64, f64)> {
        let at = |x: u32| {
            (
                f64::from(x),
                20.0 * 1.7_f64.powi(x as i32) * (1.0 + index as f64),
            )
        };
        (0..=10).map(at).collect()
    };
    for index in 0..7 {
        let look = MarkLook::of(index);
        let points = curve(index);
        let row = |(x, y): &(f64, f64)| [x, y].map(|value| Format::Plain.value(*value));
        let symbols = points.iter().step_by(3);
        let marks = symbols.map(|point| {
            FigureMark::new(MarkShape::Point(point.0, point.1), look).with_row(row(point))
        });
        let line = FigureMark::new(MarkShape::Line(points.clone(), LineStep::None), look);
        let marks = std::iter::once(line).chain(marks).collect();
        upper.series.push(series(Some(index), marks));
    }
    for (index, at) in [2.0, 3.0].into_iter().enumerate() {
        let rule = MarkShape::Rule {
            along: Along::Y,
            at,
            text: format!("holds at {at}"),
            level: index,
        };
        let mark = FigureMark::new(rule, MarkLook::toned(MarkTone::Bad).dashed(Dash::Dashed));
        upper.series.push(series(None, vec![mark]));
    }
    let mut lower = Panel::new(
        time().named("seconds"),
        numbers_to(1.0, Format::Percent).named("share"),
        100.0,
    );
    let area = (0..=10)
        .map(|x| (f64::from(x), 0.2, 0.9 - f64::from(x) / 20.0))
        .collect();
    let area = FigureMark::new(
        MarkShape::Area(area, LineStep::Middle),
        MarkLook::of(2).filled(MarkFill::Soft),
    );
    let steps = vec![
        (0.0, 0.0),
        (2.0, 0.3),
        (f64::NAN, 0.4),
        (5.0, 0.5),
        (9.0, 1.0),
    ];
    let steps = FigureMark::new(MarkShape::Line(steps, LineStep::After), MarkLook::of(1));
    let crosses = MarkLook {
        symbol: Symbol::Cross,
        ..MarkLook::toned(MarkTone::Bad)
    };
    let cross = FigureMark::new(MarkShape::Point(4.0, 0.1), crosses);
    let hollow = FigureMark::new(
        MarkShape::Point(6.0, 0.1),
        MarkLook::of(0).filled(MarkFill::Hollow),
    );
    let limit = MarkShape::Rule {
        along: Along::X,
        at: 0.7,
        text: "p99 < 7".to_owned(),
        level: 0,
    };
    let limit = FigureMark::new(limit, MarkLook::toned(MarkTone::Bad));
    let arrow = FigureMark::new(MarkShape::Arrow(8.0, 0.5), MarkLook::toned(MarkTone::Ink));
    let marks = vec![area, steps, cross, hollow, limit, arrow];
    lower.series.push(series(None, marks));
    Figure {
        id: "lines".to_owned(),
        title: "Lines over time".to_owned(),
        note: String::new(),
        columns: names(&["s", "µs"]),
        keys: (0..7)
            .map(|index| key(&format!("line {index}"), index, Swatch::Line))
            .collect(),
        panels: vec![upper, lower],
    }
}

/// Cells with words that have to fit.
fn cells() -> Figure {
    let x = Axis::categories(names(&["lighttpd", "a server with a very long name"]), 0.0);
    let y = Axis::categories(names(&["Get1K", "Propfind"]), 26.0);
    let mut panel = Panel::new(x.named("ratio"), y, 0.0);
    let mut marks = Vec::new();
    for column in 0..2_i8 {
        for row in 0..2_i8 {
            let (x, y) = (f64::from(column), f64::from(row));
            let within = (x - 0.5, x + 0.5);
            let cell = MarkShape::Rect {
                x: within,
                y: (y - 0.46, y + 0.46),
            };
            let heat = MarkLook::toned(MarkTone::Heat(3 * column - 2 * row));
            marks.push(FigureMark::new(cell, heat).with_row(names(&["1.23"])));
            let words = MarkShape::Text {
                at: (x, y),
                shift: (0.0, 0.0),
                anchor: Anchor::Middle,
                text: "1.23  slower".to_owned(),
                within: Some(within),
            };
            marks.push(FigureMark::new(words, MarkLook::toned(MarkTone::Ink)));
        }
    }
    panel.series.push(series(None, marks));
    Figure {
        id: "cells".to_owned(),
        title: "Ratios".to_owned(),
        note: "Blue is faster.".to_owned(),
        columns: names(&["ratio"]),
        keys: Vec::new(),
        panels: vec![panel],
    }
}

#[test]
fn figures_of_each_kind_are_drawn() {
    for figure in [bars(), lines(), cells()] {
        insta::assert_snapshot!(figure.id.clone(), svg(&figure, 480));
    }
    let style = FileStyle {
        width: 321,
        unit: "85mm".to_owned(),
        font: Some("Times New Roman".to_owned()),
    };
    insta::assert_snapshot!("file", file(&bars(), &style, "one, other"));
}

#[test]
fn the_table_has_the_rows_of_the_marks_and_the_marks_their_numbers() {
    let figure = bars();
    let rows: Vec<&[String]> = figure.rows().collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[1][2], "640 µs");
    let drawn = svg(&figure, 760);
    assert!(
        drawn.contains("data-r=\"0\"") && drawn.contains("data-r=\"2\""),
        "{drawn}"
    );
    // Rows that do not follow one another are listed.
    assert!(svg(&cells(), 760).contains("data-r=\"0\""));
}

/// Element names and ids of a document, which is read as XML to its end.
fn read(document: &str) -> (usize, Vec<String>) {
    let mut reader = quick_xml::Reader::from_str(document);
    reader.config_mut().check_end_names = true;
    let (mut elements, mut ids) = (0, Vec::new());
    loop {
        use quick_xml::events::Event;
        match reader.read_event().unwrap() {
            Event::Start(element) | Event::Empty(element) => {
                elements += 1;
                for attribute in element.attributes() {
                    let attribute = attribute.unwrap();
                    if attribute.key.as_ref() == "id" {
                        ids.push(attribute.value.into_owned());
                    }
                }
            }
            Event::Eof => return (elements, ids),
            _ => {}
        }
    }
}

#[test]
fn a_drawing_names_what_describes_it() {
    let drawn = svg(&bars(), 360);
    let names = "aria-labelledby=\"bars-t\" aria-describedby=\"bars-d\"";
    assert!(drawn.contains(names), "{drawn}");
    // There is nothing to name.
    assert!(!svg(&lines(), 360).contains("lines-d"));
    let (_, ids) = read(&file(&bars(), &FileStyle::default(), "one"));
    assert_eq!(ids, ["t", "d"]);
}

/// A value without a position is not drawn at zero.
#[test]
fn words_without_a_place_are_not_drawn() {
    let mut figure = bars();
    let words = MarkShape::text((f64::NAN, 1.0), "nowhere");
    figure.panels[0].series[0].marks = vec![FigureMark::new(words, MarkLook::of(0))];
    assert!(!svg(&figure, 480).contains("nowhere"));
}

/// Numbers below the lower panel are not those of the upper one where its axis has others.
#[test]
fn panels_share_labels_where_their_axes_are_alike() {
    let labels = |lower: &str| {
        let panels = ["half", lower].map(|label| {
            let x = numbers_to(10.0, Format::Plain).with_ticks([(5.0, label.to_owned())]);
            let y = numbers_to(10.0, Format::Percent);
            Panel {
                series: bars().panels[0].series.clone(),
                ..Panel::new(x, y, 60.0)
            }
        });
        let figure = Figure {
            panels: panels.to_vec(),
            ..bars()
        };
        let drawn = svg(&figure, 480);
        drawn.matches(">half<").count() + drawn.matches(">five<").count()
    };
    assert_eq!(labels("half"), 1);
    assert_eq!(labels("five"), 2);
}

#[test]
fn nothing_and_one_thing_are_drawn() {
    let axis = || Axis::numbers(Range::of(None), Scale::Auto, Format::Plain);
    let mut figure = Figure {
        panels: vec![Panel::new(axis(), axis(), 100.0)],
        ..Figure::default()
    };
    assert!(figure.is_empty());
    read(&svg(&figure, 360));
    let nowhere = FigureMark::new(MarkShape::Point(f64::NAN, f64::INFINITY), MarkLook::of(0));
    figure.panels[0].series.push(series(None, vec![nowhere]));
    assert!(!figure.is_empty());
    assert!(!svg(&figure, 360).contains("NaN"));
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -10.0..1e6_f64,
        Just(0.0),
        Just(f64::INFINITY),
        Just(f64::NAN),
    ]
}

fn shape() -> impl Strategy<Value = MarkShape> {
    let step = || {
        prop_oneof![
            Just(LineStep::None),
            Just(LineStep::After),
            Just(LineStep::Middle)
        ]
    };
    let along = || prop_oneof![Just(Along::X), Just(Along::Y)];
    let some = || proptest::collection::vec((value(), value()), 0..5);
    prop_oneof![
        (value(), value(), value(), value()).prop_map(|(a, b, c, d)| MarkShape::Rect {
            x: (a, b),
            y: (c, d)
        }),
        (value(), value()).prop_map(|(x, y)| MarkShape::Point(x, y)),
        (value(), value()).prop_map(|(x, y)| MarkShape::Arrow(x, y)),
        (some(), step()).prop_map(|(points, step)| MarkShape::Line(points, step)),
        (some(), step()).prop_map(|(points, step)| {
            MarkShape::Area(
                points.into_iter().map(|(x, y)| (x, y, y * 2.0)).collect(),
                step,
            )
        }),
        (along(), value(), value(), value(), any::<bool>()).prop_map(
            |(along, at, low, high, strokes)| MarkShape::Interval {
                along,
                at,
                ends: (low, high),
                strokes
            }
        ),
        (along(), value(), any::<String>(), 0..3_usize).prop_map(|(along, at, text, level)| {
            MarkShape::Rule {
                along,
                at,
                text,
                level,
            }
        }),
        (value(), value(), any::<String>(), any::<bool>()).prop_map(|(x, y, text, fits)| {
            MarkShape::Text {
                at: (x, y),
                shift: (0.0, 0.0),
                anchor: Anchor::End,
                text,
                within: fits.then_some((x, y)),
            }
        }),
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let scale = prop_oneof![Just(Scale::Linear), Just(Scale::Log), Just(Scale::Auto)];
    prop_oneof![
        (value(), value(), scale, any::<String>()).prop_map(|(low, high, scale, name)| {
            Axis::numbers(Range::of(Some((low, high))), scale, Format::Time).named(name)
        }),
        proptest::collection::vec(any::<String>(), 0..4)
            .prop_map(|names| Axis::categories(names, 20.0)),
        Just(Axis::bare(0.0, 1.0)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_there_is_to_draw_is_well_formed(
        shapes in proptest::collection::vec((shape(), 0..40_usize), 0..8),
        x in axis(),
        y in axis(),
        title in any::<String>(),
        width in 200..900_u32,
    ) {
        let row = |index: usize| index.is_multiple_of(2).then(|| title.clone());
        let marks = shapes.into_iter();
        let marks = marks.map(|(shape, index)| FigureMark::new(shape, MarkLook::of(index)).with_row(row(index)));
        let mut panel = Panel::new(x, y, 120.0);
        panel.title.clone_from(&title);
        panel.series.push(series(Some(0), marks.collect()));
        let figure = Figure {
            id: "any".to_owned(),
            title: title.clone(),
            note: title.clone(),
            columns: vec![title.clone()],
            keys: vec![key(&title, 0, Swatch::Line), key(&title, 9, Swatch::Bar)],
            panels: vec![panel],
        };
        let style = FileStyle { width, unit: width.to_string(), font: None };
        for drawn in [svg(&figure, width), file(&figure, &style, &title)] {
            prop_assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
            prop_assert!(read(&drawn).0 > 0);
        }
    }
}

#[test]
fn words_end_within_the_figure() {
    let wide = "W".repeat(10);
    let mut figure = bars();
    let rule = |along, at| MarkShape::Rule {
        along,
        at,
        text: wide.clone(),
        level: 0,
    };
    let shapes = [
        MarkShape::text((f64::INFINITY, 1.0), wide.clone()),
        rule(Along::Y, 900.0),
        rule(Along::Y, 0.0),
        rule(Along::X, 1.0),
    ];
    let look = MarkLook::toned(MarkTone::Ink);
    figure.panels[0].right = 2;
    figure.panels[0].series[0].marks = shapes.map(|shape| FigureMark::new(shape, look)).into();
    for (class, from, to) in [("ha fi", 0, 370), ("ha fi c", 55, 425)] {
        let drawn = svg(&figure, 480);
        let group = drawn
            .split(&format!("<g class=\"{class}\">"))
            .nth(1)
            .unwrap();
        let group = group.split("</g>").next().unwrap();
        let positions = group.split(" x=\"").skip(1);
        let positions =
            positions.map(|rest| rest.split('"').next().unwrap().parse::<i32>().unwrap());
        let positions: Vec<i32> = positions.collect();
        assert_eq!(positions.len(), 2, "{drawn}");
        assert!(
            positions.iter().all(|x| (from..=to).contains(x)),
            "{positions:?}"
        );
    }
}

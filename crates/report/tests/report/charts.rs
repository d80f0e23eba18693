//! The figures of a page as values: scales, marks, and texts about them.

use figures::{Axis, Dash, Figure, FigureMark, MarkFill, MarkShape, Symbol};
use record::Outcome;
use report::page::{ReportPage, figures_of};
use report::{Find, SearchResult, Sweep, Varied};
use stats::summarise;
use stats::testing::RunBuilder;

use crate::answers;
use crate::page::{figures_of_runs, shown};

/// Figures of servers of which each takes times as long as the one before, in runs of that many
/// operations. Rows are each `factor` times as slow as the one before.
fn servers(count: u64, operations: u64, factor: u64) -> Vec<Figure> {
    let runs: Vec<_> = (0..count)
        .map(|server| {
            let time = move |i: u64| (100 + i * 7919 % 400) * (server * 3 + 1);
            let run = RunBuilder::new(1)
                .test("Put1K", &[("Put1K", "PUT")])
                .ok("Put1K", operations * (server + 1), time)
                .ops("Put1K", 2, Outcome::Reset, |_| 5)
                .test("Slow", &[("Slow", "GET")])
                .ok("Slow", 20, move |i| time(i) * factor)
                .build();
            let summary = summarise(&run);
            (run, summary)
        })
        .collect();
    figures_of_runs(&runs)
}

fn sweep_figures(sweep: &Sweep) -> Vec<Figure> {
    figures_of(&ReportPage {
        sweep: Some(sweep),
        ..ReportPage::default()
    })
}

fn search_figure(found: &SearchResult) -> Figure {
    let mut all = figures_of(&ReportPage {
        search: Some(found),
        ..ReportPage::default()
    });
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[track_caller]
fn named<'a>(all: &'a [Figure], id: &str) -> &'a Figure {
    let ids: Vec<&str> = all.iter().map(|figure| figure.id.as_str()).collect();
    let found = all.iter().find(|figure| figure.id == id);
    found.unwrap_or_else(|| panic!("no {id} in {ids:?}"))
}

fn marks(figure: &Figure) -> impl Iterator<Item = &FigureMark> {
    let series = figure.panels.iter().flat_map(|panel| &panel.series);
    series.flat_map(|series| &series.marks)
}

#[test]
fn panels_of_a_figure_have_one_scale() {
    for operations in [20, 3_000] {
        let all = servers(3, operations, 2);
        for id in ["histogram-Put1K", "timeline-Put1K"] {
            let panels = &named(&all, id).panels;
            assert_eq!(panels.len(), 3);
            for axis in [
                |panel: &figures::Panel| panel.x.ends(),
                |panel: &figures::Panel| panel.y.ends(),
            ] {
                let ends: Vec<(f64, f64)> = panels.iter().map(axis).collect();
                assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
            }
        }
    }
}

#[test]
fn ranges_that_grow_by_a_factor_stand_on_a_logarithmic_axis() {
    let all = servers(1, 300, 2);
    assert!(named(&all, "histogram-Put1K").panels[0].x.is_log());
}

#[test]
fn a_logarithmic_scale_has_dots_and_no_bars() {
    let count = |figure: &Figure, is: fn(&MarkShape) -> bool| {
        marks(figure)
            .filter(|mark| is(&mark.shape) && !mark.row.is_empty())
            .count()
    };
    let bars = |figure: &Figure| count(figure, |shape| matches!(shape, MarkShape::Rect { .. }));
    let dots = |figure: &Figure| count(figure, |shape| matches!(shape, MarkShape::Point(..)));
    let all = servers(2, 300, 2);
    let (linear, log) = (named(&all, "bars-all-linear"), named(&all, "bars-all-log"));
    assert_eq!((bars(linear), dots(linear)), (4, 0));
    assert_eq!((bars(log), dots(log)), (0, 4));
    assert_eq!(linear.panels[0].x.ends().0, 0.0);
    // Lengths that would not show the least value are left out.
    let ids = |factor| {
        let all = servers(1, 300, factor);
        let bars = all
            .into_iter()
            .filter(|figure| figure.id.starts_with("bars"));
        bars.map(|figure| figure.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(900), ["bars-all-linear", "bars-all-log"]);
    assert_eq!(ids(1_200), ["bars-all-log"]);
}

#[test]
fn a_test_has_room_for_the_runs_that_have_it() {
    let suites: [&[&'static str]; 3] = [&["Put1K", "Get1K"], &["Get1K"], &["Options"]];
    let runs = suites.map(|tests| {
        let mut run = RunBuilder::new(1);
        for test in tests {
            run = run.test(test, &[(test, "GET")]).ok(test, 20, |i| 100 + i);
        }
        let run = run.build();
        let summary = summarise(&run);
        (run, summary)
    });
    let all = figures_of_runs(&runs);
    let figure = named(&all, "bars-all-linear");
    let bars = marks(figure).filter_map(|mark| match mark.shape {
        MarkShape::Rect { y: (low, high), .. } => Some((mark.row[0].as_str(), low, high)),
        _ => None,
    });
    let bars: Vec<(&str, f64, f64)> = bars.collect();
    let tests: Vec<&str> = bars.iter().map(|(test, ..)| *test).collect();
    assert_eq!(tests, ["Put1K", "Get1K", "Get1K", "Options"]);
    // Two bars touch in the middle of their row; one alone stands there, as thick as each of these.
    for ((_, low, high), (from, to)) in
        bars.iter()
            .zip([(-0.18, 0.18), (0.64, 1.0), (1.0, 1.36), (1.82, 2.18)])
    {
        assert!(
            (low - from).abs() < 1e-9 && (high - to).abs() < 1e-9,
            "{bars:?}"
        );
    }
}

/// Intervals of a figure with the ends that lie beyond its axis.
fn cut(figure: &Figure, axis: fn(&figures::Panel) -> &Axis) -> usize {
    let panels = figure.panels.iter().flat_map(|panel| {
        let marks = panel.series.iter().flat_map(|series| &series.marks);
        marks.map(move |mark| (panel, mark))
    });
    let ends = panels.filter_map(|(panel, mark)| match &mark.shape {
        MarkShape::Interval { ends, .. } => Some([ends.0, ends.1].map(|end| axis(panel).cuts(end))),
        _ => None,
    });
    ends.flatten().filter(|is_cut| *is_cut).count()
}

#[test]
fn sweeps_cut_intervals_that_leave_the_axis() {
    let mut sweep = answers::sweep();
    for point in &mut sweep.rows[0].servers[0].points {
        point.ci95 = point.mean.map(|mean| (0.0, mean * 1e6));
    }
    let points = sweep.rows[0].servers[0].points.len();
    let figure = sweep_figures(&sweep).remove(0);
    assert_eq!(figure.id, "sweep-width-CopyCol");
    // Zero, and values far beyond all means: a logarithmic axis has neither.
    assert!(figure.panels[0].y.is_log());
    assert_eq!(cut(&figure, |panel| &panel.y), 2 * points);
    let untouched = sweep_figures(&answers::sweep()).remove(0);
    assert_eq!(cut(&untouched, |panel| &panel.y), 0);
}

#[test]
fn ratios_have_a_row_for_each_test_the_slowest_first() {
    let comparison = answers::comparisons();
    let all = figures_of(&ReportPage {
        comparison: Some(&comparison),
        ..ReportPage::default()
    });
    let forest = named(&all, "forest-1");
    let rows: Vec<&[String]> = forest.rows().collect();
    let ratios: Vec<f64> = rows.iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(
        ratios.len() > 2 && ratios.is_sorted_by(|one, other| one >= other),
        "{rows:?}"
    );
    let words: Vec<&str> = rows.iter().map(|row| row[3].as_str()).collect();
    assert!(
        words.contains(&"slower") && words.contains(&"inconclusive"),
        "{words:?}"
    );
    let matrix = named(&all, "matrix");
    let cells = comparison
        .versus
        .iter()
        .map(|versus| versus.comparison.rows.len());
    assert_eq!(matrix.rows().count(), cells.sum::<usize>());
}

#[test]
fn a_sweep_has_a_panel_for_each_server_and_its_law_through_the_points() {
    let mut sweep = answers::sweep();
    let all = sweep_figures(&sweep);
    let figure = named(&all, "sweep-width-CopyCol");
    let [first, second] = &figure.panels[..] else {
        panic!("{figure:?}")
    };
    // The law is written once, above its panel.
    assert!(first.title.starts_with("apache: 21"), "{}", first.title);
    assert!(first.title.ends_with("µs × width"), "{}", first.title);
    assert_eq!(first.y.ends(), second.y.ends());
    for panel in [first, second] {
        assert_eq!(panel.series.len(), 2);
        for series in &panel.series {
            let curves: Vec<&Vec<(f64, f64)>> = series
                .marks
                .iter()
                .filter_map(|mark| match &mark.shape {
                    MarkShape::Line(points, _) => Some(points),
                    _ => None,
                })
                .collect();
            let [curve] = &curves[..] else {
                panic!("{curves:?}")
            };
            let points = series.marks.iter().filter_map(|mark| match mark.shape {
                MarkShape::Point(x, y) => Some((x, y)),
                _ => None,
            });
            for (x, y) in points {
                let near = curve
                    .iter()
                    .map(|(at, fit)| ((at - x) / 300.0).hypot((fit - y) / y));
                assert!(
                    near.fold(f64::INFINITY, f64::min) < 0.05,
                    "{x} {y} {curve:?}"
                );
            }
        }
    }
    // A single server leaves the room to its law.
    sweep.servers.truncate(1);
    for row in &mut sweep.rows {
        row.servers.truncate(1);
    }
    let all = sweep_figures(&sweep);
    let title = &named(&all, "sweep-width-CopyCol").panels[0].title;
    assert!(
        title.starts_with("21") && title.ends_with("µs × width"),
        "{title}"
    );
}

#[test]
fn values_of_a_sweep_are_as_they_were_written_and_zero_has_no_logarithm() {
    let mut sweep = answers::sweep();
    sweep.vary[0] = Varied {
        values: vec![0.0, 1024.0, 65_536.0, 1_048_576.0],
        written: ["0", "1KiB", "64KiB", "1MiB"].map(str::to_owned).to_vec(),
        ..sweep.vary[0].clone()
    };
    let all = sweep_figures(&sweep);
    let figure = named(&all, "sweep-width-CopyCol");
    assert!(!figure.panels[0].x.is_log());
    let drawn = figures::svg(figure, 760);
    for label in [">0<", ">64KiB<", ">1MiB<"] {
        assert!(drawn.contains(label), "no {label} in {drawn}");
    }
    // A point without a time is not passed over.
    let note = &named(&all, "sweep-width-Get1K").note;
    assert!(note.contains("2 points have no time"), "{note}");
}

#[test]
fn no_label_of_a_sweep_covers_another() {
    let mut sweep = answers::sweep();
    // All lines end at the same time.
    for server in &mut sweep.rows[0].servers {
        for point in &mut server.points {
            (point.mean, point.ci95) = (Some(500_000.0), None);
        }
    }
    let figure = sweep_figures(&sweep).remove(0);
    let labels = marks(&figure).filter_map(|mark| match &mark.shape {
        MarkShape::Text { text, shift, .. } => Some((text.as_str(), shift.1)),
        _ => None,
    });
    let expected = [("depth 2", 0.0), ("depth 10", 13.0)];
    assert_eq!(labels.collect::<Vec<_>>(), [expected, expected].concat());
}

#[test]
fn a_time_line_tells_what_its_marks_are() {
    for (operations, said) in [
        (20, "every failure a cross"),
        (3_000, "the line is their mean"),
    ] {
        let all = servers(1, operations, 2);
        let figure = named(&all, "timeline-Put1K");
        assert!(figure.note.contains(said), "{}", figure.note);
        let crosses = marks(figure).filter(|mark| mark.look.symbol == Symbol::Cross);
        let failed = crosses.filter(|mark| mark.row[4].ends_with("failed"));
        assert!(failed.count() > 0, "{operations}");
        let counted = figure.rows().filter_map(|row| row[4].parse::<u64>().ok());
        assert_eq!(counted.sum::<u64>(), operations);
    }
}

#[test]
fn no_two_lines_of_a_panel_differ_by_colour_only() {
    /// How a line looks without its colours: the dash of the line, and symbol and filling of its
    /// points.
    fn look(marks: &[FigureMark]) -> (Option<Dash>, Option<(Symbol, bool)>) {
        let line = marks
            .iter()
            .find(|mark| matches!(mark.shape, MarkShape::Line(..)));
        let point = marks
            .iter()
            .find(|mark| matches!(mark.shape, MarkShape::Point(..)));
        let symbol = point.map(|mark| (mark.look.symbol, mark.look.fill == MarkFill::Hollow));
        (line.map(|mark| mark.look.dash), symbol)
    }
    let runs = servers(17, 4, 2);
    let swept = sweep_figures(&answers::sweep());
    for figure in [
        named(&runs, "ecdf-Put1K"),
        named(&swept, "sweep-width-CopyCol"),
    ] {
        for panel in &figure.panels {
            let looks: Vec<_> = panel
                .series
                .iter()
                .map(|series| look(&series.marks))
                .collect();
            assert!(looks.len() > 1);
            for (index, one) in looks.iter().enumerate() {
                assert!(!looks[..index].contains(one), "{one:?} twice in {looks:?}");
            }
        }
    }
}

#[test]
fn a_load_of_a_search_tells_how_often_it_held() {
    let mut found = answers::found();
    // The same load once more, and it did not hold.
    let mut again = found.trials[2];
    again.held = false;
    again.times = stats::Distribution::of(&[40_000_000, 50_000_000, 60_000_000]);
    found.trials.insert(3, again);
    let figure = search_figure(&found);
    let rows_of_sixteen: Vec<&[String]> = figure
        .rows()
        .filter(|row| row[0] == "16 users" && row[1] == "p99")
        .collect();
    assert_eq!(rows_of_sixteen.len(), 1);
    assert_eq!(rows_of_sixteen[0][3], "2 of 4");
    assert_eq!(figure.panels[0].y.name, "response time");
    assert!(
        figure.note.contains("failed in more than 1 of 10"),
        "{}",
        figure.note
    );
    // The limit is a line, and on the axis.
    let limit = marks(&figure).find_map(|mark| match &mark.shape {
        MarkShape::Rule { at, text, .. } if text == "p99 < 50ms" => Some(*at),
        _ => None,
    });
    assert_eq!(limit, Some(50_000.0));
    let claims = |found: &SearchResult| {
        let figure = search_figure(found);
        let rules = marks(&figure).filter_map(|mark| match &mark.shape {
            MarkShape::Rule { text, .. } => Some(text.clone()),
            _ => None,
        });
        rules
            .filter(|text| text.contains("hold"))
            .collect::<Vec<_>>()
    };
    assert!(
        claims(&found)[0].starts_with("holds at "),
        "{:?}",
        claims(&found)
    );
    let outcome = found.answer.confirmed;
    found.answer.confirmed = false;
    assert!(
        claims(&found)[0].starts_with("may hold at "),
        "{:?}",
        claims(&found)
    );
    found.answer.confirmed = outcome;
    found.condition = Some("p99 < 70s".to_owned());
    assert!(!search_figure(&found).panels[0].y.cuts(70e6));
    found.condition = Some("p90 < 1ms and failures == 0".to_owned());
    let note = search_figure(&found).note;
    for said in [
        "The condition: p90 < 1ms and failures == 0.",
        "Marks for p90 are not drawn.",
    ] {
        assert!(note.contains(said), "{note}");
    }

    found.find = Find::Rate;
    assert_eq!(
        search_figure(&found).panels[0].y.name,
        "latency from schedule"
    );
    found.condition = None;
    found.counted = report::CountedUnit::Pages;
    let figure = search_figure(&found);
    assert_eq!(figure.note, "Each mark is a run.");
    assert_eq!(figure.panels[0].y.name, "time of a page");
}

/// The legend has the symbols of points that are drawn.
#[test]
fn a_line_without_points_has_none_in_the_legend() {
    for (operations, fill) in [(20, MarkFill::Full), (3_000, MarkFill::None)] {
        let all = servers(2, operations, 2);
        let figure = named(&all, "ecdf-Put1K");
        assert!(
            figure.keys.iter().all(|key| key.look.fill == fill),
            "{operations}"
        );
        let points = marks(figure).filter(|mark| matches!(mark.shape, MarkShape::Point(..)));
        assert!(
            points.into_iter().all(|mark| mark.look.fill == fill),
            "{operations}"
        );
    }
}

/// The other scale of a test has no id that the usual one of another test has.
#[test]
fn ids_of_a_page_differ_whatever_tests_are_called() {
    let mut sweep = answers::sweep();
    let mut again = sweep.rows[0].clone();
    again.name = format!("{}-other", again.name);
    sweep.rows.push(again);
    let page = report::page::html(&ReportPage {
        sweep: Some(&sweep),
        ..ReportPage::default()
    });
    let ids = page.split(" data-id=\"").skip(1);
    let ids: Vec<&str> = ids.filter_map(|rest| rest.split('"').next()).collect();
    let different: std::collections::BTreeSet<&&str> = ids.iter().collect();
    assert!(ids.contains(&"sweep-width-CopyCol-other"), "{ids:?}");
    assert_eq!(different.len(), ids.len(), "{ids:?}");
}

#[test]
fn names_of_figures_are_safe_and_differ() {
    let hostile = "../<b>&{a|x}";
    let run = RunBuilder::new(1)
        .test("Put1K", &[("Put1K", "PUT")])
        .ok("Put1K", 30, |i| 100 + i)
        .test("CopyCol", &[("CopyCol", "COPY")])
        .ok("CopyCol", 30, |i| 9_000 + i)
        .test(hostile, &[(hostile, "GET")])
        .ok(hostile, 1, |_| 100)
        .test("Lock", &[("Lock", "LOCK")])
        .build();
    let summary = summarise(&run);
    let (sweep, search, comparison) = (answers::sweep(), answers::found(), answers::comparisons());
    let all = figures_of(&ReportPage {
        runs: vec![shown(&run, &summary)],
        comparison: Some(&comparison),
        sweep: Some(&sweep),
        search: Some(&search),
        ..ReportPage::default()
    });
    for name in [
        "bars-single-linear",
        "bars-collections-log",
        "ecdf-CopyCol",
        "timeline-Put1K",
        "histogram-----b---a-x-",
        "sweep-width-CopyCol",
        "search",
        "matrix",
        "forest-1",
    ] {
        named(&all, name);
    }
    let mut ids: Vec<&str> = all.iter().map(|figure| figure.id.as_str()).collect();
    // Nothing was measured, so there is nothing to draw.
    assert!(!ids.contains(&"ecdf-Lock"));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for figure in &all {
        let columns = figure.columns.len();
        assert!(figure.rows().count() > 0, "{}", figure.id);
        assert!(
            figure.rows().all(|row| row.len() == columns),
            "{}",
            figure.id
        );
        let drawn = figures::file(figure, &figures::FileStyle::default(), "a server");
        assert!(
            !drawn.contains("<b>") && !drawn.contains('\u{1b}'),
            "{}",
            figure.id
        );
    }
}

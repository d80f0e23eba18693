//! What the definitions of figures say, looked at as data: scales, marks and tooltips.

use std::convert::Infallible;

use record::Outcome;
use report::page::{CHARTS, FIGURES, PageRun, ReportPage, figure_data};
use report::{Find, SearchResult, Sweep, Varied};
use rquickjs::CatchResultExt;
use serde_json::Value;
use stats::testing::RunBuilder;
use stats::{Resolution, summarise};

use crate::answers;

/// The value of an expression over `data`, and over `look`: a page in a browser, but for the lines
/// of tooltips, which are joined.
fn evaluated(data: &str, expression: &str) -> Value {
    let runtime = rquickjs::Runtime::new().unwrap();
    let context = rquickjs::Context::full(&runtime).unwrap();
    let text: String = context.with(|engine| {
        for source in [CHARTS, FIGURES] {
            engine.eval::<(), _>(source).unwrap();
        }
        engine.globals().set("text", data).unwrap();
        let source = format!(
            "const data = JSON.parse(text), F = prestanFigures, A = prestanAnswers;
             const look = {{ width: 800, lines: (lines) => lines.join('; ') }};
             JSON.stringify({expression})"
        );
        engine.eval(source).catch(&engine).unwrap()
    });
    serde_json::from_str(&text).unwrap()
}

/// Data of servers of which each takes times as long as the one before, in runs of that many
/// operations.
fn servers(count: u64, operations: u64) -> String {
    let runs: Vec<_> = (0..count)
        .map(|server| {
            let run = RunBuilder::new(1)
                .test("Put1K", &[("Put1K", "PUT")])
                .ok("Put1K", operations * (server + 1), move |i| {
                    (100 + i * 7919 % 400) * (server * 3 + 1)
                })
                .ops("Put1K", 2, Outcome::Reset, |_| 5)
                .build();
            let summary = summarise(&run);
            (run, summary)
        })
        .collect();
    let shown = runs.iter().map(|(run, summary)| {
        let pieces = || Ok::<_, Infallible>([Ok::<_, Infallible>(&run.samples)]);
        let resolution = Resolution::for_rows(2);
        PageRun {
            name: None,
            run,
            summary,
            details: stats::details_from(&run.plan, &run.events, resolution, pieces).ok(),
        }
    });
    figure_data(&ReportPage {
        runs: shown.collect(),
        ..ReportPage::default()
    })
}

fn of_sweep(sweep: &Sweep) -> String {
    figure_data(&ReportPage {
        sweep: Some(sweep),
        ..ReportPage::default()
    })
}

fn of_search() -> String {
    figure_data(&ReportPage {
        search: Some(&answers::found()),
        ..ReportPage::default()
    })
}

#[test]
fn panels_of_a_figure_have_one_scale() {
    let ends = "['histogram', 'timeLine'].map((kind) => {
        const { xAxis, yAxis } = F[kind](data, look, { test: 'Put1K' }).option;
        return [xAxis, yAxis].map((axes) => axes.map(({ type, min, max, interval }) => [type, min, max, interval]));
    })";
    for operations in [20, 3_000] {
        let ends = evaluated(&servers(3, operations), ends);
        for axes in ends
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|figure| figure.as_array().unwrap())
        {
            let axes = axes.as_array().unwrap();
            assert_eq!(axes.len(), 3);
            assert!(axes[0][1].is_number() && axes[0][2].is_number(), "{axes:?}");
            assert!(axes.iter().all(|axis| *axis == axes[0]), "{axes:?}");
        }
    }
}

#[test]
fn ranges_that_grow_by_a_factor_stand_on_a_logarithmic_axis() {
    let types = "F.histogram(data, look, { test: 'Put1K' }).option.xAxis.map((axis) => [axis.type, axis.axisLabel.customValues?.length >= 3])";
    let narrow = evaluated(&servers(1, 300), types);
    assert_eq!(narrow, serde_json::json!([["log", true]]));
    // Nothing has no logarithm.
    let types = "{
        const [{ details: [{ histogram }] }] = data.runs;
        histogram.from_us[0] = 0;
        return F.histogram(data, look, { test: 'Put1K' }).option.xAxis[0].type;
    }";
    let from_nothing = evaluated(&servers(1, 300), &format!("(() => {types})()"));
    assert_eq!(from_nothing, "value");
}

#[test]
fn a_whisker_begins_where_its_interval_does() {
    let whisker = |scale: &str| {
        format!(
            "(() => {{
                const us = data.runs[0].result.tests[0].response_us;
                us.ci95 = [0, us.mean * 2];
                const [group] = F.groups(data);
                const series = F.bars(data, look, {{ group, scale: '{scale}' }}).option.series[1];
                const api = {{
                    value: (at) => series.data[0][at], coord: ([x, y]) => [100 + x, y], size: () => [0, 20],
                }};
                const drawn = series.renderItem({{ dataIndex: 0, coordSys: {{ x: 100 }} }}, api);
                const count = (type) => drawn.children.filter((child) => child.type === type).length;
                return [series.data[0][0], count('line'), count('polygon')];
            }})()"
        )
    };
    let data = servers(1, 300);
    assert_eq!(
        evaluated(&data, &whisker("linear")),
        serde_json::json!([0, 3, 0])
    );
    // Cut, and with an arrow where it is cut.
    let log = evaluated(&data, &whisker("log"));
    assert!(
        log[0].as_f64().unwrap() > 0.0 && log[1] == 2 && log[2] == 1,
        "{log}"
    );
}

#[test]
fn ratios_and_sweeps_mark_intervals_that_leave_the_axis() {
    // The series' own marks, with one very long interval.
    let cuts = |series: &str| {
        format!(
            "((series) => {{
                const api = {{ value: (at) => (series.data[0].value ?? series.data[0])[at], coord: ([x, y]) => [100 + x, y], size: () => [0, 20] }};
                const drawn = series.renderItem({{ dataIndex: 0, coordSys: {{ x: 90, y: 0, width: 900, height: 99 }} }}, api);
                return drawn.children.filter((child) => child.name === 'cut').map((child) => child.shape.points[0]);
            }})({series})"
        )
    };
    let comparison = answers::comparisons();
    let data = figure_data(&ReportPage {
        comparison: Some(&comparison),
        ..ReportPage::default()
    });
    let forest = "(() => {
        data.comparison.tests[0].ci95 = [0.0001, 2];
        return A.ratios(data, look, { versus: A.versusOf(data)[0] }).option.series[0];
    })()";
    let forest = evaluated(&data, &cuts(forest));
    assert_eq!(forest[0][0], 90, "{forest}");
    assert_eq!(forest.as_array().unwrap().len(), 1);
    let swept = "(() => {
        for (const point of data.sweep.tests[0].servers[0].points) point.ci95_us = [0, point.mean_us * 1e6];
        return A.sweep(data, look, { test: data.sweep.tests[0], param: 'width', scale: 'log' }).option.series[1];
    })()";
    let swept = evaluated(&of_sweep(&answers::sweep()), &cuts(swept));
    assert_eq!(swept[0][1], 99, "{swept}");
    assert_eq!(swept[1][1], 0, "{swept}");
}

#[test]
fn a_logarithmic_axis_has_dots_and_no_bars() {
    let types = |scale: &str| {
        format!(
            "F.bars(data, look, {{ group: F.groups(data)[0], scale: '{scale}' }}).option.series.map(({{ type }}) => type)"
        )
    };
    let data = servers(1, 300);
    assert_eq!(
        evaluated(&data, &types("linear")),
        serde_json::json!(["bar", "custom"])
    );
    assert_eq!(
        evaluated(&data, &types("log")),
        serde_json::json!(["custom", "custom"])
    );
    let scales = |factor: u32| {
        format!(
            "(() => {{
                const [one] = data.runs[0].result.tests;
                data.runs[0].result.tests.push({{ ...one, measure: 'Slow', response_us: {{ ...one.response_us, mean: one.response_us.mean * {factor} }} }});
                return F.scales(data, look, {{ tests: [one.measure, 'Slow'] }});
            }})()"
        )
    };
    assert_eq!(
        evaluated(&data, &scales(10)),
        serde_json::json!(["linear", "log"])
    );
    assert_eq!(evaluated(&data, &scales(2000)), serde_json::json!(["log"]));
    // So does the page choose by itself.
    let chosen = |factor: u32| {
        let chosen = format!(
            "(() => {{
                const {{ tests }} = data.runs[0].result;
                tests.push({{ ...tests[0], measure: 'Slow', response_us: {{ ...tests[0].response_us, mean: tests[0].response_us.mean * {factor} }} }});
                return F.bars(data, look, {{ group: F.groups(data)[0], scale: 'auto' }}).id;
            }})()"
        );
        evaluated(&data, &chosen)
    };
    assert_eq!(chosen(900), "bars-all-linear");
    assert_eq!(chosen(1_100), "bars-all-log");
}

#[test]
fn a_sweep_has_a_panel_for_each_server_and_its_law_through_the_points() {
    let made = "(() => {
        const made = A.sweep(data, look, { test: data.sweep.tests[0], param: 'width', scale: 'auto' });
        const { title, xAxis, yAxis, series } = made.option;
        const laws = series.filter((line) => line.type === 'line' && line.symbol === 'none').map((law) => {
            const marks = series.find((line) => `${line.name}: fitted` === law.name);
            const near = ([x, y]) => Math.min(...law.data.map(([at, fit]) => Math.hypot((at - x) / 300, (fit - y) / y)));
            return [law.xAxisIndex, marks.lineStyle.width, Math.max(...marks.data.map((mark) => near(mark.value))) < 0.05];
        });
        return [title.map((of) => of.text), xAxis.length, yAxis.map(({ min, max }) => [min, max]), laws, Object.keys(made)];
    })()";
    let made = evaluated(&of_sweep(&answers::sweep()), made);
    let titles = made[0].as_array().unwrap();
    assert_eq!(titles.len(), 2);
    // The law is written once, above its panel.
    let law = titles[0].as_str().unwrap();
    assert!(law.starts_with("apache: 21"), "{law}");
    assert!(law.ends_with("µs × width"), "{law}");
    assert!(!made[4].to_string().contains("words"), "{made}");
    assert_eq!(made[1], 2);
    assert_eq!(made[2][0], made[2][1]);
    // A law for each line, and no other line through its marks.
    assert_eq!(
        made[3],
        serde_json::json!([[0, 0, true], [0, 0, true], [1, 0, true], [1, 0, true]])
    );
}

#[test]
fn a_search_shows_the_limit_of_its_condition() {
    let limits = |condition: &str| {
        format!(
            "(() => {{
                data.search.while = '{condition}';
                const marks = A.search(data, look).option.series.flatMap((series) => series.markLine?.data ?? []);
                return marks.filter((mark) => mark.yAxis !== undefined).map((mark) => [mark.yAxis, mark.name]);
            }})()"
        )
    };
    let found = |condition: &str| evaluated(&of_search(), &limits(condition));
    assert_eq!(
        found("p99 < 50ms and failures == 0"),
        serde_json::json!([[50_000, "p99 < 50ms"]])
    );
    assert_eq!(
        found("p50 <= 0.5 s and p99 < 900us")
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        found("rate > 2000 /s and p90 <= 1.5 s and failure_rate < 1 %"),
        serde_json::json!([[1_500_000, "p90 <= 1.5 s"], [2_000, "rate > 2000 /s"]])
    );
    // A limit far above all times is on the axis, too.
    let end = "(data.search.while = 'p99 < 70s', data.search.loads.splice(1), A.search(data, look).option.yAxis[0].max)";
    assert!(evaluated(&of_search(), end).as_f64().unwrap() >= 70e6);
    let end = "(data.search.while = 'p99 < 2ms', data.search.loads.splice(1), A.search(data, look).option.yAxis[0].max)";
    assert!(evaluated(&of_search(), end).as_f64().unwrap() >= 2e3);
    // What no axis has is in words.
    assert_eq!(found("failure_rate < 1%"), serde_json::json!([]));
    let note = "(data.search.while = 'p90 < 1ms and failures == 0', A.search(data, look).note)";
    let note = evaluated(&of_search(), note);
    for said in [
        "The condition: p90 < 1ms and failures == 0.",
        "Marks for p90 are not drawn.",
    ] {
        assert!(note.as_str().unwrap().contains(said), "{note}");
    }
}

#[test]
fn a_time_line_stays_inside_and_lets_a_finger_scroll() {
    let data = servers(1, 3_000);
    let of = "(look) => F.timeLine(data, look, { test: 'Put1K' }).option";
    let clip = evaluated(&data, &format!("({of})(look).series[0].clip"));
    assert_eq!(clip, true);
    let zooms = |look: &str| {
        evaluated(
            &data,
            &format!("({of})({look}).dataZoom.map((zoom) => zoom.type)"),
        )
    };
    assert_eq!(zooms("look"), serde_json::json!(["inside", "slider"]));
    assert_eq!(
        zooms("{ ...look, coarse: true }"),
        serde_json::json!(["slider"])
    );
    // What an operation is, and what is no operation.
    let note = "F.timeLine(data, look, { test: 'Put1K' }).note";
    let note = evaluated(&servers(1, 20), note);
    assert!(
        note.as_str().unwrap().contains("every failure a cross"),
        "{note}"
    );
    let first = "F.ecdf(data, look, { test: 'Put1K' }).option.series[0].data[0]";
    let first = evaluated(&data, first);
    assert_eq!(
        (&first["symbol"], &first["tooltip"]["show"]),
        (&"none".into(), &false.into())
    );
}

/// Symbol, dashes and filling of each line that has marks.
const LINES: &str = ".filter((line) => line.type === 'line' && line.symbol !== 'none')
    .map((line) => JSON.stringify([line.xAxisIndex, line.symbol, line.lineStyle.type, Boolean(line.itemStyle)]))";

#[test]
fn no_two_lines_of_a_panel_differ_by_colour_only() {
    let runs = "F.ecdf(data, look, { test: 'Put1K' }).option.series";
    let sweep = "A.sweep(data, look, { test: data.sweep.tests[0], param: 'width', scale: 'auto' }).option.series";
    for (data, lines, count) in [
        (servers(17, 4), runs, 17),
        (of_sweep(&answers::sweep()), sweep, 4),
    ] {
        let lines = evaluated(&data, &format!("{lines}{LINES}"));
        let mut lines: Vec<&str> = lines
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line.as_str().unwrap())
            .collect();
        assert_eq!(lines.len(), count);
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), count, "{lines:?}");
    }
}

#[test]
fn values_of_a_sweep_are_as_they_were_written_and_zero_has_no_logarithm() {
    let mut sweep = answers::sweep();
    sweep.vary[0] = Varied {
        values: vec![0.0, 1024.0, 65_536.0, 1_048_576.0],
        written: ["0", "1KiB", "64KiB", "1MiB"].map(str::to_owned).to_vec(),
        ..sweep.vary[0].clone()
    };
    let axes = "(() => {
        const made = A.sweep(data, look, { test: data.sweep.tests[0], param: 'width', scale: 'log' });
        const { xAxis: [xAxis], yAxis: [yAxis] } = made.option;
        const { customValues, formatter } = xAxis.axisLabel;
        return [xAxis.type, yAxis.type, customValues.map((value) => formatter(value)), made.note];
    })()";
    let axes = evaluated(&of_sweep(&sweep), axes);
    assert_eq!(axes[0], "value");
    assert_eq!(axes[1], "log");
    assert_eq!(axes[2], serde_json::json!(["0", "1KiB", "64KiB", "1MiB"]));
    assert!(
        axes[3].as_str().unwrap().contains("Zero has no place"),
        "{axes}"
    );
    // A point without a time is not passed over.
    let note =
        "A.sweep(data, look, { test: data.sweep.tests[2], param: 'width', scale: 'auto' }).note";
    let note = evaluated(&of_sweep(&sweep), note);
    assert!(
        note.as_str().unwrap().contains("2 points have no time"),
        "{note}"
    );
}

#[test]
fn a_load_of_a_search_tells_how_often_it_held() {
    let mut found = answers::found();
    // The same load once more, and it did not hold.
    let mut again = found.trials[2];
    again.held = false;
    again.times = stats::Distribution::of(&[40_000_000, 50_000_000, 60_000_000]);
    found.trials.insert(3, again);
    let page = |found: &SearchResult| {
        figure_data(&ReportPage {
            search: Some(found),
            ..ReportPage::default()
        })
    };
    let told = "(() => {
        const line = A.search(data, look).option.series[1];
        return line.data.map((data) => line.tooltip.formatter({ data, value: data.value }));
    })()";
    let told = evaluated(&page(&found), told);
    let of_sixteen: Vec<&Value> = told
        .as_array()
        .unwrap()
        .iter()
        .filter(|line| line.as_str().unwrap().starts_with("16"))
        .collect();
    assert_eq!(of_sixteen.len(), 1, "{told}");
    let text = of_sixteen[0].as_str().unwrap();
    assert!(text.contains("held in 2 of 4 trials"), "{told}");

    let name = "A.search(data, look).option.yAxis[0].name";
    assert_eq!(evaluated(&page(&found), name), "response time");
    found.find = Find::Rate;
    assert_eq!(evaluated(&page(&found), name), "latency from schedule");

    let note = "A.search(data, look).note";
    let judged = evaluated(&page(&found), note);
    assert!(
        judged
            .as_str()
            .unwrap()
            .contains("failed in more than 1 of 10"),
        "{judged}"
    );
    found.condition = None;
    found.counted = report::CountedUnit::Pages;
    assert_eq!(evaluated(&page(&found), note), "Each mark is a run.");
    assert_eq!(evaluated(&page(&found), name), "time of a page");
}

/// A load at a rate of 1000 a second, of which the last third was dropped.
fn of_load() -> String {
    let run = RunBuilder::new(1)
        .with(|run| run.plan.load.pace = stats::testing::open_loop())
        .test("Get", &[("Get", "GET")])
        .ok("Get", 4_000, |i| 300 + i * 7919 % 400)
        .ops("Get", 1_000, Outcome::WrongStatus, |_| 500)
        .ops("Get", 2_000, Outcome::Dropped, |_| 0)
        .with(|run| {
            for (place, sample) in run.samples.iter_mut().enumerate() {
                sample.moments.planned = place as u64 * 1_000_000;
                let moments = &mut sample.moments;
                let started = moments.started;
                moments.started = moments.planned + 40_000;
                for moment in [&mut moments.sent, &mut moments.first, &mut moments.done] {
                    *moment = moment.map(|moment| moment - started + moments.planned + 40_000);
                }
                sample.status = match sample.outcome {
                    Outcome::Ok => Some(200),
                    Outcome::WrongStatus => Some(503),
                    _ => None,
                };
            }
        })
        .build();
    let summary = summarise(&run);
    let pieces = || Ok::<_, Infallible>([Ok::<_, Infallible>(&run.samples)]);
    let details = stats::details_from(&run.plan, &run.events, Resolution::for_rows(1), pieces);
    figure_data(&ReportPage {
        runs: vec![PageRun {
            name: None,
            run: &run,
            summary: &summary,
            details: details.ok(),
        }],
        ..ReportPage::default()
    })
}

#[test]
fn a_load_is_shown_over_time() {
    let series = |kind: &str| {
        let series = format!(
            "(() => {{
                const made = prestanLoads.{kind}(data, look, {{ test: 'Get' }});
                const at = (line, share) => line.data[Math.floor(line.data.length * share)][1];
                return [made.id, made.option.series.map((line) => [line.name, at(line, 0.3), at(line, 0.9)]), made.option.legend.data];
            }})()"
        );
        evaluated(&of_load(), &series)
    };
    let near = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!(
            (value - expected).abs() <= expected * 0.03 + 0.5,
            "{value} {expected}"
        );
    };
    // Name, and value in the first third of the time and at its end.
    let throughput = series("throughput");
    assert_eq!(throughput[0], "throughput-Get");
    assert_eq!(
        throughput[2],
        serde_json::json!(["planned", "sent", "answered"])
    );
    for (line, [early, late]) in [[1000.0, 1000.0], [1000.0, 0.0], [1000.0, 0.0]]
        .iter()
        .enumerate()
    {
        near(&throughput[1][line][1], *early);
        near(&throughput[1][line][2], *late);
    }
    let status = series("status");
    assert_eq!(status[2], serde_json::json!(["200", "dropped", "503"]));
    for (line, [early, late]) in [[1000.0, 0.0], [0.0, 1000.0], [0.0, 0.0]]
        .iter()
        .enumerate()
    {
        near(&status[1][line][1], *early);
        near(&status[1][line][2], *late);
    }
    // From the planned moment on.
    let percentiles = series("percentiles");
    assert_eq!(percentiles[2], serde_json::json!(["p50", "p90", "p99"]));
    near(&percentiles[1][0][1], 550.0);
    assert!(percentiles[1][0][2].is_null(), "{percentiles}");

    // They are written as files, and a suite has none of them.
    let files = "[...A.all(data, { ...look, paper: true })].filter((figure) => !figure.empty).map((figure) => figure.id)";
    let of_load = evaluated(&of_load(), files).to_string();
    let of_suite = evaluated(&servers(1, 20), files).to_string();
    for kind in ["throughput-", "percentiles-", "status-"] {
        assert!(
            of_load.contains(kind) && !of_suite.contains(kind),
            "{of_load} {of_suite}"
        );
    }
}

#[test]
fn no_label_of_a_sweep_covers_another() {
    let labels = "(() => {
        // All lines end at the same time.
        for (const of of data.sweep.tests[0].servers) for (const point of of.points) point.mean_us = 500;
        const made = A.sweep(data, look, { test: data.sweep.tests[0], param: 'width', scale: 'log' });
        const last = made.option.series.filter((line) => line.type === 'line' && line.symbol !== 'none').map((line) => line.data.at(-1).label);
        return last.map((label) => [label.formatter, label.offset[1]]);
    })()";
    assert_eq!(
        evaluated(&of_sweep(&answers::sweep()), labels),
        serde_json::json!([
            ["depth 2", 0],
            ["depth 10", 13],
            ["depth 2", 0],
            ["depth 10", 13]
        ])
    );
}

//! Figures as files: they are drawn, and with what they are drawn is what the recipe says.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../report/tests/report/answers.rs"]
mod answers;
#[cfg(test)]
mod options;

use std::convert::Infallible;

use figures::{Figure, FigureError, FigureStyle, Painter, draw};
use report::page::{PageRun, ReportPage, figure_data};
use serde_json::Value;
use stats::testing::RunBuilder;
use stats::{Resolution, summarise};

/// Figures of a page with a run that has a hostile test, a sweep and a search.
fn figures() -> Vec<Figure> {
    figures_of(&FigureStyle::default()).0
}

/// Those that are wanted, and the names of all.
fn figures_of(style: &FigureStyle) -> (Vec<Figure>, Vec<String>) {
    let hostile = "../<b>&{a|x}";
    let run = RunBuilder::new(1)
        .test("Put1K", &[("Put1K", "PUT")])
        .ok("Put1K", 3_000, |i| 100 + i * 7919 % 400)
        .test("CopyCol", &[("CopyCol", "COPY")])
        .ok("CopyCol", 30, |i| 9_000 + i)
        .test(hostile, &[(hostile, "GET")])
        .ok(hostile, 1, |_| 100)
        .test("Lock", &[("Lock", "LOCK")])
        .build();
    let summary = summarise(&run);
    let pieces = || Ok::<_, Infallible>([Ok::<_, Infallible>(&run.samples)]);
    let details = stats::details_from(&run.plan, &run.events, Resolution::for_rows(4), pieces);
    let (sweep, search) = (answers::sweep(), answers::found());
    let comparison = answers::comparisons();
    let page = ReportPage {
        runs: vec![PageRun {
            name: None,
            run: &run,
            summary: &summary,
            details: details.ok(),
        }],
        comparison: Some(&comparison),
        sweep: Some(&sweep),
        search: Some(&search),
        ..ReportPage::default()
    };
    drawn(&figure_data(&page), style).unwrap()
}

fn drawn(data: &str, style: &FigureStyle) -> Result<(Vec<Figure>, Vec<String>), FigureError> {
    let mut all = Vec::new();
    let names = draw(data, style, |figure| {
        all.push(figure);
        Ok::<_, FigureError>(())
    })?;
    Ok((all, names))
}

#[test]
fn a_figure_for_a_paper_has_its_width_font_and_caption() {
    let style = FigureStyle {
        width: 321,
        unit: "85mm".to_owned(),
        font: Some("Times New Roman".to_owned()),
        only: vec!["forest".to_owned(), "bars-single-log".to_owned()],
    };
    let (figures, all) = figures_of(&style);
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names[0], "bars-single-log");
    assert!(
        names[1..].iter().all(|name| name.starts_with("forest-")),
        "{names:?}"
    );
    assert!(all.len() > names.len());
    for Figure { name, svg } in &figures {
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"85mm\" height=\"")
        );
        assert!(svg.contains("viewBox=\"0 0 321 "), "{name}");
        assert!(
            svg.contains("font-family:Times New Roman") && !svg.contains("Noto Sans"),
            "{name}"
        );
        let text: String = svg
            .split('>')
            .filter_map(|part| part.split('<').next())
            .collect();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in ["95 of 100", "evil|"] {
            assert!(
                words.replace(' ', "").contains(&said.replace(' ', "")),
                "{name} lacks {said}: {words}"
            );
        }
        elements(svg);
    }
    // Two points for each pixel of the layout.
    let png = Painter::default().png(&figures[0]).unwrap();
    let picture = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
    assert!(
        (640..=645).contains(&picture.width()),
        "{}",
        picture.width()
    );
}

#[test]
fn figures_are_called_by_name_words_or_the_beginning_of_their_kind() {
    for (name, wanted, is_called) in [
        ("histogram-Get1K", "hist", true),
        ("histogram-Get1K", "histogram", true),
        ("histogram-Get1K", "histogram-Get1K", true),
        ("histogram-Get1K", "histogram-Get", false),
        ("bars-single-log", "bars-single", true),
        ("forest-10", "forest-1", false),
        ("ecdf-Get1K", "hist", false),
    ] {
        assert_eq!(
            figures::is_called(name, wanted),
            is_called,
            "{name} {wanted}"
        );
    }
}

#[test]
fn captions_are_broken_at_the_width_of_their_figure() {
    for width in [200, 760] {
        let style = FigureStyle {
            width,
            unit: width.to_string(),
            only: vec!["forest-1".to_owned()],
            ..FigureStyle::default()
        };
        let (figures, _) = figures_of(&style);
        let lines = figures[0].svg.matches("<text x=\"8\"").count();
        assert!(
            if width == 200 {
                lines > 6
            } else {
                (1..6).contains(&lines)
            },
            "{width}: {lines}"
        );
    }
}

/// Elements of an SVG; it is read as XML to the end.
fn elements(svg: &str) -> usize {
    let mut reader = quick_xml::Reader::from_str(svg);
    reader.config_mut().check_end_names = true;
    let mut elements = 0;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(_) | quick_xml::events::Event::Empty(_) => {
                elements += 1;
            }
            quick_xml::events::Event::Eof => return elements,
            _ => {}
        }
    }
}

#[test]
fn figures_are_svg_with_names_that_are_safe() {
    let figures = figures();
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
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
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let svg = |name: &str| {
        let figure = figures.iter().find(|figure| figure.name == name);
        &figure.unwrap().svg
    };
    // Both servers are named on the paper, and so is every verdict.
    for (name, texts) in [
        (
            "forest-1",
            ["evil|", "http://127.0.0.1:1/", "slower", "inconclusive"],
        ),
        (
            "matrix",
            ["evil|", "http://127.0.0.1:1/", "fails with B", "same"],
        ),
    ] {
        for text in texts {
            assert!(svg(name).contains(text), "{name} does not say {text}");
        }
    }
    // Nothing was measured, so there is nothing to draw.
    assert!(!names.contains(&"ecdf-Lock"), "{names:?}");
    for figure in &figures {
        assert!(elements(&figure.svg) > 8, "{}", figure.name);
        assert!(!figure.svg.contains("NaN"), "{}", figure.name);
        assert!(!figure.svg.contains("<b>"), "{}", figure.name);
    }
}

#[test]
fn pictures_show_something_on_white() {
    let figures = figures();
    let painter = Painter::default();
    for name in ["bars-single-linear", "timeline-Put1K", "matrix", "forest-1"] {
        let figure = figures.iter().find(|figure| figure.name == name).unwrap();
        let png = painter.png(figure).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        let picture = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
        let white = |pixel: &&resvg::tiny_skia::PremultipliedColorU8| {
            (pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()) == (255, 255, 255, 255)
        };
        let all = picture.pixels().len();
        let ground = picture.pixels().iter().filter(white).count();
        assert!(
            ground > all / 3 && ground < all - all / 100,
            "{name}: {ground} of {all}"
        );
    }
    let broken = Figure {
        name: "broken".to_owned(),
        svg: "<svg".to_owned(),
    };
    let error = painter.png(&broken).unwrap_err().to_string();
    assert!(error.contains("broken"), "{error}");
}

#[test]
fn text_is_drawn_without_any_font_of_the_machine() {
    let svg = |text: &str| Figure {
        name: "text".to_owned(),
        svg: format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='40'>\
             <text x='5' y='25' font-family='Inter, sans-serif'>{text}</text></svg>"
        ),
    };
    let painter = Painter::default();
    let empty = painter.png(&svg("")).unwrap();
    for text in ["Put1K", "412 µs", "Größe", "λ ±5 %", "1 … 2"] {
        assert_ne!(painter.png(&svg(text)).unwrap(), empty, "{text}");
    }
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let style = FigureStyle::default();
    let error = drawn("{", &style).unwrap_err().to_string();
    assert!(error.contains("drawing a figure failed"), "{error}");
    let stopped = draw(&figure_data(&ReportPage::default()), &style, |_| {
        Err(FigureError::Script("stopped".to_owned()))
    });
    // There is no figure, so nobody stops.
    assert!(stopped.is_ok());
}

#[test]
fn the_chart_library_is_the_one_of_the_recipe() {
    let recipe: Value =
        serde_json::from_str(include_str!("../../../report/page/vendor/package.json")).unwrap();
    let lock = include_str!("../../../report/page/vendor/package-lock.json");
    let runtime = rquickjs::Runtime::new().unwrap();
    let context = rquickjs::Context::full(&runtime).unwrap();
    let version: String = context.with(|engine| {
        engine.eval::<(), _>(report::page::CHARTS).unwrap();
        engine.eval("echarts.version").unwrap()
    });
    assert_eq!(recipe["dependencies"]["echarts"], version.as_str());
    assert!(lock.contains(&format!("\"version\": \"{version}\"")));
    assert!(!lock.contains("resolved") && !lock.contains("://registry"));
}

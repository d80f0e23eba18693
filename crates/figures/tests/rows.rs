//! The rows of marks, as the script of a page finds them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use figures::{
    Along, Axis, Figure, FigureMark, Format, LineStep, MarkFill, MarkLook, MarkShape, Panel, Range,
    Scale, Series, svg,
};

/// The start of the marks, and the number of the row of each, as the script of pages reads them.
fn marks_with_rows(drawn: &str) -> Vec<(usize, [f64; 2])> {
    let mut out = Vec::new();
    for element in drawn.split("<path ").skip(1) {
        let element = element.split('>').next().unwrap();
        let attribute = |name: &str| {
            let from = element.split(&format!("{name}=\"")).nth(1)?;
            from.split('"').next()
        };
        let Some(rows) = attribute(" data-r") else {
            continue;
        };
        let rows: Vec<usize> = rows.split(' ').map(|row| row.parse().unwrap()).collect();
        let marks = attribute(" d").unwrap().split_inclusive(['M', 'm']);
        let marks: Vec<&str> = marks.collect();
        let mut at = [0.0, 0.0];
        for (index, pair) in marks.windows(2).enumerate() {
            let mut numbers = Vec::new();
            for c in pair[1].chars() {
                match c {
                    '-' | ' ' => numbers.push(c.to_string()),
                    '0'..='9' | '.' if numbers.is_empty() => numbers.push(c.to_string()),
                    '0'..='9' | '.' => numbers.last_mut().unwrap().push(c),
                    _ => break,
                }
            }
            let numbers: Vec<f64> = numbers.iter().map(|n| n.trim().parse().unwrap()).collect();
            for (coordinate, by) in at.iter_mut().zip(&numbers) {
                let is_relative = pair[0].ends_with('m');
                *coordinate = by + if is_relative { *coordinate } else { 0.0 };
            }
            let row = rows.get(index).copied().unwrap_or(rows[0] + index);
            out.push((row, at));
        }
        let counted = rows.len() == 1 || rows.len() == marks.len() - 1;
        assert!(counted, "{element}");
    }
    out.sort_by_key(|(row, _)| *row);
    out
}

/// A tooltip is the row of its mark, even if other marks look the same.
#[test]
fn marks_have_their_rows() {
    let look = MarkLook::of(1);
    let row = |n: u32| [n.to_string()];
    let mut marks = Vec::new();
    for n in 0..6_u32 {
        let x = f64::from(n) + 0.5;
        let rect = |width| MarkShape::Rect {
            x: (x, x + width),
            y: (0.0, 0.5),
        };
        // Each kind of mark that has a row, and after it one of the same class that has none.
        let mark = match n % 3 {
            1 => rect(0.1),
            _ => MarkShape::Point(x, 0.5),
        };
        let look = if n == 5 {
            look.filled(MarkFill::Hollow)
        } else {
            look
        };
        marks.push(FigureMark::new(mark, look).with_row(row(n)));
        let cut = MarkShape::Interval {
            along: Along::Y,
            at: x,
            ends: (0.4, 7.0),
            strokes: true,
        };
        let area = MarkShape::Area(vec![(x, 0.0, 0.1), (x + 0.2, 0.0, 0.3)], LineStep::None);
        let (point, arrow) = (MarkShape::Point(x, 0.9), MarkShape::Arrow(x, 0.9));
        for other in [cut, area, rect(0.2), point, arrow] {
            marks.push(FigureMark::new(other, look));
        }
    }
    let exact = Range {
        exact: true,
        ..Range::of(Some((0.0, 10.0)))
    };
    let x = Axis::numbers(exact, Scale::Linear, Format::Plain);
    let range = Range::from_zero(Some((0.0, 1.0)));
    let y = Axis::numbers(range, Scale::Linear, Format::Plain);
    let mut panel = Panel::new(x, y, 100.0);
    panel.series.push(Series { key: None, marks });
    let figure = Figure {
        id: "rows".to_owned(),
        columns: vec!["row".to_owned()],
        panels: vec![panel],
        ..Figure::default()
    };
    let marks_with_rows = marks_with_rows(&svg(&figure, 1000));
    let rows: Vec<usize> = marks_with_rows.iter().map(|(row, _)| *row).collect();
    assert_eq!(rows, [0, 1, 2, 3, 4, 5]);
    // From left to right, in the order of the values.
    let positions: Vec<f64> = marks_with_rows.iter().map(|(_, [x, _])| *x).collect();
    let step = (positions[5] - positions[0]) / 5.0;
    assert!(step > 50.0, "{marks_with_rows:?}");
    for (n, position) in positions.iter().enumerate() {
        assert!(
            (position - positions[0] - step * n as f64).abs() < 5.0,
            "{marks_with_rows:?}"
        );
    }
}

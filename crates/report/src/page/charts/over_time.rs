//! Lines over time: the parts that figures of loads and of background traffic have in common.

use figures::{
    Axis, FigureMark, Format, LegendKey, LineStep, MarkFill, MarkLook, MarkShape, Range, Scale,
    Series, Swatch,
};

/// Parts of the time that are shorter than this share of the longest have no rate: a few operations
/// more or less would be a peak.
const TOO_SHORT: f64 = 0.5;

/// With more points than this, those of a line are not drawn.
const FEW: usize = 40;

/// A line of a panel.
pub(super) struct CourseLine {
    pub(super) name: String,
    pub(super) look: MarkLook,
    /// Seconds, and the value where there is one.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

impl CourseLine {
    pub(super) fn has_points(&self) -> bool {
        self.points.iter().any(|(_, value)| value.is_some())
    }

    /// The values above zero, which decide on the scale of an axis.
    pub(super) fn positive(&self) -> impl Iterator<Item = f64> {
        let values = self.points.iter().filter_map(|(_, value)| *value);
        values.filter(|value| *value > 0.0)
    }

    /// The line, with a row of the table for each of its points: `row` makes it of the second and
    /// the value.
    pub(super) fn series(
        &self,
        keys: &[LegendKey],
        row: impl Fn(f64, f64) -> Vec<String>,
    ) -> Series {
        let line = self.points.iter();
        let line = line.map(|(at, value)| (*at, value.unwrap_or(f64::NAN)));
        let line = FigureMark::new(MarkShape::Line(line.collect(), LineStep::None), self.look);
        let is_known = |index: usize| {
            self.points
                .get(index)
                .is_some_and(|(_, value)| value.is_some())
        };
        let are_few = self.points.len() <= FEW;
        let points = self.points.iter().enumerate();
        let points = points.filter_map(|(index, (at, value))| {
            let value = (*value)?;
            // Without a line on either side, only its point is seen.
            let is_alone = !is_known(index.wrapping_sub(1)) && !is_known(index + 1);
            let fill = if are_few || is_alone {
                MarkFill::Full
            } else {
                MarkFill::None
            };
            let point = FigureMark::new(MarkShape::Point(*at, value), self.look.filled(fill));
            Some(point.with_row(row(*at, value)))
        });
        Series {
            key: key_of(keys, &self.name),
            marks: std::iter::once(line).chain(points).collect(),
        }
    }
}

/// The place of a name in a legend.
pub(super) fn key_of(keys: &[LegendKey], name: &str) -> Option<usize> {
    keys.iter().position(|key| key.name == name)
}

pub(super) fn keys<'l>(lines: impl IntoIterator<Item = &'l CourseLine>) -> Vec<LegendKey> {
    let mut keys: Vec<LegendKey> = Vec::new();
    for line in lines {
        if key_of(&keys, &line.name).is_none() {
            let look = if line.points.len() <= FEW {
                line.look
            } else {
                line.look.filled(MarkFill::None)
            };
            keys.push(LegendKey {
                name: line.name.clone(),
                look,
                swatch: Swatch::Line,
            });
        }
    }
    keys
}

/// Rate per second, where the part of the time is long enough for one.
pub(super) fn rate(count: f64, length_s: f64, longest_s: f64) -> Option<f64> {
    (length_s > 0.0 && length_s >= longest_s * TOO_SHORT).then(|| count / length_s)
}

/// The axis of all panels: seconds from the beginning to `end`. Its name stands below the last one.
pub(super) fn seconds_axis(end: f64, since: Option<&str>) -> Axis {
    let range = Range {
        exact: true,
        ..Range::from_zero(Some((0.0, end)))
    };
    let axis = Axis::numbers(range, Scale::Linear, Format::Plain);
    axis.named(since.unwrap_or_default())
}

pub(super) fn moment(at_s: f64) -> String {
    format!("{} s", figures::plain((at_s * 1e4).round() / 1e4))
}

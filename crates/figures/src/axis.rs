//! Axes: their ends, their ticks, and the position of a value.

use crate::format::Format;

/// Ratio of the greatest to the least value from which on an automatic axis is logarithmic.
const WIDE: f64 = 20.0;
/// Values beyond this are drawn at the end: differences of what is greater may be infinite.
const GREATEST: f64 = 1e300;

/// Scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithms. Linear where no value is above zero.
    Log,
    /// Logarithmic where values are above zero and the greatest is over twenty times the least.
    Auto,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Name of its values; empty for none.
    pub name: String,
    /// Format of its ticks.
    pub format: Format,
    kind: AxisKind,
}

#[derive(Debug, Clone, PartialEq)]
enum AxisKind {
    Numbers {
        low: f64,
        high: f64,
        is_log: bool,
        /// Ticks in place of round numbers.
        ticks: Option<Vec<(f64, String)>>,
    },
    Categories {
        names: Vec<String>,
        /// In pixels.
        height: f64,
    },
    /// Without line, ticks and labels.
    Bare { low: f64, high: f64 },
}

/// The least and the greatest finite value; `None` if there is none.
pub fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    finite.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// Options of the ends of an axis of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The least and the greatest value.
    pub values: Option<(f64, f64)>,
    /// A linear axis begins at zero; otherwise it does where the values are not close together.
    pub zero: bool,
    /// A logarithmic axis ends close to the values.
    pub tight: bool,
    /// A linear axis has these ends, not the next round numbers.
    pub exact: bool,
}

impl Range {
    /// The range of these values.
    pub fn of(values: Option<(f64, f64)>) -> Range {
        Range {
            values,
            zero: false,
            tight: false,
            exact: false,
        }
    }

    /// With zero.
    pub fn from_zero(values: Option<(f64, f64)>) -> Range {
        Range {
            zero: true,
            ..Range::of(values)
        }
    }

    fn ends(self, wanted: Scale) -> (f64, f64, bool) {
        let (low, high) = self.values.unwrap_or((1.0, 10.0));
        let finite = |value: f64, other: f64| if value.is_nan() { other } else { value };
        let low = finite(low, 0.0).clamp(-GREATEST, GREATEST);
        let high = finite(high, low).clamp(low, GREATEST);
        let is_log = match wanted {
            Scale::Linear => false,
            Scale::Log => high > 0.0,
            Scale::Auto => low > 0.0 && high / low > WIDE,
        };
        if is_log {
            let low = if low > 0.0 { low } else { high / 1e3 };
            let (low, high) = (low.max(1.0 / GREATEST), high.max(1.0 / GREATEST));
            let (room, least) = if self.tight {
                (1.01, 1.02)
            } else {
                (1.15, 1.5)
            };
            return (low / room, high.max(low * least) * room, true);
        }
        let is_close = !self.zero && high - low < 0.6 * high;
        let from = if is_close || low < 0.0 { low } else { 0.0 };
        // Values that are all the same need some room, too.
        let least = if from == 0.0 { 1.0 } else { from.abs() * 0.1 };
        let is_wide = high - from > from.abs() * 1e-9;
        let to = if is_wide { high } else { from + least };
        if self.exact {
            return (from, to, false);
        }
        let step = nice_step(to - from, 4.0);
        let end = |value: f64, round: fn(f64) -> f64| rounded(round(value / step) * step);
        (end(from, f64::floor), end(to, f64::ceil), false)
    }
}

impl Axis {
    /// An axis of numbers.
    pub fn numbers(range: Range, scale: Scale, format: Format) -> Axis {
        let (low, high, is_log) = range.ends(scale);
        let ticks = None;
        Axis {
            name: String::new(),
            format,
            kind: AxisKind::Numbers {
                low,
                high,
                is_log,
                ticks,
            },
        }
    }

    /// An axis of names. As the vertical one it gives each this many pixels, from top to bottom; as
    /// the horizontal one its names are above the panel.
    pub fn categories(names: impl IntoIterator<Item = String>, height: f64) -> Axis {
        Axis {
            name: String::new(),
            format: Format::Plain,
            kind: AxisKind::Categories {
                names: names.into_iter().collect(),
                height,
            },
        }
    }

    /// An axis that is not drawn.
    pub fn bare(low: f64, high: f64) -> Axis {
        Axis {
            name: String::new(),
            format: Format::Plain,
            kind: AxisKind::Bare { low, high },
        }
    }

    /// The same with a name.
    pub fn named(self, name: impl Into<String>) -> Axis {
        Axis {
            name: name.into(),
            ..self
        }
    }

    /// The same with ticks at these values, each with its label.
    pub fn with_ticks(mut self, wanted: impl IntoIterator<Item = (f64, String)>) -> Axis {
        if let AxisKind::Numbers { ticks, .. } = &mut self.kind {
            *ticks = Some(wanted.into_iter().collect());
        }
        self
    }

    /// True if lengths on it are meaningless.
    pub fn is_log(&self) -> bool {
        matches!(self.kind, AxisKind::Numbers { is_log: true, .. })
    }

    /// The values at its ends.
    pub fn ends(&self) -> (f64, f64) {
        match &self.kind {
            AxisKind::Numbers { low, high, .. } | AxisKind::Bare { low, high } => (*low, *high),
            AxisKind::Categories { names, .. } => (-0.5, names.len() as f64 - 0.5),
        }
    }

    /// True if each value has the same position, with the same label.
    pub(crate) fn is_like(&self, other: &Axis) -> bool {
        self.kind == other.kind && self.format == other.format
    }

    /// True if a part of an interval lies beyond it.
    pub fn cuts(&self, value: f64) -> bool {
        let position = self.position(value);
        !position.is_nan() && !(-1e-6..=1.0 + 1e-6).contains(&position)
    }

    /// The position of a value: 0 at one end, 1 at the other, less and more beyond them. Infinity
    /// is an end. A value without a position, such as zero among logarithms, is at the lower end if
    /// it is less than all others, and else not a number.
    pub fn position(&self, value: f64) -> f64 {
        let (low, high) = self.ends();
        match value {
            f64::INFINITY => 1.0,
            f64::NEG_INFINITY => 0.0,
            value if !self.is_log() => (value - low) / (high - low),
            value if value > 0.0 => (value.ln() - low.ln()) / (high.ln() - low.ln()),
            value if value.is_nan() => f64::NAN,
            _ => -1.0,
        }
    }

    pub(crate) fn names(&self) -> Option<&[String]> {
        match &self.kind {
            AxisKind::Categories { names, .. } => Some(names),
            _ => None,
        }
    }

    pub(crate) fn height(&self) -> Option<f64> {
        match &self.kind {
            AxisKind::Categories { names, height } => Some(names.len() as f64 * height),
            _ => None,
        }
    }

    pub(crate) fn is_drawn(&self) -> bool {
        !matches!(self.kind, AxisKind::Bare { .. })
    }

    /// Ticks with their labels: round numbers, about as many as this.
    pub(crate) fn ticks(&self, about: f64) -> Vec<(f64, String)> {
        let AxisKind::Numbers {
            low,
            high,
            is_log,
            ticks,
        } = &self.kind
        else {
            return Vec::new();
        };
        if let Some(ticks) = ticks {
            let kept = ticks.iter().filter(|(value, _)| !self.cuts(*value));
            return kept.cloned().collect();
        }
        let ticks = if *is_log { log_ticks } else { even_ticks };
        let values = ticks(*low, *high, about);
        let label = |value| (value, self.format.tick(value));
        values.into_iter().map(label).collect()
    }
}

/// With 12 digits: sums of steps have more.
fn rounded(value: f64) -> f64 {
    crate::format::significant(value, 12)
}

/// 1, 2 or 5 times a power of ten, such that this many of it, or a few fewer, add up to the length.
fn nice_step(length: f64, parts: f64) -> f64 {
    let rough = (length / parts).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|step| step * power);
    let found = steps.into_iter().find(|step| *step >= rough * 0.999);
    found.unwrap_or(10.0 * power)
}

fn even_ticks(low: f64, high: f64, about: f64) -> Vec<f64> {
    let step = nice_step(high - low, about.max(1.0));
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    let count = (last - first).clamp(0.0, 100.0) as usize;
    let tick = |position| rounded((first + position as f64) * step);
    (0..=count).map(tick).collect()
}

/// 1, 2, 5 of every power of ten in reach; fewer where they are many; even ones where too few.
fn log_ticks(low: f64, high: f64, about: f64) -> Vec<f64> {
    let decades = high.log10() - low.log10();
    let every = (decades / about.max(1.0)).ceil().max(1.0) as usize;
    let first = match about / decades {
        room if room >= 2.5 => 2,
        room if room >= 1.4 => 1,
        _ => 0,
    };
    let ticks = |digits: &[f64]| -> Vec<f64> {
        let begin = if every > 1 {
            low.log10().ceil()
        } else {
            low.log10().floor()
        };
        let powers = (begin as i32..=high.log10().ceil() as i32).step_by(every);
        let ticks = powers.flat_map(|power| {
            let ticks = digits.iter();
            ticks.map(move |digit| crate::format::significant(digit * 10_f64.powi(power), 3))
        });
        let inside = |tick: &f64| (low * 0.999..=high * 1.001).contains(tick);
        ticks.filter(inside).collect()
    };
    let lists: [&[f64]; 3] = [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0]];
    let mut found = lists.into_iter().skip(first).map(ticks);
    let is_enough = |ticks: &Vec<f64>| ticks.len() >= 3 || decades > 2.0;
    found
        .find(is_enough)
        .unwrap_or_else(|| even_ticks(low, high, about))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: (f64, f64), scale: Scale, format: Format) -> Vec<String> {
        let axis = Axis::numbers(Range::of(Some(values)), scale, format);
        let ticks = axis.ticks(5.0).into_iter();
        ticks.map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round() {
        type Row = ((f64, f64), Scale, Format, &'static [&'static str]);
        let table: &[Row] = &[
            (
                (0.0, 9.3),
                Scale::Linear,
                Format::Plain,
                &["0", "2", "4", "6", "8", "10"],
            ),
            (
                (97.0, 103.0),
                Scale::Linear,
                Format::Plain,
                &["96", "98", "100", "102", "104"],
            ),
            (
                (-3.0, 4.0),
                Scale::Linear,
                Format::Plain,
                &["-4", "-2", "0", "2", "4"],
            ),
            (
                (0.0, 1500.0),
                Scale::Linear,
                Format::Time,
                &["0", "500 µs", "1 ms", "1.5 ms"],
            ),
            (
                (0.9, 1.1),
                Scale::Log,
                Format::Plain,
                &["0.8", "1", "1.2", "1.4"],
            ),
            (
                (0.5, 6.5),
                Scale::Log,
                Format::Plain,
                &["0.5", "1", "2", "5"],
            ),
            (
                (2.0, 90.0),
                Scale::Auto,
                Format::Time,
                &["2 µs", "5 µs", "10 µs", "20 µs", "50 µs", "100 µs"],
            ),
            (
                (10.0, 9e6),
                Scale::Auto,
                Format::Time,
                &["10 µs", "1 ms", "100 ms", "10 s"],
            ),
        ];
        for (values, scale, format, expected) in table {
            assert_eq!(labels(*values, *scale, *format), *expected, "{values:?}");
        }
    }

    #[test]
    fn every_range_has_ends_and_ticks() {
        let values = [
            f64::NAN,
            f64::NEG_INFINITY,
            f64::MIN,
            -1e12,
            -1.0,
            0.0,
            f64::MIN_POSITIVE,
            1e-9,
            0.5,
            1.0,
            1e12,
            f64::MAX,
            f64::INFINITY,
        ];
        for low in values {
            for high in values {
                for scale in [Scale::Linear, Scale::Log, Scale::Auto] {
                    for zero in [true, false] {
                        let range = Range {
                            zero,
                            ..Range::of(Some((low, high)))
                        };
                        let axis = Axis::numbers(range, scale, Format::Plain);
                        let (from, to) = axis.ends();
                        let described =
                            format!("{low:e} {high:e} {scale:?} {zero}: {from:e} {to:e}");
                        assert!(
                            from.is_finite() && to.is_finite() && from < to,
                            "{described}"
                        );
                        for about in [2.0, 5.0, 12.0] {
                            let ticks = axis.ticks(about);
                            let most = 4 * about as usize + 4;
                            assert!((1..=most).contains(&ticks.len()), "{described}: {ticks:?}");
                            let is_inside = |(tick, _): &(f64, String)| !axis.cuts(*tick);
                            assert!(ticks.iter().all(is_inside), "{described}: {ticks:?}");
                        }
                        for value in [low, high] {
                            let is_placed = value.is_nan()
                                || value.abs() > GREATEST
                                || !axis.position(value).is_nan();
                            assert!(is_placed, "{described}: {value}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_scale_is_logarithmic_by_itself_where_values_are_far_apart() {
        for (values, is_log) in [
            ((1.0, 19.0), false),
            ((1.0, 21.0), true),
            ((0.0, 1e9), false),
            ((-5.0, 1e9), false),
        ] {
            let axis = Axis::numbers(Range::of(Some(values)), Scale::Auto, Format::Plain);
            assert_eq!(axis.is_log(), is_log, "{values:?}");
        }
        let none = Axis::numbers(Range::of(None), Scale::Auto, Format::Plain);
        assert_eq!(none.ends(), (0.0, 10.0));
    }

    #[test]
    fn values_have_places() {
        let log = Axis::numbers(
            Range {
                tight: true,
                ..Range::of(Some((1.0, 100.0)))
            },
            Scale::Log,
            Format::Plain,
        );
        assert!((log.position(10.0) - 0.5).abs() < 1e-9);
        assert!(log.cuts(0.5) && log.cuts(0.0) && log.cuts(200.0) && !log.cuts(100.0));
        let two = Axis::categories(["a", "b"].map(str::to_owned), 20.0);
        assert_eq!([0.0, 1.0].map(|at| two.position(at)), [0.25, 0.75]);
        assert_eq!(two.position(f64::INFINITY), 1.0);
        assert!(two.position(f64::NAN).is_nan());
        assert_eq!(two.height(), Some(40.0));
        assert_eq!(
            extent([f64::NAN, 3.0, f64::INFINITY, -1.0]),
            Some((-1.0, 3.0))
        );
        assert_eq!(extent([f64::NAN]), None);
    }
}

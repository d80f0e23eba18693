//! Axes of charts of campaigns.

use crate::campaign::numbers::published;

/// From this factor between the least and the greatest value on, an axis is logarithmic.
const WIDE: f64 = 50.0;
/// An interval may reach this factor beyond all values; what is longer is cut, and marked.
const REACH: f64 = 1.6;
/// Values whose size is outside this range are not drawn.
const DRAWABLE: std::ops::RangeInclusive<f64> = 1e-12..=1e15;
/// Ticks of a linear axis, about, and most of a logarithmic one.
const TICKS: f64 = 5.0;
const MOST_TICKS: usize = 6;

/// Whether a value has a place on an axis.
pub(super) fn is_drawable(value: f64) -> bool {
    value == 0.0 || DRAWABLE.contains(&value.abs())
}

/// Whether values are so far apart that the least would have no visible bar.
pub(super) fn is_wide(values: impl Iterator<Item = f64>) -> bool {
    let ends = values.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((least, most)) => Some((value.min(least), value.max(most))),
    });
    ends.is_some_and(|(least, most): (f64, f64)| least > 0.0 && most / least >= WIDE)
}

/// Where the values of a panel lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BarAxis {
    /// Linear, with zero.
    Linear {
        /// Least.
        low: f64,
        /// Greatest.
        high: f64,
    },
    /// Logarithmic.
    Log {
        /// Least; positive.
        low: f64,
        /// Greatest.
        high: f64,
    },
}

use BarAxis::{Linear, Log};

impl BarAxis {
    /// An axis for these values, and the ends of their intervals as far as they are near. It is logarithmic where that is
    /// asked for, if all values are positive.
    pub(super) fn of(
        values: impl Iterator<Item = f64>,
        intervals: impl Iterator<Item = (f64, f64)>,
        logarithmic: bool,
    ) -> BarAxis {
        let values: Vec<f64> = values.collect();
        let intervals: Vec<(f64, f64)> = intervals.collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if least > most {
            return Linear {
                low: 0.0,
                high: 1.0,
            };
        }
        let lowest = intervals.iter().map(|(low, _)| *low).fold(least, f64::min);
        let highest = intervals.iter().map(|(_, high)| *high).fold(most, f64::max);
        if logarithmic && least > 0.0 {
            let low = lowest.max(least / (2.0 * REACH)) / 1.2;
            let high = highest.min(most * 2.0 * REACH) * 1.2;
            return Log { low, high };
        }
        let (below, above) = (least.min(0.0), most.max(0.0));
        let reach = (above - below) * (REACH - 1.0);
        // Where nothing is negative, neither is the axis.
        let low = if below < 0.0 {
            lowest.min(below).max(below - reach)
        } else {
            0.0
        };
        let high = if above > 0.0 {
            highest.max(above).min(above + reach)
        } else {
            0.0
        };
        if high > low {
            Linear { low, high }
        } else {
            Linear {
                low: 0.0,
                high: 1.0,
            }
        }
    }

    pub(super) fn is_log(self) -> bool {
        matches!(self, Log { .. })
    }

    fn ends(self) -> (f64, f64) {
        let (Linear { low, high } | Log { low, high }) = self;
        (low, high)
    }

    /// Whether a value lies beyond it.
    pub(super) fn cuts(self, value: f64) -> bool {
        let (low, high) = self.ends();
        // What differs by rounding is not beyond.
        let room = (high - low) * 1e-9;
        value < low - room || value > high + room
    }

    /// The place of a value, from 0 to 1.
    pub(super) fn place(self, value: f64) -> f64 {
        let place = match self {
            Linear { low, high } => (value - low) / (high - low),
            Log { low, .. } if value <= low => 0.0,
            Log { low, high } => (value / low).ln() / (high / low).ln(),
        };
        place.clamp(0.0, 1.0)
    }

    /// Round numbers within it, and how they are written.
    pub(super) fn ticks(self) -> Vec<(f64, String)> {
        let ticks = match self {
            Linear { low, high } => even_ticks(low, high),
            Log { low, high } => log_ticks(low, high),
        };
        ticks
            .into_iter()
            .map(|tick| (tick, published(tick)))
            .collect()
    }
}

/// 1, 2 or 5 times a power of ten: about [`TICKS`] of it are as long as this.
fn even_ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / TICKS;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|step| step * power >= rough * 0.999);
    let step = step.unwrap_or(10.0) * power;
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let count = (last - first).clamp(0.0, 2.0 * TICKS) as u32;
    (0..=count)
        .map(|place| (first + f64::from(place)) * step)
        .collect()
}

/// Powers of ten, and between them 3, or 2 and 5, where there is room.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let within = |steps: &[f64]| -> Vec<f64> {
        let powers = (first..=last).map(|power| 10_f64.powi(power));
        let ticks = powers.flat_map(|power| steps.iter().map(move |step| step * power));
        ticks.filter(|tick| (low..=high).contains(tick)).collect()
    };
    let all: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
    let ticks = all.map(within);
    let fitting = ticks.iter().find(|ticks| ticks.len() <= MOST_TICKS);
    let Some(fitting) = fitting else {
        let [.., powers] = ticks;
        let each = powers.len().div_ceil(MOST_TICKS);
        return powers.into_iter().step_by(each).collect();
    };
    fitting.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64], intervals: &[(f64, f64)]) -> BarAxis {
        let is_wide = is_wide(values.iter().copied());
        BarAxis::of(values.iter().copied(), intervals.iter().copied(), is_wide)
    }

    fn labels(axis: BarAxis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn an_axis_begins_at_zero_and_has_room_for_intervals_that_are_near() {
        let table = [
            (of(&[10.0, 20.0], &[(8.0, 24.0)]), (0.0, 24.0)),
            (of(&[10.0, 20.0], &[(-90.0, 240.0)]), (0.0, 32.0)),
            (of(&[-10.0, 10.0], &[(-11.0, -9.0)]), (-11.0, 10.0)),
            (of(&[0.0], &[]), (0.0, 1.0)),
            (of(&[], &[]), (0.0, 1.0)),
            (of(&[-4.0], &[(-5.0, 3.0)]), (-5.0, 0.0)),
        ];
        for (axis, (low, high)) in table {
            assert_eq!(axis, Linear { low, high });
        }
        let cut = of(&[10.0, 20.0], &[(-90.0, 240.0)]);
        assert!(cut.cuts(-90.0) && cut.cuts(240.0) && !cut.cuts(32.0) && !cut.cuts(0.0));
    }

    #[test]
    fn values_far_apart_are_on_a_logarithmic_axis() {
        assert!(!of(&[1.0, 49.0], &[]).is_log());
        assert!(!of(&[0.0, 49.0, 1000.0], &[]).is_log());
        let axis = of(&[1.0, 50.0], &[(0.9, 1.1), (-10.0, 700.0)]);
        assert!(axis.is_log() && axis.cuts(-10.0) && axis.cuts(700.0));
        assert_eq!(labels(axis), ["0.3", "1", "3", "10", "30", "100"]);
        assert_eq!(axis.place(-10.0), 0.0);
        let wide = of(&[1e-9, 1e12], &[]);
        assert!(wide.ticks().len() <= MOST_TICKS, "{:?}", wide.ticks());
    }

    #[test]
    fn what_is_not_positive_is_on_a_linear_axis() {
        let on = |values: &[f64]| BarAxis::of(values.iter().copied(), std::iter::empty(), true);
        assert!(on(&[1.0, 2.0]).is_log() && on(&[3.0]).is_log());
        assert!(!on(&[0.0, 2.0]).is_log() && !on(&[-1.0, 2.0]).is_log() && !on(&[]).is_log());
    }

    #[test]
    fn ticks_are_round() {
        let table = [
            (of(&[24.0], &[]), vec!["0", "5", "10", "15", "20"]),
            (of(&[0.07], &[]), vec!["0", "0.02", "0.04", "0.06"]),
            (of(&[-30.0, 60.0], &[]), vec!["-20", "0", "20", "40", "60"]),
        ];
        for (axis, expected) in table {
            assert_eq!(labels(axis), expected, "{axis:?}");
        }
    }
}

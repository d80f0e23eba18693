//! Axes of charts of campaigns.

use figures::{Axis, Format, Range, Scale, extent};

/// From this factor between the least and the greatest value on, an axis is logarithmic.
const WIDE: f64 = 50.0;
/// An interval may reach this factor beyond all values; longer ones are cut, and marked.
const REACH: f64 = 1.6;
/// Values whose size is outside this range are not drawn.
const DRAWABLE: std::ops::RangeInclusive<f64> = 1e-12..=1e15;

pub(super) fn is_drawable(value: f64) -> bool {
    value == 0.0 || DRAWABLE.contains(&value.abs())
}

/// Values are so far apart that the least would have no visible bar.
pub(super) fn is_wide(values: impl Iterator<Item = f64>) -> bool {
    extent(values).is_some_and(|(least, most)| least > 0.0 && most / least >= WIDE)
}

/// An axis for these values, and the ends of their intervals as far as they are near. It is
/// logarithmic if requested and all values are positive; otherwise it contains zero.
pub(super) fn axis(
    values: impl Iterator<Item = f64>,
    intervals: impl Iterator<Item = (f64, f64)>,
    logarithmic: bool,
) -> Axis {
    let values = extent(values);
    let (least, most) = values.unwrap_or((0.0, 0.0));
    let ends = extent(intervals.flat_map(|(low, high)| [low, high]));
    let (lowest, highest) = ends.unwrap_or((least, most));
    let is_log = logarithmic && least > 0.0;
    let (low, high) = if is_log {
        let reach = 2.0 * REACH;
        (
            lowest.min(least).max(least / reach) / 1.2,
            highest.max(most).min(most * reach) * 1.2,
        )
    } else {
        let (below, above) = (least.min(0.0), most.max(0.0));
        let reach = (above - below) * (REACH - 1.0);
        // Where nothing is negative, neither is the axis.
        let low = (below < 0.0).then(|| lowest.min(below).max(below - reach));
        let high = (above > 0.0).then(|| highest.max(above).min(above + reach));
        (low.unwrap_or(0.0), high.unwrap_or(0.0))
    };
    let range = Range {
        values: Some((low, high)),
        zero: true,
        tight: true,
        exact: true,
    };
    let scale = if is_log { Scale::Log } else { Scale::Linear };
    Axis::numbers(range, scale, Format::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64], intervals: &[(f64, f64)]) -> Axis {
        let is_wide = is_wide(values.iter().copied());
        axis(values.iter().copied(), intervals.iter().copied(), is_wide)
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
        for (axis, ends) in table {
            assert_eq!(axis.ends(), ends);
        }
        let cut = of(&[10.0, 20.0], &[(-90.0, 240.0)]);
        assert!(cut.cuts(-90.0) && cut.cuts(240.0) && !cut.cuts(32.0) && !cut.cuts(0.0));
    }

    #[test]
    fn values_far_apart_are_on_a_logarithmic_axis() {
        assert!(!of(&[1.0, 49.0], &[]).is_log());
        assert!(!of(&[0.0, 49.0, 1000.0], &[]).is_log());
        let axis = of(&[1.0, 50.0], &[(0.9, 1.1), (-10.0, 700.0)]);
        assert!(axis.is_log() && axis.cuts(-10.0) && axis.cuts(700.0) && !axis.cuts(0.9));
    }

    #[test]
    fn what_is_not_positive_is_on_a_linear_axis() {
        let on = |values: &[f64]| axis(values.iter().copied(), std::iter::empty(), true);
        assert!(on(&[1.0, 2.0]).is_log() && on(&[3.0]).is_log());
        assert!(!on(&[0.0, 2.0]).is_log() && !on(&[-1.0, 2.0]).is_log() && !on(&[]).is_log());
    }
}

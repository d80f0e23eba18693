//! A coarse histogram of two kinds of times side by side, for people to look at.

use record::Nanos;

use crate::times::Times;

/// Rows of a histogram in a text.
pub(crate) const ROWS: usize = 24;

/// A range of times, and how many fell into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    /// Least time of the range, nanoseconds.
    pub from: Nanos,
    /// The range ends before this one; that of the last bar includes it.
    pub to: Nanos,
    /// Response times (*first* minus *sent*) in it.
    pub response: u64,
    /// Times from *planned* to *first* in it.
    pub planned: u64,
}

/// At most so many ranges that grow by a constant factor, from the least of all times to the
/// greatest. Empty without any time.
pub(crate) fn spread(response: &[&Times], planned: &[&Times], rows: usize) -> Vec<Bar> {
    let (mut least, mut greatest) = (Nanos::MAX, 0);
    for times in response.iter().chain(planned) {
        times.for_each(|value, _| {
            least = least.min(value);
            greatest = greatest.max(value);
        });
    }
    let mut bars = ranges(least, greatest, rows);
    let response = response.iter().map(|times| (times, BarSide::Response));
    let planned = planned.iter().map(|times| (times, BarSide::Planned));
    for (times, side) in response.chain(planned) {
        let mut index = 0;
        times.for_each(|value, count| {
            while index + 1 < bars.len() && value >= bars[index].to {
                index += 1;
            }
            match side {
                BarSide::Response => bars[index].response += count,
                BarSide::Planned => bars[index].planned += count,
            }
        });
    }
    bars
}

#[derive(Clone, Copy)]
enum BarSide {
    Response,
    Planned,
}

/// Empty bars from `least` to `greatest`; fewer where these are close: none is below a nanosecond.
fn ranges(least: Nanos, greatest: Nanos, rows: usize) -> Vec<Bar> {
    if least > greatest {
        return Vec::new();
    }
    let (low, high) = (least.max(1) as f64, greatest.max(1) as f64);
    let edge = |row: usize| (low * (high / low).powf(row as f64 / rows as f64)).round() as Nanos;
    let mut edges: Vec<Nanos> = (1..rows).map(edge).collect();
    edges.retain(|edge| least < *edge && *edge < greatest);
    edges.dedup();
    edges.push(greatest);
    let mut from = least;
    let bar = |to| {
        let bar = Bar {
            from,
            to,
            response: 0,
            planned: 0,
        };
        from = to;
        bar
    };
    edges.into_iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: &[Nanos]) -> Times {
        let mut times = Times::default();
        values.iter().for_each(|value| times.add(0, *value));
        times
    }

    #[test]
    fn every_time_is_in_one_bar() {
        let (response, planned) = (times(&[1_000, 2_000, 2_000]), times(&[5_000, 1_000_000]));
        let bars = spread(&[&response], &[&planned], ROWS);
        assert_eq!(bars.len(), ROWS);
        assert_eq!((bars[0].from, bars[ROWS - 1].to), (1_000, 1_000_000));
        assert!(bars.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert_eq!(bars.iter().map(|bar| bar.response).sum::<u64>(), 3);
        assert_eq!(bars.iter().map(|bar| bar.planned).sum::<u64>(), 2);
        assert_eq!(bars[0].response, 1);
        assert_eq!(bars[ROWS - 1].planned, 1);
        for bar in bars {
            let inside = [2_000]
                .iter()
                .filter(|value| bar.from <= **value && **value < bar.to);
            assert_eq!(bar.response >= 2, inside.count() == 1, "{bar:?}");
        }
    }

    #[test]
    fn close_times_have_fewer_bars_and_none_has_none() {
        assert_eq!(spread(&[], &[], ROWS), []);
        let one = spread(&[&times(&[7, 7])], &[], ROWS);
        assert_eq!(
            one,
            [Bar {
                from: 7,
                to: 7,
                response: 2,
                planned: 0
            }]
        );
        let few = spread(&[&times(&[0, 3])], &[], ROWS);
        assert!(few.len() <= 3 && few[0].response == 1, "{few:?}");
    }
}

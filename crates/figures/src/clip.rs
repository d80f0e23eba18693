//! Lines end where their panel does.

/// The part of a line between two points that lies in `(left, top, right, bottom)`, after Liang and
/// Barsky (1984); `None` where there is none, or where an end is not a number.
pub(crate) fn clipped(
    from: (f64, f64),
    to: (f64, f64),
    (left, top, right, bottom): (f64, f64, f64, f64),
) -> Option<((f64, f64), (f64, f64))> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    if !(from.0 + from.1 + dx + dy).is_finite() {
        return None;
    }
    let sides = [
        (-dx, from.0 - left),
        (dx, right - from.0),
        (-dy, from.1 - top),
        (dy, bottom - from.1),
    ];
    let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
    for (towards, distance) in sides {
        if towards == 0.0 {
            // Along this side. Rounding must not hide a line on the edge.
            if distance < -0.5 {
                return None;
            }
        } else if towards < 0.0 {
            enters = enters.max(distance / towards);
        } else {
            leaves = leaves.min(distance / towards);
        }
    }
    let at = |part: f64| (from.0 + part * dx, from.1 + part * dy);
    let start = if enters > 0.0 { at(enters) } else { from };
    let end = if leaves < 1.0 { at(leaves) } else { to };
    (enters <= leaves).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::clipped;

    #[test]
    fn a_line_ends_at_the_edge() {
        let area = (0.0, 0.0, 10.0, 10.0);
        let table = [
            ((1.0, 1.0), (2.0, 3.0), Some(((1.0, 1.0), (2.0, 3.0)))),
            ((-5.0, 5.0), (5.0, 5.0), Some(((0.0, 5.0), (5.0, 5.0)))),
            ((5.0, -5.0), (5.0, 15.0), Some(((5.0, 0.0), (5.0, 10.0)))),
            ((-5.0, -1.0), (15.0, -1.0), None),
            ((-2.0, 5.0), (5.0, 12.0), Some(((0.0, 7.0), (3.0, 10.0)))),
            ((f64::NAN, 5.0), (5.0, 5.0), None),
            ((f64::INFINITY, 5.0), (5.0, 5.0), None),
        ];
        for (from, to, expected) in table {
            assert_eq!(clipped(from, to, area), expected, "{from:?} {to:?}");
        }
    }
}

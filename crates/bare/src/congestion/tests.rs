//! Windows follow their formulas.

use super::*;

const MSS: u64 = 1000;
const RTT_NS: f64 = 50e6;

fn acked(now_ns: u64, bytes: u64) -> AckedData {
    AckedData {
        now_ns,
        bytes,
        acknowledged: 0,
        sent: 0,
        srtt_ns: RTT_NS,
        rtt_ns: Some(RTT_NS),
        is_limited: true,
    }
}

fn window(control: CongestionControl) -> CongestionWindow {
    CongestionWindow::new(control, MSS, 10)
}

#[test]
fn reno_starts_slowly_halves_and_grows_by_a_segment_in_a_round_trip() {
    let mut reno = window(CongestionControl::Reno);
    for _ in 0..90 {
        reno.acknowledged(&acked(0, MSS));
    }
    assert_eq!(reno.bytes(), 100 * MSS);
    reno.lost(100 * MSS);
    assert_eq!(reno.bytes(), 50 * MSS);
    for _ in 0..50 {
        reno.acknowledged(&acked(0, MSS));
    }
    let grown = reno.bytes() as f64 / MSS as f64;
    assert!((50.97..51.0).contains(&grown), "{grown}");
    // A window that is not the limit does not grow.
    reno.acknowledged(&AckedData {
        is_limited: false,
        ..acked(0, MSS)
    });
    assert_eq!(reno.bytes() as f64 / MSS as f64, grown);
    reno.timed_out(40 * MSS, true);
    assert_eq!(reno.bytes(), MSS);
    // A second timeout of the same segment leaves the threshold.
    reno.timed_out(MSS, false);
    for _ in 0..19 {
        reno.acknowledged(&acked(0, MSS));
    }
    assert_eq!(reno.bytes(), 20 * MSS);
    reno.acknowledged(&acked(0, MSS));
    assert_eq!(reno.bytes(), 20 * MSS + MSS / 20);
}

#[test]
fn new_reno_inflates_and_deflates() {
    let mut reno = window(CongestionControl::Reno);
    reno.lost(20 * MSS);
    reno.inflate(3);
    assert_eq!(reno.bytes(), 13 * MSS);
    reno.inflate(1);
    reno.deflate(4 * MSS);
    assert_eq!(reno.bytes(), 11 * MSS);
    reno.recovered(5 * MSS);
    assert_eq!(reno.bytes(), 6 * MSS);
}

/// Equations 1 and 2 of RFC 9438, written out again.
#[test]
fn the_cubic_curve_is_that_of_the_rfc() {
    let curve = CubicCurve::new(70.0, 100.0);
    let k = (30.0_f64 / 0.4).powf(1.0 / 3.0);
    assert!((curve.inflection_s - k).abs() < 1e-9);
    for time in [0.0, 1.0, 2.0, k, 6.0, 10.0] {
        let expected = 0.4 * (time - k).powi(3) + 100.0;
        assert!((curve.window_at(time) - expected).abs() < 1e-9, "{time}");
    }
    assert!((curve.window_at(0.0) - 70.0).abs() < 1e-9);
    assert_eq!(CubicCurve::new(50.0, 40.0).window_at(0.0), 50.0);
}

/// An acknowledgment for each segment, as often as the window permits: the window follows the
/// curve.
#[test]
fn cubic_reduces_by_its_factor_and_follows_its_curve() {
    let mut cubic = CongestionWindow::new(CongestionControl::Cubic, MSS, 1000);
    cubic.lost(1000 * MSS);
    assert_eq!(cubic.bytes(), 700 * MSS);
    let curve = CubicCurve::new(700.0, 1000.0);
    let (mut now_s, mut worst) = (0.0_f64, 0.0_f64);
    while now_s < 12.0 {
        let segments = cubic.bytes() as f64 / MSS as f64;
        cubic.acknowledged(&acked((now_s * 1e9) as u64, MSS));
        let expected = curve.window_at(now_s);
        worst = worst.max((segments / expected - 1.0).abs());
        now_s += RTT_NS / 1e9 / segments;
    }
    assert!(worst < 0.01, "{worst}");
    // Fast convergence: W_max is 0.85 of a window that is smaller than the last.
    cubic.lost(500 * MSS);
    cubic.acknowledged(&acked(20_000_000_000, MSS));
    assert!(cubic.bytes() < 351 * MSS);
}

/// Below the window that Reno would have, CUBIC uses that one: with small windows and short round
/// trips.
#[test]
fn cubic_is_not_slower_than_reno() {
    let mut cubic = CongestionWindow::new(CongestionControl::Cubic, MSS, 20);
    cubic.lost(20 * MSS);
    let mut now_ns = 0;
    for _ in 0..2000 {
        cubic.acknowledged(&acked(now_ns, MSS));
        now_ns += 10_000;
    }
    // 20 ms, in which the curve alone would have grown by less than a hundredth of a segment.
    assert!(cubic.bytes() > 50 * MSS, "{}", cubic.bytes());
}

#[test]
fn compound_grows_beside_reno_until_segments_wait_in_queues() {
    let mut compound = CongestionWindow::new(CongestionControl::Compound, MSS, 200);
    compound.lost(200 * MSS);
    let mut offset = 0;
    let mut round = |compound: &mut CongestionWindow, rtt_ns: f64| {
        let segments = compound.bytes() / MSS;
        for _ in 0..segments {
            offset += MSS;
            compound.acknowledged(&AckedData {
                acknowledged: offset,
                sent: offset + segments * MSS,
                rtt_ns: Some(rtt_ns),
                ..acked(0, MSS)
            });
        }
    };
    let before = compound.bytes();
    assert_eq!(before, 100 * MSS, "half of the sum");
    for _ in 0..10 {
        round(&mut compound, RTT_NS);
    }
    // 0.125 x 100^0.75 - 1 = 3 segments in a round trip, beside Reno's one.
    let grown = (compound.bytes() - before) as f64 / MSS as f64;
    assert!((35.0..55.0).contains(&grown), "{grown}");
    let before = compound.bytes();
    round(&mut compound, 2.0 * RTT_NS);
    round(&mut compound, 2.0 * RTT_NS);
    assert!(compound.bytes() < before - 20 * MSS);
    compound.timed_out(100 * MSS, true);
    assert_eq!(compound.bytes(), MSS);
}

#[test]
fn without_congestion_control_nothing_limits() {
    let mut none = window(CongestionControl::None);
    none.lost(100);
    none.timed_out(100, true);
    none.recovered(100);
    assert_eq!(none.bytes(), u64::MAX);
}

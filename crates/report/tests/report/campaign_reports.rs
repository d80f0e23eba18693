//! Reports of campaigns.

use std::path::PathBuf;

use experiment::{CellEstimate, FigureRange, OrderingCount, PairVerdict};
use proptest::prelude::*;
use serde_json::Value;

use crate::campaigns::{Campaign, plain};

#[test]
fn dump() {
    let of = plain();
    std::fs::write("/tmp/h5-page.html", report::campaign_page(&of.report())).unwrap();
    for (name, svg) in report::campaign_charts(&of.report()) {
        std::fs::write(format!("/tmp/h5-{name}.svg"), svg).unwrap();
    }
    println!("{}", report::campaign_text(&of.report(), false, 100));
    println!("{}", report::campaign_json(&of.report()));
    println!("{}", report::campaign_csv(&of.report()));
    println!("{}", report::campaign_trials_csv(&of.report()));
}

//! Headings of pages, by which screen readers and tables of contents go.

use crate::captures;
use crate::page::without_details;
use crate::{campaigns, runs};
use report::page::ReportPage;
use stats::summarise;

/// No heading is more than one level below the one before it, and there is one of the first.
#[track_caller]
pub(crate) fn assert_outline(page: &str) {
    let headings = page.split("<h").skip(1).filter_map(|rest| {
        let (level, rest) = (rest.get(..1)?.parse::<u32>().ok()?, &rest[1..]);
        rest.starts_with(['>', ' ']).then_some((level, rest))
    });
    let mut before = 0;
    for (level, rest) in headings {
        let title = rest.split('<').next();
        assert!(level <= before + 1, "h{level} after h{before}: {title:?}");
        assert_eq!(level == 1, before == 0, "{title:?}");
        before = level;
    }
    assert!(before > 0);
}

#[test]
fn no_page_skips_a_level_of_headings() {
    for campaign in [campaigns::plain(), campaigns::campaign(&str::to_owned)] {
        assert_outline(&report::campaign_page(&campaign.report()).whole());
    }
    let analysis = captures::analysed(&captures::bytes("nagle")).unwrap();
    assert_outline(&report::analysis_page(&analysis).whole());
    for run in [
        runs::mixed(),
        runs::interrupted(),
        runs::empty(),
        runs::looked_into(),
    ] {
        let summary = summarise(&run);
        assert_outline(&report::page::html(&ReportPage {
            runs: vec![without_details(&run, &summary); 2],
            ..ReportPage::default()
        }));
    }
}

//! Reports of captures: whatever bytes of a capture are damaged, there is no panic and no control
//! character.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use report::{CaptureAnalysis, FormulaName, TimeoutStudy};
use serde_json::Value;
use trace::contents::{ReadingOptions, read_capture};

/// Captures with many kinds of findings.
const NAMES: [&str; 5] = ["nagle", "persistent", "reset", "tls", "zero-window"];

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let captures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/captures");
    fs::read(captures.join(format!("{name}.pcap"))).unwrap()
}

/// The analysis of a file; `None` where it is no capture.
pub(crate) fn analysed(bytes: &[u8]) -> Option<CaptureAnalysis> {
    let contents = read_capture(bytes, &ReadingOptions::default(), |_| ()).ok()?;
    let connections = &contents.traced.connections;
    Some(CaptureAnalysis {
        file: "a file \u{1b}[31m".to_owned(),
        timeouts: Some(TimeoutStudy::of(connections, FormulaName::Paper)),
        run: None,
        contents,
    })
}

#[test]
fn a_name_of_a_file_is_harmless() {
    let analysis = analysed(&bytes("nagle")).unwrap();
    let text = report::analysis_text(&analysis, false, 80);
    assert!(
        text.starts_with("Capture: a file \\u{1b}[31m (Ethernet"),
        "{text}"
    );
    assert!(!report::analysis_page(&analysis).whole().contains('\u{1b}'));
}

#[test]
fn each_direction_with_payload_has_its_courses() {
    let page = report::analysis_page(&analysed(&bytes("nagle")).unwrap()).whole();
    let ids: Vec<&str> = page.split("<figure data-id=\"").skip(1).collect();
    let ids: Vec<&str> = ids.iter().filter_map(|id| id.split('"').next()).collect();
    let of = |sender: &str| {
        ["sequence", "rtt", "throughput", "flight"].map(|id| format!("{id}-1-{sender}"))
    };
    let expected = [of("server"), of("client")].concat();
    assert_eq!(ids, expected);
    // The direction with most payload is open; all of it is there without scripts.
    assert_eq!(page.matches("<details class=\"figures\" open").count(), 1);
    assert_eq!(page.matches("<script").count(), 1);
    for text in [
        "<td>segments<td>1 to ",
        "<td>round trip<td>",
        "window ends at byte",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn damaged_captures_are_reported_or_refused(
        name in 0..NAMES.len(),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = bytes(NAMES[name]);
        for (index, byte) in damages {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        // Most files end at their end.
        let end = (cut.index(bytes.len()) * 4).min(bytes.len());
        let Some(analysis) = analysed(&bytes[..end]) else {
            return Ok(());
        };
        let text = report::analysis_text(&analysis, false, 100);
        let json = report::analysis_json(&analysis);
        let sheet = report::analysis_csv(&analysis);
        serde_json::from_str::<Value>(&json).unwrap();
        for document in [&text, &json, &sheet] {
            prop_assert!(!document.contains(|c: char| c.is_control() && !"\r\n".contains(c)));
        }
        prop_assert!(report::analysis_page(&analysis).whole().ends_with("</html>\n"));
        let requests: usize = analysis.contents.traced.connections.iter().map(|of| of.requests.len()).sum();
        prop_assert_eq!(sheet.lines().count(), 1 + requests);
    }
}

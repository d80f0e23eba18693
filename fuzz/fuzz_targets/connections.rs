//! A capture file, its packets dissected and its connections analysed: no panic, figures that add
//! up, and reports without control characters.

#![no_main]

use libfuzzer_sys::fuzz_target;
use report::{CaptureAnalysis, FormulaName, TimeoutStudy};
use trace::contents::{ReadingOptions, read_capture};
use trace::waits::ConnectionEnd;

fuzz_target!(|file: &[u8]| {
    let Ok(contents) = read_capture(file, &ReadingOptions::default(), |_| ()) else {
        return;
    };
    for connection in &contents.traced.connections {
        let waits: i64 = connection.waits.iter().map(|wait| wait.total_ns).sum();
        assert!(waits <= connection.duration_ns());
        assert!(contents.start_ns <= connection.start_ns);
        for request in &connection.requests {
            let times = [
                request.response_time_ns(),
                request.total_ns(),
                request.delay_ns(),
            ];
            assert!(times.into_iter().flatten().all(|ns| ns >= 0));
        }
        for end in [ConnectionEnd::Client, ConnectionEnd::Server] {
            let of = connection.from(end);
            assert_eq!(of.payload_bytes, of.unique_bytes + of.resent_bytes);
        }
    }
    let connections = &contents.traced.connections;
    let analysis = CaptureAnalysis {
        file: "fuzz".to_owned(),
        timeouts: Some(TimeoutStudy::of(connections, FormulaName::Paper)),
        run: None,
        contents,
    };
    let text = report::analysis_text(&analysis, false, 100);
    let documents = [
        text,
        report::analysis_json(&analysis),
        report::analysis_csv(&analysis),
    ];
    for document in documents {
        assert!(!document.contains(|c: char| c.is_control() && c != '\n' && c != '\r'));
    }
    let _ = report::analysis_page(&analysis).whole();
});

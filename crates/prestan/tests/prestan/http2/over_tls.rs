//! HTTP/2 over TLS: client and server agree upon it by ALPN.

use std::fs;

use crate::support::load::{counted, ended};
use crate::support::real::nginx_tls;
use record::{HttpVersion, Outcome as Ended, Timing};
use testbed::RealServer;
use testbed::fault::{Authority, Certificate};

#[test]
fn over_tls_client_and_server_agree_upon_http2() {
    let authority = Authority::new();
    let run = |server: &RealServer, options: &[&str]| {
        fs::write(server.storage().join("a.bin"), vec![7; 100_000]).unwrap();
        let url = format!("{}a.bin", server.url().replace("http:", "https:"));
        let prestan = prestan!("load GET {url} --json - --http 2 --total 300");
        let pem = prestan.file("ca.pem", &authority.pem());
        prestan!(prestan => "--cacert {}", pem).args(options).run()
    };
    let tls = authority.server(Certificate::Valid);
    let identity = format!("{}{}", tls.pem(), tls.key());
    let Some(server) = nginx_tls("http2", &identity, "") else {
        return;
    };
    for (clock, streams) in [("kernel", "1"), ("user", "1"), ("kernel", "8")] {
        let outcome = run(&server, &["--clock", clock, "--pipeline", streams]);
        let (_, run) = counted(&outcome);
        assert_eq!(ended(&run, Ended::Ok), 300, "{outcome}");
        let mut timed = 0;
        for sample in &run.samples {
            let moments = &sample.moments;
            assert_eq!(sample.protocol, Some(HttpVersion::Http2), "{sample:?}");
            assert!(sample.stream.is_some() && sample.body_received == 100_000);
            assert!(moments.first <= moments.done, "{sample:?}");
            let is_timed = match sample.timing {
                Timing::Kernel { .. } => clock == "kernel",
                Timing::User => clock == "user",
                Timing::Missed => continue,
            };
            assert!(is_timed && moments.sent.is_some(), "{sample:?}");
            assert!(moments.sent <= moments.first, "{sample:?}");
            timed += 1;
        }
        // With streams whose bodies fill the receive buffer, the kernel loses time stamps, most on
        // a busy machine.
        let least = if streams == "1" { 290 } else { 1 };
        assert!(timed >= least, "{timed} of 300: {outcome}");
    }
    // The same server without it offers HTTP/1.1 alone.
    let Some(server) = nginx_tls("", &identity, "") else {
        return;
    };
    let outcome = run(&server, &[]).ended(4);
    outcome.stderr_has("does not offer this version of HTTP over TLS");
}

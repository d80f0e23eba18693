//! HTTP/2 over TLS: client and server agree upon it by ALPN.

use std::fs;

use super::real;
use crate::support::load::{counted, ended, load};
use record::{HttpVersion, Outcome as Ended, Timing};
use testbed::RealServer;
use testbed::fault::{Authority, Certificate, FaultTls};

/// A server that speaks HTTP/2 over TLS alone: what it answers in clear text shows that it is ready.
const NGINX_TLS: &str = "
    daemon off;
    pid {{ dir }}/nginx.pid;
    error_log {{ dir }}/log/error.log warn;
    events {}
    http {
      access_log off;
      client_body_temp_path {{ dir }}/tmp/body;
      proxy_temp_path {{ dir }}/tmp/proxy;
      fastcgi_temp_path {{ dir }}/tmp/fastcgi;
      uwsgi_temp_path {{ dir }}/tmp/uwsgi;
      scgi_temp_path {{ dir }}/tmp/scgi;
      server {
        listen 127.0.0.1:{{ port }} ssl PROTOCOL;
        ssl_certificate {{ dir }}/cert.pem;
        ssl_certificate_key {{ dir }}/key.pem;
        root {{ storage }};
      }
    }
";

/// Starts nginx with TLS and that protocol beside HTTP/1.1, or skips the test.
fn nginx_tls(protocol: &str, tls: &FaultTls) -> Option<RealServer> {
    let files = tempfile::tempdir().unwrap();
    let conf = files.path().join("nginx.conf");
    let (cert, key) = (files.path().join("cert.pem"), files.path().join("key.pem"));
    fs::write(&cert, tls.pem()).unwrap();
    fs::write(&key, tls.key()).unwrap();
    let text = NGINX_TLS.replace("PROTOCOL", protocol);
    let text = text.replace("{{ dir }}/cert.pem", cert.to_str().unwrap());
    fs::write(
        &conf,
        text.replace("{{ dir }}/key.pem", key.to_str().unwrap()),
    )
    .unwrap();
    real(&format!("nginx,file.nginx.conf={}", conf.display()))
}

#[test]
fn over_tls_client_and_server_agree_upon_http2() {
    let authority = Authority::new();
    let run = |server: &RealServer, options: &[&str]| {
        fs::write(server.storage().join("a.bin"), vec![7; 100_000]).unwrap();
        let url = format!("{}a.bin", server.url().replace("http:", "https:"));
        let prestan = load("GET", &url).args(["--http", "2", "--total", "300"]);
        let pem = prestan.file("ca.pem", &authority.pem());
        prestan.arg("--cacert").arg(pem).args(options).run()
    };
    let Some(server) = nginx_tls("http2", &authority.server(Certificate::Valid)) else {
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
        // With streams whose bodies fill the receive buffer, the kernel loses stamps, on a busy machine most.
        let least = if streams == "1" { 290 } else { 1 };
        assert!(timed >= least, "{timed} of 300: {outcome}");
    }
    // The same server without it offers HTTP/1.1 alone.
    let Some(server) = nginx_tls("", &authority.server(Certificate::Valid)) else {
        return;
    };
    let outcome = run(&server, &[]);
    assert_eq!(outcome.code, 4, "{outcome}");
    assert!(
        outcome
            .stderr
            .contains("does not offer this version of HTTP over TLS"),
        "{outcome}"
    );
}

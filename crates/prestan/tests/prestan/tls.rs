//! The binary's ways to a server: TLS, good and bad, local sockets, chosen addresses.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::support::faulty::{
    Faulty, IMPATIENT, LOOPBACK, checked, ipv6_loopback, short_run, went_nowhere,
};
use crate::support::load::{kept, plain};
use crate::support::rows::row;
use crate::support::{Outcome, Prestan};
use testbed::fault::{Authority, Certificate, Fault, FaultTls, Rule};

/// Which certificate the user names.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trust {
    /// The key of the authority.
    Right,
    /// The key of another authority.
    Another,
    /// The key of the server.
    Itself,
    /// The key of another server, which is its own authority.
    AnotherServer,
    /// Only the system's.
    None,
    Anybody,
}

/// With the PEM that the user names; that of the server is `itself`.
fn trusting(prestan: Prestan, authority: &Authority, trust: Trust, itself: &str) -> Prestan {
    let pem = match trust {
        Trust::Right => authority.pem(),
        Trust::Itself => itself.to_owned(),
        Trust::AnotherServer => authority.server(Certificate::SelfSigned).pem().to_owned(),
        Trust::Another => Authority::new().pem(),
        Trust::None => return prestan,
        Trust::Anybody => return prestan!(prestan => "--insecure"),
    };
    let file = prestan.file("ca.pem", &pem);
    prestan!(prestan => "--cacert {}", file)
}

/// With the PEM of the authority.
fn trusting_all(prestan: Prestan, authority: &Authority) -> Prestan {
    trusting(prestan, authority, Trust::Right, "")
}

/// The demo server behind TLS.
fn behind(tls: FaultTls) -> Faulty {
    Faulty::new(|builder| builder.tls(tls))
}

#[track_caller]
fn went_well(outcome: &Outcome, faulty: &Faulty) {
    assert_eq!(outcome.code, 0, "{outcome}");
    checked(outcome);
    assert_eq!(faulty.left(), [""; 0]);
}

#[test]
fn a_certificate_is_trusted_or_it_is_said_why_not() {
    use Certificate::{
        Expired, SelfSigned, SelfSignedExpired, SelfSignedWrongHost, Valid, WrongHost,
    };
    let self_signed: &[&str] = &["OPTIONS https://", "is self-signed", "--cacert FILE"];
    let expired: &[&str] = &["OPTIONS https://", "has expired", "--insecure"];
    let wrong_host: &[&str] = &["OPTIONS https://", "another name", "--insecure"];
    let unknown: &[&str] = &[
        "OPTIONS https://",
        "the certificate is not signed by a trusted authority",
        "--cacert FILE",
    ];
    let table: [(Certificate, Trust, Option<&[&str]>); 18] = [
        (Valid, Trust::Right, None),
        (Valid, Trust::Anybody, None),
        (Valid, Trust::None, Some(unknown)),
        (Valid, Trust::Another, Some(unknown)),
        (Expired, Trust::Right, Some(expired)),
        (Expired, Trust::Anybody, None),
        (WrongHost, Trust::Right, Some(wrong_host)),
        (WrongHost, Trust::Anybody, None),
        (SelfSigned, Trust::None, Some(self_signed)),
        (SelfSigned, Trust::Anybody, None),
        (SelfSigned, Trust::Itself, None),
        (SelfSigned, Trust::AnotherServer, Some(self_signed)),
        (SelfSignedExpired, Trust::Itself, Some(expired)),
        (SelfSignedWrongHost, Trust::Itself, Some(wrong_host)),
        (Valid, Trust::Itself, None),
        (Valid, Trust::AnotherServer, Some(unknown)),
        (Expired, Trust::Itself, Some(expired)),
        (WrongHost, Trust::Itself, Some(wrong_host)),
    ];
    let authority = Authority::new();
    for (certificate, trust, says) in table {
        let tls = authority.server(certificate);
        let pem = tls.pem().to_owned();
        let faulty = behind(tls);
        let outcome = trusting(faulty.prestan("Put1K"), &authority, trust, &pem).run();
        match says {
            None => went_well(&outcome, &faulty),
            Some(says) => {
                went_nowhere(&outcome, says);
                // No part of the request, and so no password, was sent to that server.
                let seen = faulty.exchanges().len();
                assert_eq!(seen, 0, "{certificate:?} {trust:?}");
            }
        }
    }
}

/// A server that closes the connection after each GET of one test.
fn closing_after_each(authority: &Authority) -> Faulty {
    Faulty::new(|builder| {
        let close = Fault::CloseAfterRequests {
            requests: 1,
            announced: true,
        };
        let tls = authority.server(Certificate::Valid);
        builder.tls(tls).rule(Rule::new(close).tag("(Get1K)"))
    })
}

#[test]
fn a_body_until_the_end_of_a_connection_that_tls_did_not_close_is_noted() {
    for is_closed in [false, true] {
        let authority = Authority::new();
        let faulty = Faulty::new(|builder| {
            // Without a length, and with a complete body: the end of the connection decides.
            let of_get = |fault| Rule::new(fault).tag("(Get1K)");
            let builder = builder
                .tls(authority.server(Certificate::Valid))
                .rule(of_get(Fault::Chunked))
                .rule(of_get(Fault::Http10));
            if is_closed {
                builder
            } else {
                builder.rule(of_get(Fault::CloseAfterBytes(usize::MAX)))
            }
        });
        let outcome = trusting_all(faulty.prestan("Get1K"), &authority).run();
        went_well(&outcome, &faulty);
        let result = outcome.json();
        let notes = row(&result, "Get1K")["notes"].to_string();
        assert_eq!(notes.contains("no close_notify"), !is_closed, "{notes}");
    }
}

#[test]
fn a_tls_handshake_is_measured_apart() {
    let authority = Authority::new();
    let faulty = closing_after_each(&authority);
    let prestan = trusting_all(faulty.prestan("Get1K,Put1K"), &authority);
    let outcome = prestan!(prestan => "--tls-resumption off").run();
    went_well(&outcome, &faulty);
    let result = outcome.json();
    let connects = &row(&result, "Get1K")["connects"];
    assert_eq!(connects["tls_us"]["n"], connects["count"], "{connects:#}");
    assert!(connects["count"].as_u64().unwrap() >= 2, "{connects:#}");
    // The handshake is a part of the total, and not of the response time.
    for sample in kept(&outcome).samples {
        let Some(tls) = sample.connect.and_then(|connect| connect.tls) else {
            continue;
        };
        let (total, response) = (sample.moments.total(), sample.moments.response());
        assert!(total.unwrap() >= tls + response.unwrap(), "{sample:?}");
    }
    assert!(row(&result, "Put1K")["connects"]["tls_us"].is_null());
}

/// A server that resumes sessions saves itself the signature, if it is let to.
#[test]
fn full_and_resumed_handshakes_are_distinguished() {
    let authority = Authority::new();
    for resumption in ["on", "off"] {
        let faulty = closing_after_each(&authority);
        let prestan = trusting_all(faulty.prestan("Get1K"), &authority);
        let outcome = prestan!(prestan => "--tls-resumption {resumption}").run();
        went_well(&outcome, &faulty);
        let result = outcome.json();
        let connects = &row(&result, "Get1K")["connects"];
        let (full, resumed) = (&connects["tls_us"], &connects["tls_resumed_us"]);
        // The set-up has made the session that the measured connections resume.
        let is_off = resumption == "off";
        let (all, none) = if is_off {
            (full, resumed)
        } else {
            (resumed, full)
        };
        assert_eq!(all["n"], connects["count"], "{connects:#}");
        assert!(all["n"].as_u64().unwrap() >= 2, "{connects:#}");
        assert!(none.is_null(), "{connects:#}");
        let run = kept(&outcome);
        assert_eq!(run.plan.load.http.full_handshakes, is_off);
        assert_eq!(result["load"]["http"]["full_handshakes"], is_off);
        let report = prestan!(outcome.again() => "report {}", outcome.run()).run();
        let kind = if is_off { "full" } else { "resumed" };
        report.stdout_has("operations opened a connection");
        report.stdout_has(&format!("TLS handshake, {kind} (n = "));
        let full_only = "Requests: HTTP/1.1, full TLS handshakes only\n";
        assert_eq!(report.stdout.contains(full_only), is_off, "{report}");
        let opened = run.samples.iter().filter_map(|sample| sample.connect);
        for connect in opened {
            assert_eq!(connect.resumed, Some(!is_off), "{connect:?}");
        }
    }
}

#[test]
fn a_client_shows_its_certificate() {
    let authority = Authority::new();
    let server = || behind(authority.server_for_clients_with_certificate(Certificate::Valid));
    let identity = authority.client();

    let faulty = server();
    let prestan = trusting_all(faulty.prestan("Put1K"), &authority);
    let cert = prestan.file("cert.pem", &identity.certificate);
    let key = prestan.file("key.pem", &identity.key);
    let outcome = prestan!(prestan => "--cert {} --key {}", cert, key).run();
    went_well(&outcome, &faulty);

    let faulty = server();
    let outcome = trusting_all(faulty.prestan("Put1K"), &authority).run();
    let says = ["OPTIONS https://", "certificate", "(--cert FILE)"];
    went_nowhere(&outcome, &says);
}

#[test]
fn a_file_that_is_no_certificate_is_wrong_usage() {
    for (args, file) in [
        ("--cacert nowhere", "nowhere"),
        ("--cacert text", "text"),
        ("--cert text --key text", "text"),
        ("--cert nowhere --key nowhere", "nowhere"),
    ] {
        let prestan = short_run("https://127.0.0.1:1/", "Put1K");
        prestan.file("text", "this is no PEM\n");
        let outcome = prestan.words(args).ends(2);
        outcome.stderr_has(file);
        assert_eq!(outcome.runs().len(), 0);
    }
}

#[test]
fn the_wrong_scheme_is_recognised() {
    let tls = behind(Authority::new().server(Certificate::Valid));
    let url = tls.url().replace("https://", "http://");
    let says = ["OPTIONS http://", "TLS", "https"];
    went_nowhere(&short_run(&url, "Put1K").run(), &says);

    let plain = plain();
    let url = plain.url().replace("http://", "https://");
    let says = [
        "OPTIONS https://",
        "perhaps it does not speak TLS",
        "http:// instead of https://",
    ];
    went_nowhere(&short_run(&url, "Put1K").run(), &says);
}

#[test]
fn a_handshake_without_a_response_is_given_up_in_time() {
    // Connections wait in its queue for ever.
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let outcome = short_run(&url, "Put1K").args(IMPATIENT).run();
    went_nowhere(&outcome, &["OPTIONS https://", "within 300ms"]);
}

#[test]
fn a_local_socket() {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("socket");
    let faulty = Faulty::new(|builder| builder.unix_socket(&path));
    let outcome = prestan!(faulty.prestan("Put1K,Copy,Lock") => "--unix-socket {}", path).run();
    went_well(&outcome, &faulty);

    // Without an option for the clock, a warning about the second-best one is printed.
    outcome.stderr_has("warning: a local socket has no time stamps");

    drop(faulty);
    let prestan = short_run("http://localhost/", "Put1K");
    let outcome = prestan!(prestan => "--clock user --unix-socket {}", path).run();
    let name = path.to_str().unwrap();
    let says = [
        "OPTIONS http://localhost/",
        "connecting to the socket",
        name,
    ];
    went_nowhere(&outcome, &says);
}

#[test]
fn a_host_is_where_the_user_says() {
    let authority = Authority::new();
    // The certificate is valid for this name, which no name server knows.
    let faulty = behind(authority.server(Certificate::WrongHost));
    let port = faulty.server.addr().unwrap().port();
    let host = format!("elsewhere.example:{port}");
    let url = format!("https://{host}/");
    let run = |resolve: &str| {
        let prestan = trusting_all(short_run(&url, "Put1K,Copy"), &authority);
        prestan!(prestan => "--resolve {resolve}").run()
    };
    went_well(&run(&format!("{host}:127.0.0.1")), &faulty);
    for exchange in faulty.exchanges() {
        assert_eq!(exchange.header("host"), Some(host.as_str()));
    }
    let usage = run("elsewhere.example:127.0.0.1").ended(2);
    usage.stderr_has("HOST:PORT:ADDRESS");
}

#[test]
fn the_family_of_addresses() {
    let faulty = plain();
    let port = faulty.server.addr().unwrap().port();
    let named = format!("http://localhost:{port}/");
    went_well(&prestan!(short_run(&named, "Put1K") => "-4").run(), &faulty);

    let outcome = prestan!(short_run(&faulty.url(), "Put1K") => "-6").ends(4);
    outcome.stderr_has("127.0.0.1 has no IPv6 address");
    prestan!(short_run(&faulty.url(), "Put1K") => "-4 -6").ends(2);
}

#[test]
fn ipv6() {
    let Some(any) = ipv6_loopback() else { return };
    let authority = Authority::new();
    let tls = authority.server(Certificate::Valid);
    let faulty = Faulty::new(|builder| builder.listen(any).tls(tls));
    assert!(faulty.url().starts_with("https://[::1]:"));
    for options in ["", "-6"] {
        let prestan = trusting_all(faulty.prestan("Put1K,Copy,Lock"), &authority);
        went_well(&prestan.words(options).run(), &faulty);
    }
    let port = faulty.server.addr().unwrap().port();
    let host = format!("[::1]:{port}");
    for exchange in faulty.exchanges() {
        assert_eq!(exchange.header("host"), Some(host.as_str()));
    }
    let url = format!("https://localhost:{port}/");
    let resolved = trusting_all(short_run(&url, "Put1K"), &authority);
    let outcome = prestan!(resolved => "--resolve localhost:{port}:[::1]").run();
    went_well(&outcome, &faulty);
}

/// Forwards the first connection, and lets all others wait without a word.
fn hospitable_once(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let upstream = TcpStream::connect(server).unwrap();
        let directions = [
            (client.try_clone().unwrap(), upstream.try_clone().unwrap()),
            (upstream, client),
        ];
        for (mut from, mut to) in directions {
            thread::spawn(move || io::copy(&mut from, &mut to));
        }
        let _waiting: Vec<_> = listener.incoming().collect();
    });
    address
}

#[test]
fn a_handshake_that_nobody_answers_ends_in_time() {
    let authority = Authority::new();
    let faulty = behind(authority.server(Certificate::Valid));
    for pipeline in ["1", "4"] {
        let address = hospitable_once(faulty.server.addr().unwrap());
        let url = format!("https://{address}/");
        let load = prestan!("load PROPFIND {url} -c 2 --requests 8 --pipeline {pipeline}");
        let outcome = trusting_all(load.args(IMPATIENT), &authority).ends(1);
        let printed = format!("{}{}", outcome.stdout, outcome.stderr);
        let late = "PROPFIND: no complete response within 300ms";
        assert!(printed.contains(late), "{outcome}");
    }
}

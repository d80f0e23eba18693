//! Certificates and keys that rustls cannot read, servers without common TLS parameters, and the
//! error messages.

use std::fs;

use crate::support::faulty::{Faulty, short_run, went_nowhere};
use crate::support::real::nginx_tls;
use crate::support::{Outcome, Prestan};
use testbed::RealServer;
use testbed::fault::{Authority, Certificate};

/// Of 127.0.0.1, with an RSA key of 1024 bits.
const RSA_1024: &str = include_str!("certificates/rsa1024.pem");
/// Of X.509 version 1.
const VERSION_1: &str = include_str!("certificates/version1.pem");

/// A setting that OpenSSL calls insecure.
const OLD: &str = "ssl_ciphers DEFAULT@SECLEVEL=0;";

/// `prestan load GET` of a file there.
fn get(server: &RealServer) -> Prestan {
    fs::write(server.storage().join("file"), "text").unwrap();
    let url = format!("{}file", server.url().replace("http:", "https:"));
    prestan!("load GET {url} --json - --total 3")
}

#[track_caller]
fn says(outcome: &Outcome, parts: &[&str], untrue: &[&str]) {
    went_nowhere(outcome, parts);
    for part in untrue {
        outcome.stderr_lacks(part);
    }
}

#[test]
fn insecure_accepts_what_cannot_be_verified() {
    let hints: [(&str, &str); 2] = [
        (RSA_1024, "a key is RSA of less than 2048 bits"),
        (VERSION_1, "X.509 version 1"),
    ];
    for (identity, hint) in hints {
        for version in ["TLSv1.2", "TLSv1.3"] {
            let directives = format!("{OLD} ssl_protocols {version};");
            let Some(server) = nginx_tls("", identity, &directives) else {
                return;
            };
            prestan!(get(&server) => "--insecure").ends(0);

            let prestan = get(&server);
            let file = prestan.file("ca.pem", identity);
            let outcome = prestan!(prestan => "--cacert {}", file).run();
            says(&outcome, &[hint, "--insecure accepts any"], &[]);
        }
    }
}

/// A certificate and its key.
pub(crate) fn identity() -> String {
    let tls = Authority::new().server(Certificate::Valid);
    format!("{}{}", tls.pem(), tls.key())
}

#[test]
fn what_was_offered_is_said() {
    let table = "
        ssl_protocols TLSv1;
          => neither TLS 1.2 nor TLS 1.3, and older versions are not offered
        ssl_protocols TLSv1.2; ssl_ciphers AES128-SHA;
          => none of what was offered: TLS 1.3, and 1.2 with ECDHE | AES-GCM
    ";
    for [directives, parts] in cases::rows(table) {
        let is_old = directives.contains("TLSv1;");
        let directives = format!("{directives}{}", if is_old { OLD } else { "" });
        let identity = identity();
        let Some(server) = nginx_tls("", &identity, &directives) else {
            return;
        };
        let outcome = prestan!(get(&server) => "--insecure").run();
        let parts: Vec<&str> = parts.split(" | ").collect();
        says(&outcome, &parts, &["--insecure", "http://"]);
    }
}

#[test]
fn a_client_certificate_of_version_1_is_shown_from_one_file() {
    let identity = identity();
    // Any certificate is accepted, and none is refused.
    let directives =
        "ssl_verify_client optional_no_ca; if ($ssl_client_verify = NONE) { return 403; }";
    let Some(server) = nginx_tls("", &identity, directives) else {
        return;
    };
    let prestan = prestan!(get(&server) => "--insecure");
    let both = prestan.file("both.pem", VERSION_1);
    prestan!(prestan => "--cert {}", both).ends(0);
    prestan!(get(&server) => "--insecure").ends(1);
}

#[test]
fn hints_do_not_ask_for_a_certificate_that_was_given() {
    let authority = Authority::new();
    let run = |identity: Option<String>| {
        let tls = authority.server_for_clients_with_certificate(Certificate::Valid);
        let faulty = Faulty::new(|builder| builder.tls(tls));
        let prestan = prestan!(faulty.prestan("Put1K") => "--insecure");
        let prestan = match identity {
            Some(pem) => {
                let file = prestan.file("both.pem", &pem);
                prestan!(prestan => "--cert {}", file)
            }
            None => prestan,
        };
        prestan.run()
    };
    let pem_of = |authority: &Authority| {
        let client = authority.client();
        Some(format!("{}{}", client.key, client.certificate))
    };
    assert_eq!(run(pem_of(&authority)).code, 0);
    let refused = run(pem_of(&Authority::new()));
    let wants = "the server wants a certificate from us";
    let refusal = "the server does not accept the certificate of --cert";
    says(&refused, &[refusal], &[wants, "--insecure"]);
    says(&run(None), &[wants, "(--cert FILE)"], &["--insecure"]);
}

#[test]
fn what_is_wrong_with_a_key_is_said() {
    let client = Authority::new().client();
    let pkcs8 =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let legacy = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,B6638C8C\n\nMAAA\n\
                  -----END EC PRIVATE KEY-----\n";
    let other = Authority::new().client().key;
    let encrypted = "key.pem failed: it is encrypted (`openssl pkey";
    let table = [
        (Some(pkcs8), encrypted),
        (Some(legacy), encrypted),
        (Some(RSA_1024), "RSA of 2048 bits and more"),
        (Some("text"), "key.pem failed: no items found"),
        (Some(&other), "key.pem is not that of the certificate in"),
        (None, "has a certificate and no key; --key FILE"),
    ];
    for (key, part) in table {
        let prestan = short_run("https://127.0.0.1:1/", "Put1K");
        let cert = prestan.file("cert.pem", &client.certificate);
        let prestan = match key {
            Some(text) => {
                let file = prestan.file("key.pem", text);
                prestan!(prestan => "--key {}", file)
            }
            None => prestan,
        };
        let outcome = prestan!(prestan => "--cert {}", cert).ends(2);
        outcome.stderr_has(part);
    }
}

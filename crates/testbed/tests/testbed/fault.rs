//! The fault server: each fault as it is on the wire, and the truth of its records.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{LOOPBACK, connect, exchange, read_response, read_until, request, send};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use testbed::fault::{
    Auth, Authority, Builder, Certificate, ChallengeAlgorithm, Expiry, Fault, Rule,
};
use testbed::{DemoServer, FaultServer, Root};

/// A demo server that has `/file` with 1000 bytes, and a fault server in front of it.
fn in_front_of_demo(build: impl FnOnce(Builder) -> Builder) -> (FaultServer, DemoServer) {
    let demo = DemoServer::start(Root::Temporary, LOOPBACK).unwrap();
    std::fs::write(demo.root().join("file"), "0123456789".repeat(100)).unwrap();
    let builder = FaultServer::builder().upstream(demo.addr());
    (build(builder).start().unwrap(), demo)
}

fn addr(server: &FaultServer) -> SocketAddr {
    server.addr().unwrap()
}

/// All bytes after a GET, until the connection ends, and the end.
fn get_all(server: &FaultServer) -> (String, Result<(), ErrorKind>) {
    let mut stream = sent_get(server);
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes);
    let end = end.map(|_| ()).map_err(|error| error.kind());
    (String::from_utf8_lossy(&bytes).into_owned(), end)
}

/// A connection with a GET whose response is not read.
fn sent_get(server: &FaultServer) -> TcpStream {
    let mut stream = connect(addr(server));
    let get = request("GET", "/file", "", "");
    stream.write_all(get.as_bytes()).unwrap();
    stream
}

/// All bytes after a GET with one fault that ends the connection.
fn all_with(fault: Fault) -> (String, Result<(), ErrorKind>) {
    let (server, _demo) = in_front_of_demo(|builder| builder.fault(fault));
    get_all(&server)
}

fn get(server: &FaultServer) -> crate::support::Response {
    send(addr(server), "GET", "/file", "", "")
}

#[test]
fn without_a_fault_it_is_not_there() {
    let (server, demo) = in_front_of_demo(|builder| builder);
    let mut through = connect(addr(&server));
    let mut direct = connect(demo.addr());
    let big = "x".repeat(300_000);
    let chunked =
        "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let expecting = request("PUT", "/e", "Expect: 100-continue\r\n", "abc");
    for text in [
        request("GET", "/file", "", ""),
        request("HEAD", "/file", "", ""),
        request("PUT", "/big", "", &big),
        request("GET", "/big", "", ""),
        request("PROPFIND", "/", "Depth: 0\r\n", ""),
        request("GET", "/none", "", ""),
        chunked.to_owned(),
        expecting,
        request("DELETE", "/big", "", ""),
    ] {
        let ours = exchange(&mut through, &text);
        if !text.starts_with("PUT") && !text.starts_with("DELETE") {
            let theirs = exchange(&mut direct, &text);
            assert_eq!((ours.status, &ours.body), (theirs.status, &theirs.body));
            assert_eq!(ours.header("etag"), theirs.header("etag"));
        }
    }
    let exchanges = server.exchanges();
    assert_eq!(exchanges.len(), 9);
    assert_eq!(exchanges[2].body_len, big.len());
    assert_eq!(exchanges[6].body_len, 3);
    assert!(exchanges.iter().all(|exchange| exchange.connection == 0));
    assert_eq!(exchanges[4].header("depth"), Some("0"));
    assert_eq!(exchanges[8].status, Some(204));
}

#[test]
fn a_status_replaces_the_response() {
    let full = Rule::new(Fault::Status {
        code: 507,
        headers: vec![("Retry-After".to_owned(), "1".to_owned())],
        body: b"full".to_vec(),
    });
    let (server, demo) = in_front_of_demo(|builder| builder.rule(full.method("PUT")));
    let mut stream = connect(addr(&server));
    let response = exchange(&mut stream, &request("PUT", "/new", "", "abc"));
    assert_eq!((response.status, response.text().as_str()), (507, "full"));
    assert_eq!(response.header("retry-after"), Some("1"));
    assert!(!demo.root().join("new").exists());
    let response = exchange(&mut stream, &request("GET", "/file", "", ""));
    assert_eq!(response.status, 200);
    assert_eq!(server.exchanges()[0].upstream_time, None);
    assert!(server.exchanges()[1].upstream_time.is_some());
}

#[test]
fn rules_choose_by_method_path_tag_and_count() {
    let teapot = |code| Fault::Status {
        code,
        headers: Vec::new(),
        body: Vec::new(),
    };
    let (server, _demo) = in_front_of_demo(|builder| {
        builder
            .rule(Rule::new(teapot(423)).path("locked"))
            .rule(Rule::new(teapot(503)).tag("(Get1K)").nth(2))
            .rule(Rule::new(teapot(500)).method("OPTIONS").every(3))
    });
    let tag = "X-Prestan: prestan: 7 (Get1K)\r\n";
    let status = |method, path, extra| send(addr(&server), method, path, extra, "").status;
    assert_eq!(status("GET", "/locked", ""), 423);
    let tagged = [(); 3].map(|()| status("GET", "/file", tag));
    assert_eq!(tagged, [200, 503, 200]);
    let options = [(); 6].map(|()| status("OPTIONS", "/", ""));
    assert_eq!(options, [200, 200, 500, 200, 200, 500]);
    server.clear_rules();
    assert_eq!(status("GET", "/locked", ""), 404);
}

#[test]
fn connections_end_in_every_way() {
    let closed = all_with(Fault::CloseBeforeResponse);
    assert_eq!(closed, (String::new(), Ok(())));
    let reset = Err(ErrorKind::ConnectionReset);
    assert_eq!(all_with(Fault::Reset), (String::new(), reset));
    let (text, end) = all_with(Fault::CloseAfterBytes(17));
    assert_eq!((text.as_str(), end), ("HTTP/1.1 200 OK\r\n", Ok(())));
    let (text, end) = all_with(Fault::Garbage(b"\0\x01SSH-2.0".to_vec()));
    assert_eq!((text.as_str(), end), ("\0\u{1}SSH-2.0", Ok(())));
}

#[test]
fn lengths_lie_in_both_directions() {
    let (text, end) = all_with(Fault::ShorterThanSaid);
    let body = text.split_once("\r\n\r\n").unwrap().1;
    assert!(text.contains("Content-Length: 1000\r\n"), "{text}");
    assert_eq!((body.len(), end), (999, Ok(())));

    let (server, _demo) = in_front_of_demo(|builder| builder.fault(Fault::LongerThanSaid));
    let mut stream = connect(addr(&server));
    let response = exchange(&mut stream, &request("GET", "/file", "", ""));
    assert_eq!(response.body.len(), 1000);
    let mut more = [0; 18];
    stream.read_exact(&mut more).unwrap();
    assert_eq!(&more, b"more than was said");
}

#[test]
fn what_has_no_end_goes_on() {
    let body = |chunked| Fault::EndlessBody { chunked };
    for (fault, sign) in [
        (Fault::EndlessHead, "X-And-Another: "),
        (body(true), "10\r\n0123456789abcdef\r\n"),
        (body(false), "0123456789abcdef0123456789abcdef"),
    ] {
        let (server, _demo) = in_front_of_demo(|builder| builder.fault(fault));
        let mut bytes = vec![0; 1 << 20];
        sent_get(&server).read_exact(&mut bytes).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains(sign));
    }
}

#[test]
fn hanging_ends_with_the_server() {
    let (server, _demo) = in_front_of_demo(|builder| builder.fault(Fault::Hang));
    let mut stream = sent_get(&server);
    while server.exchanges().is_empty() {
        std::thread::yield_now();
    }
    drop(server);
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn interim_responses_come_first() {
    let (server, _demo) = in_front_of_demo(|builder| builder.fault(Fault::Interim100(2)));
    let mut stream = sent_get(&server);
    for _ in 0..2 {
        let head = read_until(&mut stream, b"\r\n\r\n");
        assert_eq!(head, b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    assert_eq!(read_response(&mut stream, false).status, 200);
}

#[test]
fn an_early_response_does_not_wait_for_the_body() {
    let (server, _demo) =
        in_front_of_demo(|builder| builder.fault(Fault::EarlyStatus { code: 413 }));
    let mut stream = connect(addr(&server));
    let head = "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let response = read_response(&mut stream, false);
    assert_eq!(response.status, 413);
    assert_eq!(response.header("connection"), Some("close"));
}

#[test]
fn responses_are_rewritten() {
    let forbidden = Fault::RewriteBody {
        from: "200 OK".to_owned(),
        to: "403 Forbidden".to_owned(),
    };
    let cached = Fault::AddHeader("X-Cache".to_owned(), "miss".to_owned());
    let (server, _demo) = in_front_of_demo(|builder| {
        builder
            .rule(Rule::new(forbidden))
            .rule(Rule::new(Fault::DropHeader("DAV".to_owned())).method("OPTIONS"))
            .rule(Rule::new(Fault::RewriteStatus(204)).method("MKCOL"))
            .rule(Rule::new(cached).method("MKCOL"))
            .rule(Rule::new(Fault::Chunked).method("GET"))
    });
    let propfind = send(addr(&server), "PROPFIND", "/file", "Depth: 0\r\n", "");
    assert_eq!(propfind.status, 207);
    assert!(propfind.text().contains("HTTP/1.1 403 Forbidden"));
    let options = send(addr(&server), "OPTIONS", "/", "", "");
    assert_eq!(options.header("dav"), None);
    let made = send(addr(&server), "MKCOL", "/new/", "", "");
    assert_eq!((made.status, made.header("x-cache")), (204, Some("miss")));
    let response = get(&server);
    assert_eq!(response.header("transfer-encoding"), Some("chunked"));
    assert_eq!(response.header("content-length"), None);
    assert_eq!(response.body.len(), 1000);
}

#[test]
fn http_1_0_has_no_chunks_and_closes() {
    let (server, _demo) =
        in_front_of_demo(|builder| builder.fault(Fault::Chunked).fault(Fault::Http10));
    let (text, end) = get_all(&server);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 200 OK\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("chunked"), "{head}");
    assert_eq!((body.len(), end), (1000, Ok(())));
}

#[test]
fn keep_alive_ends_after_some_requests() {
    for announced in [true, false] {
        let fault = Fault::CloseAfterRequests {
            requests: 2,
            announced,
        };
        let (server, _demo) = in_front_of_demo(|builder| builder.fault(fault));
        let mut stream = connect(addr(&server));
        let options = request("OPTIONS", "/", "", "");
        assert_eq!(exchange(&mut stream, &options).header("connection"), None);
        let last = exchange(&mut stream, &options);
        assert_eq!(last.header("connection").is_some(), announced);
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        assert_eq!(get(&server).status, 200);
        assert_eq!(server.exchanges()[2].connection, 1);
    }
}

#[test]
fn a_trickle_pauses_after_every_byte() {
    let pause = Duration::from_micros(300);
    let (server, _demo) = in_front_of_demo(|builder| builder.fault(Fault::Trickle(pause)));
    let start = Instant::now();
    let response = send(addr(&server), "MKCOL", "/new/", "", "");
    assert_eq!(response.status, 201);
    assert!(start.elapsed() >= pause * (response.head.len() as u32 - 1));
}

#[test]
fn it_listens_on_a_local_socket_and_removes_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let (server, _demo) = in_front_of_demo(|builder| builder.unix_socket(&path));
    assert_eq!(server.addr(), None);
    let mut stream = UnixStream::connect(&path).unwrap();
    let response = exchange(&mut stream, &request("GET", "/file", "", ""));
    assert_eq!((response.status, response.body.len()), (200, 1000));
    drop(server);
    assert!(!path.exists());
}

fn tls_get(
    server: &FaultServer,
    authority: &Authority,
    client: Option<testbed::fault::ClientIdentity>,
) -> std::io::Result<crate::support::Response> {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap();
    roots.add(root).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match client {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let chain = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
            builder.with_client_auth_cert(vec![chain], key).unwrap()
        }
    };
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, connect(addr(server)));
    let get = request("GET", "/file", "Connection: close\r\n", "");
    stream.write_all(get.as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(read_response(&mut &bytes[..], false))
}

#[test]
fn tls_has_good_and_bad_certificates() {
    let authority = Authority::new();
    for (certificate, complaint) in [
        (Certificate::Valid, None),
        (Certificate::Expired, Some("expired")),
        (Certificate::WrongHost, Some("not valid for name")),
    ] {
        let (server, _demo) =
            in_front_of_demo(|builder| builder.tls(authority.server(certificate)));
        assert!(server.url().starts_with("https://127.0.0.1:"));
        match (tls_get(&server, &authority, None), complaint) {
            (Ok(response), None) => assert_eq!(response.body.len(), 1000),
            (Err(error), Some(words)) => assert!(error.to_string().contains(words), "{error}"),
            (outcome, _) => panic!("{certificate:?}: {outcome:?}"),
        }
    }
    let stranger = Authority::new();
    let tls = authority.server_for_clients_with_certificate(Certificate::Valid);
    let (server, _demo) = in_front_of_demo(|builder| builder.tls(tls));
    let known = tls_get(&server, &authority, Some(authority.client()));
    assert_eq!(known.unwrap().status, 200);
    assert!(tls_get(&server, &authority, None).is_err());
    assert!(tls_get(&server, &authority, Some(stranger.client())).is_err());
}

#[test]
fn basic_and_bearer_want_their_header() {
    let basic = Auth::Basic {
        user: "user".to_owned(),
        password: "password".to_owned(),
    };
    let bearer = Auth::Bearer {
        token: "t0k3n".to_owned(),
    };
    for (auth, scheme, credentials) in [
        (basic, "Basic", "dXNlcjpwYXNzd29yZA=="),
        (bearer, "Bearer", "t0k3n"),
    ] {
        let header = &format!("Authorization: {scheme} {credentials}\r\n");
        let (server, _demo) = in_front_of_demo(|builder| builder.auth(auth));
        let refused = get(&server);
        assert_eq!(refused.status, 401);
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.starts_with(&format!("{scheme} realm=")));
        assert_eq!(send(addr(&server), "GET", "/file", header, "").status, 200);
    }
}

/// An `Authorization` line with a hash that the test computes.
fn digest_header(challenge: &str, hash: fn(&str) -> String, nc: u32) -> String {
    let param = |name: &str| {
        let rest = challenge.split_once(&format!("{name}=\"")).unwrap().1;
        rest.split_once('"').unwrap().0
    };
    let algorithm = challenge.split_once("algorithm=").unwrap().1;
    let algorithm = algorithm.split_once(',').unwrap().0;
    let (nonce, realm, opaque) = (param("nonce"), param("realm"), param("opaque"));
    let secret = hash(&format!("user:{realm}:password"));
    let what = hash("GET:/file");
    let response = hash(&format!("{secret}:{nonce}:{nc:08x}:c:auth:{what}"));
    format!(
        "Authorization: Digest username=\"user\", realm=\"{realm}\", nonce=\"{nonce}\", \
         uri=\"/file\", algorithm={algorithm}, qop=auth, nc={nc:08x}, cnonce=\"c\", \
         response=\"{response}\", opaque=\"{opaque}\"\r\n"
    )
}

fn md5(text: &str) -> String {
    use md5::Digest;
    let digest = md5::Md5::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(text: &str) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn digest_nonces_wear_out() {
    for (algorithm, hash) in [
        (ChallengeAlgorithm::Md5, md5 as fn(&str) -> String),
        (ChallengeAlgorithm::Sha256, sha256),
    ] {
        for expiry in [Expiry::Stale, Expiry::Silent] {
            let auth = Auth::Digest {
                user: "user".to_owned(),
                password: "password".to_owned(),
                algorithms: vec![algorithm],
                nonce_uses: Some(2),
                expiry,
            };
            let (server, _demo) = in_front_of_demo(|builder| builder.auth(auth));
            let refused = get(&server);
            let challenge = refused.header("www-authenticate").unwrap();
            let with = |nc| {
                let header = digest_header(challenge, hash, nc);
                send(addr(&server), "GET", "/file", &header, "")
            };
            assert_eq!(with(1).status, 200);
            assert_eq!(with(1).status, 401, "a nonce count is good once");
            assert_eq!(with(2).status, 200);
            let worn = with(3);
            assert_eq!(worn.status, 401);
            let stale = worn.header("www-authenticate").unwrap();
            assert_eq!(stale.contains("stale=true"), expiry == Expiry::Stale);
        }
    }
}

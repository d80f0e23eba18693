//! The embedded server: expected behaviour of a WebDAV server, on the wire.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::support::{LOOPBACK, connect, exchange, litmus, request, send};
use testbed::{DemoServer, Root, need};

const LOCKINFO: &str = r#"<D:lockinfo xmlns:D="DAV:">
    <D:lockscope><D:exclusive/></D:lockscope>
    <D:locktype><D:write/></D:locktype>
    <D:owner>me</D:owner>
</D:lockinfo>"#;

fn demo() -> DemoServer {
    DemoServer::start(Root::Temporary, LOOPBACK).unwrap()
}

#[test]
fn litmus_passes_all_its_suites() {
    if !need("litmus") {
        return;
    }
    let server = demo();
    for suite in ["basic", "copymove", "props", "locks", "http"] {
        let printed = litmus(&server.url(), suite);
        assert!(printed.contains(" 0 failed. 100.0%"), "{printed}");
        assert!(!printed.contains("SKIPPED"), "{printed}");
    }
}

fn set_prop(addr: SocketAddr, path: &str, name: &str, value: &str) {
    let body = format!(
        r#"<?xml version="1.0"?>
        <D:propertyupdate xmlns:D="DAV:" xmlns:P="urn:p">
            <D:set><D:prop><P:{name}>{value}</P:{name}></D:prop></D:set>
        </D:propertyupdate>"#
    );
    let xml = "Content-Type: application/xml\r\n";
    let response = send(addr, "PROPPATCH", path, xml, &body);
    assert_eq!(response.status, 207, "{}", response.text());
    assert!(response.text().contains("200 OK"), "{}", response.text());
}

fn prop(addr: SocketAddr, path: &str, name: &str) -> Option<String> {
    let body = format!(
        r#"<?xml version="1.0"?>
        <D:propfind xmlns:D="DAV:" xmlns:P="urn:p"><D:prop><P:{name}/></D:prop></D:propfind>"#
    );
    let response = send(addr, "PROPFIND", path, "Depth: 0\r\n", &body);
    assert_eq!(response.status, 207, "{path}: {}", response.text());
    let text = response.text();
    let value = text.split_once(&format!("<P:{name} ")).map(|(_, rest)| {
        let value = rest.split_once('>').unwrap().1;
        value.split_once("</").unwrap().0.to_owned()
    });
    assert_eq!(text.contains("404 Not Found"), value.is_none(), "{text}");
    value
}

#[test]
fn dead_properties_follow_copy_and_move_of_a_tree_and_go_with_delete() {
    let server = demo();
    let addr = server.addr();
    let value = |path: &str| prop(addr, path, "colour");
    send(addr, "MKCOL", "/tree/", "", "");
    send(addr, "MKCOL", "/tree/sub/", "", "");
    send(addr, "PUT", "/tree/sub/leaf", "", "x");
    set_prop(addr, "/tree/", "colour", "red");
    set_prop(addr, "/tree/sub/", "colour", "green");
    set_prop(addr, "/tree/sub/leaf", "colour", "blue");

    let destination = |path: &str| format!("Destination: {}{path}\r\n", server.url());
    let copied = send(addr, "COPY", "/tree/", &destination("copy/"), "");
    assert_eq!(copied.status, 201);
    assert_eq!(value("/copy/").as_deref(), Some("red"));
    assert_eq!(value("/copy/sub").as_deref(), Some("green"));
    assert_eq!(value("/copy/sub/leaf").as_deref(), Some("blue"));
    assert_eq!(value("/tree/sub/").as_deref(), Some("green"));

    let shallow = format!("Depth: 0\r\n{}", destination("shallow/"));
    assert_eq!(send(addr, "COPY", "/tree/", &shallow, "").status, 201);
    assert_eq!(value("/shallow/").as_deref(), Some("red"));

    let moved = send(addr, "MOVE", "/copy/", &destination("moved/"), "");
    assert_eq!(moved.status, 201);
    assert_eq!(value("/moved/").as_deref(), Some("red"));
    assert_eq!(value("/moved/sub/leaf").as_deref(), Some("blue"));

    assert_eq!(send(addr, "DELETE", "/moved/", "", "").status, 204);
    send(addr, "MKCOL", "/moved/", "", "");
    assert_eq!(value("/moved/"), None);

    // An overwriting COPY replaces the properties as well.
    send(addr, "PUT", "/plain", "", "x");
    let over = destination("tree/sub/leaf");
    assert_eq!(send(addr, "COPY", "/plain", &over, "").status, 204);
    assert_eq!(value("/tree/sub/leaf"), None);
}

#[test]
fn dead_properties_survive_an_overwriting_put_and_can_be_removed() {
    let server = demo();
    let addr = server.addr();
    send(addr, "PUT", "/file", "", "one");
    set_prop(addr, "/file", "colour", "a &lt; b");
    assert_eq!(send(addr, "PUT", "/file", "", "two").status, 204);
    assert_eq!(prop(addr, "/file", "colour").as_deref(), Some("a &lt; b"));

    let remove = r#"<D:propertyupdate xmlns:D="DAV:" xmlns:P="urn:p">
        <D:remove><D:prop><P:colour/></D:prop></D:remove>
    </D:propertyupdate>"#;
    assert_eq!(send(addr, "PROPPATCH", "/file", "", remove).status, 207);
    assert_eq!(prop(addr, "/file", "colour"), None);
}

#[test]
fn one_property_is_asked_for_and_one_comes() {
    let server = demo();
    let addr = server.addr();
    send(addr, "PUT", "/file", "", "one");
    set_prop(addr, "/file", "colour", "red");
    set_prop(addr, "/file", "size", "big");
    let body = r#"<D:propfind xmlns:D="DAV:" xmlns:P="urn:p">
        <D:prop><P:size/><D:getetag/></D:prop>
    </D:propfind>"#;
    let text = send(addr, "PROPFIND", "/file", "Depth: 0\r\n", body).text();
    assert_eq!(text.matches("big").count(), 1, "{text}");
    assert!(!text.contains("colour"), "{text}");
    let file = send(addr, "GET", "/file", "", "");
    let etag = format!("<D:getetag>{}</D:getetag>", file.header("etag").unwrap());
    assert!(text.contains(&etag), "{text}");
}

#[test]
fn propfind_goes_as_deep_as_asked() {
    let server = demo();
    let addr = server.addr();
    for collection in ["/a/", "/a/b%20c/", "/a/b%20c/d/"] {
        send(addr, "MKCOL", collection, "", "");
    }
    send(addr, "PUT", "/a/b%20c/d/leaf%25", "", "x");
    let hrefs = |depth: &str| {
        let text = send(addr, "PROPFIND", "/a/", depth, "").text();
        let hrefs = text.split("<D:response><D:href>").skip(1);
        let hrefs = hrefs.map(|rest| rest.split_once('<').unwrap().0.to_owned());
        let mut hrefs: Vec<String> = hrefs.collect();
        hrefs.sort();
        hrefs
    };
    let all = ["/a/", "/a/b%20c/", "/a/b%20c/d/", "/a/b%20c/d/leaf%25"];
    assert_eq!(hrefs("Depth: 0\r\n"), all[..1]);
    assert_eq!(hrefs("Depth: 1\r\n"), all[..2]);
    assert_eq!(hrefs("Depth: infinity\r\n"), all);
    assert_eq!(hrefs(""), all);
    let two = send(addr, "PROPFIND", "/a/", "Depth: 2\r\n", "");
    assert_eq!(two.status, 400);
    assert_eq!(send(addr, "PROPFIND", "/none", "", "").status, 404);
}

#[test]
fn a_lock_keeps_others_out_and_shows_where_it_holds() {
    let server = demo();
    let addr = server.addr();
    send(addr, "MKCOL", "/c/", "", "");
    send(addr, "PUT", "/c/file", "", "x");
    let headers = "Depth: 0\r\nTimeout: Second-3600\r\n";
    let lock = send(addr, "LOCK", "/c/", headers, LOCKINFO);
    assert_eq!(lock.status, 200, "{}", lock.text());
    let token = lock.header("lock-token").unwrap();
    assert!(lock.text().contains("Second-"), "{}", lock.text());
    assert_eq!(send(addr, "PUT", "/c/file", "", "y").status, 204);
    assert_eq!(send(addr, "DELETE", "/c/", "", "").status, 423);

    let text = send(addr, "PROPFIND", "/c/", "Depth: 1\r\n", "").text();
    assert_eq!(text.matches("<D:activelock>").count(), 1, "{text}");
    let unlock = format!("Lock-Token: {token}\r\n");
    assert_eq!(send(addr, "UNLOCK", "/c/", &unlock, "").status, 204);
    assert_eq!(send(addr, "DELETE", "/c/", "", "").status, 204);
}

#[test]
fn a_lock_ends_when_its_time_is_up() {
    let server = demo();
    let addr = server.addr();
    let lock = send(addr, "LOCK", "/file", "Timeout: Second-1\r\n", LOCKINFO);
    assert_eq!(lock.status, 201, "{}", lock.text());
    let locked = Instant::now();
    assert_eq!(send(addr, "PUT", "/file", "", "x").status, 423);
    while send(addr, "PUT", "/file", "", "x").status == 423 {
        assert!(locked.elapsed() < Duration::from_secs(10));
    }
    assert!(locked.elapsed() > Duration::from_millis(900));
}

#[test]
fn a_thousand_connections_stay_open() {
    let server = demo();
    let mut connections: Vec<_> = (0..1000).map(|_| connect(server.addr())).collect();
    for _ in 0..2 {
        for connection in &mut connections {
            let response = exchange(connection, &request("OPTIONS", "/", "", ""));
            assert_eq!(response.status, 200);
            assert_eq!(response.header("dav"), Some("1,2,3,sabredav-partialupdate"));
        }
    }
}

#[test]
fn an_empty_response_says_so() {
    let server = demo();
    let response = send(server.addr(), "MKCOL", "/c/", "", "");
    assert_eq!(response.status, 201);
    assert_eq!(response.header("content-length"), Some("0"));
}

#[test]
fn dropping_it_closes_the_port_and_removes_a_temporary_root() {
    let server = demo();
    let (addr, root) = (server.addr(), server.root().to_owned());
    let mut open = connect(addr);
    assert_eq!(send(addr, "PUT", "/file", "", "x").status, 201);
    assert!(root.join("file").is_file());
    drop(server);
    assert!(std::net::TcpStream::connect(addr).is_err());
    assert_eq!(std::io::Read::read(&mut open, &mut [0]).unwrap_or(0), 0);
    assert!(!root.exists());

    let given = tempfile::tempdir().unwrap();
    let server = DemoServer::start(Root::Directory(given.path().to_owned()), LOOPBACK).unwrap();
    send(server.addr(), "PUT", "/file", "", "x");
    drop(server);
    assert!(given.path().join("file").is_file());
}

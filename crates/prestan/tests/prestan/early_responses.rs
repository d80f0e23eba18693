//! Servers that answer before they have read the request, and then close: RFC 9110, section 15.5.14.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

use crate::support::faulty::count;
use crate::support::load::load;
use crate::support::rows::row;

/// A server that answers each PUT as soon as its head is there, with this status line, and closes the connection with the
/// body unread, so that the kernel resets it. Its thread ends with the process of the test.
fn hasty(status: &'static str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/new.bin", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream, status));
        }
    });
    url
}

fn serve(stream: TcpStream, status: &str) {
    let mut reader = BufReader::with_capacity(512, &stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let is_put = head.starts_with("PUT ");
        let answer = if is_put { status } else { "404 Not Found" };
        let response = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
        if (&stream).write_all(response.as_bytes()).is_err() || is_put {
            return;
        }
    }
}

#[test]
fn what_has_arrived_before_the_connection_broke_is_the_response() {
    for (status, outcome) in [
        ("413 Content Too Large", "wrong_status"),
        ("507 Insufficient Storage", "refused"),
        ("201 Created", "ok"),
    ] {
        let put = load("PUT", &hasty(status))
            .args(["--body-size", "8MiB", "--total", "30"])
            .run();
        let result = put.json();
        let put_row = row(&result, "PUT");
        assert_eq!(count(put_row, outcome), 30, "{status}: {put}");
    }
}

#[test]
fn a_response_to_half_a_request_misses_no_stamp() {
    let put = load("PUT", &hasty("201 Created"))
        .args(["--body-size", "8MiB", "--total", "10"])
        .run();
    let result = put.json();
    let put_row = row(&result, "PUT");
    assert_eq!(put_row["missed"], 0, "{put}");
    assert_eq!(put_row["early"], 10, "{put}");
    assert_eq!(put.code, 0, "{put}");
}

//! Servers that respond before they have read the request, and then close: RFC 9110, section
//! 15.5.14.

use crate::support::faulty::count;
use crate::support::heads::answering;
use crate::support::rows::row;

/// A server that responds to each PUT with this status line, and closes the connection with the
/// body unread, so that the kernel resets it.
fn hasty(status: &'static str) -> String {
    let address = answering(move |head| {
        let is_put = head.starts_with(b"PUT ");
        let status = if is_put { status } else { "404 Not Found" };
        let response = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        (response.into_bytes(), !is_put)
    });
    format!("http://{address}/new.bin")
}

#[test]
fn what_has_arrived_before_the_connection_broke_is_the_response() {
    for (status, outcome) in [
        ("413 Content Too Large", "wrong_status"),
        ("507 Insufficient Storage", "refused"),
        ("201 Created", "ok"),
    ] {
        let url = hasty(status);
        let put = prestan!("load PUT {url} --json - --body-size 8MiB --total 30").run();
        let result = put.json();
        let put_row = row(&result, "PUT");
        assert_eq!(count(put_row, outcome), 30, "{status}: {put}");
    }
}

#[test]
fn a_response_to_half_a_request_misses_no_stamp() {
    let url = hasty("201 Created");
    let put = prestan!("load PUT {url} --json - --body-size 8MiB --total 10").run();
    let result = put.json();
    let put_row = row(&result, "PUT");
    assert_eq!(put_row["missed"], 0, "{put}");
    assert_eq!(put_row["early"], 10, "{put}");
    assert_eq!(put.code, 0, "{put}");
}

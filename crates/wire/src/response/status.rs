//! Status codes as text. Servers may omit the reason phrase (RFC 9112, section 4), and Tomcat does.

use super::ResponseHead;

impl ResponseHead {
    /// Status and reason phrase, `404 Not Found`: the server's phrase, or the registered one if the
    /// server gave none.
    pub fn status_text(&self) -> String {
        match self.reason.trim() {
            "" => status_text(self.status),
            reason => format!("{} {reason}", self.status),
        }
    }
}

/// A status code: three digits, 100 or more.
pub(crate) fn status_code(text: &str) -> Option<u16> {
    let status = text.parse().ok().filter(|_| text.len() == 3);
    status.filter(|status| *status >= 100)
}

/// A status with its registered phrase: `404 Not Found`. An unregistered status stands alone.
pub fn status_text(status: u16) -> String {
    match phrase(status) {
        Some(phrase) => format!("{status} {phrase}"),
        None => status.to_string(),
    }
}

/// The phrase of the registry of IANA (RFC 9110, section 16.2.1; RFC 4918, section 11; RFC 5842,
/// section 7; RFC 6585).
fn phrase(status: u16) -> Option<&'static str> {
    Some(match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        208 => "Already Reported",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        511 => "Network Authentication Required",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_reason_phrase_is_filled_in() {
        let table = [
            (404, "", "404 Not Found"),
            (404, " ", "404 Not Found"),
            (404, "nope ", "404 nope"),
            (299, "", "299"),
        ];
        for (status, reason, wanted) in table {
            let head = ResponseHead {
                status,
                reason: reason.to_owned(),
                ..ResponseHead::default()
            };
            assert_eq!(head.status_text(), wanted);
        }
    }
}

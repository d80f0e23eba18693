//! Unmeasured requests that a busy server declines: repeated, for ten seconds at most.
//!
//! A proxy that limits requests, or a server that is restarting, is no reason to leave leftovers
//! there.

use std::time::{Duration, SystemTime};

use record::Outcome;

use crate::connection::client::{Client, Exchange, PlainRequest};

/// Pauses before each repetition: ten seconds together.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(250),
    Duration::from_millis(750),
    Duration::from_secs(2),
    Duration::from_secs(3),
    Duration::from_secs(4),
];

/// Result of a request that was sent up to six times.
#[derive(Debug)]
pub(crate) struct RetriedExchange {
    /// The last try.
    pub(crate) exchange: Exchange,
    /// An earlier one may have been carried out, whatever its response was.
    pub(crate) may_be_done: bool,
}

/// Why a request is worth repeating.
struct Declined {
    /// The server's wish for the time of the next request.
    retry_after: Option<Duration>,
    /// A server behind the responding one may have carried it out.
    may_be_done: bool,
}

/// Sends a request, and repeats it while it is temporarily declined. After one that was declined
/// until the end, the next is sent once.
pub(crate) async fn perform_with_retries(
    client: &mut Client,
    request: PlainRequest<'_>,
) -> RetriedExchange {
    let mut may_be_done = false;
    let mut left: Duration = PAUSES.iter().sum();
    let mut pauses = PAUSES.into_iter();
    let exchange = loop {
        let exchange = client.perform(request).await;
        let declined = declined(&exchange, request.method);
        let pause = pauses.next();
        let pause = pause.filter(|_| !client.is_turned_away && !left.is_zero());
        let (Some(declined), Some(pause)) = (&declined, pause) else {
            client.is_turned_away = declined.is_some();
            break exchange;
        };
        let wish = declined.retry_after.unwrap_or_default();
        let pause = wish.max(pause).min(left);
        left -= pause;
        if !client.pause(pause).await {
            break exchange;
        }
        may_be_done |= declined.may_be_done;
    };
    RetriedExchange {
        exchange,
        may_be_done,
    }
}

fn declined(exchange: &Exchange, method: &str) -> Option<Declined> {
    let head = match &exchange.result {
        Ok(head) => head,
        Err(failure) => {
            let is_lost = matches!(failure.outcome, Outcome::ConnectFailed | Outcome::Reset);
            // A creation may fail; a removal must succeed.
            return (is_lost && method != "MKCOL").then_some(Declined {
                retry_after: None,
                may_be_done: failure.outcome == Outcome::Reset,
            });
        }
    };
    let is_passing = match head.status {
        425 | 429 | 502 | 503 | 504 => true,
        // Some file systems keep a file in use for a moment longer, and so do proxies that limit
        // requests.
        403 => method == "DELETE",
        _ => false,
    };
    is_passing.then(|| Declined {
        retry_after: head
            .headers
            .get("Retry-After")
            .and_then(|value| retry_after(value, SystemTime::now())),
        may_be_done: matches!(head.status, 502 | 504),
    })
}

/// Seconds, or a date in one of three formats (RFC 9110, sections 10.2.3 and 5.6.7); `None` if
/// there is neither, and if the date is over.
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number beyond 64 bits is as long as any.
        return Some(value.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    date.duration_since(now).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_when_it_wants_to_be_asked_again() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (value, expected) in [
            ("2", seconds(2)),
            (" 120 ", seconds(120)),
            ("0", seconds(0)),
            ("Fri, 15 Jan 2027 08:00:07 GMT", seconds(7)),
            ("Friday, 15-Jan-27 08:00:07 GMT", seconds(7)),
            ("Fri Jan 15 08:00:07 2027", seconds(7)),
            ("Fri, 15 Jan 2027 07:59:00 GMT", None),
            ("99999999999999999999999999", Some(Duration::MAX)),
            ("-1", None),
            ("soon", None),
            ("1.5", None),
            ("", None),
        ] {
            assert_eq!(retry_after(value, now), expected, "{value}");
        }
    }
}

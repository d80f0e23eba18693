//! Challenges that other clients fail at: realms that are no UTF-8, and nonces that are never
//! fresh.

use testbed::fault::Rule;

use crate::support::Prestan;
use crate::support::faulty::{Faulty, PASSWORD, USER, count, short_run, status, went_nowhere};
use crate::support::heads::answering;
use crate::support::rows::row;

/// The realm as it is sent, and the digests of OPTIONS and GET of `/file` with it, the nonce `n`
/// and no `qop`, worked out with md5sum: MD5(MD5(ann:realm:password):n:MD5(GET:/file)).
type Realm = (&'static [u8], [&'static str; 2]);

const LATIN1: Realm = (
    b"gr\xfcn",
    [
        "e781fd87798ffc5ffdb7a5624b022946",
        "7b28717f615fbdd10df45acb334aa9e9",
    ],
);
const UTF8: Realm = (
    b"gr\xc3\xbcn",
    [
        "d8bbac644018b54a4adbde5408fcff70",
        "c03f57e7b7864b116195881123bd9664",
    ],
);

/// A server that accepts a client that returns its realm byte by byte, and one of its digests.
fn guarded((realm, digests): Realm) -> String {
    let address = answering(move |head| {
        let has = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
        let realm = [&b"realm=\""[..], realm, b"\""].concat();
        let response = if has(&realm) && digests.iter().any(|digest| has(digest.as_bytes())) {
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".to_vec()
        } else {
            let challenge =
                &b"HTTP/1.1 401 No\r\nContent-Length: 0\r\nWWW-Authenticate: Digest nonce=n, "[..];
            [challenge, &realm, b"\r\n\r\n"].concat()
        };
        (response, true)
    });
    format!("http://{address}/file")
}

fn digest(prestan: Prestan) -> Prestan {
    prestan!(prestan => "--auth digest --user {USER}").env("PRESTAN_PASSWORD", PASSWORD)
}

#[test]
fn a_realm_is_hashed_and_sent_back_as_it_came() {
    for realm in [LATIN1, UTF8] {
        let get = digest(prestan!("load GET {} --json - --total 5", guarded(realm))).ends(0);
        assert_eq!(count(row(&get.json(), "GET"), "ok"), 5, "{get}");
    }
}

/// Each nonce is stale at once, as behind a load balancer whose servers make their own.
#[test]
fn credentials_that_were_given_are_not_asked_for_where_no_nonce_is_fresh() {
    let challenge = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", stale=true";
    let stale = || status(401, &[("WWW-Authenticate", challenge)], "");
    let faulty = Faulty::new(|builder| builder.rule(Rule::new(stale())));
    for scheme in ["auto", "digest"] {
        let outcome = prestan!(short_run(&faulty.url(), "Put1K") => "--auth {scheme}").run();
        let says = [
            "authentication failed: OPTIONS http://",
            "challenged anew; the server requires Digest realm \"r\"",
            "several servers behind this address",
        ];
        went_nowhere(&outcome, &says);
        for untrue in ["--user", "check user"] {
            outcome.stderr_lacks(untrue);
        }
    }
    // In mid-run it is a refusal.
    let stale = Rule::new(stale()).tag("(Get1K)");
    let faulty = Faulty::new(|builder| builder.rule(stale));
    let outcome = short_run(&faulty.url(), "Get1K").run();
    let result = outcome.json();
    let get = row(&result, "Get1K");
    assert_eq!(count(get, "refused"), 3, "{get:#}");
    let failure = get["failures"][0].to_string();
    assert!(failure.contains("challenged anew"), "{failure}");
}

//! Challenges as servers write them, and conversations with servers as they are.

use std::borrow::Cow;

use wire::auth::{
    AuthDecision, AuthError, AuthScheme, Authenticator, Challenge, Credentials, Secret,
    parse_challenges,
};
use wire::response::Headers;

fn password() -> Option<Credentials> {
    Some(Credentials::Password {
        user: "u".to_owned(),
        password: Secret::new("hunter2"),
    })
}

fn auto() -> Authenticator {
    Authenticator::new(password(), AuthScheme::Auto, false)
}

/// The value of `Authorization`, which is text in all but one of these.
fn sent(user: &mut Authenticator, method: &str, target: &str, cnonce: u64) -> Option<String> {
    let value = user.authorization(method, target, cnonce)?;
    Some(String::from_utf8_lossy(&value).into_owned())
}

fn asks(challenges: &[&str]) -> Headers {
    challenges
        .iter()
        .map(|challenge| ("WWW-Authenticate", *challenge))
        .collect()
}

fn is_refusal(verdict: &AuthDecision) -> bool {
    matches!(verdict, AuthDecision::GiveUp(AuthError::Refused { .. }))
}

fn is_unending(verdict: &AuthDecision) -> bool {
    matches!(verdict, AuthDecision::GiveUp(AuthError::Unending { .. }))
}

/// Writes a challenge as `scheme token68 {name=value;...}`.
fn show(challenge: &Challenge) -> String {
    let param = |(name, value): &(String, Vec<u8>)| {
        let value = String::from_utf8_lossy(value);
        format!("{name}={value}")
    };
    let params: Vec<_> = challenge.params.iter().map(param).collect();
    let token68 = challenge.token68.as_deref().unwrap_or("-");
    format!("{} {token68} {{{}}}", challenge.scheme, params.join(";"))
}

#[test]
fn challenge_lists() {
    // The last but one is a blob by the grammar, and no server means anything by it.
    let table = r#"
        =>
        Basic realm="x" => Basic - {realm=x}
        Basic realm=x => Basic - {realm=x}
        Basic realm = "x" , charset="UTF-8" => Basic - {realm=x;charset=UTF-8}
        Basic realm="a, b=\"c\", Digest \\" => Basic - {realm=a, b="c", Digest \}
        Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\""
            => Basic - {realm=simple} | Newauth - {realm=apps;type=1;title=Login to "apps"}
        Negotiate, NTLM => Negotiate - {} | NTLM - {}
        Negotiate oRQwEq+/A==, Basic realm=x => Negotiate oRQwEq+/A== {} | Basic - {realm=x}
        Negotiate  abc => Negotiate abc {}
        Digest nonce=abc==, qop=auth => Digest - {nonce=abc==;qop=auth}
        Digest nonce="n",realm="r",qop="auth,auth-int" => Digest - {nonce=n;realm=r;qop=auth,auth-int}
        , ,Basic realm="x",, ,Negotiate, => Basic - {realm=x} | Negotiate - {}
        Basic realm="never closed, Negotiate => Basic - {realm=never closed, Negotiate}
        Basic realm="ends in \ => Basic - {realm=ends in }
        realm="orphan", Basic realm="x" => Basic - {realm=x}
        (junk) more, Basic realm="x" => Basic - {realm=x}
        Basic realm="ü" => Basic - {realm=ü}
        Basic => Basic - {}
        Basic realm= => Basic realm= {}
        ,;ü =>
    "#;
    for [value, expected] in cases::rows(table) {
        let challenges = parse_challenges(value.as_bytes());
        let shown: Vec<_> = challenges.iter().map(show).collect();
        assert_eq!(shown.join(" | "), expected, "{value}");
    }
    assert!(parse_challenges(" ,;ü".as_bytes()).is_empty());
}

#[test]
fn basic_is_sent_when_asked_for() {
    let mut user = auto();
    assert_eq!(sent(&mut user, "GET", "/", 0), None);
    assert!(!user.is_needed());
    let challenge = asks(&[r#"Basic realm="x""#]);
    assert_eq!(user.challenged(&challenge), AuthDecision::TryAgain);
    assert!(user.is_needed());
    // base64 of "u:hunter2".
    let basic = Some("Basic dTpodW50ZXIy".to_owned());
    assert_eq!(sent(&mut user, "GET", "/", 0), basic);
    user.accepted(&Headers::new());
    assert_eq!(sent(&mut user, "PUT", "/x", 0), basic);
    let verdict = user.challenged(&challenge);
    let AuthDecision::GiveUp(error) = verdict else {
        panic!("{verdict:?}")
    };
    let expected = r#"the server refused user "u" (realm "x")"#;
    assert_eq!(error.to_string(), expected);
}

#[test]
fn basic_can_be_sent_unasked() {
    let mut user = Authenticator::new(password(), AuthScheme::Auto, true);
    assert!(sent(&mut user, "GET", "/", 0).is_some());
    assert!(is_refusal(&user.challenged(&asks(&["Basic realm=x"]))));

    // A server that wants Digest gets Digest.
    let mut user = Authenticator::new(password(), AuthScheme::Auto, true);
    sent(&mut user, "GET", "/", 0);
    let verdict = user.challenged(&asks(&["Digest realm=x, nonce=n"]));
    assert_eq!(verdict, AuthDecision::TryAgain);
    let value = sent(&mut user, "GET", "/", 0).unwrap();
    assert!(value.starts_with("Digest "));

    // `--auth digest` means that the password must not be shown.
    let mut user = Authenticator::new(password(), AuthScheme::Digest, true);
    assert_eq!(sent(&mut user, "GET", "/", 0), None);
}

#[test]
fn basic_carries_utf_8_and_no_colon_in_the_name() {
    let with = |name: &str| Credentials::Password {
        user: name.to_owned(),
        password: Secret::new("123\u{a3}"),
    };
    // RFC 7617, section 2.1.
    let mut user = Authenticator::new(Some(with("test")), AuthScheme::Basic, true);
    let value = sent(&mut user, "GET", "/", 0);
    assert_eq!(value.as_deref(), Some("Basic dGVzdDoxMjPCow=="));

    let mut user = Authenticator::new(Some(with("a:b")), AuthScheme::Basic, true);
    assert_eq!(sent(&mut user, "GET", "/", 0), None);
    let verdict = user.challenged(&asks(&["Basic realm=x"]));
    assert_eq!(verdict, AuthDecision::GiveUp(AuthError::UserName));
}

#[test]
fn the_strongest_usable_challenge_is_met() {
    let sha = "Digest realm=r, nonce=n1, algorithm=SHA-256, qop=auth";
    let md5 = "Digest realm=r, nonce=n2, algorithm=MD5, qop=auth";
    let odd = "Digest realm=r, nonce=n3, algorithm=SHA-512-256, qop=auth";
    let int = "Digest realm=r, nonce=n4, qop=\"auth-int\"";
    let joined = format!("Negotiate, {md5}, {sha}");
    let basic = "Basic realm=x";
    let cases: [(&[&str], AuthScheme, &str); 8] = [
        (&[basic, md5, sha], AuthScheme::Auto, "nonce=\"n1\""),
        (&[sha, md5, basic], AuthScheme::Auto, "nonce=\"n1\""),
        (&[&joined], AuthScheme::Auto, "nonce=\"n1\""),
        (&[odd, int, md5], AuthScheme::Auto, "nonce=\"n2\""),
        (&[odd, int, basic], AuthScheme::Auto, "Basic dTp"),
        (&[md5, basic], AuthScheme::Basic, "Basic dTp"),
        (&[basic, md5], AuthScheme::Digest, "nonce=\"n2\""),
        (&["bAsIc realm=x"], AuthScheme::Auto, "Basic dTp"),
    ];
    for (challenges, scheme, expected) in cases {
        let mut user = Authenticator::new(password(), scheme, false);
        let verdict = user.challenged(&asks(challenges));
        assert_eq!(verdict, AuthDecision::TryAgain, "{challenges:?}");
        let value = sent(&mut user, "GET", "/", 1).unwrap();
        assert!(value.contains(expected), "{challenges:?}: {value}");
    }
}

#[test]
fn reasons_to_give_up() {
    let reason = |user: &str, challenges: &[&str]| {
        let token = || Some(Credentials::Bearer(Secret::new("hunter2")));
        let (credentials, scheme) = match user {
            "nobody" => (None, AuthScheme::Auto),
            "token" => (token(), AuthScheme::Auto),
            "basic" => (password(), AuthScheme::Basic),
            "digest" => (password(), AuthScheme::Digest),
            "bearer" => (password(), AuthScheme::Bearer),
            _ => (password(), AuthScheme::Auto),
        };
        let mut user = Authenticator::new(credentials, scheme, false);
        sent(&mut user, "GET", "/", 1);
        match user.challenged(&asks(challenges)) {
            AuthDecision::GiveUp(error) => error.to_string(),
            AuthDecision::TryAgain => panic!("{challenges:?}"),
        }
    };
    let table = r#"
        nobody => Basic realm="x" => no credentials were given and the server requires Basic realm "x"
        auto => Negotiate|NTLM => the server accepts only Negotiate, NTLM, and Basic or Digest could be used
        auto => Digest realm=r, nonce=n, qop=auth-int
            => the server accepts only Digest realm "r" (qop auth-int is not supported), and Basic or Digest could be used
        basic => Digest realm=r, nonce=n => the server accepts only Digest realm "r", and Basic could be used
        digest => Basic realm=r => the server accepts only Basic realm "r", and Digest could be used
        bearer => Basic realm=r|Digest realm=r, nonce=n
            => the server accepts only Basic realm "r", Digest realm "r", and Bearer could be used
        token => Basic realm=r => the server accepts only Basic realm "r", and Bearer could be used
        auto => => the server responded 401 without a challenge (RFC 9110, section 11.6.1)
        token => => the server responded 401 without a challenge (RFC 9110, section 11.6.1)
    "#;
    for [user, challenges, expected] in cases::rows(table) {
        let challenges = challenges.split('|').filter(|name| !name.is_empty());
        let challenges: Vec<&str> = challenges.collect();
        assert_eq!(reason(user, &challenges), expected, "{user}");
    }
    let hostile = reason("nobody", &["Negotiate", "Basic realm=\"\u{1b}[2J\""]);
    let expected =
        r#"no credentials were given and the server requires Negotiate, Basic realm "\u{1b}[2J""#;
    assert_eq!(hostile, expected);
}

fn digest(nonce: &str) -> Headers {
    asks(&[&format!("Digest realm=r, nonce={nonce}, qop=auth")])
}

#[test]
fn a_token_is_sent_when_the_server_asks_for_it_or_unasked() {
    let asked = ["Basic realm=r", "Bearer realm=r"];
    for unasked in [true, false] {
        let token = Some(Credentials::Bearer(Secret::new("abc")));
        let mut user = Authenticator::new(token, AuthScheme::Auto, unasked);
        if !unasked {
            assert_eq!(sent(&mut user, "GET", "/", 0), None);
            assert_eq!(user.challenged(&asks(&asked)), AuthDecision::TryAgain);
            assert!(user.is_needed());
        }
        for _ in 0..2 {
            let sent = sent(&mut user, "GET", "/", 0);
            assert_eq!(sent.as_deref(), Some("Bearer abc"));
            user.accepted(&Headers::new());
        }
        // Once it was sent, a challenge is a refusal.
        sent(&mut user, "GET", "/", 0);
        let offered = r#"Basic realm "r", Bearer realm "r""#.to_owned();
        let refused = AuthDecision::GiveUp(AuthError::TokenRefused { offered });
        assert_eq!(user.challenged(&asks(&asked)), refused);
    }
}

#[test]
fn a_wrong_password_is_refused_once() {
    let mut user = auto();
    sent(&mut user, "GET", "/", 1);
    assert_eq!(user.challenged(&digest("a")), AuthDecision::TryAgain);
    sent(&mut user, "GET", "/", 1);
    // A new nonce without stale=true is a refusal, and another attempt might lock the account.
    let mut other = user.clone();
    assert!(is_refusal(&user.challenged(&digest("a"))));
    assert!(is_refusal(&other.challenged(&digest("b"))));
}

#[test]
fn a_stale_nonce_is_replaced_and_not_for_ever() {
    let mut user = auto();
    sent(&mut user, "GET", "/", 1);
    user.challenged(&digest("a"));
    sent(&mut user, "GET", "/", 1);
    user.accepted(&Headers::new());
    let stale = asks(&["Digest realm=r, nonce=b, qop=auth, stale=TRUE"]);
    for round in 0..4 {
        sent(&mut user, "GET", "/", 1);
        assert_eq!(user.challenged(&stale), AuthDecision::TryAgain, "{round}");
    }
    let value = sent(&mut user, "GET", "/", 1).unwrap();
    let is_new = value.contains("nonce=\"b\"") && value.contains("nc=00000001");
    assert!(is_new, "{value}");
    // The password may be right, so the request is sent again.
    let verdict = user.challenged(&stale);
    assert!(is_unending(&verdict), "{verdict:?}");
}

#[test]
fn a_nonce_that_worked_may_be_forgotten_once_without_saying_stale() {
    let mut user = auto();
    sent(&mut user, "GET", "/", 1);
    user.challenged(&digest("a"));
    sent(&mut user, "GET", "/", 1);
    user.accepted(&Headers::new());
    sent(&mut user, "GET", "/", 1);
    assert_eq!(user.challenged(&digest("b")), AuthDecision::TryAgain);
    sent(&mut user, "GET", "/", 1);
    assert!(is_refusal(&user.challenged(&digest("c"))));
}

#[test]
fn a_server_that_changes_its_mind_each_time_is_given_up() {
    let mut user = auto();
    let minds = [asks(&["Digest realm=r, nonce=a"]), asks(&["Basic realm=x"])];
    let verdicts = (0..6).map(|round| {
        sent(&mut user, "GET", "/", 1);
        is_unending(&user.challenged(&minds[round % 2]))
    });
    let verdicts: Vec<bool> = verdicts.collect();
    assert_eq!(verdicts, [false, false, false, false, true, true]);
}

/// Latin-1 and UTF-8 make the same text and other digests.
#[test]
fn a_realm_goes_back_as_it_came() {
    for realm in [&b"gr\xfcn"[..], "gr\u{fc}n".as_bytes()] {
        let mut headers = Headers::new();
        let challenge = [&b"Digest nonce=n, realm=\""[..], realm, b"\""].concat();
        headers.push("WWW-Authenticate", &challenge);
        let mut user = auto();
        assert_eq!(user.challenged(&headers), AuthDecision::TryAgain);
        let value = user.authorization("GET", "/", 1).unwrap().into_owned();
        let expected = [&b"realm=\""[..], realm, b"\", nonce"].concat();
        let is_there = value.windows(expected.len()).any(|part| part == expected);
        assert!(is_there, "{}", value.escape_ascii());
        let AuthDecision::GiveUp(error) = user.challenged(&headers) else {
            panic!("the same challenge again is a refusal")
        };
        let expected = "the server refused user \"u\" (realm \"gr\u{fc}n\")";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn nonces_are_counted_and_replaced_by_nextnonce() {
    let mut user = auto();
    user.challenged(&digest("a"));
    let mut next = |info: &[(&str, &str)]| {
        let value = sent(&mut user, "GET", "/", 1).unwrap();
        user.accepted(&info.iter().copied().collect());
        let part = |name: &str| {
            let (_, rest) = value.split_once(name).unwrap();
            rest.split(',').next().unwrap().to_owned()
        };
        (part("nonce="), part("nc="))
    };
    let expect = |nonce: &str, count: &str| (format!("\"{nonce}\""), count.to_owned());
    assert_eq!(next(&[]), expect("a", "00000001"));
    assert_eq!(
        next(&[("Authentication-Info", "rspauth=\"x\", nc=00000002")]),
        expect("a", "00000002")
    );
    assert_eq!(
        next(&[("authentication-info", "qop=auth, NextNonce=\"b, \\\"c\"")]),
        expect("a", "00000003")
    );
    let value = sent(&mut user, "GET", "/", 1).unwrap();
    let is_new = value.contains(r#"nonce="b, \"c", "#) && value.contains("nc=00000001");
    assert!(is_new, "{value}");
}

#[test]
fn who_has_no_credentials_is_anonymous_whatever_the_server_asks_for() {
    let mut nobody = Authenticator::new(None, AuthScheme::Auto, true);
    nobody.challenged(&asks(&["Basic realm=x"]));
    assert!(nobody.is_anonymous());
    assert_eq!(sent(&mut nobody, "GET", "/", 0), None);

    let mut user = auto();
    assert_eq!(sent(&mut user, "GET", "/", 0), None);
    assert!(!user.is_anonymous());
    let token = Some(Credentials::Bearer(Secret::new("hunter2")));
    assert!(!Authenticator::new(token, AuthScheme::Auto, false).is_anonymous());
}

#[test]
fn a_value_that_never_changes_is_lent_and_not_copied() {
    let mut user = Authenticator::new(password(), AuthScheme::Auto, true);
    let value = user.authorization("GET", "/", 0);
    assert!(matches!(value, Some(Cow::Borrowed(b"Basic dTpodW50ZXIy"))));
}

#[test]
fn secrets_are_never_shown() {
    for unasked in [false, true] {
        let mut user = Authenticator::new(password(), AuthScheme::Auto, unasked);
        let mut shown = format!("{:?} {user:?}", password());
        for challenge in [
            "Digest realm=r, nonce=a",
            "Basic realm=x",
            "Digest realm=s, nonce=a",
        ] {
            sent(&mut user, "GET", "/", 1);
            let verdict = user.challenged(&asks(&[challenge]));
            shown += &format!("{verdict:?} {user:?}");
        }
        for secret in ["hunter2", "dTpodW50ZXIy"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.contains("***"));
    }
}

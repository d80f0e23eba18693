//! The binary against servers that require authentication.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use testbed::fault::{Auth, ChallengeAlgorithm, Expiry, Fault, Rule, ServedExchange};

use crate::support::faulty::{
    Faulty, PASSWORD, USER, anonymous_run, basic, checked, count, digest, evidence, no_secret_in,
    run_of, short_run, status, went_nowhere, with_credentials,
};
use crate::support::load::plain;
use crate::support::rows::{row, rows};
use crate::support::{Outcome, Prestan};

const TOKEN: &str = "t0ken-of-ann";

fn bearer() -> Auth {
    Auth::Bearer {
        token: TOKEN.to_owned(),
    }
}

fn guarded(auth: Auth) -> Faulty {
    Faulty::new(|builder| builder.auth(auth))
}

/// The run succeeded, and no output or record has a secret.
#[track_caller]
fn went_well(outcome: &Outcome, faulty: &Faulty) {
    assert_eq!(outcome.code, 0, "{outcome}");
    let result = checked(outcome);
    for row in rows(&result) {
        assert_eq!(row["status"], "ok", "{row:#}");
    }
    no_secret_in(outcome, &[TOKEN]);
    assert_eq!(faulty.left(), [""; 0]);
}

fn denied(exchange: &ServedExchange) -> bool {
    exchange.status == Some(401)
}

/// The schemes of all credentials that travelled.
fn schemes(faulty: &Faulty) -> Vec<String> {
    let exchanges = faulty.exchanges();
    let sent = exchanges
        .iter()
        .filter_map(|one| one.header("authorization"));
    let mut schemes: Vec<String> = sent
        .map(|value| value.split(' ').next().unwrap().to_owned())
        .collect();
    schemes.sort();
    schemes.dedup();
    schemes
}

#[test]
fn basic_is_sent_from_the_first_request_on() {
    let faulty = guarded(basic());
    went_well(&faulty.prestan("Put1K,Lock,UnLock").run(), &faulty);
    // On loopback nobody listens, so credentials are sent without a challenge.
    let exchanges = faulty.exchanges();
    assert!(!exchanges.iter().any(denied), "{exchanges:#?}");
    assert_eq!(schemes(&faulty), ["Basic"]);
}

/// An address of this machine that is not loopback: nothing is sent to find it out.
fn own_address() -> Option<SocketAddr> {
    let address = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        Ok(SocketAddr::new(socket.local_addr()?.ip(), 0))
    });
    if address.is_err() {
        eprintln!("skipped: this machine has no address but loopback");
    }
    address.ok()
}

#[test]
fn a_token_is_sent_unasked_where_others_listen_only_if_the_user_says_so() {
    let Some(address) = own_address() else { return };
    for (scheme, asked) in [("auto", true), ("bearer", false)] {
        let faulty = Faulty::new(|builder| builder.listen(address).auth(bearer()));
        let run = anonymous_run(&faulty.url(), "Put1K", 3).env("PRESTAN_TOKEN", TOKEN);
        let outcome = prestan!(run => "--auth {scheme}").run();
        went_well(&outcome, &faulty);
        let exchanges = faulty.exchanges();
        let first = exchanges[0].header("authorization");
        assert_eq!(first.is_none(), asked, "{scheme}");
        assert!(!faulty.measured("Put1K").iter().any(denied), "{scheme}");
        let hint = "only if the server asks for it; --auth bearer";
        assert_eq!(outcome.stderr.contains(hint), asked, "{outcome}");
    }
    // A server with another challenge does not get them.
    let faulty = Faulty::new(|builder| builder.listen(address).auth(basic()));
    let outcome = anonymous_run(&faulty.url(), "Put1K", 3)
        .env("PRESTAN_TOKEN", TOKEN)
        .ends(4);
    assert!(schemes(&faulty).is_empty(), "{outcome}");
    outcome.stderr_has("Bearer could be used");
}

#[test]
fn basic_is_sent_unasked_where_others_listen_only_if_the_user_says_so() {
    let Some(address) = own_address() else { return };
    for (scheme, asked) in [("auto", true), ("basic", false)] {
        let faulty = Faulty::new(|builder| builder.listen(address).auth(basic()));
        let outcome = prestan!(faulty.prestan("Put1K") => "--auth {scheme}").run();
        went_well(&outcome, &faulty);
        let exchanges = faulty.exchanges();
        assert_eq!(exchanges.iter().any(denied), asked, "{scheme}");
        let first = exchanges[0].header("authorization");
        assert_eq!(first.is_none(), asked, "{scheme}");
        // After one challenge, they are sent with every other request.
        assert!(!faulty.measured("Put1K").iter().any(denied), "{scheme}");
    }
}

#[test]
fn a_header_of_the_users_own_is_a_secret_too() {
    let faulty = plain();
    let header = format!("X-Api-Key: {TOKEN}");
    let outcome = prestan!(faulty.prestan("Put1K") => "--header {header} --html figures/ --svg figures --log log.csv \
        --junit junit.xml").run();
    went_well(&outcome, &faulty);
    let exchanges = faulty.exchanges();
    let sent = |one: &ServedExchange| one.header("x-api-key") == Some(TOKEN);
    assert!(exchanges.iter().all(sent));
}

#[test]
fn digest_of_each_kind() {
    use ChallengeAlgorithm::{Md5, Sha256};
    for algorithms in [&[Md5][..], &[Sha256], &[Md5, Sha256]] {
        for scheme in ["auto", "digest"] {
            let faulty = guarded(digest(algorithms, None, Expiry::Stale));
            let outcome =
                prestan!(faulty.prestan("Put1K,Put1024K,Lock,UnLock") => "--auth {scheme}").run();
            went_well(&outcome, &faulty);
            // With `digest`, the password must not be sent.
            let expected: &[&str] = match scheme {
                "auto" => &["Basic", "Digest"],
                _ => &["Digest"],
            };
            assert_eq!(schemes(&faulty), expected, "{scheme}");
            let strongest = if algorithms.contains(&Sha256) {
                "algorithm=SHA-256"
            } else {
                "algorithm=MD5"
            };
            for exchange in faulty.measured("Put1K") {
                let sent = exchange.header("authorization").unwrap();
                assert!(sent.contains(strongest), "{sent}");
            }
            assert_counts_grow(&faulty);
        }
    }
}

/// Each nonce's count begins with 1 and grows by 1 (RFC 7616, section 3.4).
#[track_caller]
fn assert_counts_grow(faulty: &Faulty) {
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    for exchange in faulty.exchanges() {
        let sent = exchange.header("authorization");
        let Some(digest) = sent.filter(|value| value.starts_with("Digest")) else {
            continue;
        };
        let param = |name: &str| {
            let (_, value) = digest.split_once(&format!(" {name}=")).unwrap();
            value
                .split(',')
                .next()
                .unwrap()
                .trim_matches('"')
                .to_owned()
        };
        let count = u32::from_str_radix(&param("nc"), 16).unwrap();
        let last = last.entry(param("nonce")).or_default();
        assert_eq!(count, *last + 1, "{digest}");
        *last = count;
    }
    assert!(!last.is_empty());
}

#[test]
fn a_nonce_that_runs_out_in_mid_run() {
    for expiry in [Expiry::Stale, Expiry::Silent] {
        for (scheme, ends_denied) in [("auto", false), ("digest", false), ("digest", true)] {
            let faulty = Faulty::new(|builder| {
                let builder = builder.auth(digest(&[ChallengeAlgorithm::Md5], Some(3), expiry));
                if ends_denied {
                    builder.end_denied()
                } else {
                    builder
                }
            });
            let outcome =
                prestan!(run_of(&faulty.url(), "Get1K,Lock,UnLock", 10) => "--auth {scheme}").run();
            went_well(&outcome, &faulty);
            let result = outcome.json();
            for test in ["Get1K", "Lock", "UnLock"] {
                let row = row(&result, test);
                assert_eq!(count(row, "ok"), 10, "{row:#}");
                let measured = faulty.measured(test);
                let refused = measured.iter().filter(|one| denied(one)).count();
                assert!(refused > 0, "{expiry:?}: no nonce ran out in {test}");
                assert_eq!(row["connects"]["resent"], refused as u64, "{row:#}");
            }
            assert_counts_grow(&faulty);
        }
    }
}

/// Several requests are under way when the nonce runs out, all with the old one.
#[test]
fn a_nonce_that_runs_out_in_a_pipeline() {
    for expiry in [Expiry::Stale, Expiry::Silent] {
        let faulty = guarded(digest(&[ChallengeAlgorithm::Md5], Some(10), expiry));
        std::fs::write(faulty.demo.root().join("file"), "x").unwrap();
        let url = format!("{}file", faulty.url());
        let load = |options: &str| {
            prestan!("load GET {url} --requests 200 --pipeline 4 --json -").words(options)
        };
        let prestan = load(&format!("--user {USER}")).env("PRESTAN_PASSWORD", PASSWORD);
        let outcome = prestan.ends(0);
        let result = outcome.json();
        let get = row(&result, "GET");
        let all = |number: &str| get[number]["ok"].as_u64().unwrap();
        assert_eq!(all("outcomes") + all("left_out_outcomes"), 200, "{get:#}");
        let samples = rundir::load(&outcome.run()).unwrap().samples;
        let resent = samples.iter().filter(|sample| sample.resent).count();
        assert!(resent >= 19, "{expiry:?}: {resent}");
        assert_counts_grow(&faulty);

        // Without credentials, requests are not repeated endlessly, and the reason is reported.
        let outcome = load("").run();
        assert!(outcome.code != 0, "{outcome}");
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(said.contains("no credentials were given"), "{outcome}");
    }
}

#[test]
fn what_a_challenge_takes_is_not_measured() {
    // The responses to the second and the fourth GET are 401, 60 ms late.
    const LATE: Duration = Duration::from_millis(60);
    let challenge = |nonce: &str| {
        let digest = format!("Digest realm=\"r\", qop=\"auth\", stale=true, nonce=\"{nonce}\"");
        status(401, &[("WWW-Authenticate", &digest)], "")
    };
    let faulty = Faulty::new(|builder| {
        [(2, "one"), (4, "two")]
            .into_iter()
            .fold(builder, |builder, (nth, nonce)| {
                let late = Rule::new(Fault::Delay(LATE)).tag("(Get1K)").nth(nth);
                builder
                    .rule(Rule::new(challenge(nonce)).tag("(Get1K)").nth(nth))
                    .rule(late)
            })
    });
    let outcome = faulty.prestan("Get1K").run();
    went_well(&outcome, &faulty);
    let measured = faulty.measured("Get1K");
    let is_slow = |one: &&ServedExchange| denied(one) && one.delay >= LATE;
    let slow = measured.iter().filter(is_slow).count();
    assert_eq!((measured.len(), slow), (5, 2));

    let result = outcome.json();
    let get = row(&result, "Get1K");
    assert_eq!(get["connects"]["resent"], 2, "{get:#}");
    for time in ["response_us", "total_us"] {
        let max_us = get[time]["max"].as_f64().unwrap();
        assert!(max_us < LATE.as_secs_f64() * 1e6, "{get:#}");
    }
}

#[test]
fn a_token_from_a_file_or_from_the_environment() {
    let run = |faulty: &Faulty| anonymous_run(&faulty.url(), "Put1K", 3);
    let faulty = guarded(bearer());
    let outcome = run(&faulty).env("PRESTAN_TOKEN", TOKEN).run();
    went_well(&outcome, &faulty);

    let faulty = guarded(bearer());
    let prestan = run(&faulty);
    let file = prestan.file("token", &format!("{TOKEN}\nsecond line\n"));
    let outcome = prestan!(prestan => "--token-file {}", file).run();
    went_well(&outcome, &faulty);
    assert!(!faulty.exchanges().iter().any(denied));
    assert_eq!(schemes(&faulty), ["Bearer"]);
}

/// All sources of passwords; true if others on the machine could read it.
#[test]
fn a_password_from_everywhere() {
    type Give = fn(Prestan) -> Prestan;
    let sources: [(&str, Give, bool); 8] = [
        (
            "password file",
            |prestan| {
                let file = prestan.file("password", &format!("{PASSWORD}\n"));
                prestan!(prestan => "--user {USER} --password-file {}", file)
            },
            false,
        ),
        (
            "standard input",
            |prestan| {
                prestan!(prestan => "--user {USER} --password-file -")
                    .stdin(&format!("{PASSWORD}\n"))
            },
            false,
        ),
        ("environment", with_credentials, false),
        (
            "user and environment",
            |prestan| prestan!(prestan => "--user {USER}").env("PRESTAN_PASSWORD", PASSWORD),
            false,
        ),
        (
            "home's netrc",
            |prestan| {
                let text = format!("machine 127.0.0.1 login {USER} password {PASSWORD}");
                prestan.file(".netrc", &text);
                prestan!(prestan => "--netrc")
            },
            false,
        ),
        (
            "another netrc",
            |prestan| {
                let text = format!("default login {USER} password {PASSWORD}");
                let file = prestan.file("netrc", &text);
                prestan!(prestan => "--netrc").env("NETRC", file)
            },
            false,
        ),
        (
            "classic",
            |prestan| prestan!(prestan => "{USER} {PASSWORD}"),
            true,
        ),
        (
            "user with password",
            |prestan| prestan!(prestan => "--user {USER}:{PASSWORD}"),
            true,
        ),
    ];
    for (source, give, exposed) in sources {
        let faulty = guarded(basic());
        let outcome = give(anonymous_run(&faulty.url(), "Put1K", 2)).run();
        went_well(&outcome, &faulty);
        let warned = outcome.stderr.contains("process list");
        assert_eq!(warned, exposed, "{source}: {outcome}");
    }
}

#[test]
fn user_and_password_in_the_url() {
    let faulty = guarded(basic());
    // Percent-encoded, as it must be where a password has an `@`.
    let encoded = PASSWORD.replace('-', "%2d");
    let url = faulty.url();
    let url = url.replace("http://", &format!("http://{USER}:{encoded}@"));
    let outcome = anonymous_run(&url, "Put1K", 2).run();
    went_well(&outcome, &faulty);
    no_secret_in(&outcome, &[&encoded]);
    outcome.stderr_has("process list");
}

#[test]
fn who_is_not_let_in_hears_why() {
    let table = r#"
        basic  => none     =>               => no credentials were given | Basic realm | --user
        digest => none     =>               => no credentials were given | Digest realm | --user
        bearer => none     =>               => no credentials were given | Bearer realm | --token-file
        basic  => password =>               => refused user "ann" | prestan test | check user and password
        digest => password =>               => refused user "ann" | prestan test | check user and password
        bearer => token    =>               => refused the bearer token | check the token
        basic  => password => --auth digest => Basic realm | only | Digest could be used | --auth
        bearer => password =>               => Bearer realm | only | Basic or Digest could be used
    "#;
    const WRONG: &str = "wr0ng-passw0rd";
    for [scheme, credentials, options, says] in cases::rows(table) {
        let faulty = guarded(match scheme {
            "basic" => basic(),
            "digest" => digest(&[ChallengeAlgorithm::Md5], None, Expiry::Stale),
            _ => bearer(),
        });
        let prestan = anonymous_run(&faulty.url(), "Put1K", 2).words(options);
        let outcome = match credentials {
            "password" => prestan
                .env("PRESTAN_USER", USER)
                .env("PRESTAN_PASSWORD", WRONG),
            "token" => prestan.env("PRESTAN_TOKEN", WRONG),
            _ => prestan,
        }
        .run();
        let tried = format!("authentication failed: OPTIONS {faulty}: 401");
        let says: Vec<&str> = says.split(" | ").chain([&*tried]).collect();
        went_nowhere(&outcome, &says);
        no_secret_in(&outcome, &[WRONG]);
        let exchanges = faulty.exchanges();
        assert!(exchanges.iter().all(denied), "{exchanges:#?}");
        assert_eq!(faulty.left(), [""; 0]);
    }
}

/// A 401 to requests of a rule.
fn shut() -> Rule {
    Rule::new(status(
        401,
        &[("WWW-Authenticate", "Basic realm=\"r\"")],
        "",
    ))
}

/// A response without a challenge is no evidence for credentials.
#[test]
fn credentials_are_not_accepted_by_open_options() {
    let faulty = Faulty::new(|builder| builder.rule(shut().method("MKCOL")));
    let outcome = anonymous_run(&faulty.url(), "Put1K", 2)
        .env("PRESTAN_USER", "ann")
        .env("PRESTAN_PASSWORD", "wr0ng-passw0rd")
        .run();
    outcome.stderr_has("check user and password");
    outcome.stderr_lacks("accepted before");
}

/// A refusal now and then is no wrong password.
#[test]
fn credentials_that_were_accepted_before_are_not_to_be_checked() {
    let sometimes = shut().tag("(Put1K)").every(3);
    let faulty = Faulty::new(|builder| builder.auth(basic()).rule(sometimes));
    let outcome = faulty.prestan("Put1K").run();
    let result = checked(&outcome);
    let failure = row(&result, "Put1K")["failures"][0].to_string();
    assert!(failure.contains("which it accepted before"), "{failure}");
    assert!(!failure.contains("check user"), "{failure}");
}

#[test]
fn a_password_that_is_not_to_be_found() {
    let table = "
        --user ann => a user without a password
        --user ann => --password-file
        --user ann --password-file nowhere => reading nowhere failed
        --token-file nowhere => reading nowhere failed
        --netrc => .netrc
    ";
    for [args, said] in cases::rows(table) {
        let run = anonymous_run("http://127.0.0.1:1/", "Put1K", 1);
        let outcome = run.words(args).ends(2);
        outcome.stderr_has(said);
        assert_eq!(outcome.runs().len(), 0);
    }
}

#[test]
fn a_server_that_shuts_the_door_in_mid_run() {
    let faulty = Faulty::new(|builder| builder.rule(shut().tag("(Get1K)")));
    let outcome = short_run(&faulty.url(), "Put1K,Get1K,MkCol").run();
    let result = checked(&outcome);
    assert_eq!(outcome.code, 1, "{outcome}");
    let get = row(&result, "Get1K");
    assert_eq!(count(get, "refused"), 3, "{get:#}");
    let says = "GET res: 401 Unauthorized";
    assert!(evidence(get).contains(says), "{get:#}");
    assert!(evidence(get).contains("refused user \"ann\""), "{get:#}");
    assert_eq!(row(&result, "MkCol")["status"], "ok");
    assert_eq!(faulty.left(), [""; 0]);
}

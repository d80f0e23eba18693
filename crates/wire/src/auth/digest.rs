//! Digest access authentication (RFC 7616), and its older form without `qop` (RFC 2069).

use md5::Md5;
use sha2::{Digest as _, Sha256};

use super::challenge::Challenge;

/// The hash functions we know, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Algorithm {
    Md5,
    Sha256,
}

impl Algorithm {
    fn hash(self, text: &str) -> String {
        match self {
            Algorithm::Md5 => hex(&Md5::digest(text)),
            Algorithm::Sha256 => hex(&Sha256::digest(text)),
        }
    }
}

/// A Digest challenge that we can answer, and what was made of it so far.
#[derive(Clone)]
pub(super) struct Digest {
    pub(super) algorithm: Algorithm,
    /// The algorithm's name as the server wrote it; `None` where it left that out.
    algorithm_name: Option<String>,
    /// `-sess`: the key hangs on the first nonce and cnonce.
    session: bool,
    pub(super) realm: String,
    pub(super) nonce: String,
    opaque: Option<String>,
    /// `qop=auth`; without it there is no counter and no cnonce.
    qop: bool,
    /// Requests sent with this nonce.
    count: u32,
    /// Hash of user, realm and password; with `-sess` also of the first nonce and cnonce, which
    /// stays as it is until the next challenge (RFC 7616, section 3.4.2).
    key: Option<Key>,
}

#[derive(Clone)]
struct Key {
    hash: String,
    cnonce: String,
}

impl Digest {
    /// `None` if the challenge is none of ours: an unknown algorithm, `qop=auth-int` alone, or no
    /// nonce.
    pub(super) fn from_challenge(challenge: &Challenge) -> Option<Digest> {
        let name = challenge.param("algorithm");
        let lower = name.unwrap_or("MD5").to_ascii_lowercase();
        let (base, session) = match lower.strip_suffix("-sess") {
            Some(base) => (base, true),
            None => (lower.as_str(), false),
        };
        let algorithm = match base {
            "md5" => Algorithm::Md5,
            "sha-256" => Algorithm::Sha256,
            _ => return None,
        };
        let mut qops = challenge
            .param("qop")
            .unwrap_or_default()
            .split([',', ' ', '\t'])
            .filter(|qop| !qop.is_empty())
            .peekable();
        let legacy = qops.peek().is_none();
        let qop = qops.any(|qop| qop.eq_ignore_ascii_case("auth"));
        (legacy || qop).then_some(())?;
        Some(Digest {
            algorithm,
            algorithm_name: name.map(str::to_owned),
            session,
            realm: challenge.param("realm").unwrap_or_default().to_owned(),
            nonce: challenge.param("nonce")?.to_owned(),
            opaque: challenge.param("opaque").map(str::to_owned),
            qop,
            count: 0,
            key: None,
        })
    }

    /// The nonce of `Authentication-Info` takes the place of the old one.
    ///
    /// The key of a `-sess` algorithm outlives it (RFC 7616, section 3.4.2).
    pub(super) fn next_nonce(&mut self, nonce: &str) {
        if nonce != self.nonce {
            self.nonce = nonce.to_owned();
            self.count = 0;
        }
    }

    /// The value of `Authorization` for the next request.
    pub(super) fn authorization(
        &mut self,
        (user, password): (&str, &str),
        (method, target): (&str, &str),
        cnonce: u64,
    ) -> String {
        self.respond(
            (user, password),
            (method, target),
            &format!("{cnonce:016x}"),
        )
    }

    fn respond(
        &mut self,
        (user, password): (&str, &str),
        (method, target): (&str, &str),
        cnonce: &str,
    ) -> String {
        self.count = self.count.wrapping_add(1);
        let hash = |text: String| self.algorithm.hash(&text);
        let key = self.key.take().unwrap_or_else(|| {
            let base = hash(format!("{user}:{}:{password}", self.realm));
            let hash = if self.session {
                hash(format!("{base}:{}:{cnonce}", self.nonce))
            } else {
                base
            };
            Key {
                hash,
                cnonce: cnonce.to_owned(),
            }
        });
        let cnonce = if self.session {
            key.cnonce.as_str()
        } else {
            cnonce
        };
        let count = format!("{:08x}", self.count);
        let request = hash(format!("{method}:{target}"));
        let response = hash(if self.qop {
            format!(
                "{}:{}:{count}:{cnonce}:auth:{request}",
                key.hash, self.nonce
            )
        } else {
            format!("{}:{}:{request}", key.hash, self.nonce)
        });

        // Some servers take exactly this for granted: quotes where RFC 7616, section 3.4, has
        // them, and none around algorithm, qop and nc.
        let mut value = format!(
            "Digest username={}, realm={}, nonce={}, uri={}, response=\"{response}\"",
            quoted(user),
            quoted(&self.realm),
            quoted(&self.nonce),
            quoted(target),
        );
        if let Some(name) = &self.algorithm_name {
            value += &format!(", algorithm={name}");
        }
        if let Some(opaque) = &self.opaque {
            value += &format!(", opaque={}", quoted(opaque));
        }
        if self.qop {
            value += &format!(", qop=auth, nc={count}");
        }
        if self.qop || self.session {
            value += &format!(", cnonce=\"{cnonce}\"");
        }
        self.key = Some(key);
        value
    }
}

/// A quoted string (RFC 9110, section 5.6.4).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::challenge::parse_challenges;

    fn digest(challenge: &str) -> Digest {
        Digest::from_challenge(&parse_challenges(challenge)[0]).unwrap()
    }

    /// RFC 7616, section 3.9.1: the same request by both algorithms.
    #[test]
    fn the_examples_of_rfc_7616() {
        let cases = [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            (
                "SHA-256",
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            ),
        ];
        for (algorithm, response) in cases {
            let mut digest = digest(&format!(
                "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", \
                 algorithm={algorithm}, nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
                 opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
            ));
            let value = digest.respond(
                ("Mufasa", "Circle of Life"),
                ("GET", "/dir/index.html"),
                "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
            );
            let expected = format!(
                "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", \
                 nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", uri=\"/dir/index.html\", \
                 response=\"{response}\", algorithm={algorithm}, \
                 opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\", qop=auth, nc=00000001, \
                 cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\""
            );
            assert_eq!(value, expected);
        }
    }

    /// Worked out with md5sum: MD5(MD5(u:r:p):n:MD5(GET:/)), as RFC 2069 had it.
    #[test]
    fn without_qop_there_is_no_counter_and_no_cnonce() {
        let mut digest = digest("Digest realm=\"r\", nonce=\"n\"");
        let value = digest.respond(("u", "p"), ("GET", "/"), "unused");
        assert_eq!(
            value,
            "Digest username=\"u\", realm=\"r\", nonce=\"n\", uri=\"/\", \
             response=\"f23121ca97143c6b358da620220c83b4\""
        );
    }

    #[test]
    fn the_counter_counts_per_nonce() {
        let mut digest = digest("Digest realm=\"r\", nonce=\"n\", qop=\"auth\"");
        let count = |digest: &mut Digest| {
            let value = digest.authorization(("u", "p"), ("GET", "/"), 7);
            assert!(value.contains("cnonce=\"0000000000000007\""), "{value}");
            value.split("nc=").nth(1).unwrap()[..8].to_owned()
        };
        assert_eq!(
            [count(&mut digest), count(&mut digest)],
            ["00000001", "00000002"]
        );
        digest.next_nonce("n");
        assert_eq!(count(&mut digest), "00000003");
        digest.next_nonce("m");
        assert_eq!(count(&mut digest), "00000001");
    }

    #[test]
    fn a_session_keeps_its_first_cnonce() {
        let mut digest = digest("Digest realm=\"r\", nonce=\"n\", qop=auth, algorithm=MD5-sess");
        let first = digest.respond(("u", "p"), ("GET", "/"), "one");
        let second = digest.respond(("u", "p"), ("GET", "/"), "two");
        for value in [&first, &second] {
            assert!(value.contains("cnonce=\"one\"") && value.contains("algorithm=MD5-sess"));
        }
        // Worked out with md5sum: MD5(MD5(MD5(u:r:p):n:one):n:00000001:one:auth:MD5(GET:/)).
        assert!(
            first.contains("response=\"c1af60594cf9bd395d48750b26dee927\""),
            "{first}"
        );
    }

    #[test]
    fn quotes_and_backslashes_are_escaped_where_they_are_sent_not_where_they_are_hashed() {
        let mut digest = digest(r#"Digest realm="a\"b\\c", nonce="n\"""#);
        assert_eq!(digest.realm, r#"a"b\c"#);
        let value = digest.respond(("u\"x", "p"), ("GET", "/"), "");
        assert!(value.starts_with(
            r#"Digest username="u\"x", realm="a\"b\\c", nonce="n\"", uri="/", response=""#
        ));
    }

    #[test]
    fn challenges_that_cannot_be_answered() {
        for challenge in [
            "Digest realm=\"r\"",
            "Digest realm=\"r\", nonce=\"n\", algorithm=SHA-512-256",
            "Digest realm=\"r\", nonce=\"n\", algorithm=sess",
            "Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\"",
        ] {
            let challenge = &parse_challenges(challenge)[0];
            assert!(Digest::from_challenge(challenge).is_none(), "{challenge:?}");
        }
    }
}

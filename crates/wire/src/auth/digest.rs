//! Digest access authentication (RFC 7616), and its older form without `qop` (RFC 2069).

use std::borrow::Cow;

use md5::Md5;
use sha2::{Digest as _, Sha256};

use super::challenge::Challenge;
use crate::excerpt;

/// The supported hash functions, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Algorithm {
    Md5,
    Sha256,
}

impl Algorithm {
    /// Hash of the parts, joined with colons.
    fn hash(self, parts: &[&[u8]]) -> String {
        let bytes = parts.join(&b':');
        match self {
            Algorithm::Md5 => hex(&Md5::digest(bytes)),
            Algorithm::Sha256 => hex(&Sha256::digest(bytes)),
        }
    }
}

/// A supported Digest challenge, and the state derived from it. Values of the server are hashed and
/// sent back byte by byte.
#[derive(Clone)]
pub(super) struct Digest {
    pub(super) algorithm: Algorithm,
    /// The algorithm's name as the server wrote it; `None` where the server omitted it.
    algorithm_name: Option<String>,
    /// `-sess`: the key depends on the first nonce and cnonce.
    session: bool,
    pub(super) realm: Vec<u8>,
    pub(super) nonce: Vec<u8>,
    opaque: Option<Vec<u8>>,
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
    /// Fails with the part of the challenge that is missing or not supported.
    pub(super) fn from_challenge(challenge: &Challenge) -> Result<Digest, String> {
        let name = challenge.text("algorithm");
        let lower = name.as_deref().unwrap_or("MD5").to_ascii_lowercase();
        let (base, session) = match lower.strip_suffix("-sess") {
            Some(base) => (base, true),
            None => (lower.as_str(), false),
        };
        let algorithm = match base {
            "md5" => Algorithm::Md5,
            "sha-256" => Algorithm::Sha256,
            _ => {
                let name = excerpt::escaped_text(name.as_deref().unwrap_or_default());
                return Err(format!("algorithm {name} is not supported"));
            }
        };
        let offered = challenge.text("qop").unwrap_or_default();
        let names = offered.split([',', ' ', '\t']);
        let mut qops = names.filter(|qop| !qop.is_empty()).peekable();
        let legacy = qops.peek().is_none();
        let qop = qops.any(|qop| qop.eq_ignore_ascii_case("auth"));
        if !(legacy || qop) {
            let offered = excerpt::escaped_text(&offered);
            return Err(format!("qop {offered} is not supported"));
        }
        let nonce = challenge.param("nonce").ok_or("it has no nonce")?;
        Ok(Digest {
            algorithm,
            algorithm_name: name.map(Cow::into_owned),
            session,
            realm: challenge.param("realm").unwrap_or_default().to_owned(),
            nonce: nonce.to_owned(),
            opaque: challenge.param("opaque").map(<[u8]>::to_vec),
            qop,
            count: 0,
            key: None,
        })
    }

    /// Replaces the nonce by that of `Authentication-Info`. The key of a `-sess` algorithm stays
    /// (RFC 7616, section 3.4.2).
    pub(super) fn next_nonce(&mut self, nonce: &[u8]) {
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
    ) -> Vec<u8> {
        let cnonce = format!("{cnonce:016x}");
        self.respond((user, password), (method, target), &cnonce)
    }

    fn respond(
        &mut self,
        (user, password): (&str, &str),
        (method, target): (&str, &str),
        cnonce: &str,
    ) -> Vec<u8> {
        self.count = self.count.wrapping_add(1);
        let hash = |parts: &[&[u8]]| self.algorithm.hash(parts);
        let key = self.key.take().unwrap_or_else(|| {
            let base = hash(&[user.as_bytes(), &self.realm, password.as_bytes()]);
            let hash = if self.session {
                hash(&[base.as_bytes(), &self.nonce, cnonce.as_bytes()])
            } else {
                base
            };
            Key {
                hash,
                cnonce: cnonce.to_owned(),
            }
        });
        let cnonce = if self.session { &*key.cnonce } else { cnonce };
        let count = format!("{:08x}", self.count);
        let request = hash(&[method.as_bytes(), target.as_bytes()]);
        let (first, request) = (key.hash.as_bytes(), request.as_bytes());
        let response = if self.qop {
            let (count, cnonce) = (count.as_bytes(), cnonce.as_bytes());
            hash(&[first, &self.nonce, count, cnonce, b"auth", request])
        } else {
            hash(&[first, &self.nonce, request])
        };

        // Some servers accept exactly this form only: quotes where RFC 7616, section 3.4, has them,
        // and none around algorithm, qop and nc.
        let mut value = b"Digest username=".to_vec();
        push_quoted(&mut value, user.as_bytes());
        value.extend(b", realm=");
        push_quoted(&mut value, &self.realm);
        value.extend(b", nonce=");
        push_quoted(&mut value, &self.nonce);
        value.extend(b", uri=");
        push_quoted(&mut value, target.as_bytes());
        value.extend(format!(", response=\"{response}\"").bytes());
        if let Some(name) = &self.algorithm_name {
            value.extend(format!(", algorithm={name}").bytes());
        }
        if let Some(opaque) = &self.opaque {
            value.extend(b", opaque=");
            push_quoted(&mut value, opaque);
        }
        if self.qop {
            value.extend(format!(", qop=auth, nc={count}").bytes());
        }
        if self.qop || self.session {
            value.extend(format!(", cnonce=\"{cnonce}\"").bytes());
        }
        self.key = Some(key);
        value
    }
}

/// A quoted string (RFC 9110, section 5.6.4).
fn push_quoted(value: &mut Vec<u8>, bytes: &[u8]) {
    value.push(b'"');
    for byte in bytes {
        if matches!(byte, b'\\' | b'"') {
            value.push(b'\\');
        }
        value.push(*byte);
    }
    value.push(b'"');
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::challenge::parse_challenges;

    fn digest(challenge: &str) -> Digest {
        Digest::from_challenge(&parse_challenges(challenge.as_bytes())[0]).unwrap()
    }

    fn respond(digest: &mut Digest, user: &str, target: (&str, &str), cnonce: &str) -> String {
        String::from_utf8(digest.respond((user, "p"), target, cnonce)).unwrap()
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
            assert_eq!(String::from_utf8(value).unwrap(), expected);
        }
    }

    /// Worked out with md5sum: MD5(MD5(u:gr\374n:p):n:MD5(GET:/)), and the same of the bytes of
    /// UTF-8.
    #[test]
    fn a_realm_is_hashed_and_sent_back_byte_by_byte() {
        let cases: [(&[u8], &str); 2] = [
            (b"gr\xfcn", "46cb8684d5744aa7606afb92e1285943"),
            ("gr\u{fc}n".as_bytes(), "f2b2f0ed4e5f32f2c9bd7cf490ac3dd3"),
        ];
        for (realm, response) in cases {
            let value = [
                &b"Digest nonce=n, realm=\""[..],
                realm,
                b"\", opaque=\"\xe9\"",
            ]
            .concat();
            let challenge = &parse_challenges(&value)[0];
            assert_eq!(challenge.text("realm").as_deref(), Some("gr\u{fc}n"));
            let mut digest = Digest::from_challenge(challenge).unwrap();
            let value = digest.respond(("u", "p"), ("GET", "/"), "unused");
            let expected = [
                &b"Digest username=\"u\", realm=\""[..],
                realm,
                b"\", nonce=\"n\", uri=\"/\", response=\"",
                response.as_bytes(),
                b"\", opaque=\"\xe9\"",
            ];
            assert_eq!(
                value.escape_ascii().to_string(),
                expected.concat().escape_ascii().to_string()
            );
        }
    }

    /// RFC 7616, section 3.4.1; worked out with md5sum as below. A challenge with `qop` first means
    /// the same.
    #[test]
    fn names_and_passwords_are_utf_8() {
        let mut digest =
            digest("Digest qop=\"auth\", charset=UTF-8, realm=\"estreal\", nonce=\"1485916038\"");
        let who = ("Ond\u{159}ej", "hesl\u{ed}\u{10d}ko");
        let value = String::from_utf8(digest.respond(who, ("GET", "/"), "c")).unwrap();
        assert!(value.starts_with("Digest username=\"Ond\u{159}ej\", realm=\"estreal\""));
        let response = "response=\"943bd5dd7db6811912bec6a806f37d5f\"";
        assert!(value.contains(response), "{value}");
    }

    /// Worked out with md5sum: MD5(MD5(u:r:p):n:MD5(GET:/)), as RFC 2069 had it.
    #[test]
    fn without_qop_there_is_no_counter_and_no_cnonce() {
        let mut digest = digest("Digest realm=\"r\", nonce=\"n\"");
        let value = respond(&mut digest, "u", ("GET", "/"), "unused");
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
            let value = String::from_utf8(value).unwrap();
            assert!(value.contains("cnonce=\"0000000000000007\""), "{value}");
            value.split("nc=").nth(1).unwrap()[..8].to_owned()
        };
        let counts = [count(&mut digest), count(&mut digest)];
        assert_eq!(counts, ["00000001", "00000002"]);
        digest.next_nonce(b"n");
        assert_eq!(count(&mut digest), "00000003");
        digest.next_nonce(b"m");
        assert_eq!(count(&mut digest), "00000001");
    }

    #[test]
    fn a_session_keeps_its_first_cnonce() {
        let mut digest = digest("Digest realm=\"r\", nonce=\"n\", qop=auth, algorithm=MD5-sess");
        let first = respond(&mut digest, "u", ("GET", "/"), "one");
        let second = respond(&mut digest, "u", ("GET", "/"), "two");
        for value in [&first, &second] {
            assert!(value.contains("cnonce=\"one\"") && value.contains("algorithm=MD5-sess"));
        }
        // Worked out with md5sum: MD5(MD5(MD5(u:r:p):n:one):n:00000001:one:auth:MD5(GET:/)).
        let response = "response=\"c1af60594cf9bd395d48750b26dee927\"";
        assert!(first.contains(response), "{first}");
    }

    #[test]
    fn quotes_and_backslashes_are_escaped_where_they_are_sent_not_where_they_are_hashed() {
        let mut digest = digest(r#"Digest realm="a\"b\\c", nonce="n\"""#);
        assert_eq!(digest.realm, br#"a"b\c"#);
        let value = respond(&mut digest, "u\"x", ("GET", "/"), "");
        assert!(value.starts_with(
            r#"Digest username="u\"x", realm="a\"b\\c", nonce="n\"", uri="/", response=""#
        ));
    }

    #[test]
    fn challenges_that_cannot_be_met() {
        let table = r#"
            , opaque=o => it has no nonce
            , nonce="n", algorithm=SHA-512-256 => algorithm SHA-512-256 is not supported
            , nonce="n", algorithm=sess => algorithm sess is not supported
            , nonce="n", qop="auth-int" => qop auth-int is not supported
        "#;
        for [parameters, why] in cases::rows(table) {
            let challenge = format!("Digest realm=\"r\"{parameters}");
            let challenge = &parse_challenges(challenge.as_bytes())[0];
            let error = Digest::from_challenge(challenge).err();
            assert_eq!(error.as_deref(), Some(why));
        }
    }
}

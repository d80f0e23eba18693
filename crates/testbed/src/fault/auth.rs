//! Basic, Bearer and Digest in front of the upstream server, stricter than most.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::Digest as _;

use super::http::ServedRequest;
use super::lock;
use super::reply::Reply;

const REALM: &str = "prestan test";
const OPAQUE: &str = "opaque-of-prestan-test";

/// The credentials that a [`FaultServer`](super::FaultServer) requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// RFC 7617.
    Basic {
        /// Name of the user.
        user: String,
        /// Password.
        password: String,
    },
    /// RFC 6750.
    Bearer {
        /// The token.
        token: String,
    },
    /// RFC 7616 with `qop=auth`. A nonce count that was used before is refused.
    Digest {
        /// Name of the user.
        user: String,
        /// Password.
        password: String,
        /// One challenge for each, in this order.
        algorithms: Vec<ChallengeAlgorithm>,
        /// Requests that a nonce is good for; `None` for all.
        nonce_uses: Option<u32>,
        /// Reaction to a nonce after that.
        expiry: Expiry,
    },
}

/// Hash of a digest challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeAlgorithm {
    /// The algorithm of all clients.
    Md5,
    /// The recommended algorithm.
    Sha256,
}

/// Reaction of a digest challenge to an expired nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// With a new nonce and `stale=true`.
    Stale,
    /// With a new nonce and nothing else, as if the password were wrong.
    Silent,
}

impl ChallengeAlgorithm {
    fn name(self) -> &'static str {
        match self {
            ChallengeAlgorithm::Md5 => "MD5",
            ChallengeAlgorithm::Sha256 => "SHA-256",
        }
    }

    fn hash(self, text: &str) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            ChallengeAlgorithm::Md5 => hex(&md5::Md5::digest(text)),
            ChallengeAlgorithm::Sha256 => hex(&sha2::Sha256::digest(text)),
        }
    }
}

/// Checks requests against an [`Auth`].
#[derive(Debug)]
pub(super) struct Guard {
    auth: Auth,
    nonces: Mutex<Nonces>,
}

#[derive(Debug, Default)]
struct Nonces {
    issued: u64,
    /// Nonce counts seen with each.
    used: HashMap<String, HashSet<u32>>,
}

/// Why a digest request is not let through.
enum Refusal {
    Wrong,
    /// Everything is valid except the age of the nonce.
    Expired,
}

impl Guard {
    pub(super) fn new(auth: Auth) -> Guard {
        Guard {
            auth,
            nonces: Mutex::default(),
        }
    }

    /// The challenge for a request that is not let through.
    pub(super) fn deny(&self, request: &ServedRequest) -> Option<Reply> {
        let sent = request.headers.first("authorization").unwrap_or_default();
        let challenges = match &self.auth {
            Auth::Basic { user, password } => {
                let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
                if sent.strip_prefix("Basic ") == Some(&encoded) {
                    return None;
                }
                vec![format!("Basic realm=\"{REALM}\", charset=\"UTF-8\"")]
            }
            Auth::Bearer { token } => {
                if sent.strip_prefix("Bearer ") == Some(token) {
                    return None;
                }
                vec![format!("Bearer realm=\"{REALM}\"")]
            }
            Auth::Digest { .. } => match self.check_digest(request, sent) {
                Ok(()) => return None,
                Err(refusal) => self.digest_challenges(&refusal),
            },
        };
        let header = |challenge| ("WWW-Authenticate".to_owned(), challenge);
        let headers: Vec<_> = challenges.into_iter().map(header).collect();
        Some(Reply::new(401, &headers, b"credentials wanted\n"))
    }

    fn check_digest(&self, request: &ServedRequest, sent: &str) -> Result<(), Refusal> {
        let Auth::Digest {
            user,
            password,
            algorithms,
            nonce_uses,
            ..
        } = &self.auth
        else {
            return Err(Refusal::Wrong);
        };
        let params = sent.strip_prefix("Digest ").ok_or(Refusal::Wrong)?;
        let params = parse_params(params);
        let param = |name: &str| params.get(name).map(String::as_str).unwrap_or_default();
        let algorithm = algorithms
            .iter()
            .find(|algorithm| match param("algorithm") {
                "" => **algorithm == ChallengeAlgorithm::Md5,
                name => algorithm.name().eq_ignore_ascii_case(name),
            })
            .ok_or(Refusal::Wrong)?;

        let (nonce, nc, qop) = (param("nonce"), param("nc"), param("qop"));
        let secret = algorithm.hash(&format!("{user}:{REALM}:{password}"));
        let what = algorithm.hash(&format!("{}:{}", request.method, param("uri")));
        let cnonce = param("cnonce");
        let response = format!("{secret}:{nonce}:{nc}:{cnonce}:{qop}:{what}");
        let right = param("response") == algorithm.hash(&response)
            && param("username") == user
            && param("realm") == REALM
            && param("uri") == request.target
            && param("opaque") == OPAQUE
            && qop == "auth"
            && nc.len() == 8
            && !cnonce.is_empty();
        let count = u32::from_str_radix(nc, 16).map_err(|_| Refusal::Wrong)?;
        if !right {
            return Err(Refusal::Wrong);
        }

        let mut nonces = lock(&self.nonces);
        let used = nonces.used.get_mut(nonce).ok_or(Refusal::Wrong)?;
        if nonce_uses.is_some_and(|uses| used.len() >= uses as usize) {
            return Err(Refusal::Expired);
        }
        let is_replay = !used.insert(count);
        if is_replay {
            return Err(Refusal::Wrong);
        }
        Ok(())
    }

    fn digest_challenges(&self, refusal: &Refusal) -> Vec<String> {
        let Auth::Digest {
            algorithms, expiry, ..
        } = &self.auth
        else {
            return Vec::new();
        };
        let stale = match (refusal, expiry) {
            (Refusal::Expired, Expiry::Stale) => ", stale=true",
            _ => "",
        };
        let mut nonces = lock(&self.nonces);
        let mut challenge = |algorithm: &ChallengeAlgorithm| {
            nonces.issued += 1;
            let nonce = format!("nonce-{}", nonces.issued);
            nonces.used.insert(nonce.clone(), HashSet::new());
            format!(
                "Digest realm=\"{REALM}\", qop=\"auth\", algorithm={}, nonce=\"{nonce}\", \
                 opaque=\"{OPAQUE}\"{stale}",
                algorithm.name()
            )
        };
        algorithms.iter().map(&mut challenge).collect()
    }
}

/// `name=value, name="quoted, value"`.
fn parse_params(text: &str) -> HashMap<String, String> {
    let mut params = HashMap::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        let name = name.trim_matches([' ', ',']).to_ascii_lowercase();
        params.insert(name, value.trim().to_owned());
        rest = next;
    }
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_may_be_quoted_and_hold_commas() {
        let params = parse_params(r#"username="a, b", nc=00000001,qop=auth , uri="/x=y""#);
        assert_eq!(params["username"], "a, b");
        assert_eq!(params["nc"], "00000001");
        assert_eq!(params["qop"], "auth");
        assert_eq!(params["uri"], "/x=y");
    }

    #[test]
    fn hashes_are_those_of_rfc_7616() {
        // Section 3.9.1: the user's secret is the same in both examples but for the hash.
        let secret = "Mufasa:http-auth@example.org:Circle of Life";
        let md5 = ChallengeAlgorithm::Md5.hash(secret);
        let what = ChallengeAlgorithm::Md5.hash("GET:/dir/index.html");
        let rest = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v:00000001:\
                    f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ:auth";
        let response = ChallengeAlgorithm::Md5.hash(&format!("{md5}:{rest}:{what}"));
        assert_eq!(response, "8ca523f5e9506fed4657c9700eebdbec");
        assert_eq!(
            ChallengeAlgorithm::Sha256.hash(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}

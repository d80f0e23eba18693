//! The secret that a source and a sink share, and the proofs that both have it.
//!
//! Each side chooses a nonce. The proof is HMAC-SHA-256 (RFC 2104, FIPS 198-1) with the token as
//! its key, over a text for the role and both nonces, so that a proof is worth nothing in another
//! session or in the other direction. The token itself is never transmitted. Messages after the
//! proofs are not protected: a program on the path could change them.

use std::fs;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use rand::TryRng;
use rand::rngs::SysRng;
use sha2::Sha256;

use crate::FlowError;

/// Fewest bytes of a token: a shorter one could be found by search from a recorded session.
const LEAST: usize = 16;
/// Most bytes of a file that is read as a token.
const MOST: u64 = 4096;

/// A secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedToken(Vec<u8>);

impl std::fmt::Debug for SharedToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SharedToken(redacted)")
    }
}

impl SharedToken {
    /// The content of a file, without white space at its ends.
    ///
    /// # Errors
    /// The file cannot be read, or has fewer than 16 or more than 4,096 bytes.
    pub fn from_file(path: &Path) -> Result<SharedToken, FlowError> {
        let failed = |problem: String| FlowError::Token(format!("{}: {problem}", path.display()));
        let metadata = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
        let length = metadata.len();
        if length > MOST {
            let problem = format!("{length} bytes are too many (at most {MOST})");
            return Err(failed(problem));
        }
        let content = fs::read(path).map_err(|error| failed(error.to_string()))?;
        SharedToken::new(content.trim_ascii()).ok_or_else(|| failed(too_short()))
    }

    /// The value of an environment variable.
    ///
    /// # Errors
    /// The variable is not set, or shorter than 16 bytes.
    pub fn from_environment(name: &str) -> Result<SharedToken, FlowError> {
        let failed = |problem: String| FlowError::Token(format!("variable {name}: {problem}"));
        let value = std::env::var(name).map_err(|error| failed(error.to_string()))?;
        SharedToken::new(value.trim().as_bytes()).ok_or_else(|| failed(too_short()))
    }

    /// A new one, for a source and a sink of the same process.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> Result<SharedToken, FlowError> {
        Ok(SharedToken(random::<32>()?.to_vec()))
    }

    /// A token of these bytes; `None` for fewer than 16.
    pub fn new(bytes: &[u8]) -> Option<SharedToken> {
        (bytes.len() >= LEAST).then(|| SharedToken(bytes.to_vec()))
    }

    fn mac(&self, role: ProofRole, challenge: &str, own_nonce: &str) -> Option<Hmac<Sha256>> {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.0).ok()?;
        mac.update(match role {
            ProofRole::Source => b"prestan flow 1, source\0",
            ProofRole::Sink => b"prestan flow 1, sink\0",
        });
        // The lengths separate the two.
        for nonce in [challenge, own_nonce] {
            mac.update(&(nonce.len() as u64).to_be_bytes());
            mac.update(nonce.as_bytes());
        }
        Some(mac)
    }

    /// The proof for the nonce of the other side, in hexadecimal digits.
    pub(crate) fn prove(&self, role: ProofRole, challenge: &str, own_nonce: &str) -> String {
        let mac = self.mac(role, challenge, own_nonce);
        mac.map_or_else(String::new, |mac| hexadecimal(&mac.finalize().into_bytes()))
    }

    /// True if the other side, which has this role, has proved that it has the token. Takes the
    /// same time for every proof.
    pub(crate) fn is_proved(
        &self,
        role: ProofRole,
        challenge: &str,
        peer_nonce: &str,
        proof: &str,
    ) -> bool {
        let proof = from_hexadecimal(proof);
        let mac = self.mac(role, challenge, peer_nonce);
        match (proof, mac) {
            (Some(proof), Some(mac)) => mac.verify_slice(&proof).is_ok(),
            _ => false,
        }
    }
}

fn too_short() -> String {
    format!("the token is too short (at least {LEAST} bytes)")
}

/// The side that proves something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProofRole {
    Source,
    Sink,
}

/// An unpredictable number, as 64 hexadecimal digits.
pub(crate) fn nonce() -> Result<String, FlowError> {
    Ok(hexadecimal(&random::<32>()?))
}

/// True if a text can be a nonce.
pub(crate) fn is_nonce(text: &str) -> bool {
    text.len() == 64 && from_hexadecimal(text).is_some()
}

/// Random bytes of the system.
pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], FlowError> {
    let mut bytes = [0; LENGTH];
    let filled = SysRng.try_fill_bytes(&mut bytes);
    filled.map_err(|error| FlowError::Token(format!("no random numbers: {error}")))?;
    Ok(bytes)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let byte = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    digits?.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn hmac_is_that_of_rfc_4231() {
        // Test cases 1, 2 and 6 of section 4: key, data, HMAC-SHA-256.
        let table: [(&[u8], &[u8], &str); 3] = [
            (
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, data, expected) in table {
            let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap();
            mac.update(data);
            assert_eq!(hexadecimal(&mac.finalize().into_bytes()), expected);
        }
    }

    #[test]
    fn a_proof_holds_for_its_role_nonces_and_token_only() {
        let token = SharedToken::new(&[1; 16]).unwrap();
        let other = SharedToken::new(&[2; 16]).unwrap();
        let [a, b] = [nonce().unwrap(), nonce().unwrap()];
        assert!(is_nonce(&a) && a != b && !is_nonce("é") && !is_nonce(&a[1..]));
        let proof = token.prove(ProofRole::Source, &a, &b);
        assert!(token.is_proved(ProofRole::Source, &a, &b, &proof));
        assert!(!token.is_proved(ProofRole::Sink, &a, &b, &proof));
        assert!(!token.is_proved(ProofRole::Source, &b, &a, &proof));
        assert!(!other.is_proved(ProofRole::Source, &a, &b, &proof));
        for forged in ["", "0", "zz", &proof[2..], &"0".repeat(64), &"é".repeat(32)] {
            let is_proved = token.is_proved(ProofRole::Source, &a, &b, forged);
            assert!(!is_proved, "{forged}");
        }
        assert_eq!(format!("{token:?}"), "SharedToken(redacted)");
    }

    #[test]
    fn tokens_come_from_files() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let short = SharedToken::from_file(file.path()).unwrap_err().to_string();
        assert!(short.contains("too short"), "{short}");
        file.write_all(b"0123456789abcdef\n").unwrap();
        let token = SharedToken::from_file(file.path()).unwrap();
        assert_eq!(Some(token), SharedToken::new(b"0123456789abcdef"));
        file.write_all(&[b'x'; 5000]).unwrap();
        assert!(SharedToken::from_file(file.path()).is_err());
        assert!(SharedToken::from_environment("PRESTAN_NO_SUCH_VARIABLE").is_err());
    }
}

//! TLS as configured by the command line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use record::{Http, HttpVersion};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error,
    InconsistentKeys, InvalidMessage, PeerIncompatible, RootCertStore, SignatureScheme,
};
use wire::target::Scheme;

/// The name of HTTP/2 over TLS (RFC 9113, section 3.2).
pub(crate) const H2: &[u8] = b"h2";

/// Trusted roots, and the client's certificate.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// PEM file with the roots to trust instead of the system's.
    pub cacert: Option<PathBuf>,
    /// Trust every certificate.
    pub insecure: bool,
    /// PEM files with the client's certificate and its key, perhaps the same.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Makes the TLS configuration. The system's roots, a few hundred certificates, are read only for a
/// target that is `https`.
///
/// # Errors
/// A sentence that names the file and its error.
pub fn tls_config(options: &TlsOptions, scheme: Scheme) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("setting up TLS failed: {error}"))?;
    let builder = if options.insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustAnybody))
    } else {
        let (roots, given) = roots(options.cacert.as_deref(), scheme)?;
        if given.is_empty() {
            builder.with_root_certificates(roots)
        } else {
            let roots = Arc::new(roots);
            let webpki = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
            let webpki = webpki
                .build()
                .map_err(|error| format!("setting up TLS failed: {error}"))?;
            let verifier = Arc::new(TrustGiven { webpki, given });
            builder
                .dangerous()
                .with_custom_certificate_verifier(verifier)
        }
    };
    let mut config = match &options.identity {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let identity = SingleCertAndKey::from(identity(cert, key, &provider)?);
            builder.with_client_cert_resolver(Arc::new(identity))
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The same for connections that are used in this way. Sessions to be resumed are shared.
pub(crate) fn for_connections(tls: &Arc<ClientConfig>, http: &Http) -> Arc<ClientConfig> {
    let mut tls = Arc::clone(tls);
    if http.version == HttpVersion::Http2 {
        Arc::make_mut(&mut tls).alpn_protocols = vec![H2.to_vec()];
    }
    if http.full_handshakes {
        Arc::make_mut(&mut tls).resumption = Resumption::disabled();
    }
    tls
}

/// The roots to trust, and the certificates of the file that names them.
fn roots(
    cacert: Option<&Path>,
    scheme: Scheme,
) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), String> {
    let mut store = RootCertStore::empty();
    let given = match cacert {
        Some(file) => certificates(file, &read(file)?)?,
        None => Vec::new(),
    };
    for certificate in &given {
        store.add(certificate.clone()).map_err(|error| {
            let file = cacert.unwrap_or(Path::new("")).display();
            format!("{file}: {error}")
        })?;
    }
    // A system without roots is reported when a connection fails.
    if cacert.is_none() && scheme == Scheme::Https {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    Ok((store, given))
}

/// Reads a file once, because it may be a pipe.
fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("reading {} failed: {error}", file.display()))
}

fn certificates(file: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |why: &str| format!("reading certificates from {} failed: {why}", file.display());
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| failed(&error.to_string()))?;
    if certificates.is_empty() {
        return Err(failed("there is none in it"));
    }
    Ok(certificates)
}

/// The client's certificate and its key. One of X.509 version 1 cannot be compared with the key,
/// and is sent all the same.
fn identity(cert: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
    let pem = read(cert)?;
    let chain = certificates(cert, &pem)?;
    let pem = if key == cert { pem } else { read(key)? };
    let failed = |why: &str| format!("reading the key {} failed: {why}", key.display());
    let der = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| {
        let contains = |words: &[u8]| pem.windows(words.len()).any(|window| window == words);
        if contains(b"BEGIN ENCRYPTED PRIVATE KEY") || contains(b"Proc-Type: 4,ENCRYPTED") {
            failed("it is encrypted (`openssl pkey -in FILE` prints it in clear)")
        } else if key == cert {
            failed("the file has a certificate and no key; --key FILE names that of the key")
        } else {
            failed(&error.to_string())
        }
    })?;
    let signing_key = provider.key_provider.load_private_key(der).map_err(|_| {
        failed("it is none of ECDSA P-256 and P-384, Ed25519, and RSA of 2048 bits and more")
    })?;
    let identity = CertifiedKey::new(chain, signing_key);
    match identity.keys_match() {
        Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => Err(format!(
            "the key in {} is not that of the certificate in {}",
            key.display(),
            cert.display()
        )),
        Err(Error::InvalidCertificate(error)) if !is_of_version_1(&error) => {
            Err(format!("{}: {error}", cert.display()))
        }
        _ => Ok(identity),
    }
}

/// An error of TLS, with advice in its text. `shows_certificate`: there is a certificate for the
/// server.
pub(crate) fn explained(error: &Error, shows_certificate: bool) -> io::Error {
    io::Error::other(format!("{error}{}", hint(error, shows_certificate)))
}

fn hint(error: &Error, shows_certificate: bool) -> &'static str {
    use AlertDescription as Alert;
    match error {
        Error::InvalidCertificate(error) => certificate_hint(error),
        Error::AlertReceived(alert) => match alert {
            Alert::CertificateRequired if shows_certificate => {
                "; the server wants a certificate, and not with a key of the kind of that of --cert"
            }
            Alert::UnknownCA
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::DecryptError
                if shows_certificate =>
            {
                "; the server does not accept the certificate of --cert"
            }
            Alert::CertificateRequired | Alert::BadCertificate | Alert::CertificateUnknown => {
                "; the server wants a certificate from us (--cert FILE)"
            }
            Alert::HandshakeFailure | Alert::InsufficientSecurity if shows_certificate => {
                "; the server takes none of what was offered: TLS 1.3, and 1.2 with ECDHE (X25519, P-256, P-384) and \
                 AES-GCM or ChaCha20-Poly1305"
            }
            Alert::HandshakeFailure | Alert::InsufficientSecurity => {
                "; the server takes none of what was offered: TLS 1.3, and 1.2 with ECDHE (X25519, P-256, P-384) and \
                 AES-GCM or ChaCha20-Poly1305; or it wants a certificate from us (--cert FILE)"
            }
            Alert::ProtocolVersion => OLD_VERSION,
            Alert::NoApplicationProtocol => {
                "; the server does not offer this version of HTTP over TLS (--http 1.1 or --http 2)"
            }
            _ => "",
        },
        Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => OLD_VERSION,
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "; the server does not seem to speak TLS on this port (http:// instead of https://)"
        }
        _ => "",
    }
}

const OLD_VERSION: &str =
    "; the server takes neither TLS 1.2 nor TLS 1.3, and older versions are not offered";

fn certificate_hint(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "; the certificate has expired (--insecure measures all the same)"
        }
        CertificateError::UnknownIssuer => {
            "; the certificate is not signed by a trusted authority (--cacert FILE names those to trust, --insecure \
             accepts any certificate)"
        }
        // An authority that was made anew under its old name has another key than the known one.
        CertificateError::BadSignature => {
            "; the certificate is not signed by a trusted authority, or a key is RSA of less than 2048 bits (--cacert \
             FILE names those to trust, --insecure accepts any certificate)"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "; the certificate is for another name (--insecure measures all the same)"
        }
        error if is_of_version_1(error) => {
            "; the certificate is of X.509 version 1, which cannot be verified (--insecure accepts any)"
        }
        error if is_of_authority(error) => {
            "; the certificate is self-signed (--cacert FILE trusts the certificate in that file, \
             --insecure trusts any)"
        }
        _ => "",
    }
}

/// The certificate of a server is marked as that of an authority, as made by `openssl req -x509`.
fn is_of_authority(error: &CertificateError) -> bool {
    is_of_webpki(error, "CaUsedAsEndEntity")
}

/// A certificate has no version, or another one than 3, as made by `openssl x509 -req`.
fn is_of_version_1(error: &CertificateError) -> bool {
    is_of_webpki(error, "UnsupportedCertVersion")
}

/// An error of webpki without a variant in rustls.
fn is_of_webpki(error: &CertificateError, name: &str) -> bool {
    matches!(error, CertificateError::Other(other) if other.to_string().contains(name))
}

/// `--cacert`: trusts certificates that the given ones have signed, and, like curl, each of them as
/// the certificate of a server.
#[derive(Debug)]
struct TrustGiven {
    webpki: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

impl TrustGiven {
    /// True if a certificate that webpki declines is trusted because it is one of the given ones.
    /// These errors come after the period of validity was checked; the name is checked here.
    fn admits(&self, error: &Error, certificate: &CertificateDer<'_>) -> bool {
        let Error::InvalidCertificate(error) = error else {
            return false;
        };
        let is_untrusted = is_of_authority(error)
            || matches!(
                error,
                CertificateError::UnknownIssuer | CertificateError::BadSignature
            );
        is_untrusted && self.given.contains(certificate)
    }
}

impl ServerCertVerifier for TrustGiven {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let webpki = &self.webpki;
        match webpki.verify_server_cert(certificate, intermediates, name, ocsp_response, now) {
            Err(error) if self.admits(&error, certificate) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

/// `--insecure`: nothing is verified. A signature by the key of an arbitrary certificate would not
/// identify the peer, and webpki reads no certificate of X.509 version 1 and has no RSA below 2048
/// bits.
#[derive(Debug)]
struct TrustAnybody;

impl ServerCertVerifier for TrustAnybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    /// Verifiable schemes first, in their usual order.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let mut schemes = ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes();
        schemes.extend([
            SignatureScheme::ECDSA_NISTP521_SHA512,
            SignatureScheme::ED448,
            SignatureScheme::ECDSA_SHA1_Legacy,
            SignatureScheme::RSA_PKCS1_SHA1,
        ]);
        schemes
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use rustix::net::{Shutdown, shutdown};

    use super::*;
    use crate::clock::RunClock;
    use crate::clock::stamps::Stamping;
    use crate::connection::transport::Transport;
    use crate::event_loop::EventLoop;

    #[test]
    fn an_alert_is_read_where_nothing_can_be_sent_any_more() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let options = TlsOptions {
            insecure: true,
            ..TlsOptions::default()
        };
        let config = tls_config(&options, Scheme::Https).unwrap();
        let clock = RunClock::start();
        EventLoop::new().unwrap().run(async {
            let transport =
                Transport::tcp(address, clock, Stamping::Off, &Arc::default(), false).await;
            let mut transport = transport.unwrap();
            let (mut server, _) = listener.accept().unwrap();
            // Fatal: handshake_failure (RFC 5246, section 7.2).
            server.write_all(&[21, 3, 3, 0, 2, 2, 40]).unwrap();
            shutdown(transport.descriptor(), Shutdown::Write).unwrap();
            let error = transport.start_tls(&config, "localhost").await.unwrap_err();
            let alert = Error::AlertReceived(AlertDescription::HandshakeFailure);
            assert_eq!(error.to_string(), explained(&alert, false).to_string());
        });
    }
}

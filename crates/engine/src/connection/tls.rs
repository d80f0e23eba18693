//! TLS as the command line asks for it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use record::HttpVersion;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use wire::target::Scheme;

/// The name of HTTP/2 over TLS (RFC 9113, section 3.2).
pub(crate) const H2: &[u8] = b"h2";

/// Whom to trust, and who we are.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// PEM file with the roots to trust instead of the system's.
    pub cacert: Option<PathBuf>,
    /// Trust anybody.
    pub insecure: bool,
    /// PEM files with our certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Every handshake is a full one: no session is resumed.
    pub without_resumption: bool,
}

/// Makes the TLS configuration. The system's roots, a few hundred certificates, are read only for
/// a target that is `https`.
///
/// # Errors
/// A sentence that names the file and what is wrong with it.
pub fn tls_config(options: &TlsOptions, scheme: Scheme) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("setting up TLS failed: {error}"))?;
    let builder = if options.insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustAnybody { provider }))
    } else {
        let (roots, given) = roots(options.cacert.as_deref(), scheme)?;
        if given.is_empty() {
            builder.with_root_certificates(roots)
        } else {
            let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
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
            let chain = certificates(cert)?;
            let key_der = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| format!("reading the key {} failed: {error}", key.display()))?;
            builder
                .with_client_auth_cert(chain, key_der)
                .map_err(|error| {
                    format!(
                        "{} and {} do not fit: {error}",
                        cert.display(),
                        key.display()
                    )
                })?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if options.without_resumption {
        config.resumption = Resumption::disabled();
    }
    Ok(Arc::new(config))
}

/// The same for connections of that version. Sessions to be resumed are shared.
pub(crate) fn for_version(tls: &Arc<ClientConfig>, version: HttpVersion) -> Arc<ClientConfig> {
    let mut tls = Arc::clone(tls);
    if version == HttpVersion::Http2 {
        Arc::make_mut(&mut tls).alpn_protocols = vec![H2.to_vec()];
    }
    tls
}

/// The roots to trust, and the certificates of the file that names them.
fn roots(
    cacert: Option<&Path>,
    scheme: Scheme,
) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), String> {
    let mut store = RootCertStore::empty();
    let given = cacert.map_or(Ok(Vec::new()), certificates)?;
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

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error: &dyn std::fmt::Display| {
        format!(
            "reading certificates from {} failed: {error}",
            file.display()
        )
    };
    let certificates: Vec<_> = CertificateDer::pem_file_iter(file)
        .map_err(|error| failed(&error))?
        .collect::<Result<_, _>>()
        .map_err(|error| failed(&error))?;
    if certificates.is_empty() {
        return Err(failed(&"there is none in it"));
    }
    Ok(certificates)
}

/// What to try after an error of TLS; nothing after any other.
pub(crate) fn hint(error: &io::Error) -> &'static str {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref());
    match tls {
        Some(Error::InvalidCertificate(error)) => certificate_hint(error),
        Some(Error::AlertReceived(alert)) => match alert {
            AlertDescription::CertificateRequired => {
                "; the server wants a certificate from us (--cert FILE --key FILE)"
            }
            AlertDescription::UnknownCA | AlertDescription::BadCertificate => {
                "; the server does not trust our certificate (--cert FILE --key FILE)"
            }
            AlertDescription::NoApplicationProtocol => {
                "; the server does not offer this version of HTTP over TLS (--http 1.1 or --http 2)"
            }
            _ => "",
        },
        Some(Error::InvalidMessage(_)) => {
            "; the server does not seem to speak TLS on this port (http:// instead of https://)"
        }
        _ => "",
    }
}

fn certificate_hint(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "; the certificate has expired (--insecure measures all the same)"
        }
        // An authority that was made anew under its old name signs otherwise than the one we know.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "; the certificate is not signed by a trusted authority (--cacert FILE names one, --insecure \
             accepts any certificate)"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "; the certificate is for another name (--insecure measures all the same)"
        }
        error if is_of_authority(error) => {
            "; the certificate is self-signed (--cacert FILE trusts the certificate in that file, \
             --insecure trusts any)"
        }
        _ => "",
    }
}

/// The certificate of a server is marked as that of an authority: `openssl req -x509` makes such ones.
fn is_of_authority(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity"))
}

/// `--cacert`: trusts what the given certificates have signed, and as curl does, each of them as the
/// certificate of a server.
#[derive(Debug)]
struct TrustGiven {
    webpki: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

impl TrustGiven {
    /// Whether a certificate that webpki declines is trusted because it is one of the given ones. These
    /// errors come after the period of validity was checked; the name is checked here.
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

/// `--insecure`: signatures are still checked, so that the peer holds the key it shows.
#[derive(Debug)]
struct TrustAnybody {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for TrustAnybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

//! Certificates made on the spot, good ones and bad ones.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

/// A certificate authority of one test.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

/// Properties of a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// For `localhost`, 127.0.0.1 and ::1.
    Valid,
    /// The same, until the end of 2020.
    Expired,
    /// For `elsewhere.example` only.
    WrongHost,
    /// A self-signed certificate, as made by `openssl req -x509`.
    SelfSigned,
    /// The same, until the end of 2020.
    SelfSignedExpired,
    /// A self-signed certificate, for `elsewhere.example` only.
    SelfSignedWrongHost,
}

impl Certificate {
    fn is_expired(self) -> bool {
        matches!(self, Certificate::Expired | Certificate::SelfSignedExpired)
    }

    fn is_of_another_host(self) -> bool {
        matches!(
            self,
            Certificate::WrongHost | Certificate::SelfSignedWrongHost
        )
    }

    fn is_self_signed(self) -> bool {
        matches!(
            self,
            Certificate::SelfSigned
                | Certificate::SelfSignedExpired
                | Certificate::SelfSignedWrongHost
        )
    }
}

/// A client's certificate and key, as PEM.
#[derive(Clone)]
pub struct ClientIdentity {
    /// Certificate.
    pub certificate: String,
    /// Private key.
    pub key: String,
}

/// TLS of a [`FaultServer`](super::FaultServer).
#[derive(Debug)]
pub struct FaultTls {
    config: Arc<ServerConfig>,
    pem: String,
    key: String,
}

impl Authority {
    /// A new one, which no client trusts yet.
    #[expect(
        clippy::new_without_default,
        reason = "it makes keys: no default value"
    )]
    pub fn new() -> Authority {
        let mut params = params(&[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect(GENERATES);
        let certificate = params.self_signed(&key).expect(GENERATES);
        Authority {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    /// Its certificate as PEM, for `--cacert`.
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// A client's certificate that it vouches for.
    pub fn client(&self) -> ClientIdentity {
        let mut params = params(&["client.example"]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let (certificate, key) = self.sign(&params);
        ClientIdentity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// A server without client certificates.
    pub fn server(&self, certificate: Certificate) -> FaultTls {
        self.config(certificate, WebPkiClientVerifier::no_client_auth())
    }

    /// A server that lets in only clients with a certificate of this authority.
    pub fn server_for_clients_with_certificate(&self, certificate: Certificate) -> FaultTls {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).expect(GENERATES);
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
        self.config(certificate, verifier.build().expect("there is a root"))
    }

    fn config(&self, certificate: Certificate, clients: Arc<dyn ClientCertVerifier>) -> FaultTls {
        let (certificate, key) = self.identity(certificate);
        let der = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let chain = vec![certificate.der().clone()];
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("ring has cipher suites for TLS 1.2 and 1.3")
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, der);
        FaultTls {
            config: Arc::new(config.expect(GENERATES)),
            pem: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    fn identity(&self, certificate: Certificate) -> (rcgen::Certificate, KeyPair) {
        let mut params = if certificate.is_of_another_host() {
            params(&["elsewhere.example"])
        } else {
            params(&["localhost", "127.0.0.1", "::1"])
        };
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        if certificate.is_expired() {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2020, 12, 31);
        }
        if !certificate.is_self_signed() {
            return self.sign(&params);
        }
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect(GENERATES);
        (params.self_signed(&key).expect(GENERATES), key)
    }

    fn sign(&self, params: &CertificateParams) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().expect(GENERATES);
        let certificate = params.signed_by(&key, &self.issuer).expect(GENERATES);
        (certificate, key)
    }
}

impl FaultTls {
    /// The same, but no session is resumed.
    pub fn without_resumption(self) -> FaultTls {
        let mut config = (*self.config).clone();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        FaultTls {
            config: Arc::new(config),
            ..self
        }
    }

    /// The certificate of the server as PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Its private key as PEM, for a program that is to be this server.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn into_config(self) -> Arc<ServerConfig> {
        self.config
    }
}

/// Names and key types are constants of this file, so that only a lack of randomness can fail.
const GENERATES: &str = "certificates can be generated";

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).expect(GENERATES)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

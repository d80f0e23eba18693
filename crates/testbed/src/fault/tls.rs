//! Certificates made on the spot, good ones and bad ones.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

/// A certificate authority of one test.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

/// What is right or wrong with a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// For `localhost`, 127.0.0.1 and ::1.
    Valid,
    /// The same, until the end of 2020.
    Expired,
    /// For `elsewhere.example` only.
    WrongHost,
    /// Its own authority, as `openssl req -x509` makes it.
    SelfSigned,
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
pub struct FaultTls(Arc<ServerConfig>);

impl Authority {
    /// A new one, which nobody trusts yet.
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

    /// A server that asks no client for a certificate.
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
        let (chain, key) = self.identity(certificate);
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("ring has cipher suites for TLS 1.2 and 1.3")
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key);
        FaultTls(Arc::new(config.expect(GENERATES)))
    }

    fn identity(
        &self,
        certificate: Certificate,
    ) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let mut params = match certificate {
            Certificate::WrongHost => params(&["elsewhere.example"]),
            _ => params(&["localhost", "127.0.0.1", "::1"]),
        };
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        if certificate == Certificate::Expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2020, 12, 31);
        }
        let (certificate, key) = match certificate {
            Certificate::SelfSigned => {
                params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
                let key = KeyPair::generate().expect(GENERATES);
                (params.self_signed(&key).expect(GENERATES), key)
            }
            _ => self.sign(&params),
        };
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        (vec![certificate.der().clone()], key)
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
        let mut config = (*self.0).clone();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        FaultTls(Arc::new(config))
    }

    pub(super) fn into_config(self) -> Arc<ServerConfig> {
        self.0
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

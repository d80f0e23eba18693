//! Opening connections.

use std::io;
use std::sync::Arc;

use record::Connect;
use wire::target::{Scheme, Target};

use crate::clock::RunClock;
use crate::settings::Route;
use crate::transport::Transport;

/// Opens connections to the target of a run.
#[derive(Debug)]
pub(crate) struct Dialer {
    target: Target,
    route: Route,
    tls: Arc<rustls::ClientConfig>,
    clock: RunClock,
}

/// Why no connection could be opened, for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DialError(String);

impl Dialer {
    pub(crate) fn new(
        target: Target,
        route: Route,
        tls: Arc<rustls::ClientConfig>,
        clock: RunClock,
    ) -> Self {
        Dialer {
            target,
            route,
            tls,
            clock,
        }
    }

    /// Opens a connection and says how long that took.
    pub(crate) async fn dial(&self) -> Result<(Transport, Connect), DialError> {
        let begun = self.clock.now();
        let mut transport = self.connect().await?;
        let connected = self.clock.now();
        let mut connect = Connect {
            tcp: connected - begun,
            tls: None,
        };
        if self.target.scheme() == Scheme::Https {
            transport
                .start_tls(&self.tls, self.target.host())
                .await
                .map_err(|error| self.tls_error(&error))?;
            connect.tls = Some(self.clock.now() - connected);
        }
        Ok((transport, connect))
    }

    async fn connect(&self) -> Result<Transport, DialError> {
        match &self.route {
            Route::Unix(path) => Transport::unix(path).await.map_err(|error| {
                DialError(format!(
                    "connecting to the socket {} failed: {error}",
                    path.display()
                ))
            }),
            Route::Tcp(addresses) => {
                let mut failures = Vec::new();
                let mut hint = "";
                for address in addresses {
                    match Transport::tcp(*address).await {
                        Ok(transport) => return Ok(transport),
                        Err(error) => {
                            hint = connect_hint(error.kind());
                            failures.push(format!("{address}: {}", plain(&error)));
                        }
                    }
                }
                Err(DialError(format!(
                    "connecting failed: {}{hint}",
                    failures.join("; ")
                )))
            }
        }
    }

    fn tls_error(&self, error: &io::Error) -> DialError {
        let hint = match error.to_string() {
            text if text.contains("Expired") || text.contains("expired") => {
                "; the certificate has expired (--insecure measures all the same)"
            }
            text if text.contains("UnknownIssuer") => {
                "; nobody we trust has signed the certificate (--cacert FILE names who has, \
                 --insecure trusts anybody)"
            }
            text if text.contains("NotValidForName") || text.contains("not valid for name") => {
                "; the certificate is for another name (--insecure measures all the same)"
            }
            text if text.contains("CertificateRequired") => {
                "; the server wants a certificate from us (--cert FILE --key FILE)"
            }
            text if text.contains("InvalidContentType") || text.contains("corrupt message") => {
                "; the server does not seem to speak TLS on this port (http:// instead of https://)"
            }
            _ => "",
        };
        DialError(format!(
            "agreeing upon TLS with {} failed: {}{hint}",
            self.target.authority(),
            plain(error)
        ))
    }
}

/// What to try when no address could be connected to.
fn connect_hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::ConnectionRefused => "; is the server running, and is this its port?",
        io::ErrorKind::AddrNotAvailable => {
            "; this machine is out of ports, or does not have this kind of address"
        }
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            "; is this the right address, and the network up?"
        }
        _ => "",
    }
}

/// The words of an error without the number that the system appends.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server ended the connection".to_owned()
        }
        None => text,
    }
}

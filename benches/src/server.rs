//! The server that a client is measured against.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, bail};
use testbed::RealServer;
use testbed::real::Recipe;

/// Bytes of the file that is fetched.
pub const FILE_BYTES: usize = 1024;

/// A running nginx with one worker.
#[derive(Debug)]
pub struct Nginx(RealServer);

impl Nginx {
    /// Starts it, with the file and a directory that PUT may write to.
    ///
    /// # Errors
    /// Where nginx is missing or does not start.
    pub fn start() -> Result<Nginx> {
        let server = RealServer::start(&recipe()?)?;
        let file = server.storage().join("1k.bin");
        fs::write(&file, [b'x'; FILE_BYTES])
            .with_context(|| format!("write {}", file.display()))?;
        let uploads = server.storage().join("put");
        fs::create_dir(&uploads).with_context(|| format!("create {}", uploads.display()))?;
        // nginx runs as another user.
        fs::set_permissions(&uploads, fs::Permissions::from_mode(0o777))
            .with_context(|| format!("let everybody write to {}", uploads.display()))?;
        Ok(Nginx(server))
    }

    /// URL of the file of 1 KiB.
    pub fn file_url(&self) -> String {
        format!("{}1k.bin", self.0.url())
    }

    /// URL below which PUT is allowed.
    pub fn upload_url(&self) -> String {
        format!("{}put/1m.bin", self.0.url())
    }

    /// `nginx` and its version.
    pub fn version(&self) -> String {
        format!("nginx {}", self.0.installed().version)
    }

    /// Port it listens on.
    ///
    /// # Errors
    /// Never, unless the testbed's URLs change.
    pub fn port(&self) -> Result<u16> {
        port_of(&self.0.url())
    }
}

/// The port in `http://127.0.0.1:PORT/`.
///
/// # Errors
/// Where there is none.
pub fn port_of(url: &str) -> Result<u16> {
    let rest = url.trim_end_matches('/').rsplit_once(':');
    match rest.map(|(_, port)| port.parse()) {
        Some(Ok(port)) => Ok(port),
        _ => bail!("no port in the URL {url} of a server that we started"),
    }
}

fn recipe() -> Result<Recipe> {
    serde_saphyr::from_str(include_str!("../nginx.yaml")).context("read benches/nginx.yaml")
}

//! The server that a client is measured against.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use testbed::RealServer;
use testbed::real::Recipe;

use crate::load::{Closed, RequestedClock};

/// Bytes of the file that is fetched.
pub const FILE_BYTES: usize = 1024;

/// A running nginx with one worker.
#[derive(Debug)]
pub struct Nginx {
    server: RealServer,
    file_url: String,
    upload_url: String,
}

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
        let root = server.url();
        Ok(Nginx {
            server,
            file_url: format!("{root}1k.bin"),
            upload_url: format!("{root}put/1m.bin"),
        })
    }

    /// Its root, with a slash at the end.
    pub fn root(&self) -> String {
        self.server.url()
    }

    /// The directory of its files.
    pub fn storage(&self) -> PathBuf {
        self.server.storage()
    }

    /// URL of the file of 1 KiB.
    pub fn file_url(&self) -> &str {
        &self.file_url
    }

    /// GET of 1 KiB.
    pub fn get(&self, users: u32, requests: u64, clock: RequestedClock) -> Closed<'_> {
        Closed {
            method: "GET",
            url: &self.file_url,
            users,
            requests,
            clock,
        }
    }

    /// PUT of 1 MiB, always to the same name.
    pub fn put(&self, users: u32, requests: u64, clock: RequestedClock) -> Closed<'_> {
        Closed {
            method: "PUT",
            url: &self.upload_url,
            ..self.get(users, requests, clock)
        }
    }

    /// `nginx` and its version.
    pub fn version(&self) -> String {
        format!("nginx {}", self.server.installed().version)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// As [`port_of`].
    pub fn addr(&self) -> Result<SocketAddr> {
        let port = port_of(&self.file_url)?;
        Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }
}

/// The port in `http://127.0.0.1:PORT/path`.
///
/// # Errors
/// Where there is none.
pub fn port_of(url: &str) -> Result<u16> {
    let host = url.split('/').nth(2);
    let port = host.and_then(|host| host.rsplit_once(':'));
    match port.map(|(_, port)| port.parse()) {
        Some(Ok(port)) => Ok(port),
        _ => bail!("no port in the URL {url} of a server that we started"),
    }
}

fn recipe() -> Result<Recipe> {
    serde_saphyr::from_str(include_str!("../nginx.yaml")).context("read benches/nginx.yaml")
}

//! The server under test.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use record::HttpVersion;
use testbed::RealServer;
use testbed::real::Recipe;

use crate::load::{Closed, RequestedClock};

/// Bytes of the file that is fetched.
pub(crate) const FILE_BYTES: usize = 1024;

/// A running server with a file to GET and a directory to PUT to.
#[derive(Debug)]
pub struct BenchServer {
    server: RealServer,
    program: &'static str,
    version: HttpVersion,
    file_url: String,
    upload_url: String,
}

impl BenchServer {
    /// nginx with one worker.
    pub fn nginx() -> Result<BenchServer> {
        BenchServer::start("nginx", &nginx_recipe()?, HttpVersion::Http11)
    }

    /// The same with HTTP/2 only.
    pub fn nginx_http2() -> Result<BenchServer> {
        let mut recipe = nginx_recipe()?;
        recipe.is_http2 = true;
        BenchServer::start("nginx", &recipe, HttpVersion::Http2)
    }

    /// Apache with HTTP/2, from its recipe.
    pub fn apache_http2() -> Result<BenchServer> {
        let recipe = Recipe::with_parameters("apache,http=2").map_err(anyhow::Error::msg)?;
        BenchServer::start("apache", &recipe, HttpVersion::Http2)
    }

    fn start(program: &'static str, recipe: &Recipe, version: HttpVersion) -> Result<BenchServer> {
        let server = RealServer::start(recipe)?;
        let file = server.storage().join("1k.bin");
        fs::write(&file, [b'x'; FILE_BYTES])
            .with_context(|| format!("write {}", file.display()))?;
        let uploads = server.storage().join("put");
        fs::create_dir(&uploads).with_context(|| format!("create {}", uploads.display()))?;
        // The server runs as another user.
        fs::set_permissions(&uploads, fs::Permissions::from_mode(0o777))
            .with_context(|| format!("let everybody write to {}", uploads.display()))?;
        let root = server.url();
        Ok(BenchServer {
            server,
            program,
            version,
            file_url: format!("{root}1k.bin"),
            upload_url: format!("{root}put/1m.bin"),
        })
    }

    /// Its root, with a slash at the end.
    pub(crate) fn root(&self) -> String {
        self.server.url()
    }

    /// The directory of its files.
    pub(crate) fn storage(&self) -> PathBuf {
        self.server.storage()
    }

    /// URL of the file of 1 KiB.
    pub(crate) fn file_url(&self) -> &str {
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
            version: self.version,
        }
    }

    pub(crate) fn http(&self) -> HttpVersion {
        self.version
    }

    /// PUT of 1 MiB, always to the same name.
    pub fn put(&self, users: u32, requests: u64, clock: RequestedClock) -> Closed<'_> {
        Closed {
            method: "PUT",
            url: &self.upload_url,
            ..self.get(users, requests, clock)
        }
    }

    /// The program and its version.
    pub(crate) fn version(&self) -> String {
        format!("{} {}", self.program, self.server.installed().version)
    }

    pub(crate) fn addr(&self) -> Result<SocketAddr> {
        let port = port_of(&self.file_url)?;
        Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }
}

/// The port in `http://127.0.0.1:PORT/path`.
pub(crate) fn port_of(url: &str) -> Result<u16> {
    let host = url.split('/').nth(2);
    let port = host.and_then(|host| host.rsplit_once(':'));
    match port.map(|(_, port)| port.parse()) {
        Some(Ok(port)) => Ok(port),
        _ => bail!("no port in the URL {url} of a server that we started"),
    }
}

fn nginx_recipe() -> Result<Recipe> {
    yaml::read(include_str!("../nginx.yaml")).context("read benches/nginx.yaml")
}

//! From a recipe to a server that responds.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use lab::{ScratchDirectory, user_namespace};
use recipe::{
    BadTemplate, Installed, MissingProgram, NO_URL, Recipe, RecipeTemplates, STORAGE, authority,
};

use super::place::{self, ServerPlace};
use super::process::{ServerProcess, ServerProcesses};
use super::{RealServer, logs};

/// From the start to the first response: Tomcat on a busy machine takes more than twenty seconds.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Between two attempts to reach a server that starts.
const PROBE_EVERY: Duration = Duration::from_millis(5);

const LOG_LINES: usize = 20;

/// The beginning of a connection of HTTP/2: the preface, and settings without any (RFC 9113,
/// section 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Type of the frame that a server sends first.
const SETTINGS: u8 = 4;

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The start was cancelled.
    #[error("interrupted while servers were started")]
    Cancelled,
    /// The server is not installed.
    #[error("cannot start {server}: {missing}")]
    Missing {
        /// Name of the recipe.
        server: String,
        /// The missing program.
        #[source]
        missing: MissingProgram,
    },
    /// The recipe wants a user that this machine does not have.
    #[error("cannot start {server}: no user {user} in /etc/passwd, and it must not run as root")]
    NoUser {
        /// Name of the recipe.
        server: String,
        /// Name of the user.
        user: String,
    },
    /// A template of the recipe is broken.
    #[error("cannot start {server}: {source}")]
    Template {
        /// Name of the recipe.
        server: String,
        /// The error in it.
        source: BadTemplate,
    },
    /// Its URL has no host.
    #[error("cannot start {server}: {}", NO_URL)]
    Url {
        /// Name of the recipe.
        server: String,
    },
    /// Another server responds at its address.
    #[error(
        "cannot start {server}: a server answers at {url} already; stop it, or use {{{{ port }}}} in \
         the command and the URL for a free port"
    )]
    Taken {
        /// Name of the recipe.
        server: String,
        /// Where.
        url: String,
    },
    /// A system call failed.
    #[error("cannot start {server}: {what}: {source}")]
    Io {
        /// Name of the recipe.
        server: String,
        /// The attempted action.
        what: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The server ended before it responded.
    #[error("{server} ended ({status}) before it answered; its logs end with\n{log}")]
    Exited {
        /// Name of the recipe.
        server: String,
        /// Exit status.
        status: ExitStatus,
        /// End of its logs.
        log: String,
    },
    /// The server runs and does not respond.
    #[error(
        "{server} does not answer OPTIONS at {address} after {waited:?}; its logs end with\n{log}"
    )]
    NotReady {
        /// Name of the recipe.
        server: String,
        /// Where it should listen.
        address: String,
        /// How long it had.
        waited: Duration,
        /// End of its logs.
        log: String,
    },
}

/// Adds the step and the server to errors.
struct StartStep<'a>(&'a Recipe);

impl StartStep<'_> {
    fn io(&self, what: impl Into<String>) -> impl FnOnce(io::Error) -> StartError {
        let (server, what) = (self.0.name.clone(), what.into());
        move |source| StartError::Io {
            server,
            what,
            source,
        }
    }

    /// A template of the server, filled in.
    fn filled(&self, templates: &RecipeTemplates<'_>, text: &str) -> Result<String, StartError> {
        let server = || self.0.name.clone();
        let rendered = templates.rendered(text);
        rendered.map_err(|source| StartError::Template {
            server: server(),
            source,
        })
    }
}

pub(super) fn start(
    recipe: &Recipe,
    processors: &[u32],
    at: Option<&ServerPlace>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<RealServer, StartError> {
    let step = StartStep(recipe);
    limits::raise_open_files();
    let installed = recipe.installed().map_err(|missing| StartError::Missing {
        server: recipe.name.clone(),
        missing,
    })?;
    let owner = owner(recipe)?;
    let (name, _) = recipe.name.split_once(',').unwrap_or((&recipe.name, ""));
    let prefix = format!("prestan-{name}-");
    let files = at.and_then(|place| place.files.as_deref());
    let dir =
        ScratchDirectory::new(&prefix, files).map_err(step.io("create a temporary directory"))?;
    let listens_at = place::address_of(at);
    let port = place::reserve(at).map_err(step.io(format!("find a free port of {listens_at}")))?;
    let templates = RecipeTemplates::of(recipe, dir.path(), listens_at, port.number());
    let url = step.filled(&templates, &recipe.url)?;
    let address = Address::of(&url, recipe.is_http2).ok_or_else(|| StartError::Url {
        server: recipe.name.clone(),
    })?;
    let prepared = prepare(recipe, &installed, dir.path(), &templates, owner)?;
    let port = (!recipe.in_place).then_some(port);
    if port.is_none() && address.answers() {
        return Err(StartError::Taken {
            server: recipe.name.clone(),
            url: format!(
                "http{}://{}/",
                if address.is_tls { "s" } else { "" },
                address.authority
            ),
        });
    }
    let spawn = |mut command: Command| {
        let what = format!("run {}", command.get_program().to_string_lossy());
        place::enter(at, &mut command).map_err(step.io("enter its host"))?;
        // Behind the entrance into its host, for which it needs the rights that it loses here.
        match owner {
            None => {}
            Some(ServerOwner::Other(uid, gid)) => {
                user_namespace::become_before_exec(&mut command, uid, gid);
            }
            Some(ServerOwner::Renamed(uid, gid)) => {
                user_namespace::rename_before_exec(&mut command, uid, gid);
            }
        }
        ServerProcess::spawn(&mut command, processors).map_err(step.io(what))
    };
    let helper = prepared.helper.map(spawn).transpose()?;
    // The server first: in this order they end, also when the start fails.
    let mut processes = ServerProcesses {
        server: spawn(prepared.server)?,
        helper,
    };
    let run = (dir.path(), is_cancelled);
    wait_until_ready(recipe, &mut processes, &address, at, run)?;
    Ok(RealServer {
        processes,
        _port: port,
        recipe: recipe.clone(),
        installed,
        dir,
        url,
    })
}

/// Where a server listens.
struct Address {
    /// Host and port.
    authority: String,
    is_tls: bool,
    is_http2: bool,
}

impl Address {
    /// The address in a URL; `None` where that has no host.
    fn of(url: &str, is_http2: bool) -> Option<Address> {
        let (authority, is_tls) = authority(url)?;
        Some(Address {
            authority,
            is_tls,
            is_http2,
        })
    }

    /// Any HTTP response but a server's error will do: with authentication it is a 401. With HTTP/2
    /// the server has to send its settings. Of a server with TLS it is enough that it accepts
    /// connections.
    fn answers(&self) -> bool {
        let status = || -> io::Result<u8> {
            let mut addresses = self.authority.to_socket_addrs()?;
            let connect = |address| TcpStream::connect_timeout(&address, Duration::from_secs(1));
            let connected = addresses.find_map(|address| connect(address).ok());
            let mut stream = connected.ok_or(io::ErrorKind::ConnectionRefused)?;
            if self.is_tls {
                return Ok(b'2');
            }
            stream.set_read_timeout(Some(Duration::from_secs(1)))?;
            if self.is_http2 {
                stream.write_all(HTTP2_PREFACE)?;
                let mut header = [0; 9];
                stream.read_exact(&mut header)?;
                return Ok(if header[3] == SETTINGS { b'2' } else { b'5' });
            }
            let host = &self.authority;
            let probe = format!("OPTIONS / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            stream.write_all(probe.as_bytes())?;
            let mut line = [0; 12];
            stream.read_exact(&mut line)?;
            Ok(match &line[9..] {
                _ if !line.starts_with(b"HTTP/1.") => b'5',
                // The server is there, and does not support the method.
                b"501" => b'4',
                status => status[0],
            })
        };
        status().is_ok_and(|class| class < b'5')
    }
}

/// The user that runs a server, when that is not the one of this process.
#[derive(Debug, Clone, Copy)]
enum ServerOwner {
    /// This user and group, which own its files.
    Other(u32, u32),
    /// We are root of a user namespace without that user: the server is ourselves, under these
    /// numbers.
    Renamed(u32, u32),
}

/// The user that runs the server, when that is not the one of this process.
fn owner(recipe: &Recipe) -> Result<Option<ServerOwner>, StartError> {
    let Some(user) = &recipe.user else {
        return Ok(None);
    };
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let lines = passwd.lines();
    let mut lines = lines.map(|line| line.split(':').collect::<Vec<_>>());
    let found = lines.find_map(|fields| match fields[..] {
        [name, _, uid, gid, ..] if name == user => Some((uid.parse().ok()?, gid.parse().ok()?)),
        _ => None,
    });
    let (uid, gid) = found.ok_or_else(|| StartError::NoUser {
        server: recipe.name.clone(),
        user: user.clone(),
    })?;
    Ok(Some(if place::has_user(uid, gid) {
        ServerOwner::Other(uid, gid)
    } else {
        ServerOwner::Renamed(uid, gid)
    }))
}

/// How to run a server.
struct PreparedCommands {
    server: Command,
    helper: Option<Command>,
}

/// Writes everything the server reads, and returns how to run it.
fn prepare(
    recipe: &Recipe,
    installed: &Installed,
    dir: &Path,
    templates: &RecipeTemplates<'_>,
    owner: Option<ServerOwner>,
) -> Result<PreparedCommands, StartError> {
    let step = StartStep(recipe);
    let mut created: Vec<PathBuf> = vec![dir.to_owned()];
    let mut add_dir = |path: PathBuf| {
        let made = fs::create_dir(&path);
        created.push(path);
        made
    };
    add_dir(dir.join(STORAGE)).map_err(step.io("create its storage"))?;
    for name in &recipe.directories {
        add_dir(dir.join(name)).map_err(step.io(format!("create its directory {name}")))?;
    }
    for (name, content) in &recipe.files {
        let path = dir.join(name);
        let written = fs::write(&path, step.filled(templates, content)?);
        written.map_err(step.io(format!("write its {name}")))?;
        created.push(path);
    }
    let output_name = logs(recipe, dir).output;
    let output = File::create(&output_name).map_err(step.io("create its output.log"))?;
    created.push(output_name);
    if let Some(ServerOwner::Other(uid, gid)) = owner {
        for path in &created {
            let what = format!("give {} to user {uid}", path.display());
            chown(path, Some(uid), Some(gid)).map_err(step.io(what))?;
        }
    }

    let command = |program: &Path, arguments: &[String]| {
        let mut command = Command::new(program);
        for argument in arguments {
            command.arg(step.filled(templates, argument)?);
        }
        for (name, value) in &recipe.environment {
            command.env(name, step.filled(templates, value)?);
        }
        if !recipe.in_place {
            command.current_dir(dir);
        }
        let share = || output.try_clone();
        let share = || share().map_err(step.io("share its output.log"));
        command.stdin(Stdio::null());
        command.stdout(share()?).stderr(share()?);
        Ok(command)
    };
    let helper = recipe.helper.as_ref().zip(installed.helper.as_ref());
    let helper = helper.map(|(helper, program)| command(program, &helper.arguments));
    Ok(PreparedCommands {
        server: command(&installed.program, &recipe.arguments)?,
        helper: helper.transpose()?,
    })
}

fn wait_until_ready(
    recipe: &Recipe,
    processes: &mut ServerProcesses,
    address: &Address,
    at: Option<&ServerPlace>,
    (dir, is_cancelled): (&Path, &dyn Fn() -> bool),
) -> Result<(), StartError> {
    let started = Instant::now();
    while started.elapsed() < READY_WITHIN {
        // From the host of the server, so that this program may be anywhere, and links cost no
        // time.
        let answers = place::there(at, || address.answers());
        let answers = answers.map_err(StartStep(recipe).io("enter its host"))?;
        if is_cancelled() {
            return Err(StartError::Cancelled);
        }
        if answers {
            return Ok(());
        }
        // This is the pause between two probes as well.
        if let Some(status) = processes.wait_for_exit(PROBE_EVERY) {
            return Err(StartError::Exited {
                server: recipe.name.clone(),
                status: status.map_err(StartStep(recipe).io("wait for its end"))?,
                log: log_tail(recipe, dir),
            });
        }
    }
    Err(StartError::NotReady {
        server: recipe.name.clone(),
        address: address.authority.clone(),
        waited: READY_WITHIN,
        log: log_tail(recipe, dir),
    })
}

pub(super) fn log_tail(recipe: &Recipe, dir: &Path) -> String {
    let logs = logs(recipe, dir);
    let mut files = vec![logs.output, logs.error];
    files.dedup();
    let mut tail = String::new();
    for file in files {
        // The file may not exist.
        let bytes = fs::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().collect();
        let name = file.file_name().unwrap_or(OsStr::new("log"));
        for line in &lines[lines.len().saturating_sub(LOG_LINES)..] {
            tail.push_str(&format!("  {}: {line}\n", name.to_string_lossy()));
        }
    }
    if tail.is_empty() {
        "  (nothing)".to_owned()
    } else {
        tail.trim_end().to_owned()
    }
}

//! Errors of building a laboratory, each with its remedy.

use std::io;
use std::path::PathBuf;

/// Why a part of a laboratory could not be built.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe them")]
pub enum LabError {
    #[error(
        "cannot create a {kind} namespace: {source}; {remedy}",
        remedy = namespace_remedy(kind, .source, "run as root (CAP_SYS_ADMIN), or enter a user namespace first")
    )]
    Namespace {
        kind: &'static str,
        source: io::Error,
    },
    #[error(
        "cannot create a user namespace: {0}; {remedy}",
        remedy = namespace_remedy(
            "user",
            .0,
            "allow them (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1 or \
             kernel.apparmor_restrict_unprivileged_userns=0), or run as root"
        )
    )]
    UserNamespace(io::Error),
    #[error(
        "cannot enter a user namespace: this process has several threads; enter it before the \
         first thread starts"
    )]
    SeveralThreads,
    #[error("cannot open /dev/net/tun: {0}; {remedy}", remedy = tun_remedy(.0))]
    NoTun(io::Error),
    #[error(
        "cannot create the TAP device `{device}`: {source}; this needs CAP_NET_ADMIN in its namespace"
    )]
    Tap { device: String, source: io::Error },
    #[error("cannot run `{program}`: {source}; install the package {package}")]
    Program {
        program: &'static str,
        package: &'static str,
        source: io::Error,
    },
    #[error(
        "`{0}` is BusyBox's, which does not have what labs use (-batch); install the package iproute2, and put its `{0}` \
         first in PATH"
    )]
    BusyBox(&'static str),
    #[error("`{program}` failed in the namespace `{namespace}`: {message} (commands: {commands})")]
    Iproute {
        program: &'static str,
        namespace: String,
        commands: String,
        message: String,
    },
    #[error("this kernel has no {what} ({message}); {remedy}")]
    Kernel {
        what: String,
        message: String,
        remedy: String,
    },
    #[error(
        "cannot give programs the names of the lab's hosts in the place of /etc/hosts: there is no {path}; create it, empty \
         or not (touch {path})",
        path = .0.display()
    )]
    NoHostNames(PathBuf),
    #[error("{0}")]
    Surroundings(String),
    #[error(
        "`{0}` is a bare host, which runs no programs: it has no operating system, and serves /504k, /320k and /160k \
         on port 80"
    )]
    BareHost(String),
    #[error("cannot set {key} to `{value}` in the namespace `{namespace}`: {source}")]
    Sysctl {
        key: String,
        value: String,
        namespace: String,
        source: io::Error,
    },
    #[error(
        "{key}: the kernel does not set it to `{value}` in the host `{host}`: {source}; {remedy}",
        remedy = sysctl_remedy(.source)
    )]
    RefusedSysctl {
        key: String,
        value: String,
        host: String,
        source: io::Error,
    },
    #[error("the host `{from}` cannot open a connection to the host `{to}`: {source}")]
    Unreachable {
        from: String,
        to: String,
        source: io::Error,
    },
    #[error("{0}")]
    Setting(String),
    #[error("the laboratory has ended")]
    Ended,
    #[error("cannot {attempt}: {source}")]
    System {
        attempt: &'static str,
        source: io::Error,
    },
}

impl LabError {
    /// An error of the system, with what was attempted: `cannot ATTEMPT: ...`.
    pub(crate) fn system(attempt: &'static str) -> impl Fn(io::Error) -> LabError {
        move |source| LabError::System { attempt, source }
    }
}

/// Remedy for a namespace that the kernel refuses; `otherwise` for the usual reason.
fn namespace_remedy(kind: &str, error: &io::Error, otherwise: &str) -> String {
    let limit = match kind {
        "network" => "max_net_namespaces",
        "process" => "max_pid_namespaces",
        "mount" => "max_mnt_namespaces",
        _ => "max_user_namespaces",
    };
    match error.raw_os_error() {
        Some(libc::ENOSPC) => format!(
            "no more of them are permitted: end programs that have some, or raise /proc/sys/user/{limit} as root"
        ),
        // Another namespace is opened below /proc.
        Some(libc::ENOENT) => {
            "/proc is missing: mount it as root (mount -t proc proc /proc)".to_owned()
        }
        _ => otherwise.to_owned(),
    }
}

fn sysctl_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "correct its name, or load the module that has it (`prestan lab exec --lab link client -- sysctl -a net` \
             lists those of this kernel)"
        }
        io::ErrorKind::PermissionDenied => {
            "leave it out: it cannot be set in a network namespace, or only by root"
        }
        _ => {
            "give a value that it takes (`prestan lab exec --lab link client -- sysctl -a net` lists those in force)"
        }
    }
}

fn tun_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "allow this user to read and write it (chmod 0666)",
        _ => "load the kernel module (modprobe tun)",
    }
}

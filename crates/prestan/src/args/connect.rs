//! Options of the access to a server. The comments on fields are the texts of `--help`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Command, Id};
use record::{AddressChoice, HttpVersion};
use wire::auth::AuthScheme;

use super::choices::{ADDRESSES, AUTH, HTTP, TLS_RESUMPTION, choice};
use super::name_and_value;

/// The options of [`ConnectOptions`], which do not apply to a server that a recipe starts.
pub(crate) fn connecting() -> Vec<Id> {
    let command = ConnectOptions::augment_args(Command::new(""));
    let options = command.get_arguments();
    options.map(|option| option.get_id().clone()).collect()
}

#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectOptions {
    /// User, or USER:PASSWORD
    ///
    /// Without a password, --password-file or PRESTAN_PASSWORD gives it. The default user is
    /// PRESTAN_USER.
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,

    /// Read the password from the first line of a file; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,

    /// Read a Bearer token from the first line of a file [default: PRESTAN_TOKEN]
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    pub(crate) token_file: Option<PathBuf>,

    /// Read user and password from ~/.netrc, or from the file given by NETRC
    #[arg(long)]
    pub(crate) netrc: bool,

    /// Authentication scheme
    #[arg(long, value_parser = choice(AUTH), default_value = "auto", value_name = "SCHEME")]
    pub(crate) auth: AuthScheme,

    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,

    /// Use IPv6 only
    #[arg(short = '6', long)]
    pub(crate) ipv6: bool,

    /// Connect to this address for this host and port; may be repeated, for several addresses as
    /// well
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = resolve)]
    pub(crate) resolve: Vec<engine::Resolve>,

    /// Which addresses of the host connections go to
    ///
    /// Where an address does not answer within 250 ms, or refuses a connection, the next one is
    /// tried, and remembered for the run (RFC 8305). The report has the connections to each
    /// address, and rows with responses from several have a warning.
    #[arg(long, value_parser = choice(ADDRESSES), default_value = "first", value_name = "CHOICE")]
    pub(crate) addresses: AddressChoice,

    /// Begin each connection with a line of the PROXY protocol (version 1), as behind HAProxy
    ///
    /// For servers that accept nothing else: HAProxy with accept-proxy, nginx with listen ...
    /// proxy_protocol.
    #[arg(long)]
    pub(crate) haproxy_protocol: bool,

    /// Connect to this Unix socket; host and path are those of the URL
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<PathBuf>,

    /// HTTP version; 2 needs a server that offers it over TLS, or for http:// one that speaks
    /// nothing else first (prior knowledge)
    #[arg(long, value_parser = choice(HTTP), default_value = "1.1", value_name = "VERSION")]
    pub(crate) http: HttpVersion,

    /// Server of a suite that has several `targets`; the first is that of the URL; may be repeated
    ///
    /// Credentials, certificates and --resolve are for all of them.
    #[arg(long = "target", value_name = "NAME=URL", value_parser = name_and_value,
          conflicts_with = "unix_socket")]
    pub(crate) targets: Vec<(String, String)>,

    /// Send this header with every request; may be repeated
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    /// Trust the certificates in this PEM file instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,

    /// Do not verify certificates: anyone on the network path can read and change everything
    #[arg(long, conflicts_with = "cacert")]
    pub(crate) insecure: bool,

    /// Client certificate (PEM), perhaps with its key
    #[arg(long, value_name = "FILE")]
    pub(crate) cert: Option<PathBuf>,

    /// Key of the client certificate (PEM) [default: the file of --cert]
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,

    /// Whether connections resume TLS sessions
    #[arg(long = "tls-resumption", action = ArgAction::Set, value_parser = choice(TLS_RESUMPTION), default_value = "on",
          value_name = "SWITCH")]
    pub(crate) full_handshakes: bool,
}

fn resolve(text: &str) -> Result<engine::Resolve, String> {
    let help = || "write HOST:PORT:ADDRESS, for example dav.example.org:443:127.0.0.1".to_owned();
    let (host, rest) = text.split_once(':').ok_or_else(help)?;
    let (port, address) = rest.split_once(':').ok_or_else(help)?;
    let address = address.trim_start_matches('[').trim_end_matches(']');
    Ok(engine::Resolve {
        host: host.to_owned(),
        port: port.parse().map_err(|_| help())?,
        address: address.parse().map_err(|_| help())?,
    })
}

//! `prestan demo` and `prestan serve`: the embedded server.

use std::net::{Ipv4Addr, SocketAddr};

use testbed::{DemoServer, Root};

use crate::args::{Cli, DemoArgs, Login, ServeArgs};
use crate::command::run::{SuiteText, measure};
use crate::connect::connection;
use crate::exit::{Code, Failed};
use crate::output::print_text;

/// Starts the embedded server, measures it, and leaves the run for `prestan report`.
pub(crate) fn demo(args: &DemoArgs) -> Result<Code, Failed> {
    let server = start(Root::Temporary, 0)?;
    let suite = SuiteText::find("prestan")?;
    let plain = <Cli as clap::Parser>::parse_from(["prestan", "http://127.0.0.1/"]).classic;
    let connection = connection(&server.url(), &Login::default(), &plain.options.connect)?;
    measure(&suite, connection, &args.load, &args.output)
}

/// Serves a directory until Ctrl-C.
pub(crate) fn serve(args: &ServeArgs) -> Result<Code, Failed> {
    let root = match &args.directory {
        Some(directory) => Root::Directory(directory.clone()),
        None => Root::Temporary,
    };
    let server = start(root, args.port)?;
    print_text(&format!(
        "serving {} at {}\n",
        server.root().display(),
        server.url()
    ))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failed::Local(format!("starting the event loop failed: {error}")))?;
    runtime.block_on(async {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())
            .map_err(|error| Failed::Local(format!("waiting for signals failed: {error}")))?;
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        Ok::<(), Failed>(())
    })?;
    drop(server);
    Ok(Code::Done)
}

fn start(root: Root, port: u16) -> Result<DemoServer, Failed> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    DemoServer::start(root, address)
        .map_err(|error| Failed::Local(format!("starting the embedded server failed: {error}")))
}

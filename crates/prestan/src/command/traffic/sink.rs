//! `prestan traffic sink`: receives background traffic until Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use flow::{PermittedPeers, SinkLimits, SinkSettings, TrafficSink};
use runner::background::token;
use runner::{RunnerError, start_thread};
use terminal::sink_watch::SinkWatch;

use crate::command::traffic::{AllowedNetwork, MaxRate, TrafficSinkArgs};
use crate::exit::ExitStatus;
use crate::signals::Signals;

/// Interval between two looks at counts.
const LOOK: Duration = Duration::from_millis(100);

pub(super) fn sink(args: &TrafficSinkArgs) -> Result<ExitStatus, RunnerError> {
    let settings = SinkSettings {
        listen: args.listen,
        token: token(args.token_file.as_deref())?,
        limits: SinkLimits {
            bytes_per_second: match args.max_rate {
                MaxRate::Limited(rate) => Some(rate.bits_per_second() / 8),
                MaxRate::Unlimited => None,
            },
            flows: args.max_flows,
            duration: args.max_time,
            peers: peers(&args.allow),
            longest_silence: args.silence,
            ..SinkLimits::default()
        },
    };
    // Each flow of TCP has a socket.
    limits::raise_open_files();
    let mut signals = Signals::listen()?;
    let sink = TrafficSink::start(settings).map_err(|error| {
        RunnerError::Local(format!(
            "{error}; choose another address with --listen, or port 0 for any that is free"
        ))
    })?;
    let is_over = Arc::new(AtomicBool::new(false));
    let for_thread = Arc::clone(&is_over);
    let wait = move || {
        signals.wait();
        for_thread.store(true, Ordering::SeqCst);
    };
    start_thread(wait)?;
    let mut watch = SinkWatch::begin(&sink, args.json)?;
    while !is_over.load(Ordering::SeqCst) {
        watch.look(&sink)?;
        thread::sleep(LOOK);
    }
    watch.look(&sink)?;
    sink.stop();
    Ok(ExitStatus::Done)
}

fn peers(allowed: &[AllowedNetwork]) -> PermittedPeers {
    if allowed.is_empty() {
        return PermittedPeers::Loopback;
    }
    let network = |allowed: &AllowedNetwork| match allowed {
        AllowedNetwork::Any => None,
        AllowedNetwork::Network(address, bits) => Some((*address, *bits)),
    };
    let networks: Option<Vec<_>> = allowed.iter().map(network).collect();
    networks.map_or(PermittedPeers::Any, PermittedPeers::Networks)
}

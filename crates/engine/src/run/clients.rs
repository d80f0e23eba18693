//! The clients of a run, and one for a few requests outside of any.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::clock::RunClock;
use crate::clock::timekeeper::Timekeeper;
use crate::connection::addresses::Destination;
use crate::connection::client::{Client, ClientConfig};
use crate::connection::dial::Dialer;
use crate::connection::http1::scratch;
use crate::connection::route::Endpoint;
use crate::connection::silent_closes::SilentCloses;
use crate::connection::tls::for_connections;
use crate::drive::worker::event_loop;
use crate::error::RunError;
use crate::event_loop::cancel::Cancel;
use crate::event_loop::patience::Watchdog;
use crate::event_loop::within;
use crate::run::spec::RunPlace;
use crate::watch::exhaustion::Exhaustion;
use crate::watch::heads::Heads;
use crate::watch::journal::Journal;
use crate::watch::progress::Observer;

/// Resources shared by all clients of a run.
#[derive(Clone)]
pub(super) struct ClientResources {
    pub(super) time: Arc<Timekeeper>,
    pub(super) exhaustion: Arc<Exhaustion>,
    pub(super) heads: Option<Arc<Heads>>,
    pub(super) closes: Arc<SilentCloses>,
    /// Destinations of connections to each of the endpoints.
    pub(super) destinations: Vec<Destination>,
    pub(super) opened: Arc<AtomicU32>,
}

/// Destinations of connections to each of the endpoints, for all clients of a run.
pub(super) fn destinations(
    place: &RunPlace,
    seed: u64,
    journal: &Arc<Journal>,
) -> Vec<Destination> {
    let choice = place.http.connections.addresses;
    let endpoints = place.endpoints();
    let destination =
        |endpoint: &Endpoint| Destination::new(&endpoint.route, choice, seed, journal);
    endpoints.map(destination).collect()
}

/// Settings of clients for the server of an endpoint, given with its number, below `root`.
pub(super) fn client_config(
    place: &RunPlace,
    (number, endpoint): (usize, &Endpoint),
    root: String,
    means: &ClientResources,
    watchdog: &Rc<Watchdog>,
) -> ClientConfig {
    let Endpoint { target, tls, .. } = endpoint;
    let dialer = Dialer::new(
        target.clone(),
        means.destinations[number].clone(),
        for_connections(tls, &place.http.connections),
        Arc::clone(&means.time),
        Arc::clone(&means.exhaustion),
        Arc::clone(&means.opened),
        place.http.timeout,
    )
    .beginning_as(&place.http.connections);
    ClientConfig {
        dialer,
        target: target.clone(),
        root,
        authority: target.authority(),
        headers: place.http.headers.clone(),
        http: place.http.connections,
        time: Arc::clone(&means.time),
        timeout: place.http.timeout,
        watchdog: Rc::clone(watchdog),
        scratch: scratch(),
        heads: means.heads.clone(),
        closes: Arc::clone(&means.closes),
    }
}

/// Seed of the choice of addresses: consecutive calls choose the same one, so that a call finds
/// what the last one made.
const ADDRESS_SEED: u64 = 0;

/// A client for a few requests outside of any run, whose heads the observer may receive.
pub(crate) fn with_client<T>(
    place: &RunPlace,
    observer: &Arc<dyn Observer>,
    cancel: &Cancel,
    work: impl AsyncFnOnce(&mut Client) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let clock = RunClock::start();
    let journal = Arc::new(Journal::new(clock, Arc::clone(observer), 0));
    let means = ClientResources {
        time: Arc::new(Timekeeper::plain(clock)),
        destinations: destinations(place, ADDRESS_SEED, &journal),
        exhaustion: Arc::default(),
        heads: Heads::wanted_by(observer, &place.http.headers),
        closes: Arc::default(),
        opened: Arc::default(),
    };
    let watchdog = Rc::new(Watchdog::new(means.time.clock));
    let endpoint = &place.endpoint;
    let root = endpoint.target.path().to_owned();
    let config = client_config(place, (0, endpoint), root, &means, &watchdog);
    let nonces = ChaCha8Rng::seed_from_u64(rand::random());
    let auth = endpoint.authenticator(place.http.auth);
    let mut client = Client::new(Rc::new(config), auth, nonces);
    let limit = Duration::from_secs(3600);
    let bounded = async {
        match within(limit, work(&mut client)).await {
            Some(result) => result,
            None => Err(RunError::Local(format!("gave up after {limit:?}"))),
        }
    };
    event_loop()?.run(watchdog.guard(cancel, || (), bounded))
}

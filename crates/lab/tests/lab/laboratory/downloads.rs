//! The kernel's TCP as the client of a bare host, behind a router and a link that loses frames.
//!
//! ```text
//!  client eth0 == forwarder == r0 router r1 == bare host
//! ```

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use bare::{
    BareServer, BareServerSettings, CongestionControl, EndedConnection, SenderSettings,
    ServedFiles, test_pattern,
};
use lab::{
    BareHost, BareHostReport, Delay, Forwarder, ForwarderSettings, Impairment, Lab, Namespace, Tap,
};
use trace::rto::{PAPER_WEIGHTS, RtoEstimator, RtoFormula, SamplingStrategy};

const DEADLINE: Duration = Duration::from_secs(60);

const SERVER_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 2);
const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 2);

struct Scene {
    client: Namespace,
    lab: Lab,
    _router: Namespace,
    _forwarder: Forwarder,
    host: BareHost,
}

impl Scene {
    /// `None`, with a message, if no laboratory can be built here; where `CI` is set, that is a
    /// failure.
    fn new(sender: SenderSettings, loss: f64) -> Option<Scene> {
        match lab::check_requirements() {
            Ok(()) => Some(Scene::build(sender, loss)),
            Err(error) if std::env::var_os("CI").is_none() => {
                eprintln!("skipped: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn build(sender: SenderSettings, loss: f64) -> Scene {
        let client = Namespace::new("client").unwrap();
        let router = Namespace::new("router").unwrap();
        // Link-local addresses are used at once, without two seconds of duplicate address
        // detection.
        for namespace in [&client, &router] {
            let detection = [("net.ipv6.conf.default.dad_transmits", "0")];
            namespace.sysctl(&detection).unwrap();
        }
        let client_tap = Tap::create(&client, "eth0").unwrap();
        let taps = ["r0", "r1"].map(|device| Tap::create(&router, device).unwrap());
        // Without losses at the devices: their queues hold a whole window.
        let device = |name: &str, ipv4: &str, ipv6: &str| {
            [
                format!("link set dev {name} txqueuelen 10000 up"),
                format!("addr add {ipv4} dev {name}"),
                format!("addr add {ipv6} dev {name} nodad"),
            ]
        };
        let ip = |namespace: &Namespace, commands: &[String]| {
            let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
            namespace.ip(&commands).unwrap();
        };
        ip(&client, &device("eth0", "198.18.0.1/24", "2001:2::1/64"));
        ip(&router, &device("r0", "198.18.0.254/24", "2001:2::fe/64"));
        ip(
            &router,
            &device("r1", "198.18.1.254/24", "2001:2:0:1::fe/64"),
        );
        let forwarding = [
            ("net.ipv4.ip_forward", "1"),
            ("net.ipv6.conf.all.forwarding", "1"),
        ];
        router.sysctl(&forwarding).unwrap();
        let address = "2001:2::1".parse().unwrap();
        client.wait_for_ipv6(address).unwrap();
        client
            .ip(&[
                "route add default via 198.18.0.254",
                "route add default via 2001:2::fe",
            ])
            .unwrap();
        let [r0, r1] = taps;
        let delayed = Impairment {
            delay: Delay {
                base: Duration::from_millis(5),
                ..Delay::default()
            },
            ..Impairment::default()
        };
        let settings = ForwarderSettings {
            back: Impairment {
                loss,
                ..delayed.clone()
            },
            forth: delayed,
            ..ForwarderSettings::default()
        };
        Scene {
            _forwarder: Forwarder::start(client_tap, r0, &settings).unwrap(),
            lab: Lab::new().unwrap(),
            host: BareHost::start(r1, server(sender)).unwrap(),
            client,
            _router: router,
        }
    }

    /// Downloads over a connection of the kernel's TCP. Returns the body.
    fn download(&self, ip: IpAddr, path: &str) -> Vec<u8> {
        let mut stream = self
            .client
            .run(|| TcpStream::connect_timeout(&SocketAddr::new(ip, 80), DEADLINE))
            .unwrap()
            .unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let request = format!("GET {path} HTTP/1.0\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        let head = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        response.split_off(head.unwrap() + 4)
    }

    /// The report, once this many connections have ended.
    fn ended(self, count: usize) -> BareHostReport {
        let start = Instant::now();
        let mut ended: Vec<EndedConnection> = Vec::new();
        while ended.len() < count {
            assert!(start.elapsed() < DEADLINE, "{} ended", ended.len());
            ended.extend(self.host.report().ended);
            std::thread::yield_now();
        }
        let mut report = self.host.stop().unwrap();
        report.ended = ended;
        report
    }
}

fn server(sender: SenderSettings) -> BareServer {
    let settings = BareServerSettings {
        ipv4: Some(SERVER_V4),
        ipv6: Some(SERVER_V6),
        time_wait_ns: 20_000_000,
        ..BareServerSettings::new([2, 0, 0, 0, 1, 2], sender)
    };
    BareServer::new(settings, ServedFiles::paper()).unwrap()
}

fn senders() -> Vec<(&'static str, SenderSettings)> {
    vec![
        (
            "bare",
            SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One),
        ),
        (
            "Reno",
            SenderSettings::conventional(CongestionControl::Reno),
        ),
        (
            "CUBIC",
            SenderSettings::conventional(CongestionControl::Cubic),
        ),
        ("not IIS", SenderSettings::not_iis()),
    ]
}

#[test]
fn the_kernel_downloads_the_files_of_the_dissertation() {
    for (name, sender) in senders() {
        for loss in [0.0, 0.01] {
            let Some(scene) = Scene::new(sender, loss) else {
                return;
            };
            for ip in [IpAddr::V4(SERVER_V4), IpAddr::V6(SERVER_V6)] {
                for kib in [504, 320, 160] {
                    let body = scene.download(ip, &format!("/{kib}k"));
                    assert!(
                        body == test_pattern(kib * 1024),
                        "{name}: {kib} KiB from {ip}"
                    );
                }
            }
            let report = scene.ended(6);
            let sender = report.server.sender;
            assert_eq!(
                (report.server.aborted, report.refused_frames),
                (0, 0),
                "{name}"
            );
            if loss > 0.0 {
                assert!(sender.resent_segments > 0, "{name}: {sender:?}");
            } else {
                assert_eq!(sender.fast_retransmits, 0, "{name}: {sender:?}");
            }
            check_logs(name, &report.ended);
        }
    }
}

/// Round trips are at least those of the link, and timeouts follow from them.
fn check_logs(name: &str, ended: &[EndedConnection]) {
    for connection in ended {
        let mut estimator = RtoEstimator::new(RtoFormula::paper(PAPER_WEIGHTS[0]));
        assert!(connection.round_trips.count() > 0, "{name}");
        for entry in connection.round_trips.entries() {
            estimator.add(entry.sample.rtt_ns as f64);
            assert_eq!(Some(entry.srtt_ns), estimator.srtt_ns(), "{name}");
            assert!(entry.sample.rtt_ns >= 10_000_000, "{name}: {entry:?}");
        }
    }
}

/// Curl: two files over one connection, with their lengths checked.
#[test]
fn curl_reuses_its_connection() {
    let Some(scene) = Scene::new(SenderSettings::conventional(CongestionControl::Cubic), 0.0)
    else {
        return;
    };
    let mut command = Command::new("curl");
    command.args([
        "-sS",
        "-g",
        "--max-time",
        "60",
        "-w",
        "%{http_code} %{num_connects} %{size_download}\n",
    ]);
    for path in ["160k", "none"] {
        command.args(["-o", "/dev/null", &format!("http://[{SERVER_V6}]/{path}")]);
    }
    command.stdout(std::process::Stdio::piped());
    let child = match scene.lab.spawn(&scene.client, command) {
        Ok(child) => child,
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, "200 1 163840\n404 0 0\n");
    let report = scene.ended(1);
    assert_eq!(report.server.requests, 2);
}

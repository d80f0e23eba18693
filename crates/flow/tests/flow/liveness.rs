//! Real processes that are killed: the other side stops within two seconds.
//!
//! The processes are this test program itself, which runs one of its ignored tests.

use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use flow::FlowTransport::{Tcp, Udp};
use flow::external::{
    ExternalDestination, ExternalGenerator, ExternalRole, ExternalSettings, ReadyCondition,
};
use flow::source::FlowPlan;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::support::{PATIENCE, free_udp_port, sink, source};

/// Time limit for the other side to stop.
const LIMIT: Duration = Duration::from_secs(2);
/// Variable with the address of the sink, or with the file to be written.
const SINK: &str = "PRESTAN_TEST_SINK";

fn flows() -> Vec<FlowPlan> {
    let minute = Duration::from_secs(60);
    let paced = |transport| FlowPlan::paced(transport, 1000, 1_000_000, minute);
    vec![paced(Udp), paced(Tcp), FlowPlan::full(Tcp, 8192, minute)]
}

/// A process, which ends with this one: its standard input ends then.
struct Process {
    child: Child,
    _stdin: ChildStdin,
    output: String,
}

impl Process {
    /// Starts a test of this program as a process, and waits for its output.
    fn start(test: &str, sink: &str) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored"]);
        command.args(["--nocapture", "--test-threads=1"]);
        command.env(SINK, sink);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let output = lines.map_while(Result::ok).find_map(|line| {
            let (_, output) = line.split_once("ready: ")?;
            Some(output.to_owned())
        });
        let stdin = child.stdin.take().unwrap();
        Process {
            child,
            _stdin: stdin,
            output: output.unwrap(),
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints a line for the parent, and stays until it ends.
fn print_and_stay(output: &str) {
    println!("ready: {output}");
    std::io::stdout().flush().unwrap();
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
}

#[test]
#[ignore = "a process of other tests"]
fn sink_process() {
    let sink = sink();
    print_and_stay(&sink.address().to_string());
}

#[test]
#[ignore = "a process of other tests"]
fn source_process() {
    let Ok(sink) = std::env::var(SINK) else {
        return;
    };
    let source = source(sink.parse().unwrap(), flows());
    source.ready(PATIENCE).unwrap();
    print_and_stay("sending");
}

#[test]
#[ignore = "a process of other tests"]
fn generator_process() {
    let Ok(file) = std::env::var(SINK) else {
        return;
    };
    // A child of the generator has another parent than this process.
    let script = "sleep 60 & echo $$ $! > \"$1\"; echo ready; wait";
    let leaves_its_group = file.ends_with(LEFT).then_some("setsid");
    let arguments = ["sh", "-c", script, "{destination}", &file];
    let arguments = leaves_its_group.into_iter().chain(arguments);
    let arguments = arguments.map(str::to_owned).collect();
    let destination = ExternalDestination::loopback("127.0.0.1".parse().unwrap()).unwrap();
    let generator = ExternalGenerator::start(ExternalSettings {
        ready: ReadyCondition::Line("ready".to_owned()),
        ..ExternalSettings::new(ExternalRole::Source, arguments, destination)
    })
    .unwrap();
    generator.ready(PATIENCE).unwrap();
    print_and_stay("generating");
}

/// The end of a file's name by which a generator leaves its group.
const LEFT: &str = "-left";

#[test]
fn an_external_generator_ends_when_this_program_is_killed() {
    ends_with_this_program("pid");
}

#[test]
fn an_external_generator_that_left_its_group_ends_when_this_program_is_killed() {
    ends_with_this_program(&format!("pid{LEFT}"));
}

fn ends_with_this_program(name: &str) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(name);
    let process = Process::start("liveness::generator_process", &file.display().to_string());
    let numbers = std::fs::read_to_string(&file).unwrap();
    let numbers = numbers.split_whitespace().map(|number| number.parse());
    let generators = numbers.map(|number| Pid::from_raw(number.unwrap()).unwrap());
    let generators: Vec<Pid> = generators.collect();
    assert_eq!(generators.len(), 2);
    assert!(generators.iter().all(|pid| test_kill_process(*pid).is_ok()));
    process.signal(Signal::KILL);
    // It may stay a zombie until init has reaped it.
    let is_gone = |pid: &Pid| {
        let state = format!("/proc/{}/stat", pid.as_raw_nonzero());
        std::fs::read_to_string(state).map_or(true, |state| state.contains(") Z "))
    };
    let time = time_until("the generator ends", || generators.iter().all(is_gone));
    assert!(time < LIMIT, "{time:?}");
}

fn time_until(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
    begin.elapsed()
}

#[test]
fn a_source_stops_when_its_sink_is_killed_or_silent() {
    for signal in [Signal::KILL, Signal::STOP] {
        let sink = Process::start("liveness::sink_process", "");
        let address = sink.output.parse().unwrap();
        let source = source(address, flows());
        time_until("something is sent", || !source.readings().is_empty());
        sink.signal(signal);
        let time = time_until("the source stops", || !source.is_active());
        assert!(time < LIMIT, "{signal:?}: {time:?}");
        let totals = source.stop().unwrap();
        let failure = totals.failure.unwrap().to_string();
        assert!(failure.contains("control connection was lost"), "{failure}");
        assert!(totals.flows.iter().all(|flow| flow.sent_bytes > 0));
    }
}

#[test]
fn a_sink_stops_when_its_source_is_killed_or_silent() {
    for signal in [Signal::KILL, Signal::STOP] {
        let sink = sink();
        let source = Process::start("liveness::source_process", &sink.address().to_string());
        assert_eq!(sink.status().flows, 3);
        let ports = |sink: &flow::SinkHandle| sink.readings().len();
        time_until("counts are there", || ports(&sink) == 1);
        source.signal(signal);
        let time = time_until("the sink stops", || sink.status().failed_sessions == 1);
        assert!(time < LIMIT, "{signal:?}: {time:?}");
        let status = sink.status();
        assert_eq!((status.flows, status.sessions), (0, 0));
        assert_eq!(ports(&sink), 0);
    }
}

#[test]
fn datagrams_end_with_the_control_connection() {
    // The datagrams go to a port of this test, which records the arrival of the last one.
    let sink = Process::start("liveness::sink_process", "");
    let port = free_udp_port();
    let mut flow = flows().remove(0);
    flow.options.sink_port = Some(port);
    let source = source(sink.output.parse().unwrap(), vec![flow]);
    source.ready(PATIENCE).unwrap();
    sink.signal(Signal::KILL);
    let killed = Instant::now();
    // The port is free again as soon as the sink is gone.
    let mut socket = None;
    time_until("the port is free", || {
        socket = UdpSocket::bind(("127.0.0.1", port)).ok();
        socket.is_some()
    });
    let socket = socket.unwrap();
    let mut last = killed.elapsed();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    while socket.recv(&mut [0; 2000]).is_ok() {
        last = killed.elapsed();
    }
    assert!(last < LIMIT, "{last:?}");
}

//! A server that executes commands, one per line.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hint;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use record::CallTarget;
use rustix::process::Pid;
use tempfile::TempDir;

pub(crate) const COLLECTION: &str = "PrestanTest-1";
const DIRECTORY: &str = "PRESTAN_TRACED_DIRECTORY";

/// Numbers of calls by name.
pub(crate) type Calls = HashMap<String, u64>;

pub(crate) fn file(path: &str) -> CallTarget {
    CallTarget::File {
        path: path.to_owned(),
    }
}

pub(crate) fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !condition() {
        assert!(Instant::now() < deadline, "it did not happen");
        thread::yield_now();
    }
}

pub(crate) struct Traced {
    pub(crate) directory: TempDir,
    pub(crate) child: Child,
    commands: Option<ChildStdin>,
    responses: BufReader<ChildStdout>,
}

fn prepared() -> TempDir {
    let directory = tempfile::Builder::new().prefix("traced").tempdir().unwrap();
    fs::create_dir(directory.path().join(COLLECTION)).unwrap();
    fs::create_dir(directory.path().join("locks")).unwrap();
    fs::write(directory.path().join(COLLECTION).join("kept"), "kept").unwrap();
    directory
}

/// Runs the test `server` of this program only.
const ARGUMENTS: [&str; 4] = ["--exact", "server", "--nocapture", "--test-threads=1"];

impl Traced {
    pub(crate) fn start() -> Traced {
        let directory = prepared();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(ARGUMENTS)
            .env(DIRECTORY, directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut server = Traced {
            directory,
            commands: child.stdin.take(),
            responses: BufReader::new(child.stdout.take().unwrap()),
            child,
        };
        server.perform("nothing");
        server
    }

    /// Sends a command; returns after its response.
    pub(crate) fn perform(&mut self, command: &str) {
        let commands = self.commands.as_mut().unwrap();
        commands
            .write_all(format!("{command}\n").as_bytes())
            .unwrap();
        let mut line = String::new();
        // The first follows the output of the test program itself.
        while !line.trim_end().ends_with("done") {
            line.clear();
            let read = self.responses.read_line(&mut line).unwrap();
            assert_ne!(read, 0, "{command}");
        }
    }

    /// Ends its commands, and waits for its end.
    pub(crate) fn leave(&mut self) {
        self.commands = None;
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn status(&self, name: &str) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim_start_matches(':').trim().to_owned()
    }

    pub(crate) fn state(&self) -> char {
        self.status("State").chars().next().unwrap()
    }

    pub(crate) fn tracer(&self) -> u32 {
        self.status("TracerPid").parse().unwrap()
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The calls of a server from its start to its end, as strace counts them.
pub(crate) fn calls_by_strace(commands: &[&str]) -> Calls {
    let directory = prepared();
    let counts = directory.path().join("counts");
    let mut strace = Command::new("strace")
        .args(["-f", "-c", "-U", "name,calls", "-o"])
        .arg(&counts)
        .arg(std::env::current_exe().unwrap())
        .args(ARGUMENTS)
        .env(DIRECTORY, directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines: String = commands.iter().map(|line| format!("{line}\n")).collect();
    let mut input = strace.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    assert!(strace.wait().unwrap().success());
    let table = fs::read_to_string(&counts).unwrap();
    let calls = table.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let call = fields.next()?.to_owned();
        Some((call, fields.next()?.parse().ok()?))
    });
    calls.collect()
}

/// Does nothing, unless this program was started by [`Traced::start`].
pub(crate) fn serve() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let directory = Path::new(&directory);
    let collection = directory.join(COLLECTION);
    let mut listening = None;
    let mut queue = None;
    let mut connected: Vec<Box<dyn Write>> = Vec::new();
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        let (command, argument) = line.split_once(' ').unwrap_or((&line, ""));
        match command {
            "nothing" => {}
            "files" => files(directory, &collection),
            "threads" => threads(&collection),
            "locks" => locks(&collection),
            "work" => work(),
            "program" => program(&collection),
            "interrupted" => interrupted(),
            "listen" => {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                listening = Some((listener, argument.to_owned()));
            }
            "serve" => {
                let (listener, database) = listening.as_ref().unwrap();
                connection(listener, database);
            }
            "lose" => lose_first_thread(),
            "connect" => {
                let (listener, database) = listening.as_ref().unwrap();
                connected = connections(listener, database, directory);
            }
            "respond" => {
                for connection in &mut connected {
                    connection.write_all(b"four").unwrap();
                }
            }
            "later" => {
                respond();
                let file = File::create(collection.join("later")).unwrap();
                for _ in 0..50 {
                    file.sync_all().unwrap();
                }
                continue;
            }
            "synchronous" => synchronous(&collection),
            "bits32" => bits32(directory),
            "ring" => queue = ring(directory),
            "close" => drop(queue.take()),
            "compute" => {
                thread::spawn(|| {
                    loop {
                        hint::spin_loop();
                    }
                });
            }
            _ => panic!("{command}"),
        }
        respond();
    }
}

fn respond() {
    io::stdout().write_all(b"done\n").unwrap();
    io::stdout().flush().unwrap();
}

fn files(directory: &Path, collection: &Path) {
    let (new, old) = (collection.join("new"), collection.join("old"));
    let mut file = File::create(&new).unwrap();
    for _ in 0..3 {
        file.write_all(b"five!").unwrap();
    }
    file.sync_all().unwrap();
    file.sync_all().unwrap();
    drop(file);
    fs::rename(&new, &old).unwrap();
    for _ in 0..3 {
        fs::metadata(&old).unwrap();
    }
    fs::remove_file(&old).unwrap();
    let locks = directory.join("locks");
    File::create(locks.join("17")).unwrap();
    fs::metadata(locks.join("17")).unwrap();
    assert!(File::open(locks.join("18")).is_err());
}

fn threads(collection: &Path) {
    thread::scope(|scope| {
        for number in 0..3 {
            let path = collection.join(number.to_string());
            scope.spawn(move || {
                let file = File::create(path).unwrap();
                for _ in 0..5 {
                    file.sync_all().unwrap();
                }
            });
        }
    });
}

/// Duration of each wait.
const HELD: Duration = Duration::from_millis(20);

/// Waits for a lock of another thread, and then for the lock of a file.
fn locks(collection: &Path) {
    let lock = Mutex::new(());
    let (is_held, held) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = lock.lock().unwrap();
            let file = File::open(collection.join("kept")).unwrap();
            file.lock().unwrap();
            is_held.send(()).unwrap();
            thread::sleep(HELD);
            drop(guard);
            thread::sleep(HELD);
            file.unlock().unwrap();
        });
        held.recv().unwrap();
        drop(lock.lock().unwrap());
        let file = File::open(collection.join("kept")).unwrap();
        file.lock().unwrap();
    });
}

/// Another thread does the work, as in a thread pool.
fn work() {
    let (is_done, done) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(HELD);
            *is_done.lock().unwrap() = true;
            done.notify_all();
        });
        let mut guard = is_done.lock().unwrap();
        while !*guard {
            guard = done.wait(guard).unwrap();
        }
    });
}

/// Two writes that wait for the disk, and one that does not.
fn synchronous(collection: &Path) {
    let path = collection.join("synchronous");
    let open = |flags| {
        let mut options = OpenOptions::new();
        options.create(true).append(true).custom_flags(flags);
        options.open(&path).unwrap()
    };
    for flags in [libc::O_DSYNC, libc::O_SYNC, 0] {
        open(flags).write_all(b"five!").unwrap();
    }
}

/// A queue of io_uring, unless this kernel refuses it.
fn ring(directory: &Path) -> Option<OwnedFd> {
    /// Length of `struct io_uring_params`.
    const PARAMETERS: usize = 120;
    let mut parameters = [0_u64; PARAMETERS / 8];
    // SAFETY: the kernel reads and writes the parameters, for which there is room.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 4, parameters.as_mut_ptr()) };
    let Some(ring) = i32::try_from(ring).ok().filter(|ring| *ring >= 0) else {
        File::create(directory.join("refused")).unwrap();
        return None;
    };
    // SAFETY: the kernel has just opened it, and no other code uses it.
    Some(unsafe { OwnedFd::from_raw_fd(ring) })
}

/// Runs a program with the numbers of i386: `fdatasync(1)`,
/// `socketcall(SYS_SOCKET, {AF_UNIX, SOCK_STREAM, 0})`, `exit(0)`.
fn bits32(directory: &Path) {
    const HEADERS: [u32; 21] = [
        0x464c_457f, // of the file: ELF, 32 bits
        0x0001_0101,
        0,
        0,
        0x0003_0002, // a program for i386
        1,
        0x0804_8054, // where it begins
        52,
        0,
        0,
        0x0020_0034,
        1,
        0,
        1, // of its only part, which is all of the file
        0,
        0x0804_8000,
        0x0804_8000,
        134,
        134,
        5,
        4096,
    ];
    const CODE: [u8; 38] = [
        0xb8, 148, 0, 0, 0, 0xbb, 1, 0, 0, 0, 0xcd,
        0x80, // mov $148, %eax; mov $1, %ebx; int $0x80
        0xb8, 102, 0, 0, 0, 0xbb, 1, 0, 0, 0, 0xb9, 0x7a, 0x80, 0x04, 0x08, 0xcd,
        0x80, // ecx: the data
        0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80,
    ];
    const DATA: [u32; 3] = [1, 1, 0];
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let parts: [Vec<u8>; 3] = [words(&HEADERS), CODE.to_vec(), words(&DATA)];
    let program = directory.join("program");
    fs::write(&program, parts.concat()).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o700)).unwrap();
    if Command::new(&program).output().is_err() {
        File::create(directory.join("refused")).unwrap();
    }
}

fn program(collection: &Path) {
    let status = Command::new("sh")
        .args(["-c", "cat kept; sh -c 'kill -9 $$'; :"])
        .current_dir(collection)
        .env_remove("LD_LIBRARY_PATH") // of cargo; each program would search its libraries there
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

/// A child signals its parent while that waits for it: a signal without a handler, and to stop and
/// continue.
fn interrupted() {
    let this_process = std::process::id();
    let script = format!(
        "kill -WINCH {this_process}; kill -WINCH {this_process}; kill -STOP {this_process}; kill -CONT {this_process}"
    );
    let mut child = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    assert!(child.wait().unwrap().success());
}

fn connection(listener: &TcpListener, database: &str) {
    let address = listener.local_addr().unwrap();
    let client = thread::spawn(move || {
        let mut client = TcpStream::connect(address).unwrap();
        let mut response = Vec::new();
        client.read_to_end(&mut response).unwrap();
        response
    });
    let (mut accepted, _) = listener.accept().unwrap();
    let mut database = TcpStream::connect(database).unwrap();
    database.write_all(b"sql").unwrap();
    accepted.write_all(b"four").unwrap();
    drop(accepted);
    assert_eq!(client.join().unwrap(), b"four");
}

/// Ends the first thread, as `pthread_exit` in `main` does.
fn lose_first_thread() {
    extern "C" fn end_thread(_: i32) {
        // SAFETY: the system call ends this thread, and nothing waits for its resources.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
    let handler: extern "C" fn(i32) = end_thread;
    let pid = std::process::id();
    // SAFETY: the handler makes one system call. The first thread waits for the one that runs this.
    unsafe {
        libc::signal(libc::SIGUSR1, handler as libc::sighandler_t);
        libc::syscall(libc::SYS_tgkill, pid, pid, libc::SIGUSR1);
    }
    until(|| {
        fs::read_to_string("/proc/self/status")
            .unwrap()
            .contains("State:\tZ")
    });
}

/// One of a client, one with a database, one with a local socket; their other ends stay open, too.
fn connections(listener: &TcpListener, database: &str, directory: &Path) -> Vec<Box<dyn Write>> {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    let database = TcpStream::connect(database).unwrap();
    let path = directory.join("socket");
    let local = UnixListener::bind(&path).unwrap();
    let stream = UnixStream::connect(&path).unwrap();
    std::mem::forget((client, local));
    vec![Box::new(accepted), Box::new(database), Box::new(stream)]
}

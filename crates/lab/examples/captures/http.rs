//! A small HTTP server and client, whose system calls determine the segments.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lab::TwoHosts;
use socket2::{Domain, Socket, Type};

/// Behaviour of a client.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClientHabits {
    /// Uses IPv6.
    pub(crate) uses_ipv6: bool,
    /// Size of its receive buffer, in bytes.
    pub(crate) receive_buffer: Option<usize>,
    /// Pause before it reads a response.
    pub(crate) pause: Duration,
}

/// Performs the requests one after the other, over one connection. Each is a list of writes, and
/// each response is read in full.
pub(crate) fn converse(
    hosts: &TwoHosts,
    habits: ClientHabits,
    requests: &[Vec<String>],
) -> io::Result<()> {
    let (address, server) = start_server(hosts, habits.uses_ipv6)?;
    let connect = || -> io::Result<TcpStream> {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::STREAM, None)?;
        if let Some(bytes) = habits.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.connect(&address.into())?;
        Ok(socket.into())
    };
    let stream = hosts.client.run(connect).map_err(io::Error::other)??;
    let mut reader = BufReader::with_capacity(4096, &stream);
    for writes in requests {
        for text in writes {
            (&stream).write_all(text.as_bytes())?;
        }
        thread::sleep(habits.pause);
        let length = read_head(&mut reader)?.1;
        io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
    }
    drop(stream);
    let served = server.join();
    served.map_err(|_| io::Error::other("the server panicked"))?
}

/// The request for a response of this many bytes, head included.
pub(crate) fn get(bytes: usize) -> Vec<String> {
    vec![format!(
        "GET /total/{bytes} HTTP/1.1\r\nHost: server\r\n\r\n"
    )]
}

/// A request whose head and body are written each by one system call.
pub(crate) fn put_in_two_writes(bytes: usize) -> Vec<String> {
    let head =
        format!("PUT /total/200 HTTP/1.1\r\nHost: server\r\nContent-Length: {bytes}\r\n\r\n");
    vec![head, "b".repeat(bytes)]
}

/// Serves one connection.
fn start_server(
    hosts: &TwoHosts,
    uses_ipv6: bool,
) -> io::Result<(SocketAddr, JoinHandle<io::Result<()>>)> {
    let ip = if uses_ipv6 {
        IpAddr::V6(TwoHosts::SERVER.ipv6)
    } else {
        IpAddr::V4(TwoHosts::SERVER.ipv4)
    };
    let address = SocketAddr::new(ip, 80);
    let bind = || TcpListener::bind(address);
    let listener = hosts.server.run(bind).map_err(io::Error::other)??;
    let serve = move || {
        let (stream, _) = listener.accept()?;
        let mut reader = BufReader::new(&stream);
        loop {
            let (path, length) = match read_head(&mut reader) {
                Ok(request) => request,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            };
            io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
            let total = path.rsplit('/').next().and_then(|size| size.parse().ok());
            (&stream).write_all(&response(total.unwrap_or(0)))?;
        }
    };
    Ok((address, thread::spawn(serve)))
}

/// The second word of the first line (path of a request, status of a response), and the length of
/// the body.
fn read_head(reader: &mut impl BufRead) -> io::Result<(String, u64)> {
    let mut first = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Ok((first, length));
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse().unwrap_or(0);
        }
        if first.is_empty() {
            first = line.split(' ').nth(1).unwrap_or_default().to_owned();
        }
    }
}

/// A response of this many bytes, head included.
fn response(total: usize) -> Vec<u8> {
    let head = |body: usize| {
        format!(
            "HTTP/1.1 200 OK\r\nServer: lab\r\nContent-Type: text/plain\r\nContent-Length: {body}\r\n\r\n"
        )
    };
    let mut body = total.saturating_sub(head(total).len());
    if head(body).len() + body < total {
        body = total - head(body).len();
    }
    let mut bytes = head(body).into_bytes();
    bytes.extend((0..body).map(|at| b'a' + (at % 26) as u8));
    bytes
}

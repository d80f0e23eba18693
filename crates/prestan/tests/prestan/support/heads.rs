//! A server that responds as soon as the head of a request has arrived, for behaviour that the
//! fault server lacks.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Response to a head, and whether the connection stays open.
pub(crate) type Response = (Vec<u8>, bool);

/// Starts it; each connection has a copy of `respond`. Bodies stay unread, and its threads end with
/// the process of the test.
pub(crate) fn answering<F>(respond: F) -> SocketAddr
where
    F: FnMut(&[u8]) -> Response + Clone + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let respond = respond.clone();
            thread::spawn(move || serve(&stream, respond));
        }
    });
    address
}

fn serve(stream: &TcpStream, mut respond: impl FnMut(&[u8]) -> Response) {
    let mut reader = BufReader::with_capacity(512, stream);
    let mut stays = true;
    while stays {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if reader.read_until(b'\n', &mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let (response, goes_on) = respond(&head);
        let mut writer = stream;
        stays = writer.write_all(&response).is_ok() && goes_on;
    }
}

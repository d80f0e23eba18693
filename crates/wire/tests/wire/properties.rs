//! Properties that hold for all bytes.

use crate::feed::{assert_same, feed, feed_to};
use proptest::prelude::*;
use wire::auth::{AuthScheme, Authenticator, Credentials, Secret, parse_challenges};
use wire::chunked::{ChunkEvent, ChunkedDecoder};
use wire::dav::{
    XmlLimits, encode_segment, href_path, lock_token_from_body, parse_multistatus, same_resource,
};
use wire::response::{Headers, Limits, ResponseReader};
use wire::target::Target;

const LIMITS: Limits = Limits {
    head_bytes: 300,
    headers: 8,
    body_bytes: 100,
    interim: 2,
};

/// Bytes that look like a response often enough to get deep into the reader.
fn almost_http() -> impl Strategy<Value = Vec<u8>> {
    let parts: Vec<&[u8]> = vec![
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 100 \r\n\r\n",
        b"HTTP/1.0 204 \r\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"X: y\r\n z\r\n",
        b"\r\n",
        b"\n",
        b"3\r\nabc\r\n",
        b"0\r\n\r\n",
        b"5;x=y\r\n",
        b"abc",
    ];
    let part = prop_oneof![
        9 => prop::sample::select(parts).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

fn cuts(length: usize, positions: &[usize]) -> Vec<usize> {
    let positions = positions.iter().map(|position| position % (length + 1));
    let mut cuts: Vec<usize> = positions.collect();
    cuts.sort_unstable();
    cuts
}

/// The coding as a server writes it: one chunk for each piece.
fn encode_chunked(pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

fn decode_chunked(coded: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut decoder = ChunkedDecoder::new(100);
    let mut body = Vec::new();
    let mut at = 0;
    for &to in cuts.iter().chain([&coded.len()]) {
        loop {
            let (consumed, event) = decoder.step(&coded[at..to]).expect("this was just encoded");
            at += consumed;
            match event {
                ChunkEvent::Data(data) => body.extend_from_slice(data),
                ChunkEvent::NeedMore | ChunkEvent::End => break,
            }
        }
        assert_eq!(at, to, "framing is taken as it comes");
    }
    assert!(decoder.is_done());
    assert_eq!(decoder.announced(), body.len() as u64);
    body
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        feed(&bytes, &[], false, LIMITS);
        feed(&[b"HTTP/1.1 200 ", &bytes[..]].concat(), &[], false, LIMITS);
    }

    #[test]
    fn cuts_make_no_difference(
        message in almost_http(),
        positions in prop::collection::vec(any::<usize>(), 0..6),
        is_head: bool,
    ) {
        let whole = feed(&message, &[], is_head, LIMITS);
        let cut = feed(&message, &cuts(message.len(), &positions), is_head, LIMITS);
        assert_same(&whole, &cut, &message, "cut at random");
        prop_assert!(whole.body.len() as u64 <= LIMITS.body_bytes);
    }

    #[test]
    fn nothing_outlives_a_restart(
        first in almost_http(),
        second in almost_http(),
        positions in prop::collection::vec(any::<usize>(), 0..3),
        is_head: bool,
    ) {
        let mut reader = ResponseReader::new(!is_head, LIMITS);
        feed_to(&mut reader, &first, &[]);
        reader.restart(is_head);
        let cuts = cuts(second.len(), &positions);
        let reading = feed_to(&mut reader, &second, &cuts);
        prop_assert_eq!(reading, feed(&second, &cuts, is_head, LIMITS));
    }

    #[test]
    fn chunked_there_and_back(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
        positions in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let coded = encode_chunked(&pieces);
        let body = decode_chunked(&coded, &cuts(coded.len(), &positions));
        prop_assert_eq!(body, pieces.concat());
    }

    #[test]
    fn a_target_survives_being_printed(text in "(https?://)?([a-z]{1,8}|\\[::[1-9]\\]|127\\.0\\.0\\.1)(:[1-9][0-9]{0,3})?(/[a-zA-Z0-9 %ü;+.]{0,9}){0,3}") {
        if let Ok(target) = Target::parse(&text) {
            prop_assert!(target.path().starts_with('/') && target.path().ends_with('/'));
            prop_assert!(target.path().is_ascii() && !target.host().contains('['));
            prop_assert_eq!(Target::parse(&target.url()), Ok(target));
        } else {
            prop_assert!(text.contains(' ') || text.contains(".."), "{}", text);
        }
    }

    #[test]
    fn no_text_makes_a_target_panic_and_none_that_it_takes_is_incomplete(text in "\\PC{0,40}") {
        if let Ok(target) = Target::parse(&text) {
            prop_assert!(!target.host().is_empty() && target.path().ends_with('/'));
        }
    }

    #[test]
    fn a_password_in_a_url_comes_out_and_is_not_shown(password in "[a-z]{12}[!$&'()*+,;= %]{0,3}") {
        let encoded = encode_segment(&password);
        let mut target = Target::parse(&format!("user:{encoded}@host/dav")).unwrap();
        let shown = format!("{target} {target:?} {}", target.authority());
        prop_assert!(!shown.contains(&password[..12]) && !shown.contains("user"), "{}", shown);
        prop_assert_eq!(target.take_user_info(), Some(("user".to_owned(), Some(password))));
        prop_assert_eq!(target.take_user_info(), None);
    }

    #[test]
    fn a_secret_in_a_query_is_sent_and_not_shown(
        before in "(x[a-z]{0,2}=[a-z0-9]{0,3}[&;]){0,2}",
        name in "(token|ACCESS_TOKEN|api_key|X-Amz-Signature|code|Pwd|%6Bey)",
        secret in "[A-Z]{12}[A-Z0-9=;?%/+]{0,8}",
        after in "(&x[a-z]{0,2}=[a-z0-9]{0,3}){0,2}",
    ) {
        let path = format!("/a?{before}{name}={secret}{after}");
        let target = Target::resource(&format!("http://h{path}")).unwrap();
        prop_assert_eq!(target.path(), path.as_str());
        prop_assert_eq!(target.absolute(target.path()), format!("http://h{path}"));
        let expected = format!("http://h/a?{before}{name}=(not shown){after}");
        prop_assert_eq!(target.url(), expected.as_str());
        prop_assert_eq!(format!("{target} {target:?}"), format!("{expected} Target({expected})"));
    }

    #[test]
    fn an_encoded_segment_comes_back(name in "\\PC{1,20}") {
        let href = format!("/{}", encode_segment(&name));
        prop_assert_eq!(href_path(&href), format!("/{name}"));
        prop_assert!(href.bytes().all(|byte| byte.is_ascii_graphic()));
        let absolute = format!("http://h{href}/");
        prop_assert!(same_resource(&href, &absolute));
    }

    #[test]
    fn no_challenge_makes_the_authenticator_panic_or_show_the_password(
        value in "(Basic|Digest|realm|nonce|qop|algorithm|MD5|[=,\" \\\\a-z\t]){0,20}",
    ) {
        parse_challenges(value.as_bytes());
        let headers: Headers = [("WWW-Authenticate", value.as_str())].into_iter().collect();
        let password = Secret::new("HUNTER2");
        let credentials = Credentials::Password { user: "u".to_owned(), password };
        let mut authenticator = Authenticator::new(Some(credentials), AuthScheme::Auto, false);
        for _ in 0..6 {
            authenticator.authorization("GET", "/", 1);
            let verdict = authenticator.challenged(&headers);
            let shown = format!("{verdict:?} {authenticator:?}");
            prop_assert!(!shown.contains("HUNTER2"));
        }
    }

    #[test]
    fn no_body_makes_the_xml_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        text in "(<D:multistatus xmlns:D=\"DAV:\">|<D:response>|</D:response>|<D:href>|/a|</D:href>|<D:prop/>|<D:status>|HTTP/1.1 200|</D:status>|&amp;|&x;|<!--|-->|<!\\[CDATA\\[|\\]\\]>|<|>){0,12}",
    ) {
        let limits = XmlLimits::default();
        for body in [&bytes[..], text.as_bytes()] {
            let _: Result<_, _> = parse_multistatus(body, &limits);
            let _: Option<_> = lock_token_from_body(body);
        }
    }
}

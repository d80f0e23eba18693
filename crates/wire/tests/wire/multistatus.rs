//! Bodies like those of real servers, and bodies of attackers.

use std::time::{Duration, Instant};

use wire::dav::{
    Multistatus, PropName, ResourceResponse, XmlError, XmlLimits, lock_token_from_body,
    parse_multistatus,
};

fn parse(body: &str) -> Result<Multistatus, XmlError> {
    parse_multistatus(body.as_bytes(), &XmlLimits::default())
}

/// Writes a response as `href status [status: prop prop] collection token`.
fn show(response: &ResourceResponse) -> String {
    let mut shown = response.href.clone();
    if let Some(status) = response.status {
        shown += &format!(" {status}");
    }
    for propstat in &response.propstats {
        let names: Vec<_> = propstat.props.iter().map(PropName::to_string).collect();
        shown += &format!(" [{}: {}]", propstat.status, names.join(" "));
    }
    if response.is_collection {
        shown += " collection";
    }
    for lock in &response.locks {
        shown += &format!(" <{}>", lock.token.as_deref().unwrap_or_default());
    }
    if let Some(description) = &response.description {
        shown += &format!(" \"{description}\"");
    }
    shown
}

const APACHE: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<D:multistatus xmlns:D="DAV:" xmlns:ns0="DAV:">
<D:response xmlns:lp1="DAV:" xmlns:lp2="http://apache.org/dav/props/" xmlns:g0="DAV:">
<D:href>/dav/a%3bb%20c/</D:href>
<D:propstat>
<D:prop>
<lp1:resourcetype><D:collection/></lp1:resourcetype>
<lp1:getetag>"1000-5f"</lp1:getetag>
<lp2:executable>F</lp2:executable>
<D:lockdiscovery>
<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:exclusive/></D:lockscope>
<D:depth>0</D:depth><ns0:owner xmlns:ns0="DAV:"><D:href>http://me/</D:href></ns0:owner>
<D:timeout>Infinite</D:timeout><D:locktoken><D:href>opaquelocktoken:1-2</D:href></D:locktoken>
</D:activelock></D:lockdiscovery>
</D:prop>
<D:status>HTTP/1.1 200 OK</D:status>
</D:propstat>
<D:propstat>
<D:prop><g0:quota-used-bytes/></D:prop>
<D:status>HTTP/1.1 404 Not Found</D:status>
</D:propstat>
</D:response>
</D:multistatus>"#;

const NGINX: &str = r#"<?xml version="1.0" encoding="utf-8" ?>
<D:multistatus xmlns:D="DAV:">
<D:response>
<D:href>/dav/f&amp;g</D:href>
<D:propstat>
<D:prop>
<D:displayname>f&amp;g</D:displayname>
<D:getcontentlength>1024</D:getcontentlength>
<D:resourcetype></D:resourcetype>
<D:lockdiscovery/>
</D:prop>
<D:status>HTTP/1.1 200 OK</D:status>
</D:propstat>
</D:response>
</D:multistatus>"#;

/// The prefix of `<DAV:getetag/>` is declared nowhere.
const LIGHTTPD: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<D:multistatus xmlns:D="DAV:">
<D:response>
<D:href>/dav/f</D:href>
<D:propstat><D:prop>
<DAV:getetag/></D:prop><D:status>HTTP/1.1 403 Forbidden</D:status></D:propstat>
<D:propstat><D:prop>
<X:color xmlns:X="urn:x"/></D:prop><D:status>HTTP/1.1 424 Failed Dependency</D:status></D:propstat>
</D:response>
</D:multistatus>"#;

/// No reason phrases, a default namespace.
const TOMCAT: &str = r#"<?xml version="1.0" encoding="utf-8" ?><D:multistatus xmlns:D="DAV:"><D:response><D:href>/dav/c/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype><D:displayname><![CDATA[a < b]]></D:displayname></D:prop><D:status>HTTP/1.1 200 </D:status></D:propstat><D:propstat><D:prop><color xmlns="urn:x"/><plain xmlns=""/></D:prop><D:status>HTTP/1.1 404 </D:status></D:propstat></D:response></D:multistatus>"#;

/// Absolute hrefs, a failed member with no propstat.
const JACKRABBIT: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="no"?><D:multistatus xmlns:D="DAV:"><D:response><D:href>http://localhost:8080/repository/default/a/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype><D:iscollection>1</D:iscollection><dcr:data xmlns:dcr="http://www.day.com/jcr/webdav/1.0"/></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response><D:response><D:href>http://localhost:8080/repository/default/b</D:href><D:status>HTTP/1.1 423 Locked</D:status><D:responsedescription>held by admin</D:responsedescription></D:response></D:multistatus>"#;

/// Go's encoding/xml: the root declares, and members do too.
const RCLONE: &str = r#"<?xml version="1.0" encoding="UTF-8"?><D:multistatus xmlns:D="DAV:"><D:response><D:href>/</D:href><D:propstat><D:prop><D:resourcetype><D:collection xmlns:D="DAV:"/></D:resourcetype><D:supportedlock><D:lockentry xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry></D:supportedlock></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response><D:response><D:href>/f.bin</D:href><D:propstat><D:prop><D:resourcetype></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>"#;

const DAV_SERVER: &str = r#"<?xml version="1.0" encoding="utf-8"?><D:multistatus xmlns:D="DAV:" xmlns:A="http://apache.org/dav/props/"><D:response><D:href>/x/</D:href><D:propstat><D:prop><D:resourcetype><D:collection /></D:resourcetype><A:executable>T</A:executable></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>"#;

/// RFC 4918, section 9.6.2, and Apache's response to a DELETE of several locked members.
const HREFS: &str = r#"<d:multistatus xmlns:d="DAV:"><d:response><d:href>/a</d:href><d:href>/b</d:href><d:status>HTTP/1.1 423 Locked</d:status><d:error><d:lock-token-submitted/></d:error></d:response></d:multistatus>"#;

#[test]
fn bodies_of_real_servers() {
    let cases: [(&str, &[&str]); 10] = [
        (
            APACHE,
            &[
                "/dav/a%3bb%20c/ [200: resourcetype getetag {http://apache.org/dav/props/}executable lockdiscovery] [404: quota-used-bytes] collection <opaquelocktoken:1-2>",
            ],
        ),
        (
            NGINX,
            &["/dav/f&g [200: displayname getcontentlength resourcetype lockdiscovery]"],
        ),
        (LIGHTTPD, &["/dav/f [403: getetag] [424: {urn:x}color]"]),
        (
            TOMCAT,
            &["/dav/c/ [200: resourcetype displayname] [404: {urn:x}color {}plain] collection"],
        ),
        (
            JACKRABBIT,
            &[
                "http://localhost:8080/repository/default/a/ [200: resourcetype iscollection {http://www.day.com/jcr/webdav/1.0}data] collection",
                "http://localhost:8080/repository/default/b 423 \"held by admin\"",
            ],
        ),
        (
            RCLONE,
            &[
                "/ [200: resourcetype supportedlock] collection",
                "/f.bin [200: resourcetype]",
            ],
        ),
        (
            DAV_SERVER,
            &["/x/ [200: resourcetype {http://apache.org/dav/props/}executable] collection"],
        ),
        (HREFS, &["/a 423", "/b 423"]),
        // Status and props in any order, no white space, a byte order mark, an odd reason.
        (
            "\u{feff}<multistatus xmlns='DAV:'><response><propstat><status>HTTP/1.1 409 (status)</status><prop><x:a/></prop></propstat><href>\n /a&#x20;&lt;\n</href></response></multistatus>",
            &["/a < [409: {x}a]"],
        ),
        ("<multistatus xmlns='DAV:'/>", &[]),
    ];
    for (body, expected) in cases {
        let multistatus = parse(body).unwrap_or_else(|error| panic!("{error}: {body}"));
        let shown: Vec<_> = multistatus.responses.iter().map(show).collect();
        assert_eq!(shown, expected);
    }
}

#[test]
fn statuses_are_those_of_the_resource_and_its_properties() {
    let statuses = |body| -> Vec<Vec<u16>> {
        let responses = parse(body).unwrap().responses;
        let statuses = |response: &ResourceResponse| response.statuses().collect();
        responses.iter().map(statuses).collect()
    };
    assert_eq!(statuses(LIGHTTPD), [[403, 424]]);
    assert_eq!(statuses(JACKRABBIT), [[200], [423]]);
}

#[test]
fn a_lock_knows_its_root() {
    let body = r#"<multistatus xmlns="DAV:"><response><href>/a/b</href><propstat><prop>
        <lockdiscovery><activelock><lockroot><href>/a/</href></lockroot>
        <locktoken><href>urn:x</href></locktoken></activelock>
        <activelock><depth>0</depth><timeout> Second-600 </timeout></activelock></lockdiscovery>
        </prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>"#;
    let locks = &parse(body).unwrap().responses[0].locks;
    assert_eq!(locks.len(), 2);
    assert_eq!(locks[0].token.as_deref(), Some("urn:x"));
    assert_eq!(locks[0].root.as_deref(), Some("/a/"));
    assert_eq!(locks[0].timeout, None);
    // A server may hide the token.
    assert_eq!((&locks[1].token, &locks[1].root), (&None, &None));
    assert_eq!(locks[1].timeout, Some(Duration::from_secs(600)));
}

#[test]
fn what_failed_says_nothing_about_the_resource() {
    let body = APACHE.replace("HTTP/1.1 200 OK", "HTTP/1.1 403 Forbidden");
    let response = &parse(&body).unwrap().responses[0];
    assert!(!response.is_collection && response.locks.is_empty());
}

#[test]
fn every_prefix_of_a_good_body_is_an_error() {
    for body in [
        APACHE, NGINX, LIGHTTPD, TOMCAT, JACKRABBIT, RCLONE, DAV_SERVER, HREFS,
    ] {
        for length in (0..body.len()).filter(|&length| body.is_char_boundary(length)) {
            let error = parse(&body[..length]).expect_err("a part was taken for the whole");
            let text = error.to_string();
            let starts = ["the body is not ", "the XML ends before "];
            let is_clear = starts.iter().any(|start| text.starts_with(start));
            assert!(is_clear, "{length}: {text}");
        }
    }
}

/// A multistatus around `inner`.
fn multistatus(inner: &str) -> String {
    format!("<D:multistatus xmlns:D=\"DAV:\">{inner}</D:multistatus>")
}

fn propstat(inner: &str) -> String {
    multistatus(&format!(
        "<D:response><D:href>/</D:href><D:propstat>{inner}</D:propstat></D:response>"
    ))
}

#[test]
fn broken_bodies_say_what_is_broken() {
    let bodies = r##"
        => the body is not XML: it begins with ""
        Created => the body is not XML: it begins with "Created"
        {"a": 1} => the body is not XML: it begins with "{\"a\": 1}"
        <html><body>no</body></html> => the body's root element is {}html, not multistatus (RFC 4918, section 13)
        <multistatus/> => the body's root element is {}multistatus, not multistatus (RFC 4918, section 13)
        <D:error xmlns:D='DAV:'/> => the body's root element is error, not multistatus (RFC 4918, section 13)
        <!-- nothing --> => the XML ends before its root element does
        <a></b> => the body's root element is {}a, not multistatus (RFC 4918, section 13)
        <D:multistatus xmlns:D="DAV:"><a></b></D:multistatus>
            => the body is not well-formed XML, at byte 33: ill-formed document: expected `</a>`, but `</b>` was found
        <D:multistatus xmlns:D="DAV:"><D:response/></D:multistatus>
            => a response in the multistatus has no href (RFC 4918, section 14.24)
        <D:multistatus xmlns:D="DAV:"></D:multistatus>↵<!-- -->PHP Warning: no such file
            => the XML has "PHP Warning: no such file" behind its root element (XML 1.0, section 2.1)
        <D:multistatus xmlns:D="DAV:"></D:multistatus><br />
            => the XML has "<br>" behind its root element (XML 1.0, section 2.1)
    "##;
    let propstats = r##"
        <D:prop/> => a propstat has no status (RFC 4918, section 14.22)
        <D:status>200 OK</D:status> => "200 OK" in the multistatus is not a status line (RFC 4918, section 14.28)
        <D:status>HTTP/1.1</D:status> => "HTTP/1.1" in the multistatus is not a status line (RFC 4918, section 14.28)
        <D:status>HTTP/1.1 +20</D:status> => "HTTP/1.1 +20" in the multistatus is not a status line (RFC 4918, section 14.28)
        <D:status>HTTP/1.1 099</D:status> => "HTTP/1.1 099" in the multistatus is not a status line (RFC 4918, section 14.28)
        <D:status/> => "" in the multistatus is not a status line (RFC 4918, section 14.28)
        <D:prop>&nbsp;</D:prop> => the XML has the undefined entity "&nbsp;"
        <D:prop>&#0;</D:prop> => the XML has the undefined entity "&#0;"
        <D:prop>&#x110000;</D:prop> => the XML has the undefined entity "&#x110000;"
    "##;
    for [body, expected] in cases::rows(bodies) {
        let error = parse(body).expect_err(body).to_string();
        assert_eq!(error, expected, "{body}");
    }
    for [inner, expected] in cases::rows(propstats) {
        let error = parse(&propstat(inner)).expect_err(inner).to_string();
        assert_eq!(error, expected, "{inner}");
    }
    let latin1 = b"<D:multistatus xmlns:D=\"DAV:\">\xfc</D:multistatus>";
    let error = parse_multistatus(latin1, &XmlLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), "the XML is not UTF-8, from byte 30 on");
}

/// The same document in every encoding that is read: RFC 4918, section 19.
#[test]
fn bodies_in_utf_16_and_in_a_declared_encoding_are_read() {
    let document = |encoding: &str| {
        let declaration = match encoding {
            "" => String::new(),
            name => format!("<?xml version=\"1.0\" encoding='{name}' ?>"),
        };
        let body = "<D:response><D:href>/gr\u{fc}n</D:href><D:status>HTTP/1.1 200 OK</D:status></D:response>";
        format!("{declaration}{}", multistatus(body))
    };
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    };
    let latin1 = |text: &str| -> Vec<u8> { text.chars().map(|c| c as u8).collect() };
    let marked = format!("\u{feff}{}", document(""));
    let cases = [
        utf16(&marked, u16::to_le_bytes),
        utf16(&marked, u16::to_be_bytes),
        utf16(&document("UTF-16"), u16::to_le_bytes),
        utf16(&document("utf-16"), u16::to_be_bytes),
        latin1(&document("ISO-8859-1")),
        latin1(&format!("\r\n{}", document("iso-8859-1"))),
        marked.into_bytes(),
        // Servers that take the encoding of their strings for that of the body.
        document("utf-16").into_bytes(),
        document("windows-1252").into_bytes(),
    ];
    for body in cases {
        let shown = body.escape_ascii();
        let parsed = parse_multistatus(&body, &XmlLimits::default());
        let parsed = parsed.unwrap_or_else(|error| panic!("{error}: {shown}"));
        assert_eq!(parsed.responses[0].href, "/gr\u{fc}n", "{shown}");
    }

    let half = [utf16(&document(""), u16::to_le_bytes), vec![0, 0xd8, 0, 0]].concat();
    let errors = [
        (half, "the XML is not UTF-16, from byte "),
        (
            latin1(&document("windows-1252")),
            "the XML is not UTF-8, from byte 99 on; it declares windows-1252, and UTF-8, UTF-16 and ISO-8859-1 are read",
        ),
        (
            latin1(&document("")),
            "the XML is not UTF-8, from byte 53 on",
        ),
    ];
    for (body, expected) in errors {
        let error = parse_multistatus(&body, &XmlLimits::default()).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }

    // The limit holds for the decoded text.
    let limits = XmlLimits {
        bytes: 200,
        ..XmlLimits::default()
    };
    let wide = format!("<a>{}", "\u{20ac}".repeat(90));
    let coded = format!(
        "<?xml version='1.0' encoding='ISO-8859-1'?><a>{}",
        "\u{e9}".repeat(90)
    );
    for body in [utf16(&wide, u16::to_be_bytes), latin1(&coded)] {
        assert!(body.len() < 200);
        let error = parse_multistatus(&body, &limits).unwrap_err();
        assert_eq!(error, XmlError::TooLong(200));
    }
}

#[test]
fn what_is_missing_is_distinguished_from_missing_properties() {
    let missing = "<D:status>HTTP/1.1 404 Not Found</D:status>";
    let given =
        "<D:propstat><D:prop><D:x/></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>";
    let cases = [
        // Before its version 2, nginx-dav-ext sends this for every request.
        (
            format!("<D:propstat><D:prop>\n</D:prop>{missing}</D:propstat>"),
            true,
        ),
        (format!("<D:propstat>{missing}</D:propstat>"), true),
        (missing.to_owned(), true),
        (
            format!("<D:propstat><D:prop><D:x/></D:prop>{missing}</D:propstat>"),
            false,
        ),
        (
            format!("<D:propstat><D:prop/>{missing}</D:propstat>{given}"),
            false,
        ),
        (given.to_owned(), false),
        (String::new(), false),
        ("<D:status>HTTP/1.1 403 No</D:status>".to_owned(), false),
    ];
    for (inner, expected) in cases {
        let response = format!("<D:response><D:href>/a</D:href>{inner}</D:response>");
        let parsed = parse(&multistatus(&response)).unwrap();
        assert_eq!(parsed.responses[0].is_missing(), expected, "{inner}");
        assert_eq!(parsed.is_missing(), expected, "{inner}");
    }
    assert!(!Multistatus::default().is_missing());
}

/// Runs `check` and asserts that a hostile body does not take long.
fn quickly<T>(check: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = check();
    // Unoptimised code on a loaded machine; the defects that this finds take hours.
    let duration = start.elapsed();
    assert!(duration < Duration::from_secs(30), "{duration:?}");
    result
}

#[test]
fn hostile_bodies_end_quickly_and_cleanly() {
    let laughs = r#"<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol1 "&lol;&lol;&lol;">]><D:multistatus xmlns:D="DAV:"><D:response><D:href>&lol1;</D:href></D:response></D:multistatus>"#;
    let declaration = |n: u32| format!(" xmlns:n{n}='urn:{n}'");
    let declarations: String = (0..50_000).map(declaration).collect();
    let doctype = "the XML has a DOCTYPE, which WebDAV has no use for (RFC 4918, section 20.6)";
    let deep = "the XML is nested deeper than 64 elements";
    let many = "the multistatus has more than 200000 responses";
    let responses = "<D:response><D:href>/</D:href></D:response>".repeat(200_001);
    let hrefs = "<D:href/>".repeat(200_001);
    let cases = [
        (laughs.to_owned(), doctype),
        (multistatus(laughs), doctype),
        (multistatus(&"<a>".repeat(100_000)), deep),
        (propstat(&"<a>".repeat(100_000)), deep),
        (
            "<a>".repeat(100_000),
            "the body's root element is {}a, not multistatus (RFC 4918, section 13)",
        ),
        (multistatus(&responses), many),
        (
            multistatus(&format!("<D:response>{hrefs}</D:response>")),
            many,
        ),
        (
            multistatus(&format!("<a{declarations}/>")),
            "the body is not well-formed XML, at byte ",
        ),
    ];
    for (body, expected) in cases {
        let error = quickly(|| parse(&body)).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(error.len() < 200, "{error}");
        assert_eq!(quickly(|| lock_token_from_body(body.as_bytes())), None);
    }
}

#[test]
fn a_million_siblings_are_passed_over() {
    let body = multistatus(&"<a/>".repeat(1_000_000));
    assert_eq!(quickly(|| parse(&body)), Ok(Multistatus::default()));
}

#[test]
fn bounds_are_exact() {
    let limits = XmlLimits {
        bytes: 1000,
        depth: 5,
        responses: 2,
        properties: 3,
    };
    let parse = |body: &str| parse_multistatus(body.as_bytes(), &limits).map(|m| m.responses.len());
    let response = "<D:response><D:href/></D:response>";
    assert_eq!(parse(&multistatus(&response.repeat(2))), Ok(2));
    let many = parse(&multistatus(&response.repeat(3)));
    assert_eq!(many, Err(XmlError::TooManyResponses(2)));
    let props = |n: usize| {
        propstat(&format!(
            "<D:prop>{}</D:prop><D:status>HTTP/1.1 200</D:status>",
            "<a/>".repeat(n)
        ))
    };
    assert_eq!(parse(&props(3)), Ok(1));
    assert_eq!(parse(&props(4)), Err(XmlError::TooManyProperties(3)));
    let nested = |n: usize| multistatus(&format!("{}{}", "<a>".repeat(n), "</a>".repeat(n)));
    assert_eq!(parse(&nested(4)), Ok(0));
    assert_eq!(parse(&nested(5)), Err(XmlError::TooDeep(5)));
    let padded = |n: usize| multistatus(&" ".repeat(n - multistatus("").len()));
    assert_eq!(parse(&padded(1000)), Ok(0));
    assert_eq!(parse(&padded(1001)), Err(XmlError::TooLong(1000)));
}

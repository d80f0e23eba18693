//! URLs as people write them.

use wire::target::{Scheme, Target, TargetError};

#[test]
fn what_people_type_and_what_it_means() {
    // Text, URL, host, port, authority, path.
    let table = "
        http://h:1/p => http://h:1/p/ => h => 1 => h:1 => /p/
        https://h/p/ => https://h/p/ => h => 443 => h => /p/
        https://h:443 => https://h/ => h => 443 => h => /
        https://h:80 => https://h:80/ => h => 80 => h:80 => /
        HTTP://Test.WebDAV.org/Dav
            => http://test.webdav.org/Dav/ => test.webdav.org => 80 => test.webdav.org => /Dav/
        host:81/basic => http://host:81/basic/ => host => 81 => host:81 => /basic/
        host/path => http://host/path/ => host => 80 => host => /path/
        host => http://host/ => host => 80 => host => /
        localhost:80 => http://localhost/ => localhost => 80 => localhost => /
        [::1]:80/x => http://[::1]/x/ => ::1 => 80 => [::1] => /x/
        http://[2001:DB8::1]:8080
            => http://[2001:db8::1]:8080/ => 2001:db8::1 => 8080 => [2001:db8::1]:8080 => /
        127.0.0.1:8080/a/../b
            => http://127.0.0.1:8080/b/ => 127.0.0.1 => 8080 => 127.0.0.1:8080 => /b/
        h/ü/a%20b => http://h/%C3%BC/a%20b/ => h => 80 => h => /%C3%BC/a%20b/
        h/a://b => http://h/a://b/ => h => 80 => h => /a://b/
        u:p@h:81/x => http://h:81/x/ => h => 81 => h:81 => /x/
    ";
    for [text, url, host, port, authority, path] in cases::rows(table) {
        let target = Target::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(target.url(), url, "{text}");
        assert_eq!(target.host(), host, "{text}");
        assert_eq!(target.port().to_string(), port, "{text}");
        assert_eq!(target.authority(), authority, "{text}");
        assert_eq!(target.path(), path, "{text}");
        let is_https = url.starts_with("https");
        let scheme = if is_https {
            Scheme::Https
        } else {
            Scheme::Http
        };
        assert_eq!(target.scheme(), scheme, "{text}");
        let elsewhere = format!("{scheme}://{authority}/else/where");
        assert_eq!(target.absolute("/else/where"), elsewhere);
    }
}

#[test]
fn an_address_of_a_link_has_the_interface_behind_it() {
    let written = ["http://[fe80::1%25eth0]:81/a", "[FE80::1%eth0]:81/a"];
    for text in written {
        let target = Target::parse(text).unwrap();
        assert_eq!(target.url(), "http://[fe80::1%25eth0]:81/a/", "{text}");
        assert_eq!(target.address(), "fe80::1%eth0");
        assert_eq!(target.host(), "fe80::1");
        assert_eq!(target.authority(), "[fe80::1]:81");
        let destination = target.absolute_at_server("/b");
        assert_eq!(destination, "http://[fe80::1]:81/b");
        assert_eq!(Target::parse(&target.url()).unwrap(), target);
    }
    // Elsewhere a percent sign is what it was.
    assert_eq!(Target::parse("h/[a%25b]").unwrap().path(), "/[a%25b]/");
    for text in [
        "[fe80::1%]",
        "[fe80::1%25]/",
        "[fe80::1%25a b]",
        "[fe80::1%25a%2fb]",
    ] {
        assert!(Target::parse(text).is_err(), "{text}");
    }
}

/// UTS 46, without its transitional processing, as in browsers.
#[test]
fn names_of_other_scripts_are_those_that_are_looked_up() {
    let cases = [
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        // Decomposed, an ideographic full stop, a soft hyphen, a ligature, letters of mathematics.
        ("bu\u{308}cher。example", "xn--bcher-kva.example"),
        ("a\u{ad}ﬁ𝒜.example", "afia.example"),
        ("faß.de", "xn--fa-hia.de"),
        ("Ὀδυσσεύς.gr", "xn--pxac3bcak3d8526a.gr"),
        ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
        // From right to left, and a joiner where it may stand.
        ("مثال.إختبار", "xn--mgbh0fb.xn--kgbechtv"),
        ("क्\u{200d}ष.example", "xn--11b2ezcw70k.example"),
        ("😀.ws", "xn--e28h.ws"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("１２７．０．０．１", "127.0.0.1"),
    ];
    for (text, host) in cases {
        let target = Target::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(target.host(), host, "{text}");
    }
    // Both directions in one label, a joiner where it may not stand, a mark that begins one, what
    // is not assigned, and no Punycode.
    let refused = [
        "aא.example",
        "a\u{200d}b.example",
        "\u{301}a.example",
        "\u{378}.example",
        "xn--a.example",
    ];
    for text in refused {
        let refused = Target::parse(text);
        let is_malformed = matches!(refused, Err(TargetError::Malformed(_)));
        assert!(is_malformed, "{text}: {refused:?}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_and_says_why() {
    let table = r##"
        => the URL is empty
        ftp://h/ => the scheme is "ftp", and only http and https can be measured
        webdav+TLS://h/ => the scheme is "webdav+tls", and only http and https can be measured
        http:h/x => the URL begins with "http:" but not with "http://"
        https:/h/x => the URL begins with "https:" but not with "https://"
        http://h/x#y => the URL has a fragment ("#..."), which cannot name a collection on a server
        http://h/x# => the URL has a fragment ("#..."), which cannot name a collection on a server
        http://h/x?y => the URL has a query ("?..."), and a collection is named by its path alone
        h? => the URL has a query ("?..."), and a collection is named by its path alone
        http:// => the URL names no host
        http:///x => the URL names no host
        //h/x => the URL names no host
        /x => the URL names no host
        http://u@/x => the URL is malformed: empty host
        :80/x => the URL is malformed: empty host
        h:port/x => the URL is malformed: invalid port number
        mailto:me => the URL is malformed: invalid port number
        h:65536 => the URL is malformed: invalid port number
        http://[::1/x => the URL is malformed: invalid IPv6 address
        http://a<b/x => the URL is malformed: invalid international domain name
    "##;
    for [text, expected] in cases::rows(table) {
        let error = Target::parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text:?}");
    }
    for (text, character) in [
        ("h/a b", ' '),
        (" h", ' '),
        ("h/a\tb", '\t'),
        ("h/a\r\nb", '\r'),
        (r"http:\\h\x", '\\'),
    ] {
        let expected = format!("{character:?} cannot stand in a URL; write it percent-encoded");
        let error = Target::parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text:?}");
    }
}

#[test]
fn user_information_is_taken_out_decoded_and_never_shown() {
    let cases = [
        ("http://me:pass@h/", Some(("me", Some("pass")))),
        ("https://me@h/", Some(("me", None))),
        (
            "me%40corp:p%3A%2F%C3%BC@h:81",
            Some(("me@corp", Some("p:/ü"))),
        ),
        ("http://:pass@h/", Some(("", Some("pass")))),
        ("http://me:a:b@h/", Some(("me", Some("a:b")))),
        ("http://h/me:pass@x", None),
        ("http://h/", None),
    ];
    for (text, expected) in cases {
        let mut target = Target::parse(text).unwrap();
        let shown = format!("{target:?} {target} {}", target.url());
        assert!(expected.is_none() || !shown.contains('@'), "{shown}");
        let taken = target.take_user_info();
        let taken = taken
            .as_ref()
            .map(|(user, password)| (user.as_str(), password.as_deref()));
        assert_eq!(taken, expected, "{text}");
        assert_eq!(target.take_user_info(), None, "{text}");
    }
    // An error must not repeat what it was given.
    for text in [
        "ftp://me:hunter2@h/",
        "me:hunter2@h:port",
        "http://me:hunter2@h/x?y",
        "me:hunter2 @h",
    ] {
        let error: TargetError = Target::parse(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}

#[test]
fn a_query_can_name_another_method() {
    for (query, names) in [
        ("", false),
        ("?", false),
        ("?page=2&method=x", false),
        ("?a=_method", false),
        ("?_method=DELETE", true),
        ("?page=2&_METHOD=put", true),
        ("?%5Fmethod=DELETE", true),
        ("?x-http-method-override=DELETE", true),
        ("?X-HTTP-Method", true),
    ] {
        let target = Target::resource(&format!("http://h/file{query}")).unwrap();
        assert_eq!(target.names_a_method(), names, "{query}");
    }
}

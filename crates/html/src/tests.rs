//! Documents and what they name.

use proptest::prelude::*;

use super::*;

const PAGE: &str = "http://h:81/a/index.html";

fn paths(document: &str) -> Vec<String> {
    named_parts(document.as_bytes(), PAGE).paths
}

#[test]
fn files_of_every_kind_are_found_in_the_order_of_the_document() {
    let document = r#"<!doctype html><HTML><head><title><img src=no></title>
        <link rel="shortcut ICON" href="/i.png"><link rel=stylesheet href='s.css?a=1&amp;b=2#x'>
        <link rel="alternate stylesheet" href=no><link rel=next href=no><link rel=preload as=font href=f.woff>
        <script src=s.js>"<img src=no>"</script><style>b { background: url(no) }</style></head>
        <body background="b.gif"><IMG SRC="p q.png"><img srcset="x1.png 1x, x2.png 2x"><img src="">
        <picture><source srcset="w.webp"><img src=w.jpg srcset=no></picture><a href=no><!-- <img src=no> -->
        <template><img src=no></template><textarea><img src=no></textarea><noscript><img src=no></noscript><noframes><img src=no></noframes><xmp><img src=no></xmp><input type=image src=n.gif>
        <input src=no><iframe src=fr.html><img src=no></iframe><video poster=v.png src=v.mp4></video>
        <audio><source src=a.ogg></audio><object data=o.svg></object><embed src=e><track src=t>
        <img src="&eacute;.png"><img src=unfinished"#;
    let expected = [
        "/i.png",
        "/a/s.css?a=1&b=2",
        "/a/f.woff",
        "/a/s.js",
        "/a/b.gif",
        "/a/p%20q.png",
        "/a/x1.png",
        "/a/w.jpg",
        "/a/n.gif",
        "/a/fr.html",
        "/a/v.png",
        "/a/v.mp4",
        "/a/a.ogg",
        "/a/o.svg",
        "/a/e",
        "/a/t",
        "/a/%C3%A9.png",
    ];
    assert_eq!(paths(document), expected);
}

#[test]
fn the_first_base_counts_if_it_is_one() {
    let cases = [
        ("<base href='data:/,x'>", "/a/1"),
        ("<base href='javascript:x'><base href=/no/>", "/a/1"),
        ("<base href=''><base href=/no/>", "/a/1"),
        ("<base href='http://['><base href=/no/>", "/a/1"),
        ("<base href='#x'><base href=/no/>", "/a/1"),
        ("<base target=_top><base href=/x/>", "/x/1"),
        ("<template><base href=/no/></template>", "/a/1"),
        ("<svg><base href=/no/></svg>", "/a/1"),
    ];
    for (base, expected) in cases {
        let document = format!("{base}<img src=1><img src=/2>");
        assert_eq!(paths(&document), [expected, "/2"], "{base}");
    }
    // Nothing is relative to this one.
    assert_eq!(
        paths("<base href=mailto:x><img src=1><img src=http://h:81/2>"),
        ["/2"]
    );
}

#[test]
fn elements_of_svg_and_mathml_do_not_swallow_the_page() {
    let kept = [
        "<svg><style/></svg>",
        "<svg><title/><path d='M0 0'/></svg>",
        "<svg><script/></svg>",
        "<svg><defs><textarea/><plaintext/><iframe/><noscript/><xmp/></defs></svg>",
        "<math><title/><mi/></math>",
        "<svg><style>a > b { fill: red }</style><script src=/no></script></svg>",
        "<svg><style><![CDATA[ a > b <img src=/no> ]]></style></svg>",
        "<svg><![CDATA[]]></svg>",
        "<svg><![CDATA[<img src=/no>]]></svg>",
        "<svg/><title><img src=/no></title>",
        "<svg><foreignObject><style><img src=/no></style></foreignObject><style/></svg>",
        "<svg><desc><svg><style/></svg><title><img src=/no></title></desc><style/></svg>",
        "<math><mtext><style><img src=/no></style></mtext><style/></math>",
        "<math><annotation-xml encoding=text/HTML><style><img src=/no></style></annotation-xml><style/></math>",
        // Elements of HTML end the others.
        "<svg><p><style><img src=/no></style>",
        "<svg><g></p><style><img src=/no></style>",
        "<svg><font size=1><style><img src=/no></style>",
        "<svg><font><style/></font></svg>",
        "<svg><template></svg>",
        "</svg></math></title>",
    ];
    for document in kept {
        assert_eq!(
            paths(&format!("{document}<img src=1>")),
            ["/a/1"],
            "{document}"
        );
    }
    let deep = format!(
        "{}<style/>{}<img src=1>",
        "<svg>".repeat(150_000),
        "</x>".repeat(150_000)
    );
    assert_eq!(paths(&deep), ["/a/1"]);
    // A title of SVG holds HTML, and an image of HTML is one in SVG, too.
    assert_eq!(
        paths("<svg><title><img src=1></title><img src=2></svg>"),
        ["/a/1", "/a/2"]
    );
    // Slashes mean nothing in HTML.
    assert_eq!(paths("<style/><img src=1></style><img src=2>"), ["/a/2"]);
}

#[test]
fn one_file_of_several_is_fetched() {
    let cases = [
        (
            "<picture><source srcset=no><source srcset=no2><img src=1></picture><img src=2>",
            vec!["/a/1", "/a/2"],
        ),
        (
            "<picture><source src=no><source srcset='1 2x'><source srcset=no><img alt=x></picture>",
            vec!["/a/1"],
        ),
        ("<picture><source srcset=no></picture><img>", vec![]),
        (
            "<audio><source src=1><source src=no></audio><video><source src=''><source src=2><source src=no></video>",
            vec!["/a/1", "/a/2"],
        ),
        (
            "<video src=1><source src=no></video><source src=no>",
            vec!["/a/1"],
        ),
        ("<video><source srcset=no></video>", vec![]),
        (
            "<link rel=preload as=image imagesrcset='1 400w, no 800w'><link rel=icon imagesrcset=no>\
             <link rel=preload as=image href=2 imagesrcset=no>",
            vec!["/a/1", "/a/2"],
        ),
        ("<img srcset=' , 1,2, no 2x'>", vec!["/a/1,2"]),
    ];
    for (document, expected) in cases {
        assert_eq!(paths(document), expected, "{document}");
    }
}

#[test]
fn scripts_that_are_not_executed_are_not_fetched() {
    let document = "<script src=1></script><script type='' src=2></script><script type=module nomodule src=3></script>\
        <script type=' Text/JavaScript ' src=4></script><script nomodule src=no></script>\
        <script type=text/template src=no></script><script type=application/json src=no></script>\
        <script type=importmap src=no></script><script type='text/javascript;charset=utf-8' src=no></script>";
    assert_eq!(paths(document), ["/a/1", "/a/2", "/a/3", "/a/4"]);
    let older = "<script language=JavaScript1.2 src=1></script><script language='' src=2></script>\
        <script for=window event=onLoad() src=3></script><script language=vbscript type='' src=4></script>\
        <script language=vbscript src=no></script><script for=window event=onclick src=no></script>\
        <script for=x event=onload src=no></script>";
    assert_eq!(paths(older), ["/a/1", "/a/2", "/a/3", "/a/4"]);
}

#[test]
fn what_is_not_in_use_is_not_fetched() {
    let cases = [
        ("<link rel=stylesheet disabled href=no>", false),
        ("<link rel=stylesheet type=text/less href=no>", false),
        ("<link rel=stylesheet type=TEXT/CSS href=1>", true),
        ("<link rel=stylesheet type='' href=1>", true),
        ("<link rel=icon type=image/png href=1>", true),
        ("<link rel=preload href=no>", false),
        ("<link rel=preload as=bogus href=no>", false),
        ("<link rel=preload as=Style href=1>", true),
        ("<link rel=modulepreload href=1>", true),
        ("<iframe srcdoc='<p>' src=no></iframe>", false),
        ("<audio preload=none src=no></audio>", false),
        ("<video preload=NONE><source src=no></video>", false),
        ("<video preload=none autoplay src=1></video>", true),
        ("<video preload=metadata src=1></video>", true),
        ("<image src=1>", true),
        ("<svg><image src=no /></svg>", false),
        ("<img src=///h:81/a/1>", true),
        ("<img src='\\\\\\h:81\\a\\1'>", true),
    ];
    for (document, is_fetched) in cases {
        let expected: &[&str] = if is_fetched { &["/a/1"] } else { &[] };
        assert_eq!(paths(document), expected, "{document}");
    }
}

#[test]
fn a_url_that_is_no_utf_8_is_that_of_a_page_of_windows_1252() {
    let found = |document: &[u8]| named_parts(document, PAGE).paths;
    assert_eq!(
        found(b"<img alt='\xfc' src='/gr\xfcn\x80.png?q=gr\xfcn\x80#\xfc'>"),
        ["/gr%C3%BCn%E2%82%AC.png?q=gr%FCn%80"]
    );
    // A byte elsewhere changes nothing.
    assert_eq!(
        found("<p>\u{fc}</p><img src='/gr\u{fc}n?q=\u{fc}'>".as_bytes()),
        ["/gr%C3%BCn?q=%C3%BC"]
    );
    let mixed = [b"<p>\xfc</p>".as_slice(), "<img src=/\u{fc}>".as_bytes()].concat();
    assert_eq!(found(&mixed), ["/%C3%BC"]);
    assert_eq!(found(b"<base href='/\xfc/'><img src=1>"), ["/%C3%BC/1"]);
    assert_eq!(found(b"\xef\xbb\xbf<img src=1>"), ["/a/1"]);
    let every: Vec<u8> = (0..=u8::MAX).collect();
    let back: Vec<u8> = every
        .iter()
        .map(|byte| byte_of(windows_1252(*byte)))
        .collect();
    assert_eq!(back, every);
}

#[test]
fn only_files_of_this_server_are_taken_and_each_once() {
    let document = r#"<base href="http://H:81/x/y"><base href="/no/">
        <img src=1><img src=./1#f><img src="http://h:81/x/1"><img src=//h:81/x/1>
        <img src=http://h/2><img src=https://h:81/2><img src=http://h/2#f><img src=//other/3>
        <img src="data:image/png;base64,AA"><img src="javascript:x()"><img src="http://[">
        <iframe src="/a/index.html#top"></iframe><img src="/4?_method=DELETE"><img src=../../../../5>"#;
    let found = named_parts(document.as_bytes(), PAGE);
    let expected = NamedParts {
        paths: vec!["/x/1".to_owned(), "/5".to_owned()],
        elsewhere: 3,
        refused: 1,
        is_cut: false,
    };
    assert_eq!(found, expected);
    // A base may be on another server.
    let away = named_parts(
        b"<base href=http://o/><img src=1><img src=http://h:81/2>",
        PAGE,
    );
    assert_eq!((away.paths, away.elsewhere), (vec!["/2".to_owned()], 1));
    assert_eq!(
        named_parts(b"<img src=1>", "nonsense"),
        NamedParts::default()
    );
}

#[test]
fn there_are_bounds() {
    let many: String = (0..300).map(|n| format!("<img src={n}>")).collect();
    let found = named_parts(many.as_bytes(), PAGE);
    assert_eq!(
        (found.paths.len(), found.refused, found.is_cut),
        (256, 44, false)
    );
    let references: String = (0..5000).map(|n| format!("<img src={n}>")).collect();
    let found = named_parts(references.as_bytes(), PAGE);
    assert_eq!((found.paths.len(), found.refused), (256, 5000 - 256));
    // Each file has the base in it: together they are no longer than what is read.
    let base = format!("<base href=\"/{}/\"><img src=1>", "x".repeat(LONGEST));
    assert_eq!(paths(&base), ["/a/1"]);
    let long = format!("<img src={}><img src=1>", "x".repeat(3000));
    let found = named_parts(long.as_bytes(), PAGE);
    assert_eq!((found.paths.len(), found.refused), (1, 1));
    // A picture that stands in the document itself is long, and no list of attributes.
    let inline = format!(
        "<img src='data:image/png;base64,{}'><img src=1>",
        "x".repeat(200_000)
    );
    assert_eq!(paths(&inline), ["/a/1"]);
    // A long list of attributes takes no longer than anything else of its length.
    for attribute in ["a{n}=\"\"", "{n} ", "a "] {
        let all: String = (0..150_000)
            .map(|n| attribute.replace("{n}", &n.to_string()))
            .collect();
        assert_eq!(
            paths(&format!("<img src=1><b {all}><img src=2>")),
            ["/a/1", "/a/2"]
        );
    }
    let text = format!("{}<img src=1>", "word ".repeat(MOST_BYTES / 5 - 10));
    assert_eq!(paths(&text), ["/a/1"]);
    let text = format!("{}<img src=1>", "word ".repeat(MOST_BYTES / 5));
    let found = named_parts(text.as_bytes(), PAGE);
    assert_eq!((found.paths.len(), found.is_cut), (0, true));
}

proptest! {
    /// Whatever a server sends, paths are fit for the first line of a request.
    #[test]
    fn whatever_is_sent_there_is_no_panic_and_paths_can_be_sent(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("<img src=".as_bytes().to_vec()), Just(b"<base href='".to_vec()), Just(b"'>".to_vec()),
                Just(b"//h:81/".to_vec()), Just(b"<script>".to_vec()), Just(b"<!--".to_vec()),
                Just(b"<svg>".to_vec()), Just(b"<title/>".to_vec()), Just(b"<![CDATA[".to_vec()),
                Just(b"&#x0A;&amp;&#13;".to_vec()), Just(b"<link rel=icon href=\"".to_vec()),
                proptest::collection::vec(any::<u8>(), 0..20),
            ],
            0..40,
        ),
    ) {
        for path in named_parts(&pieces.concat(), PAGE).paths {
            prop_assert!(path.starts_with('/') && path.len() <= LONGEST, "{path}");
            prop_assert!(path.bytes().all(|byte| (0x21..0x7f).contains(&byte) && byte != b'#'), "{path}");
        }
    }
}

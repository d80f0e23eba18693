use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<FileList, String> {
    FileList::parse("dir/my.list", text).map_err(|error| error.to_string())
}

fn paths(list: &FileList) -> Vec<Vec<&str>> {
    let pages = list.pages.iter();
    pages
        .map(|page| page.files.iter().map(|file| &*file.path).collect())
        .collect()
}

impl Page {
    fn of(weight: f64, files: &[(&str, Option<u64>)]) -> Page {
        let file = |(path, size): &(&str, Option<u64>)| ListedFile {
            form: None,
            path: (*path).to_owned(),
            query: None,
            size: *size,
        };
        Page {
            weight,
            files: files.iter().map(file).collect(),
        }
    }
}

#[test]
fn pages_weights_files_comments_and_sizes() {
    let list =
        parse("# all\n2\n\n40 2 # a page\n /a.html\nb%20c 14KiB\n0.5 1\n/d/file2k.gif").unwrap();
    let a = Page::of(40.0, &[("a.html", None), ("b c", Some(14 << 10))]);
    let b = Page::of(0.5, &[("d/file2k.gif", Some(2048))]);
    assert_eq!(list.pages, [a, b]);
    assert_eq!(list.name, "my");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    assert_eq!(parse("\u{feff}1 1\n/a\n"), parse("1 1\n/a\n"));
}

#[test]
fn the_number_of_pages_may_be_left_out() {
    let list = parse("1 1\n/a\n2 1\n/b\n").unwrap();
    assert_eq!(paths(&list), [["a"], ["b"]]);
}

#[test]
fn more_than_the_hundred_pages_of_fifty_files_of_1995() {
    let page: String = (0..60).map(|i| format!("/f{i}\n")).collect();
    let text: String = (0..150).map(|_| format!("1 60\n{page}")).collect();
    let list = parse(&text).unwrap();
    assert_eq!(list.pages.len(), 150);
    assert_eq!(list.files().count(), 60);
}

#[test]
fn sizes_in_names() {
    let table = [
        ("file3k.html", Some(3 << 10)),
        ("a/file5m.mpg", Some(5 << 20)),
        ("file500.html", None),
        ("file17K", Some(17 << 10)),
        ("file.html", None),
        ("file3g.html", None),
        ("profile3k.html", None),
        ("file99999999999999999999k", None),
        ("file18446744073709551615k", None),
        ("file9007199254740992m", None),
        ("", None),
    ];
    for (path, size) in table {
        assert_eq!(size_in_name(path), size, "{path}");
    }
}

#[test]
fn errors_name_the_line() {
    let table = r#"
        => dir/my.list: there is no page in it
        # nothing↵↵ => dir/my.list: there is no page in it
        /a.html↵ => dir/my.list:1: `/a.html` stands where a page should begin
        1 2↵/a↵ => dir/my.list:1: the page has 2 files, and only 1 follow
        1 2↵/a↵↵3 1↵/b↵ => dir/my.list:1: the page has 2 files, and only 1 follow: line 4 begins another page
        1 1↵/a↵/b↵ => dir/my.list:3: `/b` stands where a page should begin
        1 0↵ => dir/my.list:1: `0` is no number of files
        1 1.5↵/a↵ => dir/my.list:1: `1.5` is no number of files
        -1 1↵/a↵ => dir/my.list:1: `-1` is no weight
        nan 1↵/a↵ => dir/my.list:1: `nan` is no weight
        #↵0 1↵/a↵ => dir/my.list:2: no page has a weight
        3↵1 1↵/a↵ => dir/my.list:1: 3 pages are announced, and there are 1
        1 1↵http://h/a↵ => dir/my.list:2: `http://h/a` is a URL
        1 1↵/a?b"c↵ => dir/my.list:2: `/a?b"c` cannot be requested: a query is sent as it is
        1 1↵/a?x=1&%5fmethod=PUT↵
            => dir/my.list:2: `/a?x=1&%5fmethod=PUT` cannot be requested: a query that names a method
        1 1↵/a?{{x}}↵ => dir/my.list:2: `/a?{{x}}` has braces
        1 2↵/a?b 3↵/a?b 4↵ => dir/my.list:3: /a?b has 4 bytes here, and 3 in line 2
        1 1↵/../a↵ => dir/my.list:2: `/../a` leads out
        1 1↵/%2e%2e/a↵ => dir/my.list:2: `/%2e%2e/a` leads out
        1 1↵//a↵ => dir/my.list:2: `//a` leads out
        1 1↵/%ff↵ => dir/my.list:2: `/%ff` is not UTF-8
        1 1↵/a%0d%0aHost:↵ => dir/my.list:2: "/a%0d%0aHost:" has a character
        1 1↵/{{x}}↵ => dir/my.list:2: `/{{x}}` has braces
        1 1↵/a 3 KiB↵ => dir/my.list:2: `KiB` follows a file and its size
        1 1↵/a big↵ => dir/my.list:2:
        1 2↵/a 3↵/a 4↵ => dir/my.list:3: /a has 4 bytes here, and 3 in line 2
    "#;
    for [text, message] in cases::rows(table) {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(message), "{text:?}: {error}");
    }
}

#[test]
fn pages_of_the_command_line() {
    let texts = ["3:/a.html,/b.gif=2KiB", "/c"].map(str::to_owned);
    let list = FileList::from_pages(&texts).unwrap();
    let a = Page::of(3.0, &[("a.html", None), ("b.gif", Some(2048))]);
    assert_eq!(list.pages, [a, Page::of(1.0, &[("c", None)])]);
    let error = FileList::from_pages(&["-1:/a".to_owned()]).unwrap_err();
    assert!(error.to_string().starts_with("page `-1:/a`: "), "{error}");
    let texts = ["/a=1", "/b,/a=2"].map(str::to_owned);
    let error = FileList::from_pages(&texts).unwrap_err().to_string();
    let expected = "page `/b,/a=2`: /a has 2 bytes here, and 1 elsewhere";
    assert_eq!(error, expected);
}

proptest! {
    #[test]
    fn whatever_is_read_gives_a_list_or_an_error(text: String) {
        let _ = parse(&text);
    }

    #[test]
    fn numbers_and_names_at_random(lines in proptest::collection::vec("[0-9]{1,2}( [0-9])?|/[a-z]{1,3}|#x", 0..30)) {
        if let Ok(list) = parse(&lines.join("\n")) {
            prop_assert!(list.pages.iter().all(|page| !page.files.is_empty()));
        }
    }
}

#[test]
fn a_form_is_sent_by_post() {
    let list = FileList::parse("l", "1 2\nPOST /cgi-bin/a b=1&c=%20 10\nPOST /file3k d\n").unwrap();
    let files = &list.pages[0].files;
    assert_eq!(
        (
            files[0].path.as_str(),
            files[0].form.as_deref(),
            files[0].size
        ),
        ("cgi-bin/a", Some("b=1&c=%20"), Some(10))
    );
    // The name of a program has no size.
    assert_eq!((files[1].form.as_deref(), files[1].size), (Some("d"), None));
    assert!(list.posts() && list.files().next().is_none());
    assert!(list.suite_text("t").contains("needs: cgi\n"));
    for (text, told) in [
        (
            "1 1\nPOST /a\n",
            "l:2: a line with POST has a path and a form",
        ),
        ("1 1\nPOST\n", "l:2: a line with POST has a path and a form"),
        ("1 1\nPOST /a b\u{e9}\n", "l:2: the form `b"),
        ("1 1\nPOST /a {{b}}\n", "l:2: "),
        ("1 1\nPOST /a b 1 2\n", "`2` follows a file and its size"),
    ] {
        let error = FileList::parse("l", text).unwrap_err().to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
}

//! First elements of each kind of page, all of them readable without a mouse.

use report::page::{ReportPage, html};
use stats::summarise;

use crate::page::{markup, page_of, shown, without_details};
use crate::{answers, galleries, runs};

fn offset(page: &str, text: &str) -> usize {
    page.find(text)
        .unwrap_or_else(|| panic!("no {text} in {page}"))
}

#[track_caller]
fn in_order(page: &str, texts: &[&str]) {
    let offsets: Vec<usize> = texts.iter().map(|text| offset(page, text)).collect();
    assert!(offsets.is_sorted(), "{texts:?} at {offsets:?}");
}

/// The text between the heading and the first warning.
fn summary_section(page: &str) -> &str {
    let from = offset(page, "<section id=\"answer\"");
    let to = page.find("<section id=\"overview\"");
    &page[from..to.unwrap_or_else(|| offset(page, "id=\"tests\""))]
}

#[test]
fn a_load_begins_with_its_rate_and_percentiles() {
    let page = markup(&page_of(&runs::open()));
    in_order(
        &page,
        &[
            "<h1>",
            "<dt>req/s</dt>",
            "<dt>p50</dt>",
            "<dt>p99</dt>",
            "<dt>failed</dt>",
            "Latency from schedule",
            "Inconclusive:",
            "id=\"course-figures\"",
            "id=\"overview\"",
            "Warnings</h3>",
            "id=\"bars\"",
            "id=\"tests\"",
        ],
    );
    assert!(
        summary_section(&page).contains(" planned</small>"),
        "{page}"
    );
    assert!(!page.contains("1 test ok"), "{page}");
    // Several requests have a row each, and so have several servers.
    let run = runs::closed();
    let summary = summarise(&run);
    let page = markup(&html(&ReportPage {
        runs: vec![without_details(&run, &summary); 2],
        ..ReportPage::default()
    }));
    let (table, _) = summary_section(&page).split_once("</table>").unwrap();
    assert_eq!(table.matches("<tr>").count(), 3, "{page}");
    assert!(summary_section(&page).contains(">p99</th>"), "{page}");
}

#[test]
fn a_suite_begins_with_its_figure() {
    let page = markup(&page_of(&runs::mixed()));
    in_order(
        &page,
        &["1 test ok", "id=\"bars\"", "Failures</h3>", "id=\"tests\""],
    );
    // Nothing to warn of, no heading.
    assert!(!markup(&page_of(&runs::pages())).contains("<h2>Warnings and notes</h2></section>"));
}

#[test]
fn sweeps_and_searches_begin_with_their_figures() {
    let (sweep, found) = (answers::sweep(), answers::found());
    let swept = markup(&html(&ReportPage {
        sweep: Some(&sweep),
        ..ReportPage::default()
    }));
    in_order(
        &swept,
        &[
            "class=\"counts\"",
            "id=\"sweep\"",
            "Warnings</h3>",
            "id=\"points\"",
        ],
    );
    let searched = markup(&html(&ReportPage {
        search: Some(&found),
        ..ReportPage::default()
    }));
    in_order(
        &searched,
        &["id=\"answer\"", "id=\"search\"", "id=\"trials\""],
    );
}

#[test]
fn a_gallery_begins_with_a_heat_map_and_ranks_the_servers_of_each_test() {
    let files = galleries::files();
    let content = |name: &str| {
        let file = files.iter().find(|(path, _)| path == name);
        file.map(|(_, content)| content.as_str()).unwrap()
    };
    let index = content("index.html");
    in_order(
        index,
        &[
            "<h1>",
            "aria-label=\"Times the fastest\"",
            "<h2>Ranking</h2>",
            "<h2>Mean response times</h2>",
        ],
    );
    let put = index.split("test-Put1K.html\">Put1K</a></th>").nth(1);
    let put = put.unwrap().split("</tr>").next().unwrap();
    assert_eq!(
        put,
        "<td class=\"number heat0\">×1.24</td><td class=\"number heat2\">×3.7</td>\
         <td class=\"number heat-2\">×1.00</td>"
    );
    let ranking = &index[offset(index, "<h2>Ranking</h2>")..];
    let put = ranking.split("test-Put1K.html\">Put1K</a></th>").nth(1);
    let put = put.unwrap().split("</tr>").next().unwrap();
    assert_eq!(
        put,
        "<td class=\"heat-2\">nginx</td><td class=\"heat0\">apache</td>\
         <td class=\"heat2\">&lt;/script&gt;&lt;i&gt;evil</td>"
    );
    // Not as many times "1 test ok" as there are servers.
    let test = content("test-Put1K.html");
    let (test, _) = test.split_once("id=\"data\"").unwrap();
    assert!(!test.contains("test ok"), "{test}");
    in_order(
        test,
        &[
            "<h1>",
            "<th scope=\"row\">nginx</th>",
            "<th scope=\"row\">apache</th>",
            "id=\"bars\"",
            "id=\"tests\"",
        ],
    );
    assert!(test.contains("×3.7</td>"), "{test}");
    let lock = content("test--b-Lock.html");
    assert!(
        lock.contains("~ 2.</td>") && lock.contains("failed</span>"),
        "{lock}"
    );
}

/// Texts of attributes that only a mouse shows.
fn titles(page: &str) -> Vec<&str> {
    let all = page.split(" title=\"").skip(1);
    all.map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn what_a_mouse_shows_stands_on_the_page() {
    let run = runs::pages();
    let summary = summarise(&run);
    let other = runs::classic();
    let other_summary = summarise(&other);
    let (comparison, sweep, found) = (answers::comparisons(), answers::sweep(), answers::found());
    let page = markup(&html(&ReportPage {
        runs: vec![shown(&run, &summary), shown(&other, &other_summary)],
        comparison: Some(&comparison),
        sweep: Some(&sweep),
        search: Some(&found),
        ..ReportPage::default()
    }));
    let titles = titles(&page);
    assert!(titles.len() > 30, "{titles:?}");
    for title in titles {
        let on_page = format!("<dd>{title}</dd>");
        assert!(page.contains(&on_page), "only a mouse shows: {title}");
    }
}

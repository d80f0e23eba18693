//! Servers that store calendars and address books: the suite `calendar` against those of
//! `servers/`, and runs on a server that refuses every other file, the marker of a run included.

use testbed::fault::Rule;
use testbed::real::recipes;

use crate::interruption::kill;
use crate::support::Prestan;
use crate::support::faulty::{Faulty, evidence, status};
use crate::support::load::{at_work, plain};
use crate::support::real::started;
use crate::support::rows::{assert_adds_up, names, row, statuses};

/// Its rows, in the order of the report.
const CALENDAR: &str = "MkCalendar DeleteCalendar PutEvent GetEvent ChangeEvent DeleteEvent \
                        ListEvents QueryEvents SyncEvents";

/// The whole suite against one server, whose other content must not change.
fn all_of_calendar(name: &str) {
    let Some(server) = started(name) else { return };
    let before = server.contents().unwrap();
    let url = server.url();
    let outcome = prestan!("run calendar {url} --json - -r 5 -c 2 --param members=10").ends(0);
    let document = outcome.json();
    assert_eq!(names(&document).join(" "), CALENDAR);
    let found = statuses(&document);
    assert!(found.values().all(|status| *status == "ok"), "{outcome}");
    assert_adds_up(&document);
    assert_eq!(server.contents().unwrap(), before);
}

#[test]
fn all_of_calendar_is_ok_where_a_recipe_says_so() {
    let calendars = recipes().iter().filter(|recipe| recipe.expected.calendar);
    calendars.for_each(|recipe| all_of_calendar(&recipe.name));
}

#[test]
fn a_server_without_calendars_does_not_support_them() {
    let faulty = plain();
    let outcome = prestan!("run calendar {faulty} --json -").ends(0);
    let document = outcome.json();
    for (name, status) in statuses(&document) {
        let is_needed = name == "MkCalendar";
        let word = if is_needed {
            "not_supported"
        } else {
            "skipped"
        };
        assert_eq!(status, word, "{name}");
    }
}

/// Only Prestan's own marker is refused: the run continues, and can be cleaned up.
#[test]
fn a_collection_is_marked_by_a_property_where_the_server_refuses_the_file() {
    let refused = Rule::new(status(400, &[], "")).method("PUT");
    let faulty = Faulty::new(|builder| builder.rule(refused.tag("(workspace)")));
    let url = faulty.url();
    let running = at_work(Prestan::new(), &faulty, "killed");
    let state = running.home().join("state");
    let busy = prestan!("clean {url}").env("XDG_STATE_HOME", &state).run();
    busy.stdout_has(&format!("in use by the run of process {}", running.id()));

    let killed = kill(running);
    assert_eq!(faulty.left(), ["PrestanTest-killed"]);
    let marker = "PrestanTest-killed/prestan-run.json";
    assert!(!faulty.demo.root().join(marker).exists());
    let cleaned = prestan!(killed.again() => "clean {url}").run();
    let removed = format!("removed: {url}PrestanTest-killed/\n");
    assert_eq!(cleaned.stdout, removed, "{cleaned}");
    assert_eq!(faulty.left(), [""; 0]);
}

#[test]
fn a_server_that_refuses_all_files_does_not_support_put() {
    let refused = || Rule::new(status(415, &[], "")).method("PUT");
    let faulty = Faulty::new(|builder| builder.rule(refused()));
    let outcome = prestan!("{faulty} --only Put1K,Get1K,MkCol --json - -d 2 -w 2").ends(0);
    let document = outcome.json();
    assert_eq!(row(&document, "Put1K")["status"], "not_supported");
    let put = row(&document, "Put1K");
    assert!(evidence(put).contains("PUT res: 415"), "{put:#}");
    assert_eq!(row(&document, "Get1K")["status"], "skipped");
    assert_eq!(row(&document, "MkCol")["status"], "ok");
    let report = prestan!(outcome.again() => "report").run();
    report.stdout_has("the server stores no plain files");
    assert_eq!(faulty.left(), [""; 0]);

    // Without properties, the owner of a collection cannot be recorded.
    let no_property = Rule::new(status(403, &[], "")).method("PROPPATCH");
    let faulty = Faulty::new(|builder| builder.rule(refused()).rule(no_property));
    let outcome = prestan!("{faulty}").ends(4);
    outcome.stderr_has("PUT prestan-run.json");
    assert_eq!(faulty.left(), [""; 0]);
}

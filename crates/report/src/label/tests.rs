use super::*;

#[test]
fn functions_of_a_server_have_no_names() {
    let stack = |stack: &str, samples: &[u32]| FlameStack {
        stack: stack.to_owned(),
        samples: samples.to_vec(),
    };
    let mut row = FlameRow {
        measure: record::MeasureId(0),
        operations: 1,
        frequency: 4_999,
        samples: 10,
        lost: 0,
        cut: 0,
        other: 0,
        by_thread: false,
        without_kernel: false,
        stacks: vec![
            stack("telltale;ap_read;read_[k]", &[1, 2]),
            stack("telltale;ap_write", &[3]),
            stack("telltale;ap_get;read_[k]", &[0, 1, 2]),
        ],
    };
    hide_functions(&mut row);
    let expected = [stack("*;*;read_[k]", &[1, 3, 2]), stack("*;*", &[3])];
    assert_eq!(row.stacks, expected);
}

fn hidden(text: &str) -> String {
    let server = Server {
        software: Some("Apache/2.4.62 (Debian) mod_x/1".to_owned()),
        dav: ["1", "2", "<http://apache.org/dav/propset/fs/1>"]
            .map(str::to_owned)
            .to_vec(),
        allow: Vec::new(),
        http: "1.1".to_owned(),
        same_machine: None,
        round_trip: None,
        via: Some("edge.example".to_owned()),
        addresses: vec![record::AddressConnections {
            address: "192.0.2.7:80".to_owned(),
            connections: 3,
        }],
    };
    let mut run = stats::testing::RunBuilder::new(1).build();
    run.plan.target = "http://dav.example.org:8080/store/".to_owned();
    run.plan.others = vec!["http://[::1]:81/".to_owned()];
    let label = ServerLabel::of("Server 1", run.plan.servers(), [&server].into_iter());
    let mut text = text.to_owned();
    label.hide(&mut text);
    text
}

#[test]
fn metrics_of_a_server_have_numbers_for_names() {
    let event = |source| Event {
        at: 0,
        kind: EventKind::ServerTimes(record::ServerTimes {
            measure: record::MeasureId(0),
            source,
            operations: 1,
            resolution: 1,
            batches: Vec::new(),
        }),
    };
    let header = |metric: &str| ServerTimeSource::Header {
        metric: metric.to_owned(),
    };
    let named = ["telltale-db", "app", "telltale-db"].map(|name| event(header(name)));
    let mut events = named.to_vec();
    events.push(event(ServerTimeSource::AccessLog));
    rename_metrics(&mut events);
    let expected = ["metric 2", "metric 1", "metric 2"].map(|name| event(header(name)));
    let mut expected = expected.to_vec();
    expected.push(event(ServerTimeSource::AccessLog));
    assert_eq!(events, expected);
}

#[test]
fn addresses_of_a_server_have_numbers_and_caches_no_names() {
    let address = |address: &str| record::AddressResponses {
        target: 0,
        address: address.to_owned(),
        responses: 1,
    };
    let event = |cache, addresses| Event {
        at: 0,
        kind: EventKind::Origins(record::RowOrigins {
            measure: record::MeasureId(0),
            cached: 1,
            cache,
            addresses,
        }),
    };
    let named = ["192.0.2.7:80", "192.0.2.1:80"].map(address).to_vec();
    let mut events = vec![event(Some("edge".to_owned()), named)];
    rename_addresses(&mut events);
    let numbered = ["address 2", "address 1"].map(address).to_vec();
    assert_eq!(events, [event(None, numbered)]);
}

#[test]
fn files_of_a_server_that_was_looked_into_have_no_names() {
    let path = "lock/DAVLock".to_owned();
    let peer = "/run/postgresql/.s.PGSQL.5432".to_owned();
    for target in [CallTarget::File { path }, CallTarget::Socket { peer }] {
        let mut call = stats::testing::traced_call("openat", target, 1);
        hide_target(&mut call);
        let target = format!("{:?}", call.target);
        assert!(
            target.contains("\"*\"") && !target.contains('/'),
            "{target}"
        );
    }
}

#[test]
fn what_identifies_a_server_is_replaced_wherever_it_stands() {
    // The last ones only look like it.
    let table = r#"
        GET /store/x was answered 404 => GET /x was answered 404
        at http://dav.example.org:8080/store/PrestanTest-1/ => at Server 1/PrestanTest-1/
        connecting failed: 192.0.2.7:8080: refused; [2001:db8::1]:81: refused
            => connecting failed: (not shown): refused; (not shown): refused
        it points to https://other.example.net:9/a, and redirects are not followed
            => it points to https://(not shown)/a, and redirects are not followed
        "<address>Apache/2.4.62 (Debian) mod_x/1 Server at DAV.example.ORG Port 8080"
            => "<address>(not shown) Server at Server 1 Port 8080"
        apache answered => (not shown) answered
        OPTIONS says `DAV: 1,2,<http://apache.org/dav/propset/fs/1>` => OPTIONS says `DAV: 1,2,(not shown)`
        [::1]:81 and ::1. => Server 1 #2 and (not shown).
        at [2001:db8::1], at fe80::1%eth0 => at (not shown), at (not shown)th0
        x:127.0.0.1, x:80:127.0.0.1 => x:(not shown), x:80:(not shown)
        to //other.example.net:9/a, a//b => to //(not shown)/a, a//b
        `Bad\n192.0.2.7\nApache/2.4.62` => `Bad\n(not shown)\n(not shown)/(not shown)`
        12:30 of 1.5 ms, fed: abc => 12:30 of 1.5 ms, fed: abc
        apaches, prestan => apaches, prestan
        größe: Apache => größe: (not shown)
    "#;
    for [text, wanted] in cases::rows(table) {
        assert_eq!(hidden(text), wanted);
    }
}

#[test]
fn a_run_without_a_label_stays_as_it_is() {
    let mut run = stats::testing::RunBuilder::new(1).build();
    let before = run.clone();
    apply_label(&mut run.plan, &mut run.env, &mut run.events);
    assert_eq!(run, before);
    run.plan.label = Some("A".to_owned());
    apply_label(&mut run.plan, &mut run.env, &mut run.events);
    assert_eq!(run.plan.target, "A");
    assert!(
        run.env
            .server
            .is_none_or(|server| server.software.is_none())
    );
}

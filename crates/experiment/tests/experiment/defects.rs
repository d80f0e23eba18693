//! Defects of experiment files, and their errors.

use experiment::ExperimentSpec;

const RIGHT: &str = include_str!("right.yaml");

/// A change of the valid file, and the beginning of the error.
const DEFECTS: &str = r#"
    title: An => titel: An => x:1:1:
    title: An experiment => title: '' => title: is empty
    lab: congestion => lab: congstion => lab: no laboratory is called `congstion`; did you mean `congestion`?
    name: load => name: mix => factors[1].name: `mix` is another's name
    name: mix => name: m-x => factors[0].name: `m-x` is no name for templates
    name: mix => name: not => factors[0].name: `not` is no name for templates
    {name: C2, => {name: C1, => factors[0].levels[1].name: `C1` is another's name
    {name: C2, => {name: 'C,2', => factors[0].levels[1].name: `C,2` is no name of a level
    values: {rate: 0} => values: {name: 0} => factors[0].levels[0].values.name: is the name
    - {mix: C2 => - {mx: C2 => cells[1]: no factor is called
    - {mix: C2 => - {mix: C3 => cells[1].mix: no level of `mix` is called `C3`; known are C1, C2
    server: [apache, bare] => server: [] => cells[1].server: names no level
    short: [{load: 75}] => short: [{load: 100, server: nginx, mix: C2}] => short: matches no cell
    repeat: 4 => repeat: 0 => repeat: is 0
    {{ mix.rate }} => {{ mix.rat }} => trial.requests.stress.rate: `rat` in `mix.rat` is not known
    {{ mix.rate }} => {{ mx.rate }}
        => trial.requests.stress.rate: `mx` in `mx.rate` is not known in this cell; known are load, load.mbit,
    {{ mix.rate }} => {{ mix.rate } => trial.requests.stress.rate: `{{ mix.rate }` has no end
    {{ mix.rate }} => {% if 1 %} => trial.requests.stress.rate: `{% if 1 %}`: a template is
    {{ mix.rate }} => fast => trial.requests.stress: `fast` is no rate
    from: client => frm: client => trial.measured.single: unknown field `frm`; did you mean `from`?
    from: client => from: clent => trial.measured.single.from: no host is called `clent`; did you mean `client`?
    from: client => from: r1 => trial.measured.single.from: `r1` is a router
    from: client => from: server => trial.measured.single.to: is `server`
    to: server, path: /160k => to: bt-server, path: /160k => trial.measured.single.to: `bt-server` has no server
    path: /160k => path: /big => trial.measured.single.path: `/big` is no file
    path: /160k => path: /999k
        => trial.measured.single.path: `/999k` is no file of the servers, which have /504k, /320k, /160k
    path: /160k => path: /160k, suite: prestan => trial.measured.single: has a path and a suite
    path: /160k => arguments: [] => trial.measured.single: has neither
    path: /160k => path: /160k, arguments: [-v] => trial.measured.single.arguments:
    single: {from => stress: {from => trial.requests.stress: the name is taken
    captures: [server] => captures: [sever] => trial.captures[0]: no host is called `sever`
    captures: [server] => captures: [server, server] => trial.captures[1]: `server` is named twice
    longest: 60s => longest: 2h => trial.longest:
    sink: udp-sink => sink: there => trial.traffic.file.components.udp: no host is called `there`
    rate: "{{ load.mbit }}mbit" => rat: 75mbit => trial.traffic.file.loads.udp: unknown field
    model: packets => model: packet => trial.traffic.file.components.udp.model:
    stress: {congestion: "{{ mix.cc | default(none) }}"} => sress: {}
        => trial.hosts.sress: no host is called `sress`; did you mean `stress`?
    stress: {congestion: "{{ mix.cc | default(none) }}"} => stress: {congestion: 'No!'} => lab.hosts.stress.congestion:
    path.rtt: { => pth.x: {title: X, unit: s}↵  path.rtt: {
        => figures.pth.x: no measurement, request or captured host is called `pth`; did you mean `path`?
    path.rtt: {title: Round trip, unit: ms} => path.rtt: {title: Round trip, unit: ms, of: "pth.{{ mix }}"}
        => figures.path.rtt: no measurement, request or captured host is called `pth`; did you mean `path`?
    path.rtt: {title: Round trip, unit: ms} => path.rtt: {title: Round trip, unit: ms, of: single.dellay}
        => figures.path.rtt: no figure of a trial is called `single.dellay`; did you mean `single.delay`?
    path.rtt: {title: Round trip, unit: ms} => path.rtt: {title: Round trip, unit: ms, of: stress.delay}
        => figures.path.rtt: no figure of a trial is called `stress.delay`; did you mean `stress.failed`?
    path.rtt: {title: Round trip, unit: ms} => path.rtt: {title: Round trip, unit: ms, of: server.rto.W1.one.witin}
        => figures.path.rtt: no figure of a trial is called `server.rto.W1.one.witin`; did you mean `server.rto.W1.one.within`?
    path.rtt: {title: Round trip, unit: ms} => path.rtt: {title: Round trip, unit: ms, of: server.rto.W10.one.within}
        => figures.path.rtt: no figure of a trial is called `server.rto.W10.one.within`; did you mean `server.rto.W1.one.within`?
    path.rtt: {title: Round trip, unit: ms} => path.rtt: {title: Round trip, unit: ms, of: link.r1-r3.rate}
        => figures.path.rtt: no figure of a trial is called `link.r1-r3.rate`; did you mean `link.r1-s0.rate`?
    path.rtt: {title: Round trip, unit: ms} => path.rtt: {title: Round trip, unit: ms, of: traffic.upd.rate}
        => figures.path.rtt: no figure of a trial is called `traffic.upd.rate`; did you mean `traffic.udp.rate`?
    path.rtt: {title: Round trip, unit: ms} => path.rtt: {title: Round trip, unit: ms, of: single.Row.mean}
        => figures.path.rtt: no figure of a trial is called `single.Row.mean`; did you mean `single.delay`?
    path.rtt: {title: Round trip, unit: ms} => path.rtt: {title: Round trip, unit: ms, apart_from: "path.{{ mx }}"}
        => figures.path.rtt.apart_from: `mx` in `mx` is not known
    groups: mix => groups: mix↵    also: [single.dely]
        => charts[0].also[0]: no figure is called `single.dely`; did you mean `single.delay`?
    groups: mix => groups: mix↵    also: [server.new]
        => charts[0].also[0]: `server.new` has another unit than `single.delay`
    of: {mix: C2}, than: {mix: C1} => than_figure: server.new, of: {mix: C2}, than: {mix: C2}
        => findings[0].than_figure: `server.new` has another unit
    of: {mix: C2}, than: {mix: C1} => than_figure: single.delay, of: {mix: C2}, than: {mix: C2}
        => findings[0].than: has the cells of the other side
    relation: about, within: 10% => relation: mixed, within: 10% => findings[1].within: is for `about`
    trial:↵ => trial:↵  lab: congstion↵ => trial.lab: no laboratory is called `congstion`; did you mean `congestion`?
    path.rtt: { => mix: { => figures.mix: is the name of a factor
    unit: percent => unit: parsec => x:
    rows: [server] => rows: [sever] => tables[0].rows[0]: no factor is called `sever`; did you mean `server`?
    rows: [server] => rows: [server, server] => tables[0].rows[1]: `server` is named twice
    rows: [server] => rows: [] => tables[0].rows: is empty
    {figure: single.delay, where => {figure: single.dely, where
        => tables[0].columns[0].figure: no figure is called `single.dely`; did you mean `single.delay`?
    where: {mix: C1}}] => where: {mix: C9}}] => tables[0].columns[0].where.mix: no level
    - name: Table 9 => - name: Table 8 => tables[1].name: `Table 8` is another's name
    groups: mix => groups: mixes => charts[0].groups: no factor is called `mixes`
    bars: server => bars: mix => charts[0].bars: `mix` is the factor of the groups
    than: {mix: C1} => than: {mix: C2} => findings[0].than: has the cells of the other side
    of: {mix: C2} => of: {mix: C7} => findings[0].of.mix: no level
    , within: 10% =>  => findings[1].within: is missing
    within: 10% => within: 0% => findings[1].within: is not between
    relation: more => relation: more, within: 3% => findings[0].within: is for `about`
    mix,server,load,single.delay => mix,sever,load,single.delay
        => published: no factor or figure is called `sever`; did you mean `server`?
    mix,server,load,single.delay => mix,server,server,single.delay => published: `server` is the name of two columns
    C1,apache,75,0.5, => C1,apache,75 => published line 3: has 3 fields, not 5
    C1,apache,75,0.5 => C1,apache,75,inf => published line 3: `inf` is no number
    C1,apache,75,0.5 => C1,apach,75,0.5 => published line 3: no level of `server` is called `apach`
    C1,apache,75,0.5 => C2,nginx,75,0.5 => published line 3: the experiment has no cell
    C1,apache,75,0.5 => C1,bare,,0.5 => published line 6: `single.delay` of these levels has another line
"#;

fn changed(from: &str, to: &str) -> String {
    let text = RIGHT.replacen(from, to, 1);
    assert_ne!(text, RIGHT, "{from} is not there");
    text
}

#[test]
fn defects_are_named_with_their_key() {
    cases::assert_refused(RIGHT, DEFECTS, |text| ExperimentSpec::read("x", text));
}

#[test]
fn templates_become_values_texts_and_nothing() {
    // Where there are none, no cell has these requests, nor their figures.
    let table = "
        {{ mix }}mbit => trial.requests.stress: `C1mbit` is no rate
        {{ mix.name }} => trial.requests.stress: `C1` is no rate
        {{ mix }} => trial.requests.stress: `C1` is no rate
        {{ load.mbit * 2 / 5 }}mbit =>
        {{ (load.mbit / 10) | int }}mbit =>
        {{ mix.missing | default('7mbit') }} =>
        {{ '8mbit' if mix.name == 'C1' else '9mbit' }} =>
        {{ none }} => figures.stress.share: no measurement, request or captured host is called `stress`
        {{ [1] * 99999 }} => trial.requests.stress.rate: `[1] * 99999` grows to more than 64 KiB
        {{ mix.rate => trial.requests.stress.rate:
        {{ mix.rate | loud }}
            => trial.requests.stress.rate: `mix.rate | loud`: there is no filter `loud`; did you mean `round`?
        {{ }} => trial.requests.stress.rate:
        {{ [1, 2] }}mbit => trial.requests.stress.rate:
        {{ load.mbit // 0 }}mbit => trial.requests.stress.rate:
    ";
    for [template, expected] in cases::rows(table) {
        let text = changed("{{ mix.rate }}", template);
        match ExperimentSpec::read("x", &text) {
            Ok(_) => assert_eq!(expected, "", "{template}"),
            Err(error) => {
                let error = error.to_string();
                let as_expected = !expected.is_empty() && error.starts_with(expected);
                assert!(as_expected, "{template}: {error}");
            }
        }
    }
}

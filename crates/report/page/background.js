// Background traffic beside what was measured, over the time of a run: panels one below the other, with one time axis.
"use strict";

const prestanBackground = (() => {
  const F = prestanFigures;
  // Rows or components that have colours of their own; more of them share one.
  const MOST = 4;
  // A part that is shorter than this share of the longest has no rate: a few blocks more or less would be a peak.
  const TOO_SHORT = 0.5;
  // Names of tests have letters so wide.
  const LETTER = 6.4;
  const SIDES = 78 + 18;

  const BITS = [["bit/s", 1], ["kbit/s", 1e3], ["Mbit/s", 1e6], ["Gbit/s", 1e9]];
  const bits = (bps) => {
    const [unit, scale] = BITS.findLast(([, scale]) => bps / scale >= 0.9995) ?? BITS[0];
    return [unit, scale];
  };
  const rate = (bps) => {
    const [unit, scale] = bits(bps);
    return `${F.digits(bps / scale)} ${unit}`;
  };
  const tick = (bps) => {
    const [unit, scale] = bits(bps);
    return bps === 0 ? "0" : `${F.plain(bps / scale)} ${unit}`;
  };

  const hasAny = (run) => Boolean(run.background);

  // ----- lines of the panels ---------------------------------------------------------------------

  const middleOf = (course, part) => course.from_s[part] + course.length_s[part] / 2;

  function line(name, color, dash, data, told, more = {}) {
    return { name, color, data, told, lineStyle: { color, type: dash, width: 1.7 }, itemStyle: { color }, ...more };
  }

  const when = (item) => `${F.plain(Number(item.value[0].toPrecision(4)))} s`;

  // Answers a second, of all rows together: where something was measured and nothing was answered, none.
  function throughput(course, ink) {
    const longest = Math.max(...course.length_s);
    const sums = new Map();
    for (const row of course.rows) row.place.forEach((part, of) => sums.set(part, (sums.get(part) ?? 0) + row.done[of]));
    const [begin, end] = course.measured_s;
    const data = course.from_s.map((from, part) => {
      const to = from + course.length_s[part];
      // Of the parts at both ends, what was measured is shorter.
      const length = Math.min(to, end) - Math.max(from, begin);
      const has = course.rows.length > 0 && length >= longest * TOO_SHORT;
      return [middleOf(course, part), has ? (sums.get(part) ?? 0) / length : null];
    });
    return [line("answered", ink, "solid", data, (item) => [`${F.digits(item.value[1])} responses/s`, when(item)])];
  }

  // The median and p99 of one row, the medians of a few, and all medians alike of many.
  function latencies(course, colors) {
    const all = course.rows.filter((row) => row.p50_us.some((us) => us !== null));
    const data = (row, key) => {
      const known = new Map(row.place.map((part, of) => [part, row[key][of]]));
      return course.from_s.map((_, part) => [middleOf(course, part), known.get(part) ?? null]);
    };
    const told = (row, name) => (item) => [`${name} ${F.time(item.value[1])}`, row.name, when(item)];
    if (all.length === 1) {
      const [row] = all;
      return ["p50", "p99"].map((name) => ({ name, values: data(row, `${name}_us`) })).filter(({ values }) => values.some(([, us]) => us !== null))
        .map(({ name, values }, place) => line(name, colors(place), F.dashOf(place), values, told(row, name)));
    }
    const own = all.length <= MOST;
    return all.map((row, place) => line(own ? `p50 of ${row.name}` : "p50 of each row", colors(own ? place : 0), F.dashOf(own ? place : 0), data(row, "p50_us"), told(row, "p50")));
  }

  function received(course, colors) {
    const longest = Math.max(...course.length_s);
    return course.components.map((of, place) => line(of.name, colors(place), F.dashOf(place),
      of.received_bps.map((bps, part) => [middleOf(course, part), course.length_s[part] >= longest * TOO_SHORT ? bps : null]),
      (item) => [`${of.name}: ${rate(item.value[1])} received`, when(item)]));
  }

  function lost(course, colors) {
    return course.components.flatMap((of, place) => (of.lost_percent ? [line(of.name, colors(place), F.dashOf(place),
      of.lost_percent.map((percent, part) => [middleOf(course, part), percent]),
      (item) => [`${of.name}: ${F.digits(item.value[1])} % lost`, when(item)])] : []));
  }

  // ----- tests on the time axis ------------------------------------------------------------------

  // The tests that follow one another, each with its name where that fits, or with its number where that does.
  function testsOf(course, look, end) {
    const { tests } = course;
    if (tests.length === 0 || tests.some((test, place) => place > 0 && test.from_s < tests[place - 1].to_s)) return [];
    const scale = ((look.width ?? 800) - SIDES) / end;
    return tests.map((test, place) => {
      const width = (test.to_s - test.from_s) * scale;
      const number = String(place + 1);
      const shown = test.name.length * LETTER <= width - 4 ? test.name : number.length * LETTER <= width ? number : "";
      return { ...test, number, shown };
    });
  }

  // A band in every panel for every other test, and the names above the first one.
  function bands(look, tests, panel) {
    const { muted } = F.inks(look);
    const fill = look.dark ? "rgba(255,255,255,0.08)" : "rgba(0,0,0,0.06)";
    return {
      type: "custom", name: "tests", silent: true, z: 0, clip: false, tooltip: { show: false }, xAxisIndex: panel, yAxisIndex: panel,
      encode: { x: [0, 1] }, data: tests.map((test) => [test.from_s, test.to_s]),
      renderItem: ({ dataIndex, coordSys }, api) => {
        const [from] = api.coord([api.value(0), 0]);
        const [to] = api.coord([api.value(1), 0]);
        const { x, y, width, height } = coordSys;
        const band = { type: "rect", shape: { x: from, y, width: Math.max(0.5, Math.min(to, x + width) - from), height }, style: { fill: dataIndex % 2 ? "transparent" : fill } };
        const text = { type: "text", x: (from + to) / 2, y: y - 4, style: { text: tests[dataIndex].shown, fill: muted, font: `11px ${F.FONT}`, align: "center", verticalAlign: "bottom" } };
        return { type: "group", children: panel === 0 && tests[dataIndex].shown ? [band, text] : [band] };
      },
    };
  }

  // The ends of the measurement, and of the traffic where that was before.
  function marks(look, course, isFirst) {
    const { muted, bad } = F.inks(look);
    const mark = (at, color, type, text) => ({
      xAxis: at, lineStyle: { color, type, width: 1.2 },
      label: { show: isFirst && text !== "", formatter: text, position: "insideEndTop", rotate: 0, color, fontFamily: F.FONT, fontSize: 11 },
    });
    const ends = course.measured_s.map((at) => mark(at, muted, "dashed", ""));
    if (course.ended_s !== null) ends.push(mark(course.ended_s, bad, "solid", "traffic ended"));
    return { symbol: "none", silent: true, animation: false, data: ends };
  }

  // ----- the figure ------------------------------------------------------------------------------

  function panelsOf(course, look) {
    const { ink } = F.inks(look);
    const times = latencies(course, (place) => F.PALETTE[place % MOST]);
    const ofComponent = (place) => F.PALETTE[(MOST + place) % F.PALETTE.length];
    const latency = course.open ? "latency from schedule" : "response time";
    const perSecond = (more) => F.axis(look, { ...more, scale: "linear", label: F.plain });
    return [
      { name: "Measured: expected responses per second", axisName: "responses/s", axis: perSecond, lines: throughput(course, ink) },
      { name: `Measured: ${latency}`, axisName: latency, axis: (more) => F.timeAxis(look, { ...more, scale: "auto" }), lines: times },
      { name: "Background: rate that was received", axisName: "received", axis: (more) => F.axis(look, { ...more, scale: "linear", label: tick }), lines: received(course, ofComponent) },
      { name: "Background: datagrams that were lost", axisName: "lost", axis: (more) => F.axis(look, { ...more, scale: "linear", label: (value) => `${F.plain(value)} %` }), lines: lost(course, ofComponent) },
    ].filter((panel) => panel.lines.some((of) => of.data.some(([, y]) => y !== null)));
  }

  const isAlone = (values, place) => [place - 1, place + 1].every((other) => typeof values[other]?.[1] !== "number");

  function figure(data, look, { place }) {
    const run = data.runs[place];
    const course = run.background;
    const title = `Background traffic beside ${data.runs.length > 1 ? run.name : "the measurement"} over time`;
    const panels = panelsOf(course, look);
    // Where there is one line, the title of its panel says what it is.
    const named = panels.filter((panel) => panel.lines.length > 1 || panel.axisName === "received");
    const legend = [...new Set(named.flatMap((panel) => panel.lines.map((of) => of.name)))];
    const end = Math.max(...course.from_s.map((from, part) => from + course.length_s[part]), course.measured_s[1]) || 1;
    const tests = testsOf(course, look, end);
    const top = Math.max(14, F.legendHeight(look, legend)) - 8;
    // Names of tests stand between the first title and its panel.
    const row = tests.some((test) => test.shown) ? 16 : 0;
    const { grid, title: titles, bottom } = F.panels(look, panels, 110);
    const down = (by) => (of) => ({ ...of, top: of.top + by });
    const unnamed = tests.filter((test) => test.shown !== test.name);
    const note = [
      `Each value describes ${Math.max(...course.length_s) > 1.5 ? "several seconds" : "about a second"} of the run, without an interval. Dashed lines enclose the measurement.`,
      tests.length > 0 ? "Bands are the tests of the suite." : "",
      unnamed.length > 0 ? `Tests by their numbers: ${tests.map((test) => `${test.number} ${test.name}`).join(", ")}.` : "",
      panels.some((panel) => panel.lines.some((of) => of.name === "p99")) ? "p99 is not drawn where there are fewer than 100 operations." : "",
      course.rows.length === 0 ? "The samples of the measurement are not there." : "",
    ];
    return {
      id: data.runs.length > 1 ? `background-${place + 1}` : "background", title, height: top + row + bottom + 48, empty: panels.length === 0,
      note: note.filter(Boolean).join(" "),
      option: F.frame(look, title, {
        legend: legend.length > 0 ? { data: legend } : undefined,
        grid: grid.map(down(top + row)), title: titles.map((of, panel) => down(top + (panel === 0 ? 0 : row))(of)),
        xAxis: panels.map((_, panel) => {
          const axis = F.axis(look, { name: panel === panels.length - 1 ? "seconds since the beginning of the run" : undefined, range: [0, end], scale: "linear", label: F.plain, zero: true });
          return { ...axis, gridIndex: panel, max: end, axisLabel: { ...axis.axisLabel, showMaxLabel: false } };
        }),
        yAxis: panels.map((panel, at) => {
          const values = panel.lines.flatMap((of) => of.data.map(([, y]) => y)).filter((y) => y !== null && y > 0);
          return { ...panel.axis({ name: panel.axisName, range: F.extent(values) ?? [0, 1], vertical: true, zero: true, shared: true }), gridIndex: at };
        }),
        series: panels.flatMap((panel, at) => panel.lines.map(({ told, ...of }, first) => ({
          type: "line", symbol: "circle", showSymbol: true, connectNulls: false, ...of,
          symbolSize: (_, { dataIndex }) => (isAlone(of.data, dataIndex) ? 5 : look.paper ? 0 : 3),
          xAxisIndex: at, yAxisIndex: at, tooltip: look.paper ? undefined : { formatter: (item) => look.lines(told(item)) },
          ...(first === 0 ? { markLine: marks(look, course, at === 0) } : {}),
        }))).concat(tests.length > 0 ? panels.map((_, panel) => bands(look, tests, panel)) : []),
      }),
    };
  }

  // One for each run that has it, as functions that make them.
  const all = (data) => data.runs.flatMap((run, place) => (hasAny(run) ? [(look) => figure(data, look, { place })] : []));

  return { all };
})();

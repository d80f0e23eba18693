// Figures: pure functions from the data of the page to options of Apache ECharts. The page draws
// them, and so does `prestan report --svg`, without a browser. A figure is
//
//   { id, title, note, height, option }
//
// and what it looks like is said by `look`: { paper, dark, width, servers, tests, coarse }, where `coarse` is a finger
// instead of a mouse. Times are microseconds.
"use strict";

const prestanFigures = (() => {
  // Okabe and Ito (2008), the colours that the colour-blind tell apart; yellow is darkened.
  const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c7b00", "#666666"];
  // Eight colours, seven symbols, five dashes: no two of 280 have all three alike, and no two of 35 differ by colour only.
  const SYMBOLS = ["circle", "rect", "triangle", "diamond", "pin", "arrow", "path://M0,0L10,0L0,10L10,10Z"];
  const DASHES = ["solid", [6, 3], [2, 2], [8, 3, 2, 3], [12, 4]];
  const FONT = "Inter, 'Noto Sans', 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  // From this factor between the least and the greatest on, an axis is logarithmic by itself.
  const WIDE = 20;
  // An interval may reach this factor beyond all means; what is longer is cut, and marked.
  const REACH = 5;
  const BAND = 0.72;

  const colorOf = (index) => PALETTE[index % PALETTE.length];
  const symbolOf = (index) => SYMBOLS[index % SYMBOLS.length];
  const dashOf = (index) => DASHES[index % DASHES.length];

  function inks(look) {
    return look.dark
      ? { ink: "#e6e6e6", muted: "#a3a8ae", line: "#3a4047", ground: "transparent", bad: "#ff9d7a" }
      : { ink: "#1b1f23", muted: "#5b636b", line: "#dfe3e7", ground: look.paper ? "#ffffff" : "transparent", bad: "#b03a00" };
  }

  // ----- numbers -------------------------------------------------------------------------------

  const UNITS = [["µs", 1], ["ms", 1e3], ["s", 1e6]];

  function unitFor(us) {
    return UNITS.findLast(([, scale]) => us / scale >= 0.9995) ?? UNITS[0];
  }

  // Three significant digits, as in the text report.
  function digits(value) {
    const size = Math.abs(value);
    return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
  }

  function time(us) {
    const [unit, scale] = unitFor(us);
    return `${digits(us / scale)} ${unit}`;
  }

  // A round number without needless zeros: ticks.
  const plain = (value) => String(Number(value.toPrecision(6)));

  function tickTime(us) {
    if (us === 0) return "0";
    const [unit, scale] = unitFor(us);
    return `${plain(us / scale)} ${unit}`;
  }

  const percent = (share) => `${plain(Math.round(share * 1e5) / 1e3)} %`;

  function extent(values) {
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) {
      if (value === null || !Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    return low <= high ? [low, high] : null;
  }

  // ----- axes ----------------------------------------------------------------------------------

  // 1, 2, 5 of every power of ten within reach; only powers of ten where there are many.
  function logTicks(low, high) {
    const decades = Math.log10(high / low);
    const steps = decades > 4 ? [1] : decades > 2 ? [1, 3] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const step of steps) {
        const tick = Number((step * 10 ** power).toPrecision(3));
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    }
    return ticks.length >= 3 ? ticks : evenTicks(low, high, 5);
  }

  // 1, 2 or 5 times a power of ten: that many of it, or a few more, are as long as this.
  function niceStep(length, parts) {
    const rough = length / parts;
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].find((step) => step * power >= rough * 0.999) * power;
  }

  // The round numbers between two.
  function evenTicks(low, high, parts) {
    const step = niceStep(high - low, parts);
    const [first, last] = [Math.ceil(low / step), Math.floor(high / step)];
    return Array.from({ length: last - first + 1 }, (_, place) => Number(((first + place) * step).toPrecision(12)));
  }

  // An axis of numbers. `scale` is "linear", "log" or "auto"; `label` writes a tick; `zero` begins there; `shared` has
  // the same ends in every panel, instead of those that its own data ask for; `tight` leaves little room at the ends.
  function axis(look, { name, range, scale, label, vertical, zero, shared, tight }) {
    const { muted, line } = inks(look);
    const [low, high] = range ?? [1, 10];
    const log = scale === "log" || (scale === "auto" && low > 0 && high / low > WIDE);
    const common = {
      name,
      nameLocation: "middle",
      nameGap: vertical ? 58 : 30,
      nameTextStyle: { color: muted, fontFamily: FONT, fontSize: 12 },
      axisLabel: { color: muted, fontFamily: FONT, fontSize: 11, formatter: label, hideOverlap: true },
      axisLine: { show: !vertical, lineStyle: { color: muted } },
      axisTick: { show: !vertical, lineStyle: { color: muted } },
      splitLine: { show: true, lineStyle: { color: line } },
    };
    if (!log) {
      const parts = vertical ? 3 : Math.max(3, Math.round((look.width ?? 800) / 160));
      const free = !zero && high - low < 0.6 * high;
      if (!shared) return { type: "value", splitNumber: parts, ...(free ? { scale: true } : { min: 0 }), ...common };
      const from = free ? low : 0;
      const interval = niceStep(high > from ? high - from : 1, parts);
      return { type: "value", min: Math.floor(from / interval) * interval, max: (Math.ceil(high / interval) || 1) * interval, interval, ...common };
    }
    const room = tight ? 1.01 : 1.15;
    const [min, max] = [Math.max(low, 1e-3) / room, Math.max(high, low * (tight ? 1.02 : 1.5), 2e-3) * room];
    const ticks = logTicks(min, max);
    common.axisLabel.customValues = ticks;
    common.axisTick.customValues = ticks;
    return { type: "log", logBase: 10, min, max, ...common };
  }

  const timeAxis = (look, more) => axis(look, { label: tickTime, ...more });

  function frame(look, title, rest) {
    const { ink, muted, ground } = inks(look);
    return {
      animation: false,
      backgroundColor: ground,
      color: PALETTE,
      textStyle: { fontFamily: FONT, color: ink },
      aria: { enabled: true, label: { description: title }, decal: { show: (rest.decals ?? false) } },
      tooltip: look.paper ? undefined : { trigger: "item", confine: true, appendTo: "body", ...look.tooltip },
      ...rest,
      decals: undefined,
      legend: rest.legend && {
        top: 0, left: 0, itemWidth: 22, itemHeight: 12, itemGap: 16, selectedMode: false,
        textStyle: { color: muted, fontFamily: FONT, fontSize: 12, width: Math.max(120, (look.width ?? 800) - 60), overflow: "truncate" },
        ...rest.legend,
      },
    };
  }

  const legendHeight = (look, names) => {
    if (names.length < 2) return 8;
    const width = names.reduce((sum, name) => sum + Math.min(name.length * 7, (look.width ?? 800) - 60) + 44, 0);
    return 14 + 20 * Math.ceil(width / Math.max(200, (look.width ?? 800) - 30));
  };

  // ----- what is shown -------------------------------------------------------------------------

  // Runs that are chosen, each with its place among all, which decides its colour.
  function shown(data, look) {
    const all = data.runs.map((run, index) => ({ ...run, index }));
    return look.servers ? all.filter((run) => look.servers.has(run.index)) : all;
  }

  // Names of all tests in the order of the suite.
  function testNames(data) {
    const names = new Set(data.runs.flatMap((run) => run.result.tests.map((test) => test.measure)));
    return [...names];
  }

  const testOf = (run, name) => run.result.tests.find((test) => test.measure === name);

  function detailsOf(run, name) {
    const place = run.result.tests.findIndex((test) => test.measure === name);
    return run.details && place >= 0 ? run.details[place] : null;
  }

  // Tests of whole collections take ten times as long as the others, so they are drawn apart. Xu
  // (2004, figure 8) leaves CopyCol, MoveCol and DeleteCol out; LockCol and UnLockCol are set apart
  // here, too, because his Table 2 has them among the slowest. They are told by their name; making
  // one collection is work on a single resource.
  function isOfCollections(data, name) {
    const method = data.runs.map((run) => testOf(run, name)?.method).find(Boolean);
    return /Col$/.test(name) && method !== "MKCOL";
  }

  function groups(data) {
    const names = testNames(data);
    const collections = names.filter((name) => isOfCollections(data, name));
    const single = names.filter((name) => !isOfCollections(data, name));
    if (collections.length === 0 || single.length === 0) return [{ id: "all", title: "All tests", tests: names }];
    const both = [
      { id: "single", title: "Single resources", tests: single },
      { id: "collections", title: "Whole collections", tests: collections },
    ];
    const isMeasured = (group) => data.runs.some((run) => group.tests.some((name) => TESTS.times(testOf(run, name))));
    return both.some(isMeasured) ? both.filter(isMeasured) : both;
  }

  // From this factor between the least and the greatest mean on, the length of a bar says nothing of the least.
  const WIDEST = 1000;

  // The scales on which the means of a group can be seen.
  function scales(data, look, group) {
    const means = shown(data, look).flatMap((run) => group.tests.map((name) => TESTS.times(testOf(run, name))?.mean));
    const range = extent(means.filter((us) => us > 0));
    return range && range[1] / range[0] > WIDEST ? ["log"] : ["linear", "log"];
  }

  // ----- bars ----------------------------------------------------------------------------------

  // What bars are of: how one is found, its times, how many operations failed, and the word where there is no time.
  const TESTS = {
    what: "response time", operations: "operations", of: testOf,
    times: (test) => (test && !["not_supported", "skipped"].includes(test.status) ? test.response_us : null),
    failed: (test) => failures(test), failures: "failed",
    word: (run, name) => run.words[run.result.tests.findIndex((test) => test.measure === name)] ?? "not measured",
  };
  const PAGES = {
    what: "time to load", operations: "loads", of: (run, name) => run.result.webstone?.pages.find((page) => page.name === name),
    times: (page) => page?.retrieved.page_us ?? null,
    failed: (page) => page.retrieved.errors, failures: "incomplete",
    word: (run, name) => (PAGES.of(run, name)?.retrieved.errors ? "never complete" : "not loaded"),
  };

  const hasPages = (data) => data.runs.some((run) => run.result.webstone);

  // Whole pages: from the first request to the last byte.
  function pages(data, look) {
    const names = new Set(data.runs.flatMap((run) => (run.result.webstone?.pages ?? []).map((page) => page.name)));
    return { ...bars(data, { ...look, tests: null }, { group: { id: "pages", title: "Pages", tests: [...names] }, scale: "linear", about: PAGES }), id: "pages" };
  }

  // A `scale` that is "auto" is logarithmic where bars would be too short.
  function bars(data, look, { group, scale: wanted, about = TESTS }) {
    const scale = wanted === "auto" ? scales(data, look, group)[0] : wanted;
    const { ink, muted, bad } = inks(look);
    const runs = shown(data, look);
    const names = look.tests ? group.tests.filter((name) => look.tests.has(name)) : group.tests;
    const title = `${group.title}: mean ${about.what} with its 95 % interval, ${scale} scale`;
    const timesOf = (run, name) => about.times(about.of(run, name));
    const times = runs.flatMap((run) => names.map((name) => timesOf(run, name)).filter(Boolean));
    const means = extent(times.map((us) => us.mean).filter((us) => us > 0)) ?? [1, 10];
    const range = within(means, times.flatMap((us) => us.ci95 ?? []), scale === "log");
    const legend = runs.map((run) => run.name);
    const top = legendHeight(look, legend);
    const thickness = runs.length === 1 ? 24 : 9 + 13 * runs.length;
    const dots = scale === "log";
    const series = runs.flatMap((run, place) => [
      dots ? dotsOf(look, run, place, runs.length, names, { about, timesOf }) : {
        type: "bar", name: run.name, barCategoryGap: `${(1 - BAND) * 100}%`, barGap: "0%",
        itemStyle: { color: colorOf(run.index) },
        data: names.map((name) => timesOf(run, name)?.mean ?? null),
        tooltip: look.paper ? undefined : { formatter: (item) => look.lines(barLines(run, names[item.dataIndex], about)) },
      },
      whiskers(run, place, runs.length, names, { about, ink, muted, bad, range, log: scale === "log" }),
    ]);
    const widest = Math.max(0, ...names.map((name) => name.length));
    const left = Math.min(Math.max(60, 7.2 * widest + 20), (look.width ?? 800) * 0.42);
    return {
      id: `bars-${group.id}-${scale}`, title, height: top + 58 + names.length * thickness,
      note: `Whiskers are 95 % intervals of the mean${dots ? "; an arrow marks one that leaves the axis" : ""}.`,
      option: frame(look, title, {
        decals: runs.length > 1 && !dots,
        legend: runs.length > 1 ? { data: legend } : undefined,
        grid: { left, right: 74, top, bottom: 46 },
        xAxis: timeAxis(look, { name: `mean ${about.what} (${scale})`, range: range ?? [1, 10], scale, zero: true }),
        yAxis: {
          type: "category", data: names, inverse: true,
          axisLine: { lineStyle: { color: muted } }, axisTick: { show: false },
          axisLabel: { color: ink, fontFamily: FONT, fontSize: 12, interval: 0, width: left - 12, overflow: "truncate" },
        },
        series,
      }),
    };
  }

  // A bar has a length, which a logarithmic axis cannot show: a dot in its place.
  function dotsOf(look, run, place, count, names, { about, timesOf }) {
    const means = names.map((name) => timesOf(run, name)?.mean ?? null);
    return {
      type: "custom", name: run.name, itemStyle: { color: colorOf(run.index) }, z: 6, encode: { x: 0, y: 1 },
      data: means.map((mean, row) => [mean ?? NaN, row]),
      renderItem: (params, api) => {
        if (means[params.dataIndex] === null) return null;
        const band = api.size([0, 1])[1] * BAND;
        const [cx, middle] = api.coord([api.value(0), api.value(1)]);
        const cy = middle - band / 2 + (band / count) * (place + 0.5);
        const r = Math.max(3, Math.min(5, band / count / 3));
        return { type: "circle", shape: { cx, cy, r }, style: { fill: api.visual("color") } };
      },
      tooltip: look.paper ? undefined : { formatter: (item) => look.lines(barLines(run, names[item.dataIndex], about)) },
    };
  }

  function barLines(run, name, about) {
    const of = about.of(run, name);
    const us = about.times(of);
    if (!us) return [name, run.name, about.word(run, name)];
    const lines = [name, run.name, `mean ${time(us.mean)}`];
    if (us.ci95) lines.push(`95 % interval ${time(us.ci95[0])} .. ${time(us.ci95[1])}`);
    lines.push(`p50 ${time(us.p50)}, p99 ${time(us.p99)}, max ${time(us.max)}`, `${us.n} ${about.operations}, ${about.failed(of)} ${about.failures}`);
    return lines;
  }

  function failures(test) {
    const { ok, cancelled } = test.outcomes;
    const outside = test.left_out_outcomes;
    return test.operations - ok - cancelled + (test.left_out - outside.ok - outside.cancelled);
  }

  // The ends of an axis for these means and the ends of their intervals: one long interval must not push all others
  // together, so those that reach far beyond all means are left out. A linear axis has room for all.
  function within([least, most], ends, log) {
    if (!log) return extent([least, most, ...ends]);
    const [low, high] = [least / REACH, most * REACH];
    // An arrow needs room beside the outermost mark.
    const room = [...(ends.some((end) => end < low) ? [least / 2] : []), ...(ends.some((end) => end > high) ? [most * 2] : [])];
    return extent([least, most, ...room, ...ends.filter((end) => end >= low && end <= high)]);
  }

  // An interval, drawn from `from` to `to` at `at`: a stroke across an end that is there, and an arrow where the
  // interval goes on beyond the axis.
  function whisker(style, { at, from, to, half, vertical = false, cutFrom, cutTo }) {
    const point = (along, across) => (vertical ? [across, along] : [along, across]);
    const rule = (one, other) => {
      const [[x1, y1], [x2, y2]] = [point(...one), point(...other)];
      return { type: "line", shape: { x1, y1, x2, y2 }, style };
    };
    const outwards = vertical ? -1 : 1;
    const arrow = (along, out) => ({
      type: "polygon", name: "cut", style: { fill: style.stroke },
      shape: { points: [point(along, at), point(along - 8 * out, at - 4), point(along - 8 * out, at + 4)] },
    });
    const end = (along, isCut, out) => (isCut ? arrow(along, out) : rule([along, at - half], [along, at + half]));
    return [rule([from, at], [to, at]), end(from, cutFrom, -outwards), end(to, cutTo, outwards)];
  }

  // The intervals, and a word where there is no bar.
  function whiskers(run, place, count, names, { about, ink, muted, bad, range, log }) {
    const [least, most] = log ? range ?? [1, 10] : [0, Infinity];
    const items = names.map((name, row) => {
      const of = about.of(run, name);
      const us = about.times(of);
      const [low, high] = us?.ci95 ?? [us?.mean ?? least, us?.mean ?? least];
      const failed = of ? about.failed(of) : 0;
      const word = us ? (count === 1 ? time(us.mean) : "") + (failed ? ` ${failed} ${about.failures}` : "") : about.word(run, name);
      const value = [Math.max(low, least), row, Math.min(high, most)];
      return { value, word, cutFrom: low < least, cutTo: high > most, has: Boolean(us?.ci95), bad: !us || failed > 0, anchored: !us };
    });
    return {
      type: "custom", name: `${run.name}: interval`, silent: true, z: 5, clip: false,
      encode: { x: [0, 2], y: 1 }, data: items.map((item) => item.value),
      renderItem: ({ dataIndex, coordSys }, api) => {
        const item = items[dataIndex];
        const band = api.size([0, 1])[1] * BAND;
        const [start, middle] = api.coord([item.value[0], item.value[1]]);
        const [end] = api.coord([item.value[2], item.value[1]]);
        const [from, to] = [item.cutFrom ? coordSys.x : start, item.cutTo ? coordSys.x + coordSys.width : end];
        const at = middle - band / 2 + (band / count) * (place + 0.5);
        const { cutFrom, cutTo } = item;
        const lines = item.has ? whisker({ stroke: ink, lineWidth: 1.1, fill: null }, { at, from, to, half: Math.min(4, band / count / 3), cutFrom, cutTo }) : [];
        const text = {
          type: "text", x: (item.anchored ? coordSys.x : to) + (log && !item.anchored ? 10 : 7), y: at,
          style: { text: item.word, fill: item.bad ? bad : muted, font: `11px ${FONT}`, verticalAlign: "middle" },
        };
        return { type: "group", children: item.word ? [...lines, text] : lines };
      },
    };
  }

  // ----- one test ------------------------------------------------------------------------------

  // Panels one below the other, one for each run.
  function panels(look, runs, height) {
    const top = (place) => 26 + place * (height + 52);
    const { ink } = inks(look);
    return {
      grid: runs.map((_, place) => ({ left: 78, right: 18, top: top(place), height })),
      title: runs.map((run, place) => ({
        text: run.name, left: 72, top: top(place) - 22,
        textStyle: { fontSize: 12, fontWeight: 500, color: ink, fontFamily: FONT, width: (look.width ?? 800) - 90, overflow: "truncate" },
      })),
      bottom: top(runs.length) - 52,
    };
  }

  const withDetails = (data, look, name) =>
    shown(data, look).map((run) => ({ ...run, of: detailsOf(run, name) })).filter((run) => run.of);

  function histogram(data, look, { test }) {
    const runs = withDetails(data, look, test).filter((run) => run.of.histogram.n.length > 0);
    const title = `${test}: histogram of response times`;
    const range = extent(runs.flatMap((run) => [run.of.histogram.from_us[0], run.of.histogram.to_us.at(-1)]));
    const most = Math.max(1, ...runs.flatMap((run) => run.of.histogram.n));
    // Ranges that grow by a factor are equally wide on a logarithmic scale, and only there is height what counts.
    const scale = range && range[0] > 0 ? "log" : "linear";
    const { grid, title: titles, bottom } = panels(look, runs, 120);
    return {
      id: `histogram-${test}`, title, height: bottom + 48, empty: runs.length === 0,
      note: `Ranges grow by a constant factor${scale === "log" ? ", and are equally wide on this logarithmic axis" : ""}; the height is the number of operations.`,
      option: frame(look, title, {
        grid, title: titles,
        xAxis: runs.map((_, place) => ({
          ...timeAxis(look, { name: place === runs.length - 1 ? "response time" : undefined, range, scale, tight: true, shared: true }), gridIndex: place,
        })),
        yAxis: runs.map((_, place) => ({
          ...axis(look, { name: "operations", range: [0, Math.max(most, 3)], scale: "linear", vertical: true, zero: true, shared: true, label: plain }),
          gridIndex: place,
        })),
        series: runs.map((run, place) => histogramOf(look, run, place)),
      }),
    };
  }

  function histogramOf(look, run, place) {
    const { from_us: from, to_us: to, n } = run.of.histogram;
    return {
      type: "custom", name: run.name, xAxisIndex: place, yAxisIndex: place,
      encode: { x: [0, 1], y: 2 }, itemStyle: { color: colorOf(run.index) },
      data: n.map((count, range) => [from[range], to[range], count]),
      tooltip: look.paper ? undefined : {
        formatter: (item) => look.lines([`${time(item.value[0])} .. ${time(item.value[1])}`, `${item.value[2]} operations`, run.name]),
      },
      renderItem: (_, api) => {
        const [x, y] = api.coord([api.value(0), api.value(2)]);
        const [right, base] = api.coord([api.value(1), 0]);
        const shape = { x, y, width: Math.max(1, right - x - 1), height: base - y };
        return { type: "rect", shape, style: { fill: api.visual("color") } };
      },
    };
  }

  function ecdf(data, look, { test }) {
    const runs = withDetails(data, look, test).filter((run) => run.of.ecdf.us.length > 0);
    const title = `${test}: share of operations that took no longer`;
    const range = extent(runs.flatMap((run) => run.of.ecdf.us));
    const legend = runs.map((run) => run.name);
    const top = legendHeight(look, legend);
    const all = runs.every((run) => run.of.ecdf.all);
    return {
      id: `ecdf-${test}`, title, height: top + 290, empty: runs.length === 0,
      note: all ? "Every operation is a step." : "A few hundred steps of the function are shown, most of them among the slowest operations, and both ends.",
      option: frame(look, title, {
        legend: runs.length > 1 ? { data: legend } : undefined,
        grid: { left: 78, right: 18, top: top + 8, bottom: 48 },
        xAxis: timeAxis(look, { name: "response time", range, scale: "auto" }),
        yAxis: {
          ...axis(look, { name: "share of operations", range: [0, 1], scale: "linear", vertical: true, zero: true, label: percent }),
          max: 1, interval: 0.25,
        },
        series: runs.map((run) => ecdfOf(look, run)),
      }),
    };
  }

  function ecdfOf(look, run) {
    const { us, n } = run.of.ecdf;
    const all = n.at(-1);
    return {
      type: "line", name: run.name, step: "end", color: colorOf(run.index), symbol: symbolOf(run.index),
      symbolSize: 4, showSymbol: us.length === 1 || !look.paper, showAllSymbol: us.length < 80 && look.paper !== true,
      lineStyle: { width: 1.8, type: dashOf(run.index) },
      // It begins at nothing, where the first value is.
      data: [{ value: [us[0], 0], symbol: "none", tooltip: { show: false } }, ...us.map((value, step) => [value, n[step] / all])],
      tooltip: look.paper ? undefined : {
        formatter: (item) => look.lines([`${percent(item.value[1])} took no longer than ${time(item.value[0])}`, run.name]),
      },
    };
  }

  function timeLine(data, look, { test }) {
    const runs = withDetails(data, look, test).filter((run) => lineRange(run.of.time_line) || hasFailed(run.of.time_line));
    const title = `${test}: response times in the order of time`;
    const range = extent(runs.flatMap((run) => lineRange(run.of.time_line) ?? [])) ?? [1, 10];
    const end = Math.max(...runs.map((run) => lineEnd(run.of.time_line))) || 1;
    const { grid, title: titles, bottom } = panels(look, runs, 150);
    const every = runs.every((run) => run.of.time_line.every);
    const series = runs.flatMap((run, place) => lineOf(look, run, place, range));
    const zoom = { xAxisIndex: runs.map((_, place) => place), filterMode: "none" };
    return {
      id: `timeline-${test}`, title, height: bottom + (look.paper ? 48 : 84), empty: runs.length === 0,
      note: every ? "Every operation with a response time is a point, and every failure a cross." : "There are too many operations for one point each: the band reaches from the fastest to the slowest operation of each part of the time, the line is their mean. No operation is left out.",
      option: frame(look, title, {
        grid, title: titles,
        dataZoom: look.paper || runs.length === 0 ? undefined : [
          // A finger on the figure scrolls the page, and the slider zooms.
          ...(look.coarse ? [] : [{ type: "inside", ...zoom, zoomOnMouseWheel: "ctrl", moveOnMouseMove: true }]),
          { type: "slider", ...zoom, height: 18, bottom: 6, showDetail: false, brushSelect: false },
        ],
        xAxis: runs.map((_, place) => ({
          ...axis(look, { name: place === runs.length - 1 ? "seconds since the first operation" : undefined, range: [0, 1], scale: "linear", label: plain }),
          gridIndex: place, max: end,
        })).map((axis) => ({ ...axis, axisLabel: { ...axis.axisLabel, showMaxLabel: false } })),
        yAxis: runs.map((_, place) => ({
          ...timeAxis(look, { name: "response time", range, scale: "auto", vertical: true, zero: true, shared: true }), gridIndex: place,
        })),
        series,
      }),
    };
  }

  const lineRange = (line) => extent(line.every ? line.us : [...line.min_us, ...line.max_us]);
  const lineEnd = (line) => (line.every ? extent([...line.at_s, ...line.failed_at_s])?.[1] ?? 0 : line.n.length * line.length_s);
  const hasFailed = (line) => (line.every ? line.failed_at_s.length > 0 : line.failed.some((count) => count > 0));

  function lineOf(look, run, place, range) {
    const line = run.of.time_line;
    const where = { name: run.name, xAxisIndex: place, yAxisIndex: place };
    const tip = (lines) => (look.paper ? undefined : { formatter: (item) => look.lines([...lines(item), run.name]) });
    const middle = (bucket) => (bucket + 0.5) * line.length_s;
    const failed = line.every ? line.failed_at_s.map((at) => [at, range[0], 1])
      : line.failed.flatMap((count, bucket) => (count ? [[middle(bucket), range[0], count]] : []));
    const crosses = {
      ...where, type: "scatter", symbol: "path://M0,0L4,4M4,0L0,4", symbolSize: 8, data: failed, z: 6,
      itemStyle: { color: "none", borderColor: inks(look).bad, borderWidth: 1.6 },
      tooltip: tip((item) => [`${item.value[2]} failed, ${plain(item.value[0])} s`]),
    };
    if (line.every) {
      const points = {
        ...where, type: "scatter", symbolSize: 4.5, symbol: symbolOf(run.index),
        itemStyle: { color: colorOf(run.index), opacity: 0.75 },
        data: line.us.map((us, operation) => [line.at_s[operation], us]),
        tooltip: tip((item) => [time(item.value[1]), `after ${plain(item.value[0])} s`]),
      };
      return [points, crosses];
    }
    const filled = line.n.flatMap((count, bucket) => (count ? [bucket] : []));
    const band = {
      ...where, type: "custom", clip: true, encode: { x: 0, y: [1, 2] }, itemStyle: { color: colorOf(run.index) },
      data: filled.map((bucket) => [middle(bucket), line.min_us[bucket], line.max_us[bucket], line.mean_us[bucket], line.n[bucket]]),
      renderItem: (_, api) => {
        const [x, low] = api.coord([api.value(0), api.value(1)]);
        const [, high] = api.coord([api.value(0), api.value(2)]);
        const width = Math.max(1, api.size([line.length_s, 0])[0]);
        const shape = { x: x - width / 2, y: high, width, height: Math.max(1, low - high) };
        return { type: "rect", shape, style: { fill: api.visual("color"), opacity: 0.4 } };
      },
      tooltip: tip((item) => [
        `${time(item.value[1])} .. ${time(item.value[2])}, mean ${time(item.value[3])}`, `${item.value[4]} operations, after ${plain(item.value[0])} s`,
      ]),
    };
    const mean = {
      ...where, type: "line", symbol: "none", silent: true, z: 4, lineStyle: { width: 1.4, color: inks(look).ink },
      data: filled.map((bucket) => [middle(bucket), line.mean_us[bucket]]),
    };
    return [band, mean, crosses];
  }

  return {
    FONT, PALETTE, axis, bars, colorOf, dashOf, digits, ecdf, extent, frame, groups, hasPages, histogram, inks, legendHeight, pages, panels, plain, scales, symbolOf, testNames,
    time, timeAxis, timeLine, whisker, withDetails, within,
  };
})();

// Figures of several runs: comparisons, sweeps, searches. And the list of all figures there are.
"use strict";

const prestanAnswers = (() => {
  const F = prestanFigures;

  // ----- comparison ----------------------------------------------------------------------------

  const VERDICTS = {
    faster: "faster", slower: "slower", same: "same", inconclusive: "inconclusive", broken: "fails with B", repaired: "fails with A",
    lost: "only A can", gained: "only B can", not_compared: "not compared",
  };

  // Colours of verdicts that a reader can act on, dark enough for small letters; what is inconclusive is grey.
  const INKS = {
    light: { slower: "#a83800", broken: "#a83800", faster: "#0060a0", repaired: "#0060a0", same: "#00704f" },
    dark: { slower: "#ff9d7a", broken: "#ff9d7a", faster: "#7cc4f5", repaired: "#7cc4f5", same: "#4fd1a5" },
  };

  // Ratios beyond which, and below the inverse of which, nothing is drawn.
  const MOST = 100;

  // Names that may be long, on an axis.
  const short = (name, most = 40) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

  // How many times as slow B is. More pages a minute are better.
  const slowdown = (test, ratio = test.ratio) => (test.kind === "number" ? 1 / ratio : ratio);

  // Its interval; a single pair of runs has none.
  const slowdowns = (test) => (test.ci95 ?? [test.ratio, test.ratio]).map((end) => slowdown(test, end)).sort((one, other) => one - other);

  const TIMES = { sent: "Response times", planned: "Latencies from schedule", started: "Total times" };

  // The ratios of one server, with their intervals.
  function ratios(data, look, { versus }) {
    const { ink, muted } = F.inks(look);
    const a = data.comparison.a.name;
    // The slowest first: a reader looks along the line of ratios.
    const all = data.comparison.tests.filter((test) => test.b === versus.name);
    const rows = all.filter((test) => test.ratio !== null).sort((one, other) => slowdown(other) - slowdown(one));
    const without = all.filter((test) => test.ratio === null).map((test) => `${test.measure} (${VERDICTS[test.verdict]})`);
    const times = TIMES[versus.since];
    const title = `${times} of ${short(versus.name)} over those of ${short(a)}, with 95 % intervals`;
    const same = 1 + versus.same_within_percent / 100;
    const [low, high] = F.extent([0.9, 1.1, 1 / same, same, ...rows.flatMap(slowdowns)]);
    // Few pairs of runs give intervals of many powers of ten, in which no ratio can be read.
    const range = [Math.max(low, 1 / MOST), Math.min(high, MOST)];
    const isCut = low < range[0] || high > range[1];
    // Letters for each of both names on a narrow figure.
    const room = Math.min(40, Math.max(8, Math.floor(((look.width ?? 800) - 200) / 13)));
    const widest = Math.max(0, ...rows.map((row) => row.measure.length));
    const left = Math.min(Math.max(60, 7.2 * widest + 20), (look.width ?? 800) * 0.42);
    const colors = look.dark ? INKS.dark : INKS.light;
    const color = (row) => colors[row.verdict] ?? muted;
    return {
      id: `forest-${versus.place}`, title, height: 64 + rows.length * 24, empty: rows.length === 0,
      note: `Right of 1 it is slower. The grey band is what counts as the same.${isCut ? " An arrow marks an interval that goes beyond the axis." : ""}${without.length > 0 ? ` Without a ratio: ${without.join(", ")}.` : ""}`,
      option: F.frame(look, title, {
        grid: { left, right: 112, top: 12, bottom: 46 },
        xAxis: F.axis(look, { name: `ratio of mean ${times.toLowerCase()}: ${short(versus.name, room)} / ${short(a, room)}`, range, scale: "log", label: (ratio) => F.plain(ratio) }),
        yAxis: {
          type: "category", inverse: true, data: rows.map((row) => row.measure),
          axisLine: { show: false }, axisTick: { show: false },
          axisLabel: { color: ink, fontFamily: F.FONT, fontSize: 12, interval: 0, width: left - 12, overflow: "truncate" },
        },
        series: [{
          type: "custom", name: versus.name, encode: { x: [1, 2, 3], y: 0 },
          data: rows.map((row, place) => [place, slowdowns(row)[0], slowdown(row), slowdowns(row)[1]]),
          tooltip: look.paper ? undefined : {
            formatter: (item) => {
              const row = rows[item.dataIndex];
              const interval = row.ci95 ? ` (${row.ci95[0].toFixed(3)} .. ${row.ci95[1].toFixed(3)})` : "";
              return look.lines([row.measure, `${row.ratio.toFixed(3)}${interval}`, VERDICTS[row.verdict]]);
            },
          },
          renderItem: (params, api) => interval(params, api, rows[params.dataIndex], { same, muted, color, range }),
        }],
      }),
    };
  }

  function interval(params, api, row, { same, muted, color, range }) {
    const y = api.coord([1, api.value(0)])[1];
    const { x: left, width } = params.coordSys;
    const inside = (x) => Math.min(Math.max(x, left), left + width);
    const [low, middle, high] = [1, 2, 3].map((column) => inside(api.coord([api.value(column), 0])[0]));
    const [cutFrom, cutTo] = [api.value(1) < range[0], api.value(3) > range[1]];
    const ends = { from: cutFrom ? left : low, to: cutTo ? left + width : high, cutFrom, cutTo };
    const half = api.size([0, 1])[1] / 2;
    const [from, to, one] = [1 / same, same, 1].map((ratio) => api.coord([ratio, 0])[0]);
    const style = { stroke: color(row), lineWidth: 2, fill: color(row) };
    return {
      type: "group",
      children: [
        { type: "rect", shape: { x: from, y: y - half, width: Math.max(1, to - from), height: 2 * half }, style: { fill: muted, opacity: 0.18 }, z2: 0 },
        { type: "line", shape: { x1: one, y1: y - half, x2: one, y2: y + half }, style: { stroke: muted, lineWidth: 1 }, z2: 1 },
        ...F.whisker(style, { at: y, half: 0, ...ends }).map((part) => ({ ...part, z2: 2 })),
        { type: "circle", shape: { cx: middle, cy: y, r: 4 }, style, z2: 3 },
        {
          type: "text", x: left + width + 8, y,
          style: { text: `${row.ratio.toFixed(2)} ${VERDICTS[row.verdict]}`, fill: color(row), font: `11px ${F.FONT}`, verticalAlign: "middle" },
        },
      ],
    };
  }

  // All ratios as a heat map, with the verdicts in words.
  function matrix(data, look) {
    const { ink, muted } = F.inks(look);
    const { a, b, tests } = data.comparison;
    const names = [...new Set(tests.map((test) => test.measure))];
    const title = `Response times over those of ${a.name}`;
    const left = Math.min(7.2 * Math.max(0, ...names.map((name) => name.length)) + 14, 240);
    const cells = tests.map((test) => ({
      value: [b.findIndex((other) => other.name === test.b), names.indexOf(test.measure)], test,
    }));
    return {
      id: "matrix", title, height: 66 + names.length * 26,
      note: "Blue is faster than A, orange is slower; a cell without a significant difference is grey.",
      option: F.frame(look, title, {
        grid: { left, right: 12, top: 56, bottom: 8 },
        xAxis: {
          type: "category", position: "top", data: b.map((other) => other.name), nameLocation: "middle", nameGap: 28,
          name: `mean ${TIMES[b[0].since].toLowerCase()} over those of ${short(a.name)}`, nameTextStyle: { color: muted, fontFamily: F.FONT, fontSize: 12 }, axisTick: { show: false }, axisLine: { show: false },
          axisLabel: { color: ink, fontFamily: F.FONT, fontSize: 12, interval: 0, overflow: "truncate", width: Math.max(60, ((look.width ?? 800) - left) / b.length - 8) },
        },
        yAxis: {
          type: "category", inverse: true, data: names, axisTick: { show: false }, axisLine: { show: false },
          axisLabel: { color: ink, fontFamily: F.FONT, fontSize: 12, interval: 0, width: left - 12, overflow: "truncate" },
        },
        series: [{
          type: "custom", name: "ratio", data: cells.map((cell) => cell.value),
          renderItem: (params, api) => {
            const { test } = cells[params.dataIndex];
            const [x, y] = api.coord([api.value(0), api.value(1)]);
            const [width, height] = api.size([1, 1]);
            const text = test.ratio === null ? VERDICTS[test.verdict] : `${test.ratio.toFixed(2)}  ${VERDICTS[test.verdict]}`;
            return {
              type: "group",
              children: [
                {
                  type: "rect", shape: { x: x - width / 2 + 1, y: y - height / 2 + 1, width: width - 2, height: height - 2, r: 2 },
                  style: { fill: heat(test), stroke: muted, lineWidth: 0.4 },
                },
                { type: "text", x, y, style: { text, fill: "#1b1f23", font: `12px ${F.FONT}`, align: "center", verticalAlign: "middle" } },
              ],
            };
          },
        }],
      }),
    };
  }

  // From blue by grey to orange; a factor of two has the full colour.
  const HEAT = ["#6baed6", "#9fcae4", "#cfe4f2", "#eceff1", "#fbe3cf", "#f7bf8e", "#f09a52"];

  function heat(test) {
    if (["broken", "lost"].includes(test.verdict)) return HEAT[6];
    if (["repaired", "gained"].includes(test.verdict)) return HEAT[0];
    if (!["slower", "faster"].includes(test.verdict)) return HEAT[3];
    const size = Math.abs(Math.log2(test.ratio));
    const step = size >= 1 ? 3 : size >= 0.3 ? 2 : 1;
    return HEAT[3 + (slowdown(test) > 1 ? step : -step)];
  }

  // ----- sweep ---------------------------------------------------------------------------------

  // A value as it was written: 64KiB.
  function written(sweep, param, value) {
    const vary = sweep.vary.find((vary) => vary.name === param);
    return vary?.written[vary.values.indexOf(value)] ?? F.plain(value);
  }

  const settings = (sweep, params) => params.map(([name, value]) => `${name} ${written(sweep, name, value)}`).join(", ");
  const others = (sweep, point, param) => settings(sweep, Object.entries(point.params).filter(([name]) => name !== param));

  // The lines of a panel: for each server and each setting of the other parameters. Of a sweep of
  // one parameter at a time, those in which the others are as in most of its points.
  function sweepLines(sweep, test, param, shown) {
    return test.servers.filter((of) => !shown || shown.has(of.server)).flatMap((of) => {
      const byOthers = new Map();
      for (const point of of.points) {
        if (point.params[param] === undefined) continue;
        const key = others(sweep, point, param);
        byOthers.set(key, [...(byOthers.get(key) ?? []), point]);
      }
      const lines = [...byOthers].filter(([, points]) => points.length > 1 || byOthers.size === 1);
      const name = nameOf(sweep, of.server);
      return lines.map(([key, points], place) => ({
        server: of.server, place, law: of.law, key: lines.length > 1 ? key : "", name: key && lines.length > 1 ? `${name}, ${key}` : name,
        points: points.filter((point) => typeof point.mean_us === "number")
          .sort((one, other) => one.params[param] - other.params[param]),
      }));
    });
  }

  // Height of a panel in pixels, and of a label in it.
  const PANEL = 170;
  const LABEL = 13;

  // How far the label of each line's last mark has to move down, so that none covers another.
  function labelsApart(lines, axis) {
    const share = (us) => (axis.type === "log" ? Math.log(us / axis.min) / Math.log(axis.max / axis.min) : (us - axis.min) / (axis.max - axis.min));
    const last = (line) => (1 - share(line.points.at(-1).mean_us)) * PANEL;
    let above = -Infinity;
    for (const line of lines.filter((line) => line.points.length).sort((one, other) => last(one) - last(other))) {
      const y = Math.max(last(line), above + LABEL);
      line.down = y - last(line);
      above = y;
    }
  }

  // A panel for each server, all with the same axes.
  function sweep(data, look, { test, param, scale }) {
    const lines = sweepLines(data.sweep, test, param, look.servers);
    const points = lines.flatMap((line) => line.points);
    const xs = F.extent(points.map((point) => point.params[param]));
    const means = F.extent(points.map((point) => point.mean_us).filter((us) => us > 0)) ?? [1, 10];
    const spans = ([least, most]) => most / least > 20;
    const chosen = scale === "auto" ? (xs && xs[0] > 0 && (spans(xs) || spans(means)) ? "log" : "linear") : scale;
    const range = F.within(means, points.flatMap((point) => point.ci95_us ?? []), chosen === "log");
    // Nothing and less have no place on a logarithmic scale.
    const xScale = chosen === "log" && xs && xs[0] <= 0 ? "linear" : chosen;
    const times = timesBy(data.sweep);
    const title = `${test.measure}: mean ${times} by ${param}`;
    const values = [...new Set(points.map((point) => point.params[param]))];
    const servers = [...new Set(lines.map((line) => line.server))];
    const { grid, title: titles, bottom } = F.panels(look, servers.map((server) => ({
      name: [nameOf(data.sweep, server), lawText(lines.find((line) => line.server === server).law)].filter(Boolean).join(": "),
    })), PANEL);
    const widest = Math.max(0, ...lines.map((line) => line.key.length));
    const right = 22 + Math.min(widest * 6.5, (look.width ?? 800) * 0.25);
    const xAxis = (place) => {
      const axis = F.axis(look, {
        name: place === servers.length - 1 ? param : undefined, range: xs, scale: xScale, label: (value) => written(data.sweep, param, value), zero: true,
      });
      return { ...axis, axisLabel: { ...axis.axisLabel, customValues: values }, axisTick: { ...axis.axisTick, customValues: values }, gridIndex: place };
    };
    const yAxis = F.timeAxis(look, { name: `mean ${times}`, range, scale: chosen, vertical: true, zero: true, shared: true });
    for (const server of servers) labelsApart(lines.filter((line) => line.server === server), yAxis);
    const note = [
      "Marks are means, with their 95 % intervals; an arrow marks an interval that reaches beyond the axis. The curve is the law that was fitted, whose formula stands above it; dashed lines join marks without a law.",
      failedAt(data.sweep, test),
      xScale === chosen ? "" : `Zero has no place on a logarithmic scale, so that of ${param} is linear.`,
    ];
    return {
      id: `sweep-${param}-${test.measure}`, title, height: bottom + 48, scale: chosen, empty: points.length === 0,
      note: note.filter(Boolean).join(" "),
      option: F.frame(look, title, {
        grid: grid.map((of) => ({ ...of, right })), title: titles,
        xAxis: servers.map((_, place) => xAxis(place)),
        yAxis: servers.map((_, place) => ({ ...yAxis, gridIndex: place })),
        series: lines.flatMap((line) => {
          const panel = servers.indexOf(line.server);
          const series = sweepSeries(look, data.sweep, line, { param, scale: xScale, range, log: chosen === "log" });
          return series.map((of) => ({ ...of, xAxisIndex: panel, yAxisIndex: panel }));
        }),
      }),
    };
  }

  const nameOf = (sweep, server) => sweep.servers[server]?.name ?? `server ${server}`;

  // 6.92 ms + 237 µs × width + 30 ns × size^0.5
  function lawText(law) {
    if (!law) return "";
    const small = (us) => (Math.abs(us) >= 0.1 ? F.time(us) : `${Number((us * 1e3).toPrecision(3))} ns`);
    const power = (term) => (Math.abs(term.exponent - 1) < 0.005 ? term.param : `${term.param}^${Number(term.exponent.toFixed(2))}`);
    const terms = law.terms.map((term) => ` ${term.per_unit_us < 0 ? "−" : "+"} ${small(Math.abs(term.per_unit_us))} × ${power(term)}`);
    return `${law.base_us === 0 ? "" : small(law.base_us)}${terms.join("")}`.replace(/^ \+ /, "");
  }

  // What times are: where a schedule decides when operations begin, they count from the planned moment.
  const timesBy = (sweep) => (sweep.vary.some((vary) => vary.name === "rate") ? "latency from schedule" : "response time");

  // Points without a time, which no mark can stand for.
  function failedAt(sweep, test) {
    const count = test.servers.flatMap((of) => of.points).filter((point) => typeof point.mean_us !== "number").length;
    return count === 0 ? "" : `${count === 1 ? "One point has" : `${count} points have`} no time and no mark: the table says why.`;
  }

  function sweepSeries(look, sweep, line, { param, scale, range, log }) {
    const { muted } = F.inks(look);
    const color = F.colorOf(line.server);
    const hollow = line.place % 2 === 1 ? { color: look.dark ? "#14171a" : "#ffffff", borderColor: color, borderWidth: 1.6 } : undefined;
    const [least, most] = log ? range ?? [1, 10] : [0, Infinity];
    const at = line.points.map((point) => {
      const [low, high] = point.ci95_us ?? [point.mean_us, point.mean_us];
      return { value: [point.params[param], point.mean_us, Math.max(low, least), Math.min(high, most)], cutFrom: low < least, cutTo: high > most };
    });
    const curve = fitted(line, param, scale, color);
    const means = {
      type: "line", name: line.name, color, symbol: F.symbolOf(line.server + line.place), symbolSize: 7, z: 6,
      // The last mark has the settings of the other parameters beside it.
      data: at.map(({ value: [x, y] }, place) => ({
        value: [x, y], label: place === at.length - 1 && line.key ? { show: true, position: "right", offset: [0, line.down ?? 0], formatter: line.key, color: muted, fontFamily: F.FONT, fontSize: 11 } : undefined,
      })),
      itemStyle: hollow,
      // A line from mark to mark would hide how well the law fits.
      lineStyle: curve.length ? { width: 0, color } : { width: 1.2, type: "dashed", color },
      tooltip: look.paper ? undefined : {
        formatter: (item) => {
          const point = line.points[item.dataIndex];
          const interval = point.ci95_us ? [`95 % interval ${F.time(point.ci95_us[0])} .. ${F.time(point.ci95_us[1])}`] : [];
          const where = settings(sweep, Object.entries(point.params));
          return look.lines([line.name, where, `mean ${F.time(point.mean_us)}`, ...interval, `${point.operations} operations, ${point.failed} failed`]);
        },
      },
    };
    const bars = {
      type: "custom", name: `${line.name}: interval`, silent: true, z: 5, encode: { x: 0, y: [1, 2, 3] }, data: at.map((item) => item.value),
      renderItem: ({ dataIndex, coordSys }, api) => {
        const { cutFrom, cutTo } = at[dataIndex];
        const [x, low] = api.coord([api.value(0), api.value(2)]);
        const [, high] = api.coord([api.value(0), api.value(3)]);
        const [from, to] = [cutFrom ? coordSys.y + coordSys.height : low, cutTo ? coordSys.y : high];
        return { type: "group", children: F.whisker({ stroke: color, lineWidth: 1.2 }, { at: x, from, to, half: 4, vertical: true, cutFrom, cutTo }) };
      },
    };
    return [means, bars, ...curve];
  }

  function fitted(line, param, scale, color) {
    if (!line.law || line.points.length < 2) return [];
    // What other parameters add is the same along the line.
    const power = (x, exponent) => (x === 0 ? 0 : x ** exponent);
    const fit = (x) => line.law.terms.reduce((sum, term) =>
      sum + term.per_unit_us * power(term.param === param ? x : line.points[0].params[term.param], term.exponent), line.law.base_us);
    const [low, high] = [line.points[0].params[param], line.points.at(-1).params[param]];
    const place = (i) => (scale === "log" && low > 0 ? low * (high / low) ** (i / 60) : low + ((high - low) * i) / 60);
    const curve = Array.from({ length: 61 }, (_, i) => [place(i), fit(place(i))]);
    return [{
      type: "line", name: `${line.name}: fitted`, symbol: "none", silent: true, z: 1, color,
      lineStyle: { type: F.dashOf(line.place), width: 1.6, opacity: 0.9 }, data: curve.filter(([, y]) => y > 0),
    }];
  }

  // ----- search --------------------------------------------------------------------------------

  const MICROSECONDS = { ns: 1e-3, us: 1, "\u00b5s": 1, "\u03bcs": 1, ms: 1e3, s: 1e6 };
  const COMPARED = /\b(mean|p50|p90|p95|p99\.9|p99|max|rate)(?:\([^()]*\))?\s*(?:<=?|>=?)\s*(\d[\d.]*(?:e[+-]?\d+)?)\s*(ns|us|\u00b5s|\u03bcs|ms|s|\/s)?(?![\w%/])/g;

  // What a condition compares with a fixed time or rate: each is a line. Whatever else it has is told by its text.
  function boundsOf(condition) {
    // Beside an operator, a number is no limit of the time that stands before it.
    if (/[-+*]|\/(?!s\b)|\bnot\b/.test(condition ?? "")) return [];
    return [...(condition ?? "").matchAll(COMPARED)].flatMap(([text, of, digits, unit]) => {
      const number = Number(digits);
      if (of === "rate") return unit === "/s" ? [{ of, text, number }] : [];
      return unit in MICROSECONDS ? [{ of, text, us: number * MICROSECONDS[unit] }] : [];
    });
  }

  function search(data, look) {
    const { muted, ink, bad } = F.inks(look);
    const { find, loads: points, answer, knee, counted } = data.search;
    const judged = typeof data.search.while === "string";
    const fails = (point) => (point.trials - point.held) * 10 > point.trials;
    const ofPages = counted === "pages";
    const load = find === "rate" ? "req/s" : ofPages ? "children" : "users";
    const times = ofPages ? "time of a page" : find === "rate" ? "latency from schedule" : "response time";
    const title = `${times[0].toUpperCase()}${times.slice(1)} and throughput by ${load}`;
    const bounds = boundsOf(data.search.while);
    const drawnTimes = [["p50", "p50_us"], ["p99", "p99_us"], ...(bounds.some(({ of }) => of === "mean") ? [["mean", "mean_us"]] : [])];
    const ofTimes = bounds.filter(({ us }) => us !== undefined);
    const ofThroughput = bounds.filter(({ of }) => of === "rate");
    const range = F.extent([...points.flatMap((point) => drawnTimes.map(([, key]) => point[key])), ...ofTimes.map(({ us }) => us)].filter((us) => us > 0));
    const most = F.extent([...points.map((point) => point.throughput_per_s), ...ofThroughput.map(({ number }) => number)]) ?? [0, 1];
    const x = { range: F.extent(points.map((point) => point.load)), scale: "auto", label: F.plain };
    const mark = (at, text, color, type) => ({
      xAxis: at, name: text, lineStyle: { color, type, width: 1.4 }, label: { formatter: text, color, fontFamily: F.FONT, fontSize: 11 },
    });
    const marks = [
      ...(answer?.holds ? [mark(answer.holds.load, `holds at ${answer.holds.load}`, F.PALETTE[2], "solid")] : []),
      ...(answer?.fails ? [mark(answer.fails.load, `fails at ${answer.fails.load}`, bad, "dashed")] : []),
      ...(typeof knee === "number" ? [mark(knee, `knee at ${knee}`, muted, "dotted")] : []),
    ].sort((one, other) => one.xAxis - other.xAxis)
      // Labels of neighbours stand one above the other.
      .map((line, place) => ({ ...line, label: { ...line.label, distance: 4 + 14 * place } }));
    const bound = ({ text }, at) => ({
      yAxis: at, name: text, lineStyle: { color: bad, type: "solid", width: 1.2 },
      label: { formatter: text, color: bad, fontFamily: F.FONT, fontSize: 11, position: "insideStartTop" },
    });
    const markLine = { symbol: "none", silent: true, animation: false };
    const linesOf = {
      p50_us: [...marks, ...ofTimes.map((of) => bound(of, of.us))],
      throughput_per_s: [...marks.map((line) => ({ ...line, label: { show: false } })), ...ofThroughput.map((of) => bound(of, of.number))],
    };
    const line = (name, key, place, panel) => ({
      type: "line", name, xAxisIndex: panel, yAxisIndex: panel, color: F.PALETTE[place], symbol: F.symbolOf(place), symbolSize: 7,
      lineStyle: { width: 1.8, type: F.dashOf(place) },
      data: points.filter((point) => typeof point[key] === "number").map((point) => ({
        value: [point.load, point[key]], point, itemStyle: fails(point) ? { color: "transparent", borderColor: F.PALETTE[place], borderWidth: 1.5 } : undefined,
      })),
      markLine: linesOf[key] && { ...markLine, data: linesOf[key] },
      tooltip: look.paper ? undefined : {
        formatter: (item) => {
          const { point } = item.data;
          const tails = typeof point.p99_us === "number" ? [`p50 ${F.time(point.p50_us)}, p99 ${F.time(point.p99_us)}`] : [];
          const held = judged ? `: held in ${point.held} of ${point.trials} trials` : "";
          return look.lines([`${point.load} ${load}${held}`, ...tails,
            `${F.plain(point.throughput_per_s)} ${ofPages ? "pages/s" : "responses/s"}, ${point.failures} failures`]);
        },
      },
    });
    const legend = [...drawnTimes.map(([name]) => name), "throughput"];
    const undrawn = [...new Set(ofTimes.map(({ of }) => of))].filter((of) => !legend.includes(of));
    const note = judged
      ? ["Each mark is the median of the trials of a load; hollow ones are loads at which the condition failed in more than 1 of 10.",
        `The condition: ${data.search.while}.`, undrawn.length ? `Marks for ${undrawn.join(", ")} are not drawn.` : "", "Medians of trials have no interval."]
      : ["Each mark is a run."];
    const top = F.legendHeight(look, legend) + 44;
    return {
      id: "search", title, height: top + 470, empty: points.length === 0,
      note: note.filter(Boolean).join(" "),
      option: F.frame(look, title, {
        legend: { data: legend },
        grid: [{ left: 78, right: 40, top, height: 220 }, { left: 78, right: 40, top: top + 280, height: 130 }],
        xAxis: [{ ...F.axis(look, x), gridIndex: 0 }, { ...F.axis(look, { ...x, name: load }), gridIndex: 1 }],
        yAxis: [
          { ...F.timeAxis(look, { name: times, range, scale: "auto", vertical: true, zero: true, shared: true }), gridIndex: 0 },
          { ...F.axis(look, { name: ofPages ? "pages/s" : "responses/s", range: [0, most[1]], scale: "linear", vertical: true, zero: true, shared: true, label: F.plain }), gridIndex: 1 },
        ],
        textStyle: { fontFamily: F.FONT, color: ink },
        series: [...drawnTimes, ["throughput", "throughput_per_s"]].map(([name, key], place) => line(name, key, place, key === "throughput_per_s" ? 1 : 0)),
      }),
    };
  }

  // ----- all of them ---------------------------------------------------------------------------

  const versusOf = (data) => (data.comparison?.b ?? []).map((other, place) => ({ ...other, place: place + 1 }));

  // Every figure for a paper, each as a function that makes it.
  function* all(data, look) {
    if (F.hasPages(data)) yield F.pages(data, look);
    if (data.runs.length > 0) {
      for (const group of F.groups(data)) {
        for (const scale of F.scales(data, look, group)) yield F.bars(data, look, { group, scale });
      }
      for (const test of F.testNames(data)) {
        for (const make of prestanLoads.ALL) yield make(data, look, { test });
        yield F.histogram(data, look, { test });
        yield F.ecdf(data, look, { test });
        yield F.timeLine(data, look, { test });
      }
      for (const make of prestanBackground.all(data)) yield make(look);
    }
    if (data.comparison) yield matrix(data, look);
    for (const versus of versusOf(data)) yield ratios(data, look, { versus });
    for (const { name: param } of data.sweep?.vary ?? []) {
      for (const test of data.sweep.tests) yield sweep(data, look, { test, param, scale: "auto" });
    }
    if (data.search) yield search(data, look);
  }

  return { all, ratios, search, sweep, versusOf };
})();

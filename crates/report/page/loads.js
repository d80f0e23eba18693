// How a load went: throughput, latencies and statuses over time. There is a panel for each run, all with the same axes.
"use strict";

const prestanLoads = (() => {
  const F = prestanFigures;
  // Of both ends of a load, the part of the time that is shorter than this beside the others has no rate: a few
  // operations more or less would be a peak.
  const TOO_SHORT = 0.5;
  // More statuses than these are put together.
  const MOST = 7;

  const withLoad = (data, look, test) => F.withDetails(data, look, test).filter((run) => run.of.load?.at_s.length > 0);

  // How many a second, part by part.
  function rates(load, counts) {
    const longest = Math.max(...load.length_s);
    return counts.map((count, part) => {
      const length = load.length_s[part];
      return [load.at_s[part], length > 0 && length >= longest * TOO_SHORT ? count / length : null];
    });
  }

  // A figure of lines over time.
  function overTime(look, runs, { id, title, note, name, lines, valueAxis, stacked = false }) {
    const made = runs.map((run) => lines(run));
    const legend = [...new Set(made.flat().map((line) => line.name))];
    const top = Math.max(22, F.legendHeight(look, legend)) - 8;
    const { grid, title: titles, bottom } = F.panels(look, runs, 130);
    const down = (of) => ({ ...of, top: of.top + top });
    const end = Math.max(0, ...runs.map((run) => run.of.load.at_s.at(-1) + run.of.load.length_s.at(-1) / 2)) || 1;
    // In a stack, lines are added up.
    const values = made.flatMap((of) => {
      const ys = of.map((line) => line.data.map(([, y]) => y));
      return stacked ? (ys[0] ?? []).map((_, part) => ys.reduce((sum, line) => sum + (line[part] ?? 0), 0)) : ys.flat();
    }).filter((value) => value !== null && value > 0);
    return {
      id, title, note, height: top + bottom + 48, empty: made.flat().length === 0,
      option: F.frame(look, title, {
        legend: { data: legend },
        grid: grid.map(down), title: titles.map(down),
        xAxis: runs.map((_, place) => {
          const axis = F.axis(look, { name: place === runs.length - 1 ? "seconds since the first operation" : undefined, range: [0, end], scale: "linear", label: F.plain, zero: true });
          return { ...axis, gridIndex: place, max: end, axisLabel: { ...axis.axisLabel, showMaxLabel: false } };
        }),
        yAxis: runs.map((_, place) => ({ ...valueAxis({ name, range: F.extent(values) ?? [0, 1], vertical: true, zero: true, shared: true }), gridIndex: place })),
        series: made.flatMap((of, panel) => of.map((line) => ({
          type: "line", symbol: "circle", showSymbol: true, connectNulls: false, ...line,
          // A value between two parts without one has no line.
          symbolSize: (_, { dataIndex }) => (isAlone(line.data, dataIndex) ? 5 : look.paper ? 0 : 3),
          xAxisIndex: panel, yAxisIndex: panel, tooltip: look.paper ? undefined : { formatter: (item) => look.lines(line.told(item)) },
        }))),
      }),
    };
  }

  const isAlone = (values, place) => [place - 1, place + 1].every((other) => typeof values[other]?.[1] !== "number");

  const rateAxis = (look) => (more) => F.axis(look, { ...more, scale: "linear", label: F.plain });
  const at = (item) => `${F.plain(item.value[0])} s`;

  function throughput(data, look, { test }) {
    const runs = withLoad(data, look, test);
    const isOpen = runs.some((run) => run.of.load.open);
    const { muted } = F.inks(look);
    return overTime(look, runs, {
      id: `throughput-${test}`, title: `${test}: ${isOpen ? "planned, sent and answered" : "sent and answered"} operations per second`,
      name: "operations/s", valueAxis: rateAxis(look),
      note: `${isOpen ? "Planned: operations of the schedule. Where fewer are sent, the load generator or the server fell behind. " : ""}Answered: expected responses, at the time at which they were complete.`,
      lines: (run) => {
        const { load } = run.of;
        const line = (name, counts, color, type, width) => ({
          name, data: rates(load, counts), color, lineStyle: { color, type, width }, itemStyle: { color },
          told: (item) => [`${F.digits(item.value[1])}/s ${name}`, at(item), run.name],
        });
        return [
          ...(load.open ? [line("planned", load.planned, muted, "dashed", 2.4)] : []),
          line("sent", load.sent, F.PALETTE[1], "solid", 1.6), line("answered", load.done, F.PALETTE[0], [2, 2], 1.8),
        ];
      },
    });
  }

  function percentiles(data, look, { test }) {
    const runs = withLoad(data, look, test);
    const isOpen = runs.some((run) => run.of.load.open);
    const what = isOpen ? "latency from schedule" : "response time";
    return overTime(look, runs, {
      id: `percentiles-${test}`, title: `${test}: percentiles of ${what} over time`, name: what,
      valueAxis: (more) => F.timeAxis(look, { ...more, scale: "auto" }),
      note: "Each value describes the operations that began in that part of the time and succeeded, without an interval. p99 is not drawn where there are fewer than 100 of them, p90 where there are fewer than 10.",
      lines: (run) => ["p50", "p90", "p99"].map((name, place) => ({
        name, color: F.PALETTE[place], lineStyle: { type: F.dashOf(place), width: 1.6 },
        data: run.of.load[`${name}_us`].map((us, part) => [run.of.load.at_s[part], us]),
        told: (item) => [`${name} ${F.time(item.value[1])}`, at(item), run.name],
      })).filter((line) => line.data.some(([, us]) => us !== null)),
    });
  }

  // The most frequent ways in which operations ended, and the others together.
  function endingsOf(load) {
    const sum = (of) => of.n.reduce((all, count) => all + count, 0);
    const byName = new Map();
    for (const of of load.endings) {
      const known = byName.get(of.name);
      byName.set(of.name, known ? { ...known, n: known.n.map((count, part) => count + of.n[part]) } : of);
    }
    const all = [...byName.values()].sort((one, other) => sum(other) - sum(one));
    if (all.length <= MOST) return all;
    const rest = all.slice(MOST - 1);
    return [...all.slice(0, MOST - 1), { name: `${rest.length} others`, ok: false, n: rest[0].n.map((_, part) => rest.reduce((count, of) => count + of.n[part], 0)) }];
  }

  function status(data, look, { test }) {
    const runs = withLoad(data, look, test);
    // What is expected is blue and green, and all else warm or grey, whichever comes first.
    const names = [...new Set(runs.flatMap((run) => endingsOf(run.of.load).map((of) => `${of.ok} ${of.name}`)))];
    const [good, bad] = [names.filter((name) => name.startsWith("true")), names.filter((name) => !name.startsWith("true"))];
    const GOOD = ["#0072b2", "#009e73", "#56b4e9"];
    const BAD = ["#d55e00", "#e69f00", "#cc79a7", "#8c7b00", "#666666"];
    const colorOf = (of) => (of.ok ? GOOD[good.indexOf(`true ${of.name}`) % GOOD.length] : BAD[bad.indexOf(`false ${of.name}`) % BAD.length]);
    return overTime(look, runs, {
      id: `status-${test}`, title: `${test}: operations per second by status`, name: "operations/s", valueAxis: rateAxis(look), stacked: true,
      note: "The areas are stacked. Operations without a response appear with their outcome instead of a status; dropped operations were planned and never sent.",
      lines: (run) => endingsOf(run.of.load).map((of) => ({
        name: of.name, stack: "all", color: colorOf(of), lineStyle: { width: 1 }, areaStyle: { opacity: 0.55 }, step: "middle",
        data: rates(run.of.load, of.n),
        told: (item) => [`${of.name}: ${F.digits(item.value[1])}/s`, at(item), run.name],
      })),
    });
  }

  return { ALL: [throughput, percentiles, status], percentiles, status, throughput };
})();

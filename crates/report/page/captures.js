// Courses of TCP connections: the time-sequence graph as tcptrace draws it, round trips, throughput, bytes in flight.
// Times are seconds since the first packet of the capture.
"use strict";

const prestanCaptures = (() => {
  const F = prestanFigures;

  const seconds = (s) => (Math.abs(s) < 1 ? `${F.plain(Math.round(s * 1e6) / 1e3)} ms` : `${F.digits(s)} s`);
  const bytes = (count) => (count >= 1e6 ? `${F.plain(count / 1e6)} MB` : count >= 1e3 ? `${F.plain(count / 1e3)} kB` : `${F.plain(count)} B`);

  // The time axis of all figures of a direction: they are compared with one another.
  function timeAxis(look, of) {
    const [from, to] = of.from_s < of.to_s ? [of.from_s, of.to_s] : [of.from_s, of.from_s + 1e-3];
    const axis = F.axis(look, { name: "since the first packet", range: [from, to], scale: "linear", label: seconds });
    return { ...axis, min: from, max: to, axisLabel: { ...axis.axisLabel, showMinLabel: false, showMaxLabel: false } };
  }

  function figure(look, of, { id, title, note, legend = [], yAxis, series, empty, height = 300 }) {
    const top = F.legendHeight(look, legend);
    return {
      id: `${id}-${of.id}`, title: `${title}: ${of.name}`, note, empty, height: top + height,
      option: F.frame(look, title, {
        legend: legend.length > 1 ? { data: legend } : undefined,
        grid: { left: 82, right: 18, top: top + 4, bottom: 48 },
        xAxis: timeAxis(look, of), yAxis,
        series: series.map((one) => ({ ...one, tooltip: look.paper || !one.told ? { show: false } : { formatter: (item) => look.lines(one.told(item.value)) } })),
      }),
    };
  }

  // Segments as strokes from their first to their last byte.
  function strokes(name, points, color, width, what) {
    return {
      name, type: "custom", itemStyle: { color }, clip: true, encode: { x: 0, y: [1, 2] }, data: points,
      renderItem: (_, api) => {
        const [x, low] = api.coord([api.value(0), api.value(1)]);
        const [, high] = api.coord([api.value(0), api.value(2)]);
        return { type: "rect", shape: { x: x - width / 2, y: high, width, height: Math.max(2, low - high) }, style: { fill: api.visual("color") } };
      },
      told: ([at, first, end]) => [what, `bytes ${first} to ${end}`, seconds(at)],
    };
  }

  const steps = (name, points, color, type, what) => ({
    name, type: "line", step: "end", symbol: "circle", symbolSize: 4, showSymbol: false, data: points, color,
    lineStyle: { color, width: 1.4, type }, itemStyle: { color }, told: ([at, place]) => [`${what} ${place}`, seconds(at)],
  });

  function sequence(of, look) {
    const { ink } = F.inks(look);
    const parts = [
      steps("window", of.window_end, F.PALETTE[4], [5, 3], "window ends at byte"),
      steps("acknowledged", of.acknowledged, F.PALETTE[2], "solid", "acknowledged up to byte"),
      strokes("segments", of.segments, ink, 2, "segment"),
      strokes("out of order", of.overtaken, F.PALETTE[3], 4, "out of order"),
      strokes("sent again", of.retransmissions, F.PALETTE[1], 4, "sent again"),
    ].filter((part) => part.data.length > 0);
    // The window can reach far beyond all that was sent.
    const places = [...of.segments, ...of.retransmissions].flatMap(([, first, end]) => [first, end]);
    const [low, high] = F.extent(places) ?? [0, 1];
    const axis = F.axis(look, { name: "place in the stream", range: [low, high], scale: "linear", label: bytes, vertical: true });
    return figure(look, of, {
      id: "sequence", title: "Time and sequence", height: 420, legend: parts.map((part) => part.name), empty: of.segments.length === 0,
      note: "As tcptrace draws it: each stroke is a segment, from its first to its last byte. The lower line is what the receiver has acknowledged, the upper one where its window ends.",
      yAxis: { ...axis, min: Math.min(low, 0), max: high + (high - low) * 0.08 || 1, axisLabel: { ...axis.axisLabel, showMaxLabel: false } },
      series: parts,
    });
  }

  function roundTrips(of, look) {
    const range = F.extent(of.round_trips_us.map(([, us]) => us).filter((us) => us > 0)) ?? [1, 10];
    return figure(look, of, {
      id: "rtt", title: "Round trips", empty: of.round_trips_us.length === 0,
      note: "From a segment to its acknowledgment at the place of capture, with the receiver's delay of acknowledgments.",
      yAxis: F.timeAxis(look, { name: "round trip", range, scale: "auto", vertical: true, zero: true }),
      series: [{
        type: "line", symbol: "circle", symbolSize: 4, showSymbol: true, data: of.round_trips_us, color: F.PALETTE[0],
        lineStyle: { color: F.PALETTE[0], width: 0.7, opacity: 0.5 }, told: ([at, us]) => [F.time(us), seconds(at)],
      }],
    });
  }

  function area(of, look, { id, title, note, name, label, data }) {
    const range = F.extent(data.map(([, value]) => value)) ?? [0, 1];
    return figure(look, of, {
      id, title, note, empty: data.length === 0,
      yAxis: F.axis(look, { name, range, scale: "linear", label, vertical: true, zero: true }),
      series: [{
        type: "line", step: "end", symbol: "circle", symbolSize: 4, showSymbol: false, data, color: F.PALETTE[0],
        lineStyle: { color: F.PALETTE[0], width: 1.4 }, areaStyle: { color: F.PALETTE[0], opacity: 0.15 },
        told: ([at, value]) => [label(value), seconds(at)],
      }],
    });
  }

  const throughput = (of, look) => area(of, look, {
    id: "throughput", title: "Throughput", name: "bytes per second", label: (value) => `${bytes(value)}/s`, data: of.throughput,
    note: `Payload without what was sent again, in intervals of ${seconds(of.interval_s)}.`,
  });

  const flight = (of, look) => area(of, look, {
    id: "flight", title: "Flight size", name: "bytes in flight", label: bytes, data: of.flight,
    note: "Bytes that were sent and not yet acknowledged, at the place of capture.",
  });

  return { ALL: [sequence, roundTrips, throughput, flight] };
})();

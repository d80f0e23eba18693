// Draws one figure after the other, for a paper: each with a caption below it.
"use strict";

// Of a letter of the caption, in parts of its size; room around it, in pixels.
const LETTER = 0.52;
const SIZE = 10;
const ROOM = 8;

let waiting = null;
let current = null;
let style = null;
let servers = "";

// `chosen` is { width, unit, font }: pixels, the width as it is written (85mm), a font or null.
function begin(text, chosen) {
  style = JSON.parse(chosen);
  const data = JSON.parse(text);
  servers = namesOf(data).join(", ");
  waiting = prestanAnswers.all(data, { paper: true, dark: false, width: style.width });
}

// What was measured, in the order of the figures.
function namesOf(data) {
  if (data.comparison) return [data.comparison.a.name, ...data.comparison.b.map((other) => other.name)];
  if (data.sweep) return data.sweep.servers.map((server) => server.name);
  if (data.search) return [data.search.target];
  return data.runs.map((run) => run.name);
}

// Name of the next figure; null after the last one.
function next() {
  do {
    current = waiting.next().value ?? null;
  } while (current?.empty);
  return current && current.id;
}

const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");

function wrapped(text) {
  const columns = Math.max(20, Math.floor((style.width - 2 * ROOM) / (SIZE * LETTER)));
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line && line.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}

// What a figure is, of what, and what its intervals mean.
function caption() {
  const said = `${current.title} ${current.note}`.replaceAll("without an interval", "");
  const interval = /interval|whisker/i.test(said)
    ? " A 95 % confidence interval contains the true value in 95 of 100 repetitions of the measurement." : "";
  return wrapped(`${current.title} (${servers}). ${current.note ?? ""}${interval}`);
}

// The figure itself.
function svg() {
  const { width, font } = style;
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width, height: current.height });
  chart.setOption(current.option);
  const drawn = chart.renderToSVGString();
  chart.dispose();
  const lines = caption();
  const height = current.height + ROOM + lines.length * (SIZE + 3) + ROOM;
  const text = lines.map((line, place) =>
    `<text x="${ROOM}" y="${current.height + ROOM + (place + 0.8) * (SIZE + 3)}" style="font-size:${SIZE}px;font-family:${prestanFigures.FONT};" fill="#1b1f23">${escaped(line)}</text>`);
  const [number, unit] = [parseFloat(style.unit), style.unit.replace(/^[0-9.]+/, "")];
  const whole = `<svg xmlns="http://www.w3.org/2000/svg" width="${style.unit}" height="${Number(((number * height) / width).toFixed(3))}${unit}" viewBox="0 0 ${width} ${height}">`
    + `<rect width="${width}" height="${height}" fill="#ffffff"/>\n${drawn}\n${text.join("\n")}\n</svg>`;
  return font === null ? whole
    : whole.replace(/(font-family:|font:\s*[0-9.]+px )(?:&[#a-z0-9]+;|[^;"])*/g, (_, before) => before + escaped(font));
}

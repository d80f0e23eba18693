// Draws one figure after the other, for a paper.
"use strict";

const WIDTH = 760;
let waiting = null;
let current = null;

function begin(text) {
  waiting = prestanAnswers.all(JSON.parse(text), { paper: true, dark: false, width: WIDTH });
}

// Name of the next figure; null after the last one.
function next() {
  do {
    current = waiting.next().value ?? null;
  } while (current?.empty);
  return current && current.id;
}

// The figure itself.
function svg() {
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height: current.height });
  chart.setOption(current.option);
  const drawn = chart.renderToSVGString();
  chart.dispose();
  return drawn;
}

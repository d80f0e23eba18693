// What the page of a capture does: draws the figures of the direction that is chosen.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const place = document.getElementById("capture-figures");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  // Wide enough for A4, where paper cannot be asked.
  const PRINTED = 680;
  let chosen = 0;
  let printing = false;
  let instances = [];

  function draw() {
    const dark = !printing && prefersDark.matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    for (const instance of instances) instance.dispose();
    instances = [];
    place.replaceChildren();
    const of = data.directions[chosen];
    if (!of) return;
    for (const make of prestanCaptures.ALL) {
      const chart = dom.element("div", { class: "chart", role: "img" });
      const caption = dom.element("figcaption");
      const note = dom.element("p", { class: "note" });
      const whole = dom.element("figure", { "data-figure": make.name }, caption, chart, note);
      place.append(whole);
      const width = printing ? PRINTED : whole.clientWidth || 600;
      const tooltip = { backgroundColor: "#ffffff", borderColor: "#c8ced3", padding: [6, 10] };
      const made = make(of, { dark, paper: printing, width, lines: dom.lines, tooltip });
      if (made.empty) {
        whole.remove();
        continue;
      }
      whole.dataset.id = made.id;
      caption.textContent = made.title;
      note.textContent = made.note;
      chart.setAttribute("aria-label", made.title);
      chart.style.height = `${made.height}px`;
      const instance = echarts.init(chart, null, { renderer: "svg", width, height: made.height });
      instance.setOption(made.option);
      instances.push(instance);
    }
    document.documentElement.dataset.ready = "true";
  }

  if (data.directions.length > 1) {
    const options = data.directions.map((of, number) => [String(number), of.name]);
    document.getElementById("capture-controls").append(dom.choice("Direction", options, "0", (value) => {
      chosen = Number(value);
      draw();
    }));
  }
  prefersDark.addEventListener("change", draw);
  let waiting = 0;
  window.addEventListener("resize", () => {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(draw, 150);
  });
  window.addEventListener("beforeprint", () => { printing = true; draw(); });
  window.addEventListener("afterprint", () => { printing = false; draw(); });
  draw();
})();

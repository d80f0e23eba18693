// What the page does: draws the figures, and lets people choose what they see.
"use strict";

(() => {
  const F = prestanFigures;
  const A = prestanAnswers;
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const chosen = { servers: new Set(data.runs.map((_, place) => place)), tests: new Set(F.testNames(data)), scale: "auto", sweep: "auto" };

  // ----- light and dark ------------------------------------------------------------------------

  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = { wanted: "auto", printing: false };
  const isDark = () => !theme.printing && (theme.wanted === "auto" ? prefersDark.matches : theme.wanted === "dark");

  function showTheme() {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    redraw();
  }

  // ----- figures -------------------------------------------------------------------------------

  // All figures on the page: where each is, and what makes it.
  const drawn = new Map();
  // Wide enough for A4, where paper cannot be asked.
  const PRINTED = 680;

  const look = (width) => ({ dark: isDark(), paper: theme.printing, coarse: window.matchMedia("(pointer: coarse)").matches, width, servers: chosen.servers, tests: chosen.tests, lines: dom.lines,
    tooltip: { backgroundColor: "#ffffff", borderColor: "#c8ced3", padding: [6, 10] } });

  function figure(place, id, make) {
    const chart = dom.element("div", { class: "chart", role: "img" });
    const caption = dom.element("figcaption");
    const note = dom.element("p", { class: "note" });
    const whole = dom.element("figure", { "data-figure": id }, caption, chart, note);
    place.append(whole);
    drawn.set(id, { whole, chart, caption, note, make, instance: null });
    draw(id);
  }

  function draw(id) {
    const of = drawn.get(id);
    const width = theme.printing ? PRINTED : of.whole.clientWidth || 600;
    const made = of.make(look(width));
    of.whole.dataset.id = made.id;
    of.caption.textContent = made.title;
    of.note.replaceChildren(...[...(made.words ?? []), made.note].map((text) => dom.element("span", {}, text)));
    of.whole.hidden = Boolean(made.empty);
    of.chart.setAttribute("aria-label", made.title);
    of.instance?.dispose();
    of.instance = null;
    if (made.empty) return;
    of.chart.style.height = `${made.height}px`;
    of.instance = echarts.init(of.chart, null, { renderer: "svg", width, height: made.height });
    of.instance.setOption(made.option);
  }

  // Figures are drawn where a function is given, or all of them.
  function redraw(wanted = () => true) {
    for (const id of drawn.keys()) if (wanted(id)) draw(id);
  }

  function remove(prefix) {
    for (const [id, of] of [...drawn]) {
      if (!id.startsWith(prefix)) continue;
      of.instance?.dispose();
      of.whole.remove();
      drawn.delete(id);
    }
  }

  // ----- pages and bars ------------------------------------------------------------------------

  function showPages() {
    if (!F.hasPages(data)) return;
    figure(at("pages-figures"), "pages", (look) => F.pages(data, look));
  }

  function showBars() {
    if (F.testNames(data).length === 0) return;
    at("bars").hidden = false;
    const redrawAll = () => redraw();
    const controls = [dom.choice("Scale", [["auto", "as fits"], ["linear", "linear"], ["log", "logarithmic"]], chosen.scale, (scale) => {
      chosen.scale = scale;
      redraw((id) => id.startsWith("bars-"));
    })];
    if (data.runs.length > 1) controls.push(serverChoice(redrawAll));
    controls.push(testChoice(() => redraw((id) => id.startsWith("bars-"))));
    at("bars-controls").append(...controls);
    for (const group of F.groups(data)) {
      figure(at("bars-figures"), `bars-${group.id}`, (look) => {
        const made = F.bars(data, look, { group, scale: chosen.scale });
        return { ...made, empty: !group.tests.some((test) => chosen.tests.has(test)) };
      });
    }
  }

  const toggle = (set, value, wanted) => (wanted ? set.add(value) : set.delete(value));

  function serverChoice(changed) {
    const boxes = data.runs.map((run, place) => dom.checkbox(run.name, (wanted) => {
      toggle(chosen.servers, place, wanted);
      changed();
    }, F.colorOf(place)));
    return dom.element("fieldset", { id: "servers" }, dom.element("legend", {}, `${data.run_heading}s`), ...boxes);
  }

  function testChoice(changed) {
    const boxes = F.testNames(data).map((test) => dom.checkbox(test, (wanted) => {
      toggle(chosen.tests, test, wanted);
      changed();
    }));
    return dom.element("details", {}, dom.element("summary", {}, "Choose tests"), dom.element("div", { class: "tests" }, ...boxes));
  }

  // ----- one test ------------------------------------------------------------------------------

  function showDetails() {
    const names = F.testNames(data);
    if (names.length === 0) return;
    const select = dom.element("select", { id: "test", onchange: () => showTest(select.value) },
      ...names.map((name) => dom.element("option", { value: name }, name)));
    // One test is no choice.
    at("details-controls").hidden = names.length === 1;
    at("details-controls").append(dom.element("label", { for: "test" }, "Test"), select);
    // The choice says which test it is.
    for (const heading of at("details-tables").querySelectorAll("h3")) heading.hidden = true;
    showTest(names[0]);
  }

  function showTest(test) {
    const figures = at("details-figures");
    remove("detail-");
    const place = F.testNames(data).indexOf(test);
    [...at("details-tables").children].forEach((of, other) => { of.hidden = other !== place; });
    // The course of a load is the first figure of its page.
    const course = at("course-figures") ?? figures;
    for (const make of prestanLoads.ALL) figure(course, `detail-${make.name}`, (look) => make(data, look, { test }));
    figure(course, "detail-timeline", (look) => F.timeLine(data, look, { test }));
    figure(figures, "detail-histogram", (look) => F.histogram(data, look, { test }));
    figure(figures, "detail-ecdf", (look) => F.ecdf(data, look, { test }));
  }

  // ----- comparison, sweep, search -------------------------------------------------------------

  function showComparison() {
    // Several stand side by side. A figure is as wide as its place, so this is known before the first is drawn.
    at("ratios")?.classList.toggle("small", A.versusOf(data).length > 1);
    for (const versus of A.versusOf(data)) {
      figure(at("ratios"), `forest-${versus.place}`, (look) => A.ratios(data, look, { versus }));
    }
  }

  function showSweep() {
    if (!data.sweep) return;
    at("sweep").hidden = false;
    const params = data.sweep.vary.map((vary) => vary.name);
    const show = (param) => {
      remove("sweep-");
      for (const test of data.sweep.tests) {
        figure(at("sweep-figures"), `sweep-${test.measure}`, (look) => A.sweep(data, { ...look, servers: null }, { test, param, scale: chosen.sweep }));
      }
    };
    let param = params[0];
    at("sweep-controls").append(
      ...(params.length > 1 ? [dom.choice("By", params.map((name) => [name, name]), param, (name) => show((param = name)))] : []),
      dom.choice("Scale", [["auto", "as fits"], ["linear", "linear"], ["log", "log-log"]], "auto", (scale) => {
        chosen.sweep = scale;
        show(param);
      }),
    );
    show(param);
  }

  function showSearch() {
    if (!data.search) return;
    at("search").hidden = false;
    figure(at("search-figures"), "search", (look) => A.search(data, look));
  }

  // ----- background traffic --------------------------------------------------------------------

  function showBackground() {
    prestanBackground.all(data).forEach((make, place) => figure(at("background-figures"), `background-${place}`, make));
  }

  // ----- tables --------------------------------------------------------------------------------

  function makeSortable(table) {
    const body = table.tBodies[0];
    const key = (row, column) => {
      const cell = row.cells[column];
      if (!cell || cell.colSpan > 1) return null;
      const value = cell.dataset.sort;
      if (value === undefined) return cell.textContent;
      return value === "" ? null : Number(value);
    };
    const heads = [...[...table.tHead.rows].at(-1).cells];
    heads.forEach((head, column) => {
      const button = dom.element("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort((one, other) => {
          const [a, b] = [key(one, column), key(other, column)];
          // Rows without a figure stay at the end.
          if (a === null || b === null) return (a === null) - (b === null);
          const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
          return down ? -order : order;
        });
        body.append(...rows);
      });
    });
  }

  // ----- all of it -----------------------------------------------------------------------------

  at("tools").append(dom.choice("Colours", [["auto", "auto"], ["light", "light"], ["dark", "dark"]], "auto", (wanted) => {
    theme.wanted = wanted;
    showTheme();
  }));
  prefersDark.addEventListener("change", showTheme);
  showTheme();
  showPages();
  showBars();
  showDetails();
  showComparison();
  showSweep();
  showSearch();
  showBackground();
  document.querySelectorAll("table.sorts").forEach(makeSortable);

  let width = document.documentElement.clientWidth;
  let waiting = 0;
  window.addEventListener("resize", () => {
    if (theme.printing || width === document.documentElement.clientWidth) return;
    width = document.documentElement.clientWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => redraw(), 120);
  });
  const printing = (now) => () => {
    theme.printing = now;
    showTheme();
  };
  window.addEventListener("beforeprint", printing(true));
  window.addEventListener("afterprint", printing(false));
  document.documentElement.dataset.ready = "true";
})();

// What the page does: lets people choose what they see. Everything is there without it.
"use strict";

(() => {
  const at = (id) => document.getElementById(id);

  // ----- light and dark ------------------------------------------------------------------------

  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  let wanted = "auto";

  function showTheme() {
    const isDark = wanted === "auto" ? prefersDark.matches : wanted === "dark";
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
  }

  // ----- figures that are there in several ways ------------------------------------------------

  const NAMES = { auto: "as fits", log: "logarithmic" };

  // `data-choose` names what is chosen; `data-of` is what is chosen among, the elements of the same section that have it as
  // `data-variants`. The first one of each is shown without a choice, and where it lacks the chosen one.
  for (const controls of document.querySelectorAll("[data-choose]")) {
    const all = [...controls.closest("section").querySelectorAll(`[data-variants="${controls.dataset.of}"]`)];
    const options = [...new Set(all.flatMap((of) => [...of.children].map((variant) => variant.dataset.option)))];
    if (options.length < 2) continue;
    const names = controls.dataset.auto === undefined ? options : ["auto", ...options];
    controls.append(dom.choice(controls.dataset.choose, names.map((name) => [name, NAMES[name] ?? name]), names[0], (chosen) => {
      for (const of of all) {
        const shown = [...of.children].find((variant) => variant.dataset.option === chosen) ?? of.children[0];
        for (const variant of of.children) variant.hidden = variant !== shown;
      }
    }));
  }

  // ----- one test ------------------------------------------------------------------------------

  function showTest(test) {
    for (const of of document.querySelectorAll("[data-test]")) of.hidden = of.dataset.test !== test;
  }

  function chooseTest() {
    const tests = [...new Set([...document.querySelectorAll("[data-test]")].map((of) => of.dataset.test))];
    const controls = at("details-controls");
    // One test is no choice.
    if (!controls || tests.length < 2) return;
    const select = dom.element("select", { id: "test", onchange: () => showTest(select.value) },
      ...tests.map((name) => dom.element("option", { value: name }, name)));
    controls.append(dom.element("label", { for: "test" }, "Test"), select);
    // The choice says which test it is.
    for (const heading of document.querySelectorAll("[data-test] > h3")) heading.hidden = true;
    showTest(tests[0]);
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

  at("tools").append(dom.choice("Colours", [["auto", "auto"], ["light", "light"], ["dark", "dark"]], "auto", (theme) => {
    wanted = theme;
    showTheme();
  }));
  prefersDark.addEventListener("change", showTheme);
  showTheme();
  chooseTest();
  document.querySelectorAll("table.sorts").forEach(makeSortable);
  document.documentElement.dataset.ready = "true";
})();

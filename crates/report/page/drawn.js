// What scripts add to figures: rows of their tables as tooltips, and series that hide. And `dom`, which makes elements.
"use strict";

const dom = (() => {
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (key in made && typeof value === "boolean") made[key] = value;
      else if (value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  // Buttons of which one is pressed.
  function choice(legend, options, chosen, change) {
    const group = element("fieldset", {}, element("legend", {}, legend));
    const buttons = options.map(([value, text]) => element("button", {
      type: "button", "aria-pressed": String(value === chosen), "data-value": value,
      onclick: () => {
        buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(options[place][0] === value)));
        change(value);
      },
    }, text));
    group.append(...buttons);
    return group;
  }

  return { choice, element };
})();

(() => {
  // How far from a mark the pointer may be, in units of the drawing.
  const REACH = 16;
  // Each mark is a part of a path that begins with M, or with m as seen from the mark before; a rectangle goes on with h and v.
  const MARK = /(m)(-?[\d.]+) ?(-?[\d.]+)(?:h([\d.]+)v([\d.]+))?/gi;

  // The marks of a drawing that have rows: their boxes, and the numbers of their rows.
  const known = new WeakMap();

  function marksOf(svg) {
    if (known.has(svg)) return known.get(svg);
    const marks = [...svg.querySelectorAll("path[data-r]")].flatMap((path) => {
      const rows = path.dataset.r.split(" ").map(Number);
      let [x, y] = [0, 0];
      return [...path.getAttribute("d").matchAll(MARK)].map(([, from, dx, dy, width = 0, height = 0], place) => {
        [x, y] = from === "m" ? [x + Number(dx), y + Number(dy)] : [Number(dx), Number(dy)];
        const row = rows.length > 1 ? rows[place] : rows[0] + place;
        return { path, row, x, y, width: Number(width), height: Number(height) };
      });
    });
    known.set(svg, marks);
    return marks;
  }

  function nearest(svg, { x, y }) {
    const off = (at, from, length) => Math.max(from - at, 0, at - from - length);
    let found = null;
    let least = REACH;
    for (const mark of marksOf(svg)) {
      const distance = Math.hypot(off(x, mark.x, mark.width), off(y, mark.y, mark.height));
      // Of those that lie upon one another, the last one is seen.
      if (distance <= least && !mark.path.closest(".off")) [found, least] = [mark, distance];
    }
    return found;
  }

  const tip = dom.element("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  document.body.append(tip);

  function show(figure, svg, event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const mark = nearest(svg, at);
    const table = figure.querySelector("details.numbers table");
    const row = mark && table?.querySelectorAll("td:first-child")[mark.row]?.parentElement;
    tip.hidden = !row;
    if (!row) return;
    const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    const texts = [...row.cells].map((cell, column) => [heads[column], cell.textContent]);
    // What is the same in several rows stands above them.
    const group = row.parentElement.querySelector("th");
    const lines = [...(group ? [["", group.textContent]] : []), ...texts].filter(([, text]) => text !== "");
    tip.replaceChildren(...lines.map(([head, text], place) => dom.element("div", {}, place === 0 ? text : `${head}: ${text}`)));
    const { width, height } = tip.getBoundingClientRect();
    const left = event.clientX + 14 + width > innerWidth ? Math.max(4, event.clientX - 14 - width) : event.clientX + 14;
    const top = Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 4));
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${top + scrollY}px`;
  }

  for (const figure of document.querySelectorAll("figure[data-id]")) {
    for (const svg of figure.querySelectorAll(".chart > svg")) {
      svg.addEventListener("pointermove", (event) => show(figure, svg, event));
      svg.addEventListener("pointerdown", (event) => show(figure, svg, event));
      svg.addEventListener("pointerleave", () => { tip.hidden = true; });
    }
    for (const item of figure.querySelectorAll(".legend > li")) {
      const button = dom.element("button", { type: "button", "aria-pressed": "true" }, ...item.childNodes);
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        for (const series of figure.querySelectorAll(`g[data-key="${item.dataset.key}"]`)) series.classList.toggle("off", !shown);
      });
      item.replaceChildren(button);
    }
  }
})();

// Elements, made so that no text can become markup: only `textContent` is ever written.
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

  function checkbox(text, change, color) {
    const box = element("input", { type: "checkbox", onchange: () => change(box.checked) });
    box.checked = true;
    const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = color ?? "";
    return element("label", {}, box, ...(color ? [swatch] : []), text);
  }

  // What stands in a tooltip: a line each.
  const lines = (texts) => element("div", { class: "tip" }, ...texts.map((text) => element("div", {}, text)));

  return { checkbox, choice, element, lines };
})();

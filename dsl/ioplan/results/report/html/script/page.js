// Wires the page up: sessions, drives, theme, address. Charts are drawn when they come near.

// What the reader has chosen, in the address: `#test-2&{"hide": …}`, as an URL writes it.

let anchor = "";
let saved = {}; // of charts and tables that are not there yet, too
let focused = ""; // the drive that stands out: the others are dim everywhere

const own = (object, key) => (Object.hasOwn(object ?? {}, key) ? object[key] : undefined);
const withoutEmpty = (object) => Object.fromEntries(Object.entries(object)
  .filter(([, value]) => value && (typeof value !== "object" || Object.keys(value).length)));

const choicesOf = (chart) => chart.modes.together.spec?.usermeta.choices ?? {};

const chosenIn = (chart) => withoutEmpty({
  state: Object.fromEntries(Object.entries(chart.state)
    .filter(([name, position]) => position !== Object.keys(choicesOf(chart)[name])[0])),
  ...{ mode: chart.chosen, lit: chart.lit, picked: chart.picked, zoom: chart.zoom },
});

const remember = () => {
  const parts = { ...saved, hide: [...hidden], drive: focused };
  for (const chart of known.values()) parts[chart.figure.id] = chosenIn(chart);
  for (const [id, view] of tableViews) parts[`t-${id}`] = withoutEmpty(view);
  const chosen = withoutEmpty(parts);
  const text = Object.keys(chosen).length ? `&${encodeURIComponent(JSON.stringify(chosen))}` : "";
  const hash = anchor || text ? `#${anchor}${text}` : "";
  if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname + location.search);
};

const readAddress = () => {
  const [place, text] = location.hash.slice(1).split("&", 2);
  anchor = place;
  try { saved = Object(JSON.parse(decodeURIComponent(text ?? "{}"))); } catch { saved = {}; }
  const labels = about.sources.map(({ label }) => label);
  for (const label of labels) if ([own(saved, "hide")].flat().includes(label)) hidden.add(label);
  focused = labels.find((label) => label === own(saved, "drive")) ?? "";
};

// Whatever an address says, a chart takes only what it has.
const restoreChart = (chart) => {
  const { state, mode, lit, picked, zoom } = own(saved, chart.figure.id) ?? {};
  for (const [name, positions] of Object.entries(choicesOf(chart))) {
    const position = own(state, name);
    chart.state[name] = own(positions, position) ? position : Object.keys(positions)[0];
  }
  if (own(chart.modes, mode)) chart.chosen = mode;
  chart.lit = texts(chart, seriesKey(chart)).find((text) => text === (lit || focused)) ?? "";
  for (const { key, order } of chart.columns) {
    if (order.includes(own(picked, key))) chart.picked[key] = picked[key];
  }
  if (Array.isArray(zoom) && zoom.length === 2 && zoom.every(Number.isFinite) && zoom[0] < zoom[1]) chart.zoom = zoom;
};

const savedTable = (id) => {
  const { sort, words } = own(saved, `t-${id}`) ?? {};
  return { sort: Number.isInteger(sort?.at) ? { at: sort.at, up: Boolean(sort.up) } : null, words: String(words ?? "") };
};

// Charts.

const chartOf = (figure) => {
  const id = `${figure.id}-data`;
  if (known.has(id)) return known.get(id);
  const { rows, overlay, limits, phases, spread, ...more } = read(id);
  const { color } = more.modes.together.channels;
  const chart = {
    ...more, figure,
    plot: figure.querySelector(".plot"),
    columns: rows.columns,
    rows: unfold(rows).map((row) => ({ ...row, series: row[color] ?? "" })),
    limits: limits ? unfold(limits) : [],
    phases: phases ? labelled(unfold(phases), phases.columns[0].order) : [],
    overlay: overlay && { columns: overlay.columns, rows: unfold(overlay) },
    spread: spread && { ...spread, columns: spread.rows.columns, rows: unfold(spread.rows) },
    state: {}, picked: {}, pick: {}, chosen: "", lit: "",
  };
  restoreChart(chart);
  known.set(id, chart);
  settleMode(chart);
  chart.plot?.addEventListener("keydown", steer(chart));
  return chart;
};

const redraw = (chart) => {
  const { figure } = chart;
  settleMode(chart);
  showTools(chart);
  figure.querySelector(".pivot")?.replaceChildren(...pivots(chart));
  if (chart.plot) {
    draw(chart);
    figure.querySelector(".made").textContent = [spreadNote(chart), stretchNote(chart)].filter(Boolean).join("; ");
    figure.querySelector(".told").textContent = summary(chart);
  }
  figure.querySelectorAll("details.data[open]").forEach(fillTable);
  remember();
};

const figures = [...document.querySelectorAll("figure[data-kind]")]
  .filter((figure) => document.getElementById(`${figure.id}-data`));
const near = new Set(); // figures that were drawn once

const come = (figure) => {
  if (!near.has(figure)) redraw(chartOf(figure));
  near.add(figure);
};

const again = () => near.forEach((figure) => redraw(chartOf(figure)));

const watching = (elements, margin, action) => {
  const watcher = new IntersectionObserver((entries) => entries
    .filter(({ isIntersecting }) => isIntersecting).forEach(({ target }) => action(target)), { rootMargin: margin });
  elements.forEach((element) => watcher.observe(element));
};

// Sessions and drives.

const boxes = [...document.querySelectorAll("#sessions input")];

const sessionsChanged = () => {
  for (const box of boxes) box.checked = !hidden.has(box.value);
  markDrive();
  again();
  document.querySelectorAll(".runs details[open]").forEach(fillTable);
  remember();
};

const showOnly = (words) => {
  const fits = meets(words);
  hidden.clear();
  for (const source of about.sources) {
    if (!fits(Object.values(source).join(" "))) hidden.add(source.label);
  }
  for (const box of boxes) box.parentElement.hidden = hidden.has(box.value);
  sessionsChanged();
};

const markDrive = () => {
  document.body.toggleAttribute("data-focus", Boolean(focused));
  for (const item of document.querySelectorAll(".headline li")) {
    item.classList.toggle("chosen", item.dataset.label === focused);
    item.classList.toggle("hidden", hidden.has(item.dataset.label));
  }
  for (const chip of document.querySelectorAll(".drives button")) {
    chip.setAttribute("aria-pressed", String(chip.dataset.label === focused));
  }
};

for (const chip of document.querySelectorAll(".drives button")) {
  chip.onclick = () => {
    focused = focused === chip.dataset.label ? "" : chip.dataset.label;
    for (const chart of known.values()) {
      chart.lit = texts(chart, seriesKey(chart)).includes(focused) ? focused : "";
    }
    markDrive();
    again();
    remember();
  };
}
for (const more of document.querySelectorAll("button.all")) {
  more.onclick = () => more.setAttribute("aria-expanded", String(more.closest(".headline").classList.toggle("all")));
}

const fieldset = document.getElementById("sessions");
if (fieldset) {
  const field = searchField("Filter sessions", "", showOnly);
  const all = button("Show all", "Show all sessions", () => {
    field.value = "";
    showOnly("");
  });
  fieldset.before(element("div", { className: "tools" }, ...(boxes.length > 4 ? [field] : []), all));
  fieldset.addEventListener("change", ({ target }) => {
    if (target.checked) hidden.delete(target.value);
    else hidden.add(target.value);
    sessionsChanged();
  });
}

// Light and dark; paper is white.

let chosen = "auto";
let printing = false;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

const theme = () => {
  if (printing) return "light";
  return chosen === "auto" ? (prefersDark.matches ? "dark" : "light") : chosen;
};

const THEMES = ["auto", "light", "dark"];
document.getElementById("theme").onclick = ({ target }) => {
  chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
  target.textContent = `Theme: ${chosen}`;
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  again();
};
prefersDark.addEventListener("change", again);

const folded = document.querySelectorAll(".remarks:not([open])");
const setPrinting = (begins) => {
  printing = begins;
  folded.forEach((details) => { details.open = begins; });
  again();
};
addEventListener("beforeprint", () => {
  setPrinting(true);
  figures.forEach(come);
});
addEventListener("afterprint", () => setPrinting(false));

// The page as it is opened.

readAddress();
for (const box of boxes) box.checked = !hidden.has(box.value);
markDrive();
watching(figures, "700px", come);
document.querySelectorAll("details.data").forEach((details) => {
  if (details.open) fillTable(details);
  details.addEventListener("toggle", () => {
    const figure = details.closest("figure[data-kind]");
    if (figure) come(figure);
    if (details.open) fillTable(details);
  });
});
document.getElementById(anchor)?.scrollIntoView();

addEventListener("hashchange", () => {
  if (location.hash.includes("&")) location.reload(); // another state: as if it had been opened
  anchor = location.hash.slice(1);
  remember();
});

let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const chart of known.values()) {
      if (chart.view && Math.abs(chart.plot.clientWidth - chart.width) > 4) draw(chart);
    }
  }, 150);
});

// Beside a long page the test that is read is marked.
const sideLinks = [...document.querySelectorAll(".side a")];
watching(sideLinks.length ? document.querySelectorAll("section.test") : [], "-20% 0px -70% 0px", ({ id }) => {
  for (const link of sideLinks) {
    if (link.hash === `#${id}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
});

// What scrolls sideways can be reached with the keyboard.
const scrollWatcher = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = target;
    if (scrollWidth > clientWidth || scrollHeight > clientHeight) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
document.querySelectorAll(".scroll, pre").forEach((element) => scrollWatcher.observe(element));

// `?picture=SVG`: only the first chart, as text for the program that asks for it.
const format = new URLSearchParams(location.search).get("picture");
if (format in urlOf && figures.length) {
  come(figures[0]);
  urlOf[format](chartOf(figures[0])).then((url) =>
    document.body.replaceChildren(element("pre", { id: "picture", textContent: url })));
}

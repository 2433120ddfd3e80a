// How a chart is read: hints at points, one series among many, a part of the x axis, and
// the controls; by a pointer, and by the keyboard.

const button = (text, label, onclick) =>
  element("button", { type: "button", textContent: text, ariaLabel: label, onclick });

const choice = (label, options, value, action) => {
  const onchange = ({ target }) => action(target.value);
  const select = element("select", { ariaLabel: label, onchange }, ...options.map(([text, name]) => new Option(text, name)));
  return Object.assign(select, { value });
};

// The figures of a point, beside the pointer.

const MOST_LIT = 6000; // with more marks, drawing them at each move would lag behind
const box = element("div", { className: "tip", hidden: true });
document.body.append(box);

const hint = (chart, row, between) => chart.columns.filter(isListed)
  .map(({ key, title, unit }) => `${title} ${short(row[key], unit)}`).join(between);

const tip = (chart) => (handler, event, item, value) => {
  const row = value == null || value === "" ? null : chart.rows[Number(value)];
  if (chart.figure.dataset.drawn < MOST_LIT) look(chart, row?.series || chart.lit);
  box.hidden = !row;
  if (!row) return;
  box.textContent = hint(chart, row, "\n");
  const left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
  const top = Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8);
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, top)}px`;
};

// One series is looked at: the others fade.
const look = (chart, name) => {
  if (chart.view && chart.view.signal("lit") !== name) chart.view.signal("lit", name).run();
};

// It stays so until it is chosen again.
const keep = (chart, name) => {
  chart.lit = chart.lit === name ? "" : name;
  if (chart.mode === "spread") redraw(chart);
  else { showTools(chart); look(chart, chart.lit); remember(); }
};

const listen = (chart) => {
  const entry = (item) => (/^legend-(symbol|label)$/.test(item?.mark?.role ?? "")
    ? String(item.datum.value) : item?.datum?.role === "end" ? item.datum.series : "");
  const on = (event, action) => chart.view.addEventListener(event, (_, item) => {
    const name = texts(chart, seriesKey(chart)).find((text) => text === entry(item));
    if (name) action(name);
  });
  on("mouseover", (name) => look(chart, name));
  on("mouseout", () => look(chart, chart.lit));
  on("click", (name) => keep(chart, name));
  if (canZoom(chart)) chart.view.addSignalListener("brush", (_, value) => { chart.brush = Object.values(value)[0]; });
};

// A part of the x axis: dragged over by the pointer, or around the point of the keyboard.

const LEAST_DRAG = 8; // pixels

const canZoom = (chart) => inner(chart.spec).encoding.x?.type === "quantitative";

const zoomTo = (chart, ends) => {
  chart.zoom = ends && ends[0] < ends[1] ? ends : undefined;
  redraw(chart);
};

const extent = (chart) => {
  const values = shownRows(chart).map((row) => row[chart.axes.x]);
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
};

addEventListener("pointerup", () => {
  for (const chart of known.values()) {
    const { brush, view } = chart;
    chart.brush = undefined;
    if (!brush) continue;
    const scale = view.scale("x");
    const [from, to] = brush.map((value) => scale(value));
    if (to - from < LEAST_DRAG) continue;
    const [low, high] = extent(chart);
    zoomTo(chart, [Math.max(low, scale.invert(from - 1)), Math.min(high, scale.invert(to + 1))]);
  }
});

// Half of what is seen, around a point.
const zoomAround = (chart, x) => {
  if (!canZoom(chart)) return;
  const [least, most] = chart.zoom ?? extent(chart);
  const [to, from] = chart.state.x === "log" && least > 0 ? [Math.log, Math.exp] : [Number, Number];
  const reach = (to(most) - to(least)) / 4;
  zoomTo(chart, [from(to(x) - reach), from(to(x) + reach)]);
};

// A stretch of time has figures of its own, which the terminal makes.
const stretchNote = (chart) => {
  if (!chart.zoom || columnOf(chart, chart.axes.x)?.unit !== "s") return "";
  const sources = sourcesOf(chart);
  const [from, to] = chart.zoom.map((value) => `${Number(Math.max(0, value).toFixed(3))}s`);
  const session = sources.length === 1 ? sources[0].session : "SESSION";
  return `figures of this stretch: ioplan show ${session} --during ${from}..${to}`;
};

// Points by the arrow keys: along a series, and from one series to the next.

// The rows by their line, in the order of the drawing; of a matrix by its row.
const lines = (chart) => {
  const { color, dash, panel } = chart.modes.together.channels;
  const keys = chart.kind === "heatmap" ? [panel, "row"] : [panel, color, dash];
  const byName = new Map();
  for (const row of shownRows(chart)) {
    const name = keys.filter(Boolean).map((key) => row[key]).join(", ");
    if (!byName.has(name)) byName.set(name, []);
    byName.get(name).push(row);
  }
  const { x } = chart.axes;
  const order = texts(chart, x);
  const at = (row) => (order.length ? order.indexOf(row[x]) : row[x]);
  if (chart.kind !== "hockey") byName.forEach((rows) => rows.sort((a, b) => at(a) - at(b)));
  return [...byName];
};

const reach = (chart, row) => {
  chart.reached = row.i;
  if (chart.mode === "spread" && chart.lit !== row.series) {
    chart.lit = row.series;
    redraw(chart);
  } else look(chart, chart.lit || row.series);
  chart.view?.signal("cursor", row.i).run();
  chart.figure.querySelector(".hint").textContent = hint(chart, row, ", ");
};

const step = (chart, key) => {
  const all = lines(chart).map(([, rows]) => rows);
  if (!all.length) return;
  const line = all.findIndex((rows) => rows.some(({ i }) => i === chart.reached));
  const rows = all[Math.max(0, line)];
  const at = rows.findIndex(({ i }) => i === chart.reached); // -1 before the first step
  const along = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: rows.length - 1 }[key];
  const next = all[(line + (key === "ArrowDown" ? 1 : all.length - 1)) % all.length];
  if (along !== undefined || at < 0) reach(chart, rows[Math.max(0, Math.min(along ?? 0, rows.length - 1))]);
  else reach(chart, next.find((row) => row[chart.axes.x] === rows[at][chart.axes.x]) ?? next[Math.min(at, next.length - 1)]);
};

const STEPS = new Set(["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"]);

const steer = (chart) => (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const row = chart.rows[chart.reached];
  if (STEPS.has(event.key)) step(chart, event.key);
  else if (event.key === "Enter" && row?.series) keep(chart, row.series);
  else if (event.key === "+" && row) zoomAround(chart, row[chart.axes.x]);
  else if (event.key === "Escape" || event.key === "-") {
    Object.assign(chart, { lit: "", reached: undefined });
    zoomTo(chart);
  } else return;
  event.preventDefault();
};

// What a screen reader says of a chart: `3 series. Drive 1: 8 points, 8,670 to 361k; …`

const MOST_SUMMED = 8;

const summary = (chart) => {
  const key = chart.kind === "heatmap" ? "y" : chart.axes.y;
  const all = lines(chart);
  const parts = all.slice(0, MOST_SUMMED).map(([name, rows]) => {
    const values = rows.map((row) => row[key]).filter((value) => typeof value === "number");
    const [least, most] = [Math.min, Math.max].map((pick) =>
      short(values.reduce((a, b) => pick(a, b), values[0]), columnOf(chart, key).unit));
    const span = !values.length ? "no figures" : least === most ? least : `${least} to ${most}`;
    const missed = rows.filter((row) => failed(row) || row.judged).length;
    return `${name ? `${name}: ` : ""}${rows.length} point${rows.length === 1 ? "" : "s"}, ${span}`
      + (missed ? `, ${missed} failed` : "");
  });
  const more = all.length - parts.length;
  return `${all.length} series. ${parts.join("; ")}${more ? `; and ${more} more` : ""}.`;
};

// The controls of a chart: which part, which way of drawing, which scales, downloads.

const switches = (chart) => Object.entries(chart.spec?.usermeta.choices ?? {})
  .map(([channel, choices]) => [channel, Object.keys(choices)])
  .filter(([, positions]) => positions.length > 1)
  .map(([channel, positions]) => {
    const words = `${channel}: ${chart.state[channel]}`;
    return button(words, `${channel} axis, ${words}`, () => {
      chart.state[channel] = positions[(positions.indexOf(chart.state[channel]) + 1) % positions.length];
      redraw(chart);
    });
  });

const named = (names) => names.map((text) => [text, text]);

const picker = (chart) => {
  const { key, value } = chart.pick;
  return key ? [choice("Which part to show", named(texts(chart, key)), value, (text) => {
    chart.picked[key] = text;
    redraw(chart);
  })] : [];
};

const MODES = { together: "all together", apart: "one panel each", spread: "median and band" };

const modeChoice = (chart) => {
  const modes = Object.keys(chart.modes);
  if (modes.length < 2) return [];
  const ways = choice("How to draw many series", modes.map((mode) => [MODES[mode], mode]), chart.mode, (mode) => {
    chart.chosen = mode;
    redraw(chart);
  });
  if (chart.mode === "apart") return [ways];
  const highlights = [["highlight…", ""], ...named(shownSeries(chart))];
  return [ways, choice("Which series to highlight", highlights, chart.lit, (text) => keep(chart, text))];
};

const unzoom = (chart) =>
  chart.zoom ? [button("whole range", "Show the whole range of x", () => zoomTo(chart))] : [];

// Who used a control by the keyboard keeps it.
const refill = (place, controls) => {
  const at = [...place.children].indexOf(document.activeElement);
  place.replaceChildren(...controls);
  place.children[at]?.focus();
};

const showTools = (chart) => {
  const saves = (chart.spec ? ["PNG", "SVG", "CSV"] : ["CSV"]).map((kind) =>
    button(kind, `Download as ${kind}`, () => save(chart, kind)));
  refill(chart.figure.querySelector(".choices"), [...picker(chart), ...modeChoice(chart), ...unzoom(chart)]);
  refill(chart.figure.querySelector(".tools"), [...switches(chart), ...saves]);
};

// Points by the arrow keys: along a series, and from one series to the next. What a
// screen reader says of a chart: a summary, then each point that is reached.

const MOST_SUMMED = 8;

// The rows by their line, in the order of the drawing; of a matrix by its row.
const tracks = (chart) => {
  const { color, dash, panel } = chart.modes.together.channels;
  const keys = chart.kind === "heatmap" ? [panel, "row"] : [panel, color, dash];
  const found = new Map();
  for (const row of shownRows(chart)) {
    const name = keys.filter(Boolean).map((key) => row[key]).join(", ");
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(row);
  }
  const order = chart.columns.find(({ key }) => key === chart.axes.x)?.order ?? [];
  const place = new Map(order.map((text, i) => [text, i]));
  const at = (row) => place.get(row[chart.axes.x]) ?? row[chart.axes.x];
  if (chart.kind !== "hockey") found.forEach((rows) => rows.sort((a, b) => at(a) - at(b)));
  return [...found];
};

const told = (chart, row) => {
  chart.reached = row.i;
  if (chart.mode === "spread" && chart.lit !== row.series) {
    chart.lit = row.series;
    redraw(chart);
  } else look(chart, chart.lit || row.series);
  chart.view?.signal("cursor", row.i).run();
  const text = hint(chart, row).map(([name, value]) => `${name} ${value}`).join(", ");
  chart.figure.querySelector(".hint").textContent = text;
};

// The point as far along the next series.
const across = (chart, rows, row) => {
  const x = row[chart.axes.x];
  if (typeof x !== "number") return rows.find((one) => one[chart.axes.x] === x) ?? rows[0];
  return rows.reduce((best, one) =>
    (Math.abs(one[chart.axes.x] - x) < Math.abs(best[chart.axes.x] - x) ? one : best));
};

const MOVES = {
  ArrowRight: (rows, at) => rows[Math.min(at + 1, rows.length - 1)],
  ArrowLeft: (rows, at) => rows[Math.max(at - 1, 0)],
  Home: (rows) => rows[0],
  End: (rows) => rows.at(-1),
};
const SERIES_MOVES = { ArrowDown: 1, ArrowUp: -1 };

const step = (chart, key) => {
  const all = tracks(chart);
  if (!all.length) return;
  const has = ([, rows]) => rows.some(({ i }) => i === chart.reached);
  const number = all.findIndex(has);
  if (number < 0) {
    told(chart, key === "End" ? all[0][1].at(-1) : all[0][1][0]);
    return;
  }
  const rows = all[number][1];
  const at = rows.findIndex(({ i }) => i === chart.reached);
  if (key in MOVES) told(chart, MOVES[key](rows, at));
  else {
    const next = (number + SERIES_MOVES[key] + all.length) % all.length;
    told(chart, across(chart, all[next][1], rows[at]));
  }
};

const reset = (chart) => {
  chart.lit = "";
  chart.reached = undefined;
  zoomTo(chart);
};

const steer = (chart) => (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const row = chart.rows[chart.reached];
  if (event.key in MOVES || event.key in SERIES_MOVES) step(chart, event.key);
  else if (event.key === "Enter" && row?.series) keep(chart, row.series);
  else if (event.key === "+" && row) zoomAround(chart, row[chart.axes.x]);
  else if (event.key === "Escape" || event.key === "-") reset(chart);
  else return;
  event.preventDefault();
};

const extremes = (chart, rows) => {
  const values = rows.map((row) => row[chart.kind === "heatmap" ? "y" : chart.axes.y])
    .filter((value) => typeof value === "number");
  if (!values.length) return "no figures";
  const column = chart.columns.find(({ key }) => key === (chart.kind === "heatmap" ? "y" : chart.axes.y));
  const ends = [Math.min, Math.max].map((pick) => short(values.reduce((a, b) => pick(a, b)), column.unit));
  return ends[0] === ends[1] ? ends[0] : `${ends[0]} to ${ends[1]}`;
};

// `3 series. Drive 1: 8 points, 8,670 to 361k; …`
const summary = (chart) => {
  const all = tracks(chart);
  const parts = all.slice(0, MOST_SUMMED).map(([name, rows]) => {
    const missed = rows.filter((row) => failed(row) || row.judged).length;
    return `${name ? `${name}: ` : ""}${rows.length} point${rows.length === 1 ? "" : "s"}, `
      + extremes(chart, rows) + (missed ? `, ${missed} failed` : "");
  });
  const rest = all.length - parts.length;
  return `${all.length} series. ${parts.join("; ")}${rest ? `; and ${rest} more` : ""}.`;
};

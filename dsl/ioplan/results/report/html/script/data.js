// The rows that the page holds as columns, which of them are shown, and in which way.

const read = (id) => JSON.parse(document.getElementById(id).textContent);

const about = read("about"); // what all charts have in common
const known = new Map(); // charts by the id of their data
const hidden = new Set(); // the labels of sessions that are not shown

// As `payload.py` writes them: the place of a value in one letter or two.
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const valuesOf = (column) => {
  if (Array.isArray(column)) return column;
  const { texts, at } = column;
  const places = [...at].map((letter) => LETTERS.indexOf(letter));
  if (texts.length <= LETTERS.length) return places.map((place) => texts[place]);
  return Array.from({ length: places.length / 2 }, (_, i) =>
    texts[places[2 * i] * LETTERS.length + places[2 * i + 1]]);
};

const unfold = ({ columns, data }) => {
  const values = data.map(valuesOf);
  return Array.from({ length: values[0]?.length ?? 0 }, (_, i) => {
    const row = { i };
    columns.forEach(({ key }, at) => { row[key] = values[at][i]; });
    return row;
  });
};

const element = (tag, properties, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};

const columnOf = (chart, key) => chart.columns.find((column) => column.key === key);
const texts = (chart, key) => columnOf(chart, key)?.order ?? [];

const DRAWN_ONLY = new Set(["nines", "hidden"]);
const isListed = ({ unit }) => !DRAWN_ONLY.has(unit);

const sessionKey = (columns) =>
  columns.find(({ title, unit }) => title === "session" && unit === "text")?.key;

const wanted = (columns, pick) => {
  const session = sessionKey(columns);
  return (row) =>
    !(session && hidden.has(row[session])) && (!pick.key || row[pick.key] === pick.value);
};

// A logarithmic axis has no place for 0; what failed has no value, and a mark.
const placed = (chart) => (row) => ["x", "y"].every((axis) => {
  const value = row[chart.axes[axis]];
  return chart.state[axis] !== "log" || value === null || value > 0;
});

const FAILED = "✕";
const failed = (row) => row.status !== undefined && row.status !== "ok";

const shownRows = (chart) =>
  chart.rows.filter(wanted(chart.columns, chart.pick)).filter(placed(chart));

const seriesKey = (chart) => chart.modes.together.channels.color;

const shownSeries = (chart) => {
  const shown = new Set(shownRows(chart).map((row) => row.series));
  return texts(chart, seriesKey(chart)).filter((text) => shown.has(text));
};

// Which way of drawing fits the number of series, until the reader chooses one.

const MOST_TOGETHER = 8;
const MOST_APART = 24;

const usualMode = (chart) => {
  const count = shownSeries(chart).length;
  if (count <= MOST_TOGETHER) return "together";
  const order = count <= MOST_APART ? ["apart", "spread"] : ["spread", "together"];
  return order.find((mode) => chart.modes[mode]) ?? "together";
};

const pickOf = (chart, mode) => {
  const key = chart.modes[mode].channels.pick;
  return key ? { key, value: chart.picked[key] ?? texts(chart, key)[0] } : {};
};

// The mode decides the specification, the channels, and what can be picked.
const settleMode = (chart) => {
  chart.pick = pickOf(chart, "together");
  chart.mode = chart.chosen || usualMode(chart);
  chart.pick = pickOf(chart, chart.mode);
  Object.assign(chart, chart.modes[chart.mode]);
};

// Many series are their median, a band and those far from it, as `payload.py` made them.

const spreadOf = (chart, role) => (chart.spread?.rows ?? [])
  .filter(wanted(chart.spread?.columns ?? [], chart.pick)).filter(placed(chart))
  .map((row) => ({ ...row, i: null, role }));

const spreadRows = (chart, rows) => {
  chart.named = shownSeries(chart)
    .filter((name) => chart.lit === name || chart.spread.far.includes(name));
  const out = rows.filter((row) => chart.named.includes(row.series));
  return [
    ...spreadOf(chart, "spread"), ...out.map((row) => ({ ...row, role: "out" })),
    ...rows.filter((row) => failed(row) || row.judged),
  ];
};

// The median of all series, in the panel of each.
const medianRows = (chart) => shownSeries(chart).flatMap((name) =>
  spreadOf(chart, "back").map((row) => ({ ...row, [seriesKey(chart)]: name })));

const spreadNote = (chart) => {
  if (!chart.spread || chart.mode === "together") return "";
  if (chart.mode === "apart") return `grey: the median of all ${chart.spread.count}`;
  const named = chart.named.length ? `; named: ${chart.named.join(", ")}` : "";
  return `line: median of ${chart.spread.count} sessions; band: 10 to 90 % of them${named}. Outliers are beyond `
    + "the quartiles by more than 1.5 interquartile ranges at half of their points";
};

// Each phase is named where it begins; in columns, how many of them follow.
const labelled = (rows, order) => {
  const before = new Set();
  let begun;
  return rows.map((row) => {
    const { phase, x } = row;
    const goesOn = order.length && begun?.phase === phase
      && order.indexOf(begun.x) + begun.columns === order.indexOf(x);
    if (goesOn) {
      begun.columns += 1;
      return { ...row, role: "phase", label: "" };
    }
    begun = { ...row, role: "phase", label: phase, first: !before.has(phase), columns: 1 };
    before.add(phase);
    return begun;
  });
};

// Limits and phases hold in every panel.
const shownLimits = (chart, rows) => {
  const { panel } = chart.channels;
  const { x, y } = chart.axes;
  const limits = chart.limits.map((row) => ({
    ...row, role: row[y] === null ? "event" : "limit", across: row[x] === null,
  })).concat(chart.phases);
  if (!panel) return limits;
  const panels = [...new Set(rows.map((row) => row[panel]))];
  return panels.flatMap((text) => limits.map((row) => ({ ...row, [panel]: text })));
};

// All rows of the drawing: points, what lies over them, and what is made of them.
// Panels are drawn by their number in the order of their texts.
const drawnRows = (chart) => {
  const rows = shownRows(chart);
  const over = (chart.overlay?.rows ?? []).filter(wanted(chart.overlay?.columns ?? [], chart.pick));
  const drawn = chart.mode === "spread" ? spreadRows(chart, rows) : [
    ...rows, ...over.map((row) => ({ ...row, role: "over" })),
    ...(chart.mode === "apart" ? medianRows(chart) : []),
  ];
  const all = [...drawn, ...endRows(chart, drawn), ...shownLimits(chart, rows)];
  const { panel } = chart.channels;
  const order = texts(chart, panel);
  return panel ? all.map((row) => ({ ...row, panel: order.indexOf(row[panel]) })) : all;
};

// Rows outside of what is enlarged are not drawn; what reaches beyond is cut.
const zoomed = (chart, rows) => {
  if (!chart.zoom) return rows;
  const [least, most] = chart.zoom;
  const { x } = chart.axes;
  return rows.flatMap((row) => {
    if (row.across || typeof row[x] !== "number") return [row];
    const isPart = row.x2 !== undefined && ["over", "phase"].includes(row.role);
    if ((isPart ? row.x2 : row[x]) < least || row[x] > most) return [];
    return [isPart ? { ...row, [x]: Math.max(row[x], least), x2: Math.min(row.x2, most) } : row];
  });
};

// The rows that the page holds as columns, and which of them are shown.

const read = (id) => JSON.parse(document.getElementById(id).textContent);

const about = read("about"); // what all charts have in common
const known = new Map(); // charts by the id of their data
const hidden = new Set(); // the labels of sessions that are not shown

// As `payload.py` writes them: the place of a value in one letter or two.
const LETTERS = new Map([..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"]
  .map((letter, place) => [letter, place]));
const valuesOf = (column) => {
  if (Array.isArray(column)) return column;
  const { texts: each, at } = column;
  const width = each.length > LETTERS.size ? 2 : 1;
  return Array.from({ length: at.length / width }, (_, i) => each[width === 1 ? LETTERS.get(at[i])
    : LETTERS.get(at[2 * i]) * LETTERS.size + LETTERS.get(at[2 * i + 1])]);
};

const unfold = ({ columns, data }) => {
  const cells = data.map(valuesOf);
  const count = cells[0]?.length ?? 0;
  return Array.from({ length: count }, (_, i) => {
    const row = { i };
    columns.forEach(({ key }, at) => { row[key] = cells[at][i]; });
    return row;
  });
};

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
const placed = (chart) => (row) =>
  ["x", "y"].every((axis) => {
    const value = row[chart.axes[axis]];
    return chart.state[axis] !== "log" || value === null || value > 0;
  });

const FAILED = "✕";
const failed = (row) => row.status !== undefined && row.status !== "ok";

const shownRows = (chart) =>
  chart.rows.filter(wanted(chart.columns, chart.pick)).filter(placed(chart));

const shownOverlay = (chart) =>
  chart.overlay ? chart.overlay.rows.filter(wanted(chart.overlay.columns, chart.pick))
    .map((row) => ({ ...row, role: "over" })) : [];

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

const texts = (chart, key) => chart.columns.find((column) => column.key === key)?.order ?? [];

// Names at the ends of lines, moved apart where they would lie over one another.

const MOST_ENDS = 12;
const LEAST_BESIDE_ENDS = 200; // pixels of the plot that names must leave
const LONGEST_END = 22; // letters; what is longer is cut, and begins with what differs
const END_HEIGHT = 13;

const endRows = (chart, rows) => {
  const layers = inner(chart.spec).layer;
  const wanted = layers.some(({ encoding }) => encoding?.text?.field === "end");
  if (!wanted) return [];
  const { x, y } = chart.axes;
  const { dash } = chart.channels;
  const spread = chart.mode === "spread";
  const last = new Map();
  for (const row of rows) {
    if (row.role !== (spread ? "out" : undefined) || row[y] === null || failed(row)) continue;
    const parts = [row[seriesKey(chart)], row[dash]].filter(Boolean);
    const whole = parts.join(", ");
    const name = whole.length > LONGEST_END ? parts.reverse().join(", ") : whole;
    if (name && !(last.get(name)?.[x] > row[x])) last.set(name, row);
  }
  const widest = Math.max(...[...last.keys()].map((name) => 12 + 6.5 * Math.min(LONGEST_END, name.length)));
  if (chart.width - AXIS - widest < LEAST_BESIDE_ENDS) return [];
  if (last.size < (spread ? 1 : 2) || last.size > MOST_ENDS) return [];
  return [...last].map(([end, row]) => ({ ...row, i: null, role: "end", end }));
};

// How far each name is moved, from the topmost down, so that all can be read.
const shifts = (chart, view, rows) => {
  const ends = rows.filter(({ role }) => role === "end");
  if (!ends.length) return {};
  const scale = view.scale("y");
  const wanted = ends.map((row) => ({ end: row.end, y: scale(row[chart.axes.y]) }))
    .sort((a, b) => a.y - b.y);
  const bottom = Math.max(...scale.range());
  const placed = wanted.map(({ y }) => y);
  for (let i = 1; i < placed.length; i += 1) {
    placed[i] = Math.max(placed[i], placed[i - 1] + END_HEIGHT);
  }
  let most = bottom + END_HEIGHT / 2;
  for (let i = placed.length - 1; i >= 0; i -= 1) {
    placed[i] = Math.min(placed[i], most);
    most = placed[i] - END_HEIGHT;
  }
  return Object.fromEntries(wanted.map(({ end, y }, i) => [end, placed[i] - y]));
};

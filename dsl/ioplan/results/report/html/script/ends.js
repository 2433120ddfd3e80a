// The names of lines at their ends, and the texts of points, where there is room for them.

const MOST_ENDS = 12;
const MOST_UNLISTED = 5; // with more names at their ends, lines have a legend, too
const LEAST_BESIDE_ENDS = 200; // pixels of the plot that names must leave
const LONGEST_END = 22; // letters; what is longer is cut, and begins with what differs
const TEXT_HEIGHT = 13;

// A drive and a figure are what they are called; of an axis its name is told, too.
const UNTITLED = new Set(["", "session", "figure"]);
const named = (chart, key, row) => {
  const { title } = chart.columns.find((column) => column.key === key) ?? { title: "" };
  return row[key] && !UNTITLED.has(title) ? `${title} ${row[key]}` : row[key];
};

const endRows = (chart, rows) => {
  const layers = inner(chart.spec).layer;
  const wanted = layers.some(({ encoding }) => encoding?.text?.field === "end");
  if (!wanted) return [];
  const { x, y } = chart.axes;
  const { dash } = chart.channels;
  const spread = chart.mode === "spread";
  const column = chart.columns.find(({ key }) => key === seriesKey(chart));
  const along = chart.kind === "hockey" ? "number" : x;
  const last = new Map();
  for (const row of rows) {
    if (row.role !== (spread ? "out" : undefined) || row[y] === null || failed(row)) continue;
    const parts = [named(chart, seriesKey(chart), row), named(chart, dash, row)].filter(Boolean);
    const whole = parts.join(", ");
    const name = whole.length > LONGEST_END ? parts.reverse().join(", ") : whole;
    if (name && !(last.get(name)?.[along] > row[along])) last.set(name, row);
  }
  const widest = Math.max(...[...last.keys()].map((name) => endWidth(name)));
  if (chart.width - AXIS - widest < LEAST_BESIDE_ENDS) return [];
  if (last.size < (spread ? 1 : 2) || last.size > MOST_ENDS) return [];
  const isRange = inner(chart.spec).encoding.color?.type === "ordinal"; // whose colours are in order
  const inks = (row) => {
    const style = !isRange && column && styleOf(column, row[column.key]);
    return style ? { light: style.text, dark: style.dark } : INK;
  };
  return [...last].map(([end, row]) => ({ ...row, i: null, role: "end", end, inks: inks(row) }));
};

const endWidth = (name) => 12 + 6.5 * Math.min(LONGEST_END, name.length);

// Few lines that have their names beside them need no legend.
const unlisted = (chart, spec, ends) => {
  const none = ends.length > 0 && ends.length <= MOST_UNLISTED && chart.mode !== "spread";
  const empty = chart.mode === "spread" && !chart.named.length; // would have no size
  const view = inner(spec);
  for (const { encoding } of [view, ...view.layer]) {
    for (const channel of ["color", "shape", "strokeDash"]) {
      const found = encoding?.[channel];
      if (found?.field && (none || (empty && found.field === "series"))) found.legend = null;
    }
  }
};

// For each text how far it is moved, so that it lies over no other; a point that has no
// room has none.
const settled = (chart, view, rows) => {
  const ended = rows.filter(({ role }) => role === "end");
  const labelled = rows.filter(({ role, label }) => !role && label);
  if (!ended.length && !labelled.length) return { ends: {}, points: {} };
  const [x, y] = ["x", "y"].map((axis) => (row) => view.scale(axis)(row[chart.axes[axis]]));
  const heights = view.scale("y").range();
  const [top, bottom] = [Math.min(...heights), Math.max(...heights)];
  const taken = [];
  const room = (row, left, width, offsets) => {
    const dy = offsets.find((offset) => {
      const middle = y(row) + offset;
      return middle >= top - TEXT_HEIGHT && middle <= bottom + TEXT_HEIGHT / 2 && !taken.some((one) =>
        one.panel === row.panel && Math.abs(one.middle - middle) < TEXT_HEIGHT
        && left < one.left + one.width && one.left < left + width);
    });
    if (dy !== undefined) taken.push({ panel: row.panel, left, width, middle: y(row) + dy });
    return dy;
  };
  // names keep the order of their lines: from the topmost down, then up from the lowest
  const ends = ended.sort((a, b) => y(a) - y(b)).map((row) =>
    ({ row, panel: row.panel, middle: y(row), left: x(row) + 8, width: endWidth(row.end) }));
  const isBeside = (a, b) => a.left < b.left + b.width && b.left < a.left + a.width;
  ends.forEach((one, i) => ends.slice(0, i).filter((other) => isBeside(one, other)).forEach((other) => {
    one.middle = Math.max(one.middle, other.middle + TEXT_HEIGHT);
  }));
  [...ends].reverse().forEach((one, i, all) => {
    one.middle = Math.min(one.middle, bottom + TEXT_HEIGHT / 2);
    all.slice(0, i).filter((other) => isBeside(one, other)).forEach((other) => {
      one.middle = Math.min(one.middle, other.middle - TEXT_HEIGHT);
    });
  });
  taken.push(...ends);
  const edge = Math.min(...view.scale("x").range()); // beyond it stand the axis' own texts
  const points = labelled.flatMap((row) => {
    const width = 6.8 * row.label.length;
    const dx = Math.max(0, edge - (x(row) - width / 2));
    const dy = room(row, x(row) - width / 2 + dx, width, [-11, 13]);
    return dy === undefined ? [] : [[row.i, { dx, dy }]];
  });
  return { ends: Object.fromEntries(ends.map(({ row, middle }) => [row.end, middle - y(row)])), points: Object.fromEntries(points) };
};

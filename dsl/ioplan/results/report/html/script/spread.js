// Many series as their median, a band, and outliers by name.

const BAND = [0.1, 0.9];
const FENCE = 1.5; // Tukey's: so many interquartile ranges beyond the quartiles
const OUTSIDE = 0.5; // of the points of a series, for it to be named
const MOST_NAMED = 6;
const MOST_PLACES = 200; // along x; more are put together

const quantile = (sorted, share) => {
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  const next = sorted[Math.min(low + 1, sorted.length - 1)];
  return sorted[low] + (at - low) * (next - sorted[low]);
};

// Where a row stands along x: intervals of many clocks have no instant in common.
const places = (chart, rows) => {
  const key = chart.axes.x;
  const found = new Set(rows.map((row) => row[key]));
  if (found.size <= MOST_PLACES || typeof rows[0]?.[key] !== "number") return (row) => row[key];
  const all = [...found];
  const [least, most] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
  const step = (most - least) / MOST_PLACES;
  return (row) => least + (Math.floor(Math.min(row[key] - least, most - least - step / 2) / step) + 0.5) * step;
};

// Rows at one place that are to be compared: of one panel, one kind of line.
const groups = (chart, rows) => {
  const { dash, panel } = chart.channels;
  const at = places(chart, rows);
  const key = seriesKey(chart);
  const apart = panel && panel !== key ? panel : "";
  const made = new Map();
  for (const row of rows) {
    if (failed(row) || row[chart.axes.y] === null) continue;
    const x = at(row);
    const name = `${x}\n${row[dash] ?? ""}\n${row[apart] ?? ""}`;
    if (!made.has(name)) made.set(name, { x, dash: row[dash], panel: row[apart], apart, rows: [] });
    made.get(name).rows.push(row);
  }
  for (const group of made.values()) {
    group.sorted = group.rows.map((row) => row[chart.axes.y]).sort((a, b) => a - b);
  }
  return [...made.values()];
};

const placedAt = (chart, group) => ({
  [chart.axes.x]: group.x,
  ...(chart.channels.dash ? { [chart.channels.dash]: group.dash } : {}),
  ...(group.apart ? { [group.apart]: group.panel } : {}),
});

const byX = (chart) => (a, b) =>
  typeof a[chart.axes.x] === "number" ? a[chart.axes.x] - b[chart.axes.x] : 0;

// Series that lie outside of the fences at half of their points, the farthest first.
const outliers = (chart, found) => {
  const key = seriesKey(chart);
  const all = new Map();
  for (const { rows, sorted } of found) {
    const [low, high] = [quantile(sorted, 0.25), quantile(sorted, 0.75)];
    const reach = FENCE * (high - low);
    for (const row of rows) {
      const one = all.get(row[key]) ?? { points: 0, outside: 0, far: 0 };
      const beyond = Math.max(low - reach - row[chart.axes.y], row[chart.axes.y] - high - reach);
      one.points += 1;
      one.outside += beyond > 0 ? 1 : 0;
      one.far += beyond > 0 ? beyond / (high - low || 1) : 0;
      all.set(row[key], one);
    }
  }
  return [...all].filter(([, one]) => one.outside >= Math.max(1, OUTSIDE * one.points))
    .sort(([, a], [, b]) => b.outside / b.points - a.outside / a.points || b.far - a.far)
    .slice(0, MOST_NAMED).map(([name]) => name);
};

const spreadRows = (chart, rows) => {
  const key = seriesKey(chart);
  const found = groups(chart, rows);
  const named = new Set([...outliers(chart, found), chart.lit].filter(Boolean));
  chart.named = [...named];
  const spread = found.map((group) => ({
    ...placedAt(chart, group), role: "spread", [chart.axes.y]: quantile(group.sorted, 0.5),
    low: quantile(group.sorted, BAND[0]), high: quantile(group.sorted, BAND[1]),
  }));
  const out = rows.filter((row) => named.has(row[key])).map((row) => ({ ...row, role: "out" }));
  return [...spread.sort(byX(chart)), ...out, ...rows.filter((row) => failed(row) || row.judged)];
};

// The median of all series, in the panel of each.
const medianRows = (chart, rows) => {
  const key = seriesKey(chart);
  const found = groups(chart, rows).sort(byX({ axes: { x: "x" } }));
  return shownSeries(chart).flatMap((name) => found.map((group) => ({
    ...placedAt(chart, group), [key]: name, role: "back",
    [chart.axes.y]: quantile(group.sorted, 0.5),
  })));
};

const spreadNote = (chart) => {
  const count = shownSeries(chart).length;
  if (chart.mode === "apart") return `grey: the median of all ${count}`;
  if (chart.mode !== "spread") return "";
  const named = chart.named?.length ? `; named: ${chart.named.join(", ")}` : "";
  return `line: median of ${count} sessions; band: 10 to 90 % of them${named}. Outliers are beyond `
    + "the quartiles by more than 1.5 interquartile ranges at half of their points";
};

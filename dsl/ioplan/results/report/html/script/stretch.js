// The figures of a stretch that was chosen on a chart over time: of sums and merged
// histograms of its whole intervals, as `ioplan show --during` makes them.

const BITS = 7;
const BEYOND = 10; // so many I/Os must lie beyond a percentile
const STRETCH_COLUMNS = [
  ["label", "", "text"], ["row", "I/Os", "text"], ["iops", "IOPS", "1/s"],
  ["bandwidth", "throughput", "B/s"], ["mean", "mean", "ns"], ["p50", "p50", "ns"],
  ["p99", "p99", "ns"], ["p99.9", "p99.9", "ns"], ["max", "max", "ns"],
  ["errors", "errors", ""],
].map(([key, title, unit]) => ({ key, title, unit, order: [] }));

const counted = new Map(); // curves by the id of their test

const curvesOf = (chart) => {
  const id = `${chart.figure.closest("section")?.id}-counts`;
  const held = document.getElementById(id);
  if (held && !counted.has(id)) {
    const bytes = Uint8Array.from(atob(held.textContent), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    counted.set(id, new Response(stream).json());
  }
  return counted.get(id);
};

const bucketMiddle = (index) => {
  if (index < 1 << BITS) return index;
  const width = 2 ** ((index >> BITS) - 1);
  return (((index & ((1 << BITS) - 1)) + (1 << BITS)) * width * 2 + width - 1) / 2;
};

const rounded = (value) => Math.round(value * 1e6) / 1e6;

const percentileOf = (sum, percent) => {
  if (rounded((sum.counted * (100 - percent)) / 100) < BEYOND) return null;
  const rank = Math.max(1, Math.ceil(rounded((sum.counted * percent) / 100)));
  let soFar = 0;
  const buckets = [...sum.bins.keys()].sort((a, b) => a - b);
  const found = buckets.find((index) => (soFar += sum.bins.get(index)) >= rank);
  return Math.min(sum.max, Math.max(sum.min, bucketMiddle(found)));
};

const added = (cells) => {
  const sum = { ios: 0, bytes: 0, errors: 0, min: Infinity, max: 0, ns: 0, counted: 0, bins: new Map() };
  for (const [, , [ios, bytes, errors, min, max, ns], flat] of cells) {
    sum.ios += ios;
    sum.bytes += bytes;
    sum.errors += errors;
    sum.ns += ns;
    if (ios) [sum.min, sum.max] = [Math.min(sum.min, min), Math.max(sum.max, max)];
    for (let at = 0; at < flat.length; at += 2) {
      sum.bins.set(flat[at], (sum.bins.get(flat[at]) ?? 0) + flat[at + 1]);
      sum.counted += flat[at + 1];
    }
  }
  return sum;
};

const isIn = ([, wanted, wantedStream]) => ([stream, direction]) =>
  (wantedStream === null || stream === wantedStream)
  && (wanted === null ? ["read", "write"].includes(direction) : direction === wanted);

// The rows of one curve; `slices` are [begin in s, length in ns, cells, lengths of
// streams that have a part of the run only].
const stretchRows = ({ label, rows }, slices) => {
  const cells = slices.flatMap(([, , found]) => found);
  return rows.map((row) => {
    const sum = added(cells.filter(isIn(row)));
    const some = sum.ios > 0;
    const seconds = slices.reduce((all, [, length, , own]) => all + (own?.[row[2]] ?? length), 0) / 1e9;
    const rate = (amount) => (seconds ? amount / seconds : null);
    return {
      label, row: row[0], iops: rate(sum.ios), bandwidth: rate(sum.bytes),
      mean: some ? sum.ns / sum.ios : null, max: some ? sum.max : null, errors: sum.errors,
      ...Object.fromEntries([50, 99, 99.9].map((p) => [`p${p}`, percentileOf(sum, p)])),
    };
  });
};

// Whole intervals: those that begin in the stretch.
const stretchOf = (curves, [from, to]) => {
  const chosen = curves.map((curve) => [curve,
    curve.slices.filter(([begin]) => begin >= from && begin < to)]).filter(([, some]) => some.length);
  const slices = chosen.flatMap(([, some]) => some);
  const ends = slices.map(([begin, length]) => begin + length / 1e9);
  return {
    rows: chosen.flatMap(([curve, some]) => stretchRows(curve, some)),
    begin: Math.min(...slices.map(([begin]) => begin)), end: Math.max(...ends),
    intervals: Math.max(0, ...chosen.map(([, some]) => some.length)),
  };
};

const stretchTable = ({ rows, begin, end, intervals }) => {
  const several = new Set(rows.map(({ label }) => label)).size > 1;
  const columns = STRETCH_COLUMNS.filter(({ key }) =>
    (key !== "label" || several) && (key !== "errors" || rows.some(({ errors }) => errors)));
  const table = document.createElement("table");
  const text = `${short(begin, "s")} to ${short(end, "s")}: `;
  table.createCaption().textContent =
    `${text}${intervals} whole interval${intervals === 1 ? "" : "s"}`;
  table.createTHead().insertRow().append(
    ...columns.map((column) => cell("th", column.title, column.unit === "text")));
  table.createTBody().append(...rows.map((row) => rowOf(columns, row, () => null)));
  return table;
};

const isOverTime = (chart) =>
  chart.columns.find(({ key }) => key === chart.axes.x)?.unit === "s";

const showStretch = async (chart) => {
  const place = chart.figure.querySelector(".stretch");
  const curves = chart.zoom && isOverTime(chart) ? await curvesOf(chart) : undefined;
  if (!place) return;
  const found = curves && chart.zoom && stretchOf(curves, chart.zoom);
  place.replaceChildren(...(found?.rows.length ? [stretchTable(found)] : []));
};

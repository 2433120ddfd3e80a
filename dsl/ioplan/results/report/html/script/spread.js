// Many series: their median, a band and those far from it, as `spread.py` has made them.

const spreadOf = (chart, role) => (chart.spread?.rows ?? [])
  .filter(wanted(chart.spread?.columns ?? [], chart.pick)).filter(placed(chart))
  .map((row) => ({ ...row, i: null, role }));

const spreadRows = (chart, rows) => {
  const shown = shownSeries(chart);
  chart.named = shown.filter((name) => chart.lit === name || chart.spread.far.includes(name));
  const out = rows.filter((row) => chart.named.includes(row.series)).map((row) => ({ ...row, role: "out" }));
  return [...spreadOf(chart, "spread"), ...out, ...rows.filter((row) => failed(row) || row.judged)];
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

// The series of a chart, and which way of drawing them fits their number.

const MOST_TOGETHER = 8;
const MOST_APART = 24;

const seriesKey = (chart) => chart.modes.together.channels.color;

const shownSeries = (chart) => {
  const key = seriesKey(chart);
  if (!key) return [];
  const shown = new Set(shownRows(chart).map((row) => row[key]));
  return texts(chart, key).filter((text) => shown.has(text));
};

const usualMode = (chart) => {
  const count = shownSeries(chart).length;
  if (count <= MOST_TOGETHER) return "together";
  const order = count <= MOST_APART ? ["apart", "spread"] : ["spread", "together"];
  return order.find((mode) => chart.modes[mode]) ?? "together";
};

// What the mode decides: the specification, the channels, and what can be picked.
const settleMode = (chart) => {
  const pickOf = (mode) => {
    const key = chart.modes[mode].channels.pick;
    chart.pick = key ? { key, value: chart.picked[key] ?? texts(chart, key)[0] } : {};
  };
  pickOf("together");
  chart.mode = chart.chosen || usualMode(chart);
  pickOf(chart.mode);
  Object.assign(chart, chart.modes[chart.mode]);
};

// Panels are drawn by their number in the order of their texts.
const numbered = (rows, chart) => {
  const { panel } = chart.channels;
  if (!panel) return rows;
  const place = new Map(texts(chart, panel).map((text, i) => [text, i]));
  return rows.map((row) => ({ ...row, panel: place.get(row[panel]) }));
};

// All rows of the drawing: points, what lies over them, and what is made of them.
const drawnRows = (chart) => {
  const rows = shownRows(chart);
  const made = chart.mode === "spread" ? spreadRows(chart, rows)
    : [...rows, ...shownOverlay(chart), ...(chart.mode === "apart" ? medianRows(chart) : [])];
  return numbered([...made, ...endRows(chart, made), ...shownLimits(chart, rows)], chart);
};

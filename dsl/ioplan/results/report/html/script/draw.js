// A chart's specification becomes a view: width, theme, rows and switches come in.

const MOST_IN_SVG = 1500; // more marks than this are drawn on a canvas
const LEAST_PANEL = 200;
const leastSmall = (width) => (width < 480 ? 90 : 120); // of many, each with one series
const LEAST_CELL = 44; // a heatmap's cell with its figure
const AXIS = 76; // what the axis to the left takes
const PANEL_GAP = 44; // between the outermost labels of two axes, too
const PANEL_NAME = 24; // its height
const LEGEND_TITLE = 60;

const inner = (spec) => spec.spec ?? spec;

const switched = (chart, spec) => {
  const { choices } = spec.usermeta;
  for (const [channel, position] of Object.entries(chart.state)) {
    inner(spec).encoding[channel] = choices[channel][position];
  }
};

const barsWidth = (chart) =>
  Math.max(160 + 64 * shownRows(chart).length, 100 + legendWidth(chart));

// Full rows look best: a gap in the last one would carry an axis without a panel.
const panelColumns = (panels, most) => {
  for (let columns = Math.min(panels, most); columns > 1; columns -= 1) {
    if (panels % columns === 0) return columns;
  }
  return panels > 4 ? Math.min(panels, most) : 1;
};

// The entries of each legend of a chart.
const legends = (chart) => {
  const named = inner(chart.spec).layer.flatMap(({ encoding }) => encoding?.color?.datum ?? []);
  const { color, dash, panel } = chart.channels;
  const colors = chart.mode === "spread" ? chart.named ?? [] : color === panel ? [] : texts(chart, color);
  return [[...new Set(named)], colors, texts(chart, dash)];
};

// What an entry takes, roughly, in pixels.
const entryWidth = (text) => 42 + 6.5 * Math.min(34, Math.max(4, text.length));

const legendWidth = (chart) => Math.max(...legends(chart).flat().map(entryWidth), 74);

// All in one row where there is room, else in columns under one another.
const legendColumns = (chart, room) => {
  const rowOf = (found) => found.reduce((sum, text) => sum + entryWidth(text), 0);
  const widest = Math.max(...legends(chart).map(rowOf));
  if (widest + LEGEND_TITLE <= room) return Math.max(1, ...legends(chart).map((l) => l.length));
  return Math.max(1, Math.floor(room / legendWidth(chart)) - 1);
};

const sized = (chart, spec, width) => {
  const panel = chart.channels.panel;
  if (!panel) {
    spec.width = chart.kind === "bars" ? Math.min(width, barsWidth(chart)) : width;
    spec.autosize = { type: "fit-x", contains: "padding" };
    return;
  }
  const shown = new Set(shownRows(chart).map((row) => row[panel])).size || 1;
  const heat = chart.kind === "heatmap";
  const small = chart.mode === "apart";
  const least = heat ? LEAST_CELL * texts(chart, "x").length : small ? leastSmall(width) : LEAST_PANEL;
  const legend = heat ? 90 : 0;
  const axes = (columns) => AXIS * (spec.resolve.scale ? columns : 1);
  const room = (columns) => (width - legend - axes(columns) - PANEL_GAP * (columns - 1)) / columns;
  const most = Math.max(1, (small ? [1, 2, 3, 4, 5, 6] : [1, 2, 3, 4]).findLast((columns) => room(columns) >= least) ?? 1);
  spec.columns = small ? Math.min(shown, most) : panelColumns(shown, most);
  spec.spec.width = Math.max(small ? 90 : 110, Math.floor(room(spec.columns)));
  spec.facet.header.labelLimit = spec.spec.width + PANEL_GAP - 6;
};

// On a logarithmic axis a bar has no 0 to stand on: it stands on a power of ten.
const based = (chart, spec) => {
  if (chart.kind !== "bars" || chart.state.y !== "log") return;
  const values = shownRows(chart).filter((row) => !failed(row)).map((row) => row.y);
  const least = Math.min(...values);
  const foot = 10 ** Math.floor(Math.log10(least) - 0.05);
  const view = inner(spec);
  view.encoding.y.scale = { ...view.encoding.y.scale, domainMin: foot };
  view.layer[0].encoding.y2 = { datum: foot };
};

// Figures that would not fit are left to the table; marks of what failed stay.
const lettered = (chart, spec) => {
  const view = inner(spec);
  const cells = { heatmap: texts(chart, "x").length, bars: shownRows(chart).length };
  const width = (view.width - (chart.kind === "bars" ? AXIS : 0)) / cells[chart.kind];
  if (width < LEAST_CELL - 6) {
    view.layer = view.layer.filter(({ mark }) => mark.type !== "text" || mark.text);
  }
};

// Colours that mean something are given for a light ground; a series has its own.
const colored = (chart, spec, name) => {
  const { encoding: shared, layer } = inner(spec);
  const column = chart.columns.find(({ key }) => key === seriesKey(chart));
  const domain = (chart.mode === "spread" ? chart.named : column?.order) ?? [];
  const styles = domain.map((text) => styleOf(column, text));
  for (const { encoding } of [{ encoding: shared }, ...layer]) {
    const { color, shape } = encoding ?? {};
    if (name === "dark" && color?.scale?.range) {
      color.scale.range = color.scale.range.map((one) => ON_DARK[one] ?? one);
    }
    if (color?.type === "nominal" && ["series", column?.key].includes(color.field)) {
      color.scale = { domain, range: styles.map((one) => one[name]) };
    }
    if (shape) shape.scale = { domain, range: styles.map((one) => one.shape) };
  }
};

const specOf = (chart, width, name) => {
  const spec = structuredClone(chart.spec);
  switched(chart, spec);
  sized(chart, spec, width);
  lettered(chart, spec);
  based(chart, spec);
  spec.params.push({ name: "ink", value: INK[name] }, { name: "soft", value: SOFT[name] }, { name: "alarm", value: ALARM[name] });
  spec.datasets = { rows: zoomed(chart, drawnRows(chart)) };
  for (const row of spec.datasets.rows) if (row.inks) row.ink = row.inks[name];
  zoomedAxis(chart, spec);
  colored(chart, spec, name);
  unlisted(chart, spec, spec.datasets.rows.filter(({ role }) => role === "end"));
  spec.spacing = PANEL_GAP;
  if (chart.channels.panel && !spec.resolve.scale) {
    spec.bounds = "flush"; // shared axes touch the panels, however far marks reach out
    spec.spacing = { column: PANEL_GAP, row: PANEL_GAP + PANEL_NAME };
  }
  const room = (chart.channels.panel ? width : spec.width) - AXIS;
  spec.config = config(name, inner(spec).width, legendColumns(chart, room));
  return spec;
};

// Entries of legends can be pointed at, to look at one series.
const answering = (compiled) => {
  for (const legend of compiled.legends ?? []) {
    const parts = ["symbols", "labels"].map((name) =>
      [name, { ...legend.encode?.[name], interactive: true }]);
    legend.encode = { ...legend.encode, ...Object.fromEntries(parts) };
  }
  return compiled;
};

const viewOf = (spec, options) =>
  new charts.View(charts.parse(answering(charts.compile(spec).spec), null, { ast: true }), {
    expr: charts.expressionInterpreter,
    ...options,
  });

const draw = (chart) => {
  chart.view?.finalize();
  chart.plot.replaceChildren();
  chart.width = Math.max(240, chart.plot.clientWidth);
  const spec = specOf(chart, chart.width, theme());
  const { rows } = spec.datasets;
  chart.view = viewOf(spec, {
    renderer: rows.length > MOST_IN_SVG ? "canvas" : "svg",
    hover: true,
    tooltip: tip(chart),
  });
  const canvas = document.createElement("div");
  canvas.setAttribute("aria-hidden", "true"); // `keyboard` tells what is in it
  chart.plot.append(canvas);
  chart.view.initialize(canvas).run();
  // again: a narrower plot moves a name that does not stand at its edge by less
  chart.view.resize().signal("places", settled(chart, chart.view, rows)).signal("lit", chart.lit).run();
  listen(chart);
  brush(chart);
  chart.figure.dataset.drawn = rows.length;
};

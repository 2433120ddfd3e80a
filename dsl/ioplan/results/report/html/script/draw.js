// A chart's specification becomes a view: colours, width, rows and switches come in.

// Colours and markers are those of `palette.py`, the same for a drive in every chart.
const { colors: COLORS, grey: GREY } = about.palette;
const STYLES = new Map(about.sources.map(({ label }, i) => [label, COLORS[i] ?? GREY]));
const ON_DARK = Object.fromEntries(COLORS.map(({ light, dark }) => [light, dark]));

// A drive has its own; other texts have them in their order, and then with other markers.
const styleOf = ({ title, order }, text) => {
  if (title === "session" && STYLES.has(text)) return STYLES.get(text);
  const at = order.indexOf(text);
  const { shape } = COLORS[(at + Math.floor(at / COLORS.length)) % COLORS.length];
  return { ...COLORS[at % COLORS.length], shape };
};
const INK = { light: "#16202c", dark: "#e7ecf2" };
const ALARM = { light: "#b3261e", dark: "#ff9a90" }; // as the page marks what failed
const SOFT = { light: "#536170", dark: "#a3afbd" };
const GRID = { light: "#e3e7ec", dark: "#2f3845" };
const RAMP = { light: [0.05, 0.86], dark: [0.28, 1] };
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";

const config = (name, width, columns) => {
  const [ink, soft] = [INK[name], SOFT[name]];
  return {
    background: null,
    font: FONT,
    view: { stroke: null },
    mark: { color: COLORS[0][name] },
    text: { color: ink },
    rule: { color: ink },
    range: {
      category: COLORS.map((style) => style[name]),
      ordinal: { scheme: "viridis", extent: RAMP[name] },
      ramp: { scheme: "viridis" },
      heatmap: { scheme: "viridis" },
    },
    axis: {
      labelColor: soft, titleColor: ink, gridColor: GRID[name], domainColor: soft, tickColor: soft,
      labelFontSize: 11, titleFontSize: 12, titleFontWeight: 500, titlePadding: 8,
      labelOverlap: "greedy", labelSeparation: 4, labelFlush: false,
    },
    axisY: { domain: false, ticks: false, labelPadding: 6, tickCount: 6, minExtent: 44 },
    axisXQuantitative: { tickCount: Math.max(2, Math.round(width / 90)) },
    legend: {
      orient: "bottom", labelColor: ink, titleColor: soft, titleFontWeight: 500,
      labelFontSize: 12, titleFontSize: 12, labelLimit: 240, symbolSize: 90,
      titleOrient: "left", titleAnchor: "middle", columnPadding: 14, offset: 12,
      layout: { bottom: { direction: "vertical", anchor: "start", margin: 4 } },
      columns, gradientLength: 140,
    },
    header: { titleColor: soft, titleFontSize: 12, titleFontWeight: 500, labelColor: ink, labelFontSize: 12, labelFontWeight: 600 },
    title: { color: ink, subtitleColor: soft, anchor: "start", fontSize: 15 },
  };
};

// How large its parts are, in pixels.

const LEAST_PANEL = 200;
const leastSmall = (width) => (width < 480 ? 90 : 120); // of many, each with one series
const LEAST_CELL = 44; // a heatmap's cell with its figure
const AXIS = 76; // what the axis to the left takes
const PANEL_GAP = 44; // between the outermost labels of two axes, too
const PANEL_NAME = 24; // its height
const LEGEND_TITLE = 60;
const LETTER = 6.5; // its width, roughly

const inner = (spec) => spec.spec ?? spec;

// The widest entry of its legends.
const entryWidth = (chart) => {
  const named = inner(chart.spec).layer.flatMap(({ encoding }) => encoding?.color?.datum ?? []);
  const { color, dash, panel } = chart.channels;
  const colors = chart.mode === "spread" ? chart.named ?? [] : color === panel ? [] : texts(chart, color);
  const lengths = [...named, ...colors, ...texts(chart, dash)].map(({ length }) => length);
  return 42 + LETTER * Math.min(34, Math.max(5, ...lengths));
};

// Full rows look best: a gap in the last one would carry an axis without a panel.
const panelColumns = (panels, most) => {
  for (let columns = Math.min(panels, most); columns > 1; columns -= 1) {
    if (panels % columns === 0) return columns;
  }
  return panels > 4 ? Math.min(panels, most) : 1;
};

const sized = (chart, spec, width) => {
  const { panel } = chart.channels;
  if (!panel) {
    const bars = Math.max(160 + 64 * shownRows(chart).length, 100 + entryWidth(chart));
    spec.width = chart.kind === "bars" ? Math.min(width, bars) : width;
    spec.autosize = { type: "fit-x", contains: "padding" };
    return;
  }
  const shown = new Set(shownRows(chart).map((row) => row[panel])).size || 1;
  const heat = chart.kind === "heatmap";
  const small = chart.mode === "apart";
  const least = heat ? LEAST_CELL * texts(chart, "x").length : small ? leastSmall(width) : LEAST_PANEL;
  const room = (columns) => {
    const axes = AXIS * (spec.resolve.scale ? columns : 1);
    return (width - (heat ? 90 : 0) - axes - PANEL_GAP * (columns - 1)) / columns;
  };
  let most = small ? 6 : 4;
  while (most > 1 && room(most) < least) most -= 1;
  spec.columns = small ? Math.min(shown, most) : panelColumns(shown, most);
  spec.spec.width = Math.max(small ? 90 : 110, Math.floor(room(spec.columns)));
  spec.facet.header.labelLimit = spec.spec.width + PANEL_GAP - 6;
  spec.spacing = PANEL_GAP;
  if (!spec.resolve.scale) {
    spec.bounds = "flush"; // shared axes touch the panels, however far marks reach out
    spec.spacing = { column: PANEL_GAP, row: PANEL_GAP + PANEL_NAME };
  }
};

// On a logarithmic axis a bar has no 0 to stand on: it stands on a power of ten.
const based = (chart, view) => {
  if (chart.kind !== "bars" || chart.state.y !== "log") return;
  const values = shownRows(chart).filter((row) => !failed(row)).map((row) => row.y);
  const foot = 10 ** Math.floor(Math.log10(Math.min(...values)) - 0.05);
  view.encoding.y.scale = { ...view.encoding.y.scale, domainMin: foot };
  view.layer[0].encoding.y2 = { datum: foot };
};

// Figures that would not fit are left to the table; marks of what failed stay.
const lettered = (chart, view) => {
  const cells = { heatmap: texts(chart, "x").length, bars: shownRows(chart).length };
  const width = (view.width - (chart.kind === "bars" ? AXIS : 0)) / cells[chart.kind];
  if (width < LEAST_CELL - 6) {
    view.layer = view.layer.filter(({ mark }) => mark.type !== "text" || mark.text);
  }
};

// Colours that mean something are given for a light ground; a series has its own.
const colored = (chart, view, name) => {
  const column = columnOf(chart, seriesKey(chart));
  const domain = (chart.mode === "spread" ? chart.named : column?.order) ?? [];
  const styles = domain.map((text) => styleOf(column, text));
  for (const { encoding } of [view, ...view.layer]) {
    const { color, shape } = encoding ?? {};
    if (name === "dark" && color?.scale?.range) {
      color.scale.range = color.scale.range.map((light) => ON_DARK[light] ?? light);
    }
    if (color?.type === "nominal" && ["series", column?.key].includes(color.field)) {
      color.scale = { domain, range: styles.map((style) => style[name]) };
    }
    if (shape) shape.scale = { domain, range: styles.map((style) => style.shape) };
  }
};

// Few lines that have their whole names beside them need no legend; an empty one has no size.
const MOST_UNLISTED = 5;
const unlisted = (chart, view, ends) => {
  const spread = chart.mode === "spread";
  const areNamed = ends.length > 0 && ends.every(({ end }) => endWidth(end) < LONGEST_END);
  const none = areNamed && ends.length <= MOST_UNLISTED && !spread;
  for (const { encoding } of [view, ...view.layer]) {
    for (const channel of ["color", "shape", "strokeDash"]) {
      const of = encoding?.[channel];
      const isEmpty = spread && !chart.named.length && of?.field === "series";
      if (of?.field && (none || isEmpty)) of.legend = null;
    }
  }
};

const zoomedAxis = (chart, { encoding }) => {
  if (!chart.zoom) return;
  const [least, most] = chart.zoom;
  const { values, tickCount, ...axis } = encoding.x.axis;
  const inside = values?.filter((value) => value >= least && value <= most) ?? [];
  const fixed = inside.length > 1 ? { values: inside, tickCount: inside.length } : {};
  encoding.x = {
    ...encoding.x, axis: { ...axis, ...fixed },
    scale: { ...encoding.x.scale, domain: chart.zoom, nice: false, padding: 0 },
  };
};

const specOf = (chart, width, name) => {
  const spec = structuredClone(chart.spec);
  const view = inner(spec);
  for (const [channel, position] of Object.entries(chart.state)) {
    view.encoding[channel] = spec.usermeta.choices[channel][position];
  }
  sized(chart, spec, width);
  lettered(chart, view);
  based(chart, view);
  spec.params.push({ name: "ink", value: INK[name] }, { name: "soft", value: SOFT[name] }, { name: "alarm", value: ALARM[name] });
  const rows = zoomed(chart, drawnRows(chart));
  for (const row of rows) if (row.inks) row.ink = row.inks[name];
  spec.datasets = { rows };
  zoomedAxis(chart, view);
  colored(chart, view, name);
  unlisted(chart, view, rows.filter(({ role }) => role === "end"));
  const room = (chart.channels.panel ? width : spec.width) - AXIS - LEGEND_TITLE;
  spec.config = config(name, view.width, Math.max(1, Math.floor(room / entryWidth(chart))));
  return spec;
};

// The names of lines at their ends.

const MOST_ENDS = 12;
const LEAST_BESIDE_ENDS = 200; // pixels of the plot that names must leave
const LONGEST_END = 150; // pixels; what is longer is cut, and begins with what differs
const BESIDE_END = 11; // from the middle of a mark to the name beside it

const pen = element("canvas").getContext("2d");
const textWidth = (text, font) => {
  pen.font = `${font} ${FONT}`;
  return pen.measureText(text).width;
};
const endWidth = (name) => Math.min(LONGEST_END, textWidth(name, "600 11px"));

// A drive and a figure are what they are called; of an axis its name is told, too.
const UNTITLED = new Set(["", "session", "figure"]);
const endName = (chart, row) => {
  const parts = [seriesKey(chart), chart.channels.dash].filter((key) => row[key]).map((key) => {
    const title = columnOf(chart, key)?.title ?? "";
    return UNTITLED.has(title) ? row[key] : `${title} ${row[key]}`;
  });
  const name = parts.join(", ");
  return endWidth(name) < LONGEST_END ? name : parts.reverse().join(", ");
};

const endRows = (chart, rows) => {
  const view = inner(chart.spec);
  if (!view.layer.some(({ encoding }) => encoding?.text?.field === "end")) return [];
  const { x, y } = chart.axes;
  const spread = chart.mode === "spread";
  const along = chart.kind === "hockey" ? "number" : x;
  const last = new Map();
  for (const row of rows) {
    if (row.role !== (spread ? "out" : undefined) || row[y] === null || failed(row)) continue;
    const name = endName(chart, row);
    if (name && !(last.get(name)?.[along] > row[along])) last.set(name, row);
  }
  const widest = BESIDE_END + Math.max(...[...last.keys()].map(endWidth));
  if (chart.width - AXIS - widest < LEAST_BESIDE_ENDS) return [];
  if (last.size < (spread ? 1 : 2) || last.size > MOST_ENDS) return [];
  const column = view.encoding.color?.type !== "ordinal" && columnOf(chart, seriesKey(chart));
  return [...last].map(([end, row]) => {
    const style = column && styleOf(column, row[column.key]);
    const inks = style ? { light: style.text, dark: style.dark } : INK;
    return { ...row, i: null, role: "end", end, inks };
  });
};

// Where the names of ends and the labels of points stand: each text is a box, and so is
// each mark. A box knows its panel and the middle of the mark that it is of.

const END_HEIGHT = 14;
const LABEL_HEIGHT = 12;
const GAP = 4; // between texts side by side
const [MARK_HALF, JUDGED_HALF] = [4.5, 9];
const LINE_HALF = 2; // what a label leaves free to either side
const NEAR_END = 40; // names begin to the right of all ends that are as near as that

const boxAt = (mark, x, y, width, height) => ({
  ...mark, left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2,
});
const areBeside = (a, b) => a.panel === b.panel && a.left < b.right && b.left < a.right;
const overlap = (a, b) => areBeside(a, b) && a.top < b.bottom && b.top < a.bottom;

const nameBoxes = (ends) => ends.map((end) => {
  const near = ends.map(({ x }) => x).filter((x) => x >= end.x && x < end.x + NEAR_END);
  const width = endWidth(end.row.end) + GAP;
  return boxAt(end, Math.max(...near) + BESIDE_END + width / 2, end.y, width, END_HEIGHT);
});

// Names keep the order of their lines: down from the topmost, then up from the lowest.
const spreadNames = (names, lowest) => {
  const move = (name, down) => Object.assign(name, { top: name.top + down, bottom: name.bottom + down });
  names.sort((a, b) => a.top - b.top).forEach((name, i) => {
    const above = names.slice(0, i).filter((other) => areBeside(name, other));
    move(name, Math.max(0, ...above.map(({ bottom }) => bottom - name.top)));
  });
  names.reverse().forEach((name, i) => {
    const below = names.slice(0, i).filter((other) => areBeside(name, other));
    move(name, Math.min(0, lowest - name.bottom, ...below.map(({ top }) => top - name.bottom)));
  });
  return names;
};

// The lines between points, as dots that leave no room for a text.
const lineBoxes = (chart, points) => {
  const last = new Map();
  return points.sort((a, b) => a.row.number - b.row.number).flatMap((to) => {
    const series = JSON.stringify([to.panel, to.row[seriesKey(chart)], to.row[chart.channels.dash]]);
    const from = last.get(series) ?? to;
    last.set(series, to);
    const [right, down] = [to.x - from.x, to.y - from.y];
    const count = Math.ceil(Math.max(Math.abs(right), Math.abs(down)) / (2 * LINE_HALF));
    return Array.from({ length: count }, (_, i) =>
      boxAt(to, from.x + right * i / count, from.y + down * i / count, 2 * LINE_HALF, 2 * LINE_HALF));
  });
};

// The boxes around a mark that its label may take, the best first.
const labelBoxes = (mark) => {
  const width = textWidth(mark.row.label, "10px") + GAP;
  const [aside, apart] = [width / 2 + 3, mark.half + 1 + LABEL_HEIGHT / 2];
  const places = [[0, -apart], [0, apart], ...[[aside + mark.half, 0], [aside, -apart], [aside, apart]]
    .flatMap(([right, down]) => [[right, down], [-right, down]])];
  return places.map(([right, down]) => boxAt(mark, mark.x + right, mark.y + down, width, LABEL_HEIGHT));
};

// Points of one label and place share it; one that has no room has none.
const labelsOf = (points, taken, { left, right, top, bottom }) => {
  const labels = [];
  const isInside = (box) => box.left >= left && box.right <= right && box.top >= top && box.bottom <= bottom;
  for (const point of points) {
    const twin = labels.find(({ row, panel, x, y }) => row.label === point.row.label && panel === point.panel
      && Math.abs(x - point.x) < point.half && Math.abs(y - point.y) < point.half);
    const label = !twin && labelBoxes(point).find((box) =>
      isInside(box) && ![...taken, ...labels].some((other) => overlap(box, other)));
    if (label) labels.push(label);
  }
  return labels;
};

const marksOf = (chart, view, rows) => rows.map((row) => {
  const [x, y] = ["x", "y"].map((axis) => view.scale(axis)(row[chart.axes[axis]]));
  return { row, panel: row.panel, x, y, half: row.judged ? JUDGED_HALF : MARK_HALF };
});

const frameOf = (view) => {
  const [[left, right], [top, bottom]] = ["x", "y"].map((axis) =>
    [...view.scale(axis).range()].sort((a, b) => a - b));
  return { left, right, top, bottom };
};

// How far each text is moved from the middle of its mark.
const settled = (chart, view, rows) => {
  const ends = rows.filter(({ role }) => role === "end");
  const labelled = rows.filter((row) => !row.role && row.label && row[chart.axes.y] !== null);
  if (!ends.length && !labelled.length) return { ends: {}, points: {} };
  const [frame, points] = [frameOf(view), marksOf(chart, view, labelled)];
  const names = spreadNames(nameBoxes(marksOf(chart, view, ends)), frame.bottom + 6);
  const right = Math.max(frame.right, ...names.map((name) => name.right));
  const marks = points.map((mark) => boxAt(mark, mark.x, mark.y, 2 * mark.half, 2 * mark.half));
  const taken = [...names, ...marks, ...lineBoxes(chart, points)];
  const labels = labelsOf(points, taken, { ...frame, right, top: frame.top - 4 });
  const down = ({ top, bottom, y }) => (top + bottom) / 2 - y;
  return {
    ends: Object.fromEntries(names.map((name) => [name.row.end, { dx: name.left - name.x, dy: down(name) }])),
    points: Object.fromEntries(labels.map((label) =>
      [label.row.i, { dx: (label.left + label.right) / 2 - label.x, dy: down(label) }])),
  };
};

// Marks beside the brush, and entries of legends, can be pointed at.
const answering = (group) => {
  for (const legend of group.legends ?? []) {
    const { symbols, labels } = legend.encode ?? {};
    legend.encode = { ...legend.encode, symbols: { ...symbols, interactive: true }, labels: { ...labels, interactive: true } };
  }
  for (const mark of group.marks ?? []) {
    delete mark.interactive;
    answering(mark);
  }
  return group;
};

const viewOf = (spec, options) =>
  new charts.View(charts.parse(answering(charts.compile(spec).spec), null, { ast: true }), {
    expr: charts.expressionInterpreter,
    ...options,
  });

// Names take width from the plot, and then all marks stand elsewhere: so once again.
const settledView = (chart, view, rows) => {
  const turns = rows.some(({ role }) => role === "end") ? 2 : 1;
  view.run();
  for (let turn = 0; turn < turns; turn += 1) {
    view.resize().signal("places", settled(chart, view, rows)).run();
  }
  return view;
};

const MOST_IN_SVG = 1500; // more marks than this are drawn on a canvas

const draw = (chart) => {
  chart.view?.finalize();
  chart.width = Math.max(240, chart.plot.clientWidth);
  const spec = specOf(chart, chart.width, theme());
  const { rows } = spec.datasets;
  if (canZoom(chart)) {
    const select = { type: "interval", encodings: ["x"], translate: false, zoom: false };
    inner(spec).layer.find(({ encoding }) => !encoding?.x).params = [{ name: "brush", select }];
  }
  chart.view = viewOf(spec, {
    renderer: rows.length > MOST_IN_SVG ? "canvas" : "svg",
    hover: true,
    tooltip: tip(chart),
  });
  const canvas = element("div", { ariaHidden: "true" }); // the keyboard tells what is in it
  chart.plot.replaceChildren(canvas);
  settledView(chart, chart.view.initialize(canvas).signal("lit", chart.lit), rows);
  listen(chart);
  chart.figure.dataset.drawn = rows.length;
};

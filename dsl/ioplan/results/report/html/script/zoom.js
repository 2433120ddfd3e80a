// A part of the x axis: dragged over by a pointer, or around the point of the keyboard.

const LEAST_DRAG = 8; // pixels

const canZoom = (chart) => inner(chart.spec).encoding.x?.type === "quantitative";

const zoomTo = (chart, ends) => {
  chart.zoom = ends && ends[0] < ends[1] ? ends : undefined;
  redraw(chart);
};

// Rows outside are not drawn; what reaches beyond is cut.
const zoomed = (chart, rows) => {
  if (!chart.zoom) return rows;
  const [least, most] = chart.zoom;
  const { x } = chart.axes;
  return rows.flatMap((row) => {
    if (row.across || typeof row[x] !== "number") return [row];
    if (row.x2 === undefined || !["over", "phase"].includes(row.role)) return row[x] >= least && row[x] <= most ? [row] : [];
    if (row.x2 < least || row[x] > most) return [];
    return [{ ...row, [x]: Math.max(row[x], least), x2: Math.min(row.x2, most) }];
  });
};

const zoomedAxis = (chart, spec) => {
  if (!chart.zoom) return;
  const { encoding } = inner(spec);
  const [least, most] = chart.zoom;
  const { values, tickCount, ...axis } = encoding.x.axis;
  const inside = values?.filter((value) => value >= least && value <= most) ?? [];
  const fixed = inside.length > 1 ? { values: inside, tickCount: inside.length } : {};
  encoding.x = {
    ...encoding.x, axis: { ...axis, ...fixed },
    scale: { ...encoding.x.scale, domain: chart.zoom, nice: false, padding: 0 },
  };
};

// Where the panel under the pointer begins, in pixels of the drawing.
const groupLeft = (item) => {
  let left = 0;
  for (let at = item; at; at = at.mark?.group) {
    if (at.mark?.marktype === "group") left += at.x ?? 0;
  }
  return left;
};

const brush = (chart) => {
  if (!canZoom(chart)) return;
  const { view, plot } = chart;
  const shade = document.createElement("div");
  shade.className = "brush";
  view.addEventListener("mousedown", (event, item) => {
    if (event.button || !item) return;
    const drawing = plot.querySelector("svg, canvas").getBoundingClientRect();
    const [origin] = view.origin();
    const factor = plot.querySelector("svg")
      ? drawing.width / plot.querySelector("svg").viewBox.baseVal.width
      : drawing.width / (plot.querySelector("canvas").width / devicePixelRatio);
    const value = (clientX) => view.scale("x").invert(
      (clientX - drawing.left) / factor - origin - groupLeft(item));
    const start = event.clientX;
    const frame = plot.getBoundingClientRect();
    const move = ({ clientX }) => {
      const [from, to] = [start, clientX].sort((a, b) => a - b);
      if (to - from < LEAST_DRAG) return;
      plot.append(shade);
      shade.style.left = `${from - frame.left}px`;
      shade.style.width = `${to - from}px`;
    };
    const end = ({ clientX }) => {
      removeEventListener("mousemove", move);
      shade.remove();
      if (Math.abs(clientX - start) < LEAST_DRAG) return;
      const ends = [value(start), value(clientX)].sort((a, b) => a - b);
      const [low, high] = extent(chart);
      zoomTo(chart, [Math.max(ends[0], low), Math.min(ends[1], high)]);
    };
    event.preventDefault();
    addEventListener("mousemove", move);
    addEventListener("mouseup", end, { once: true });
  });
  view.addEventListener("dblclick", () => { if (chart.zoom) zoomTo(chart); });
};

// A stretch of time has figures of its own, which the terminal makes.
const stretchNote = (chart) => {
  const column = chart.columns.find(({ key }) => key === chart.axes.x);
  if (!chart.zoom || column?.unit !== "s") return "";
  const sources = sourcesOf(chart);
  const [from, to] = chart.zoom.map((value) => `${Number(Math.max(0, value).toFixed(3))}s`);
  const session = sources.length === 1 ? sources[0].session : "SESSION";
  return `figures of this stretch: ioplan show ${session} --during ${from}..${to}`;
};

const extent = (chart) => {
  const values = shownRows(chart).map((row) => row[chart.axes.x]);
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
};

// Half of what is seen, around a point.
const zoomAround = (chart, x) => {
  if (!canZoom(chart)) return;
  const [least, most] = chart.zoom ?? extent(chart);
  const log = chart.state.x === "log" && least > 0;
  const [to, from] = log ? [Math.log, Math.exp] : [Number, Number];
  const reach = (to(most) - to(least)) / 4;
  zoomTo(chart, [from(to(x) - reach), from(to(x) + reach)]);
};

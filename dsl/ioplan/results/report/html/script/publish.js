// A chart as a picture that can stand alone: of a fixed size, on white, with what was
// measured above it and where it comes from below.

const PICTURE_WIDTH = 1200;
const PICTURE_HEIGHTS = [675, 1350]; // the second where the first would make it tiny
const LEAST_SCALE = 0.75;
const MARGIN = 32;
const DRAWN_WIDTH = 960; // what charts are laid out for; then they are scaled
const HEAD = 92;
const LINE = 19;
const MOST_SOURCES = 4;
const PANEL_FRAME = 90; // name, axis, gap
const PICTURE_SCALE = 2; // pixels of a PNG for each of the picture

const ruler = document.createElement("canvas").getContext("2d");

const fitting = (text, size, room) => {
  ruler.font = `${size}px ${FONT}`;
  if (ruler.measureText(text).width <= room) return text;
  let length = text.length;
  while (length && ruler.measureText(`${text.slice(0, length)}…`).width > room) length -= 1;
  return `${text.slice(0, length).trimEnd()}…`;
};

const svgNode = (name, attributes, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

const testOf = (chart) => chart.figure.closest("section.test")?.dataset ?? {};

// The sessions that a chart shows now.
const sourcesOf = (chart) => {
  const key = sessionKey(chart.columns);
  const shown = new Set(key ? shownRows(chart).map((row) => row[key]) : []);
  const all = about.sources.filter(({ label }) => !hidden.has(label));
  return shown.size ? all.filter(({ label }) => shown.has(label)) : all;
};

const spoken = ({ label, drive, firmware, date, session }) => [
  label.startsWith(drive) ? label : `${label}: ${drive}`,
  firmware && !label.includes(firmware) ? `firmware ${firmware}` : "",
  date, `session ${session}`,
].filter(Boolean).join(", ");

const span = (texts) => {
  const sorted = [...new Set(texts)].sort();
  return sorted.length > 1 ? `${sorted[0]} to ${sorted.at(-1)}` : sorted[0] ?? "";
};

const sourceLines = (sources) => {
  if (sources.length <= MOST_SOURCES) return sources.map(spoken);
  const drives = [...new Set(sources.map(({ drive }) => drive))];
  const firmware = [...new Set(sources.map((one) => one.firmware).filter(Boolean))];
  const ids = sources.map(({ session }) => session).sort();
  return [
    `${sources.length} sessions, ${span(sources.map(({ date }) => date))}: ${ids[0]} to ${ids.at(-1)}`,
    `${drives.length} model${drives.length > 1 ? "s" : ""}: ${drives.join(", ")}`,
    ...(firmware.length ? [`firmware ${firmware.join(", ")}`] : []),
  ];
};

const pictureSpec = (chart, height) => {
  const spec = specOf(chart, DRAWN_WIDTH, "light");
  if (chart.kind === "heatmap") return spec;
  if (spec.spec) {
    const { size } = new Set(shownRows(chart).map((row) => row.panel));
    const rows = Math.ceil(size / spec.columns);
    spec.spec.height = Math.max(spec.spec.height, Math.floor((height - 60) / rows) - PANEL_FRAME);
  } else {
    spec.height = height;
    spec.autosize = { type: "fit", contains: "padding" };
  }
  return spec;
};

const heading2 = (chart) => {
  const { title, workload } = testOf(chart);
  const part = chart.pick.key ? chart.pick.value : "";
  return [title, workload, part].filter(Boolean).join(" · ");
};

// Where no drive was measured, or only a part of the plan, the title says so.
const titleOf = (chart, sources) => {
  const words = sources.flatMap(({ simulated, profile }) => [
    ...(simulated ? ["SIMULATED"] : []), ...(profile ? [`PROFILE ${profile}`] : []),
  ]);
  const told = [...new Set(words)].sort().reverse().map((word) => {
    const count = words.filter((one) => one === word).length;
    return count < sources.length ? `${count} of ${sources.length} ${word}` : word;
  });
  return told.length ? `${told.join(", ")}: ${chart.title}` : chart.title;
};

const againstOf = (chart) => {
  const { against } = testOf(chart);
  return against ? `Not to be relied on: ${against}` : "";
};

// The chart keeps its proportions in the room between head and foot.
const picture = async (chart) => {
  const sources = sourcesOf(chart);
  const title = titleOf(chart, sources);
  const lines = [spreadNote(chart), againstOf(chart), ...sourceLines(sources)].filter(Boolean);
  const foot = MARGIN + LINE * lines.length;
  const room = PICTURE_WIDTH - 2 * MARGIN;
  const rest = (height) => height - HEAD - foot - 12;
  const drawnHeight = Math.floor((rest(PICTURE_HEIGHTS[0]) * DRAWN_WIDTH) / room);
  const spec = pictureSpec(chart, drawnHeight);
  const view = viewOf(spec, { renderer: "none" });
  await view.runAsync();
  await view.resize().signal("places", settled(chart, view, spec.datasets.rows)).runAsync();
  const text = await view.toSVG();
  view.finalize();
  const plot = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const [width, height] = ["width", "height"].map((name) => Number(plot.getAttribute(name)));
  const scale = (full) => Math.min(room / width, rest(full) / height);
  const full = PICTURE_HEIGHTS.find((one) => scale(one) >= LEAST_SCALE) ?? PICTURE_HEIGHTS.at(-1);

  const made = svgNode("svg", {
    viewBox: `0 0 ${PICTURE_WIDTH} ${full}`, width: PICTURE_WIDTH, height: full, "font-family": FONT,
  });
  const line = (x, y, size, fill, words, more = {}) =>
    made.append(svgNode("text", { x, y, "font-size": size, fill, ...more }, words));
  made.append(svgNode("title", {}, `${title}, ${heading2(chart)}`));
  made.append(svgNode("desc", {}, sources.map(spoken).join("; ")));
  made.append(svgNode("rect", { width: PICTURE_WIDTH, height: full, fill: "white" }));
  line(MARGIN, 44, 24, INK.light, fitting(title, 24, room), { "font-weight": 600 });
  line(MARGIN, 70, 15, SOFT.light, fitting(heading2(chart), 15, room));
  const placed = svgNode("svg", {
    x: MARGIN, y: HEAD, width: room, height: rest(full),
    viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "xMidYMid meet",
  });
  placed.append(...plot.childNodes);
  made.append(placed);
  const tools = [...new Set(sources.map(({ tool }) => tool))];
  const origin = `plan ${about.plan} · ${tools.length > 1 ? `${tools[0]} and others` : tools[0] ?? ""}`;
  const side = Math.floor(room * 0.4);
  lines.forEach((words, i) => line(
    MARGIN, full - foot + MARGIN / 2 + LINE * i + 4, 13, SOFT.light,
    fitting(words, 13, i < lines.length - 1 ? room : room - side - 16)));
  line(PICTURE_WIDTH - MARGIN, full - MARGIN / 2 - LINE + 4, 13, SOFT.light,
    fitting(origin, 13, side), { "text-anchor": "end" });
  return made;
};

const svgText = (made) => new XMLSerializer().serializeToString(made);

const pngBlob = async (made) => {
  const [width, height] = ["width", "height"].map((name) => Number(made.getAttribute(name)));
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svgText(made)], { type: "image/svg+xml" }));
  await image.decode();
  URL.revokeObjectURL(image.src);
  const canvas = document.createElement("canvas");
  canvas.width = width * PICTURE_SCALE;
  canvas.height = height * PICTURE_SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
};

// Downloads: a table of what is shown, or a picture that can stand alone, on white, with
// what was measured and where it comes from above it.

const PICTURE = { width: 1200, height: 675, margin: 32, scale: 2 };
const MOST_SOURCES = 4;

const testOf = (chart) => chart.figure.closest("section.test")?.dataset ?? {};

// The sessions that a chart shows now.
const sourcesOf = (chart) => {
  const key = sessionKey(chart.columns);
  const shown = new Set(key ? shownRows(chart).map((row) => row[key]) : []);
  const all = about.sources.filter(({ label }) => !hidden.has(label));
  return shown.size ? all.filter(({ label }) => shown.has(label)) : all;
};

const sourceLine = ({ label, drive, firmware, date, session }) => [
  label.startsWith(drive) ? label : `${label}: ${drive}`,
  firmware && !label.includes(firmware) ? `firmware ${firmware}` : "",
  date, `session ${session}`,
].filter(Boolean).join(", ");

const sourceLines = (sources) => {
  if (sources.length <= MOST_SOURCES) return sources.map(sourceLine);
  const of = (key) => [...new Set(sources.map((source) => source[key]).filter(Boolean))];
  const [dates, ids, drives, firmware] = [of("date").sort(), of("session").sort(), of("drive"), of("firmware")];
  return [
    `${sources.length} sessions, ${[...new Set([dates[0], dates.at(-1)])].join(" to ")}: ${ids[0]} to ${ids.at(-1)}`,
    `${drives.length} model${drives.length > 1 ? "s" : ""}: ${drives.join(", ")}`,
    ...(firmware.length ? [`firmware ${firmware.join(", ")}`] : []),
  ];
};

// Where no drive was measured, or only a part of the plan, the title says so.
const titleOf = (chart, sources) => {
  const words = sources.flatMap(({ simulated, profile }) => [
    ...(simulated ? ["SIMULATED"] : []), ...(profile ? [`PROFILE ${profile}`] : []),
  ]);
  const warnings = [...new Set(words)].sort().reverse().map((word) => {
    const count = words.filter((other) => other === word).length;
    return count < sources.length ? `${count} of ${sources.length} ${word}` : word;
  });
  return warnings.length ? `${warnings.join(", ")}: ${chart.title}` : chart.title;
};

const headOfPicture = (chart) => {
  const sources = sourcesOf(chart);
  const { title, workload, against } = testOf(chart);
  const tools = [...new Set(sources.map(({ tool }) => tool))];
  const part = chart.pick.key ? chart.pick.value : "";
  const subtitle = [
    [title, workload, part].filter(Boolean).join(" · "), spreadNote(chart),
    against ? `Not to be relied on: ${against}` : "", ...sourceLines(sources),
    `plan ${about.plan} · ${tools.length > 1 ? `${tools[0]} and others` : tools[0] ?? ""}`,
  ].filter(Boolean);
  return {
    text: titleOf(chart, sources), subtitle, fontSize: 24, subtitleFontSize: 13, subtitleLineHeight: 18,
    subtitlePadding: 6, offset: 24, frame: "bounds", limit: PICTURE.width - 2 * PICTURE.margin,
  };
};

// Of a fixed width; higher where many panels would be tiny.
const picture = async (chart) => {
  const { margin } = PICTURE;
  const spec = specOf(chart, PICTURE.width - 2 * margin, "light");
  Object.assign(spec, { title: headOfPicture(chart), padding: margin, background: "white" });
  if (!spec.spec && chart.kind !== "heatmap") {
    Object.assign(spec, { width: PICTURE.width, height: PICTURE.height, autosize: { type: "fit", contains: "padding" } });
  } else if (spec.spec && chart.kind !== "heatmap") {
    const panels = new Set(spec.datasets.rows.map((row) => row.panel)).size;
    const room = (PICTURE.height - 250) / Math.ceil(panels / spec.columns) - 70; // text, axes
    spec.spec.height = Math.max(spec.spec.height, Math.floor(room));
  }
  const view = viewOf(spec, { renderer: "none" });
  const text = await settledView(chart, view, spec.datasets.rows).toSVG();
  view.finalize();
  const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const [width, height] = ["width", "height"].map((name) => Number(svg.getAttribute(name)));
  svg.setAttribute("width", PICTURE.width);
  svg.setAttribute("height", Math.max(PICTURE.height, Math.round(height * PICTURE.width / width)));
  svg.style.background = "white";
  return svg;
};

const svgText = (svg) => new XMLSerializer().serializeToString(svg);

const pngUrl = async (svg) => {
  const image = new Image();
  image.src = svgUrl(svg);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = svg.getAttribute("width") * PICTURE.scale;
  canvas.height = svg.getAttribute("height") * PICTURE.scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
};

const svgUrl = (svg) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;

const csv = ({ columns }, rows) => {
  const shown = columns.filter(isListed);
  const quoted = (value) => {
    // a text that a spreadsheet would calculate gets a quote before it, as in exports
    const isFormula = typeof value === "string" && /^[=+\-@\t\r]/.test(value);
    const text = isFormula ? `'${value}` : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const head = shown.map(({ title, unit }) =>
    unit && unit !== "text" ? `${title} [${unit === "size" ? "B" : unit}]` : title || "cell");
  const lines = rows.map((row) => shown.map(({ key }) => row[key]));
  return [head, ...lines].map((line) => `${line.map(quoted).join(",")}\n`).join("");
};

const urlOf = {
  PNG: async (chart) => pngUrl(await picture(chart)),
  SVG: async (chart) => svgUrl(await picture(chart)),
  CSV: async (chart) => `data:text/csv;charset=utf-8,${encodeURIComponent(csv(chart, shownRows(chart)))}`,
};

// Under a name of its own: of the plan, the test, the chart, its part, and the sessions.

const slug = (text) =>
  (text ?? "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");

// One by its id, several by their number and a digest of their ids.
const sessionsName = (sources) => {
  if (sources.length < 2) return sources[0]?.session ?? "";
  let digest = 0x811c9dc5; // FNV-1a
  for (const sign of sources.map(({ session }) => session).sort().join()) {
    digest = Math.imul(digest ^ sign.codePointAt(0), 0x01000193) >>> 0;
  }
  return `${sources.length}-sessions-${digest.toString(16).padStart(8, "0")}`;
};

const plainName = (figure) => [
  about.plan, figure.closest("section.test")?.dataset.title, figure.querySelector("h3").textContent,
].map(slug).filter(Boolean).join("-").slice(0, 120);

// Of charts of one name the second is numbered.
const fileName = (chart, ending) => {
  const name = plainName(chart.figure);
  const number = figures.filter((figure) => plainName(figure) === name).indexOf(chart.figure);
  const part = texts(chart, chart.pick.key).indexOf(chart.pick.value);
  const parts = [
    name, number > 0 ? number + 1 : "", part > 0 ? `part-${part + 1}` : "", sessionsName(sourcesOf(chart)),
  ];
  return `${parts.filter(Boolean).join("-")}.${ending}`;
};

const save = async (chart, kind) => {
  element("a", { href: await urlOf[kind](chart), download: fileName(chart, kind.toLowerCase()) }).click();
};

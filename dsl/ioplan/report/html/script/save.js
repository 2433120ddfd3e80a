// Downloads: what is shown, on white, with its title.

const FILE_WIDTH = 960;

const fileName = (chart, ending) => {
  const name = chart.title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  return `${name || "chart"}.${ending}`;
};

const save = (blob, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

const fileView = (chart) => {
  const spec = specOf(chart, FILE_WIDTH, "light");
  spec.title = { text: chart.title, subtitle: chart.line, offset: 14 };
  spec.background = "white";
  spec.padding = 16;
  return viewOf(spec, { renderer: "none" });
};

const quoted = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const csv = (columns, rows) => {
  const shown = columns.filter(isListed);
  const head = shown.map(({ title, unit }) =>
    unit && unit !== "text" ? `${title} [${unit === "size" ? "B" : unit}]` : title || "cell");
  const lines = rows.map((row) => shown.map(({ key }) => quoted(row[key])).join(","));
  return [head.map(quoted).join(","), ...lines, ""].join("\n");
};

const saveAs = {
  async PNG(chart) {
    const canvas = await fileView(chart).toCanvas(2);
    canvas.toBlob((blob) => save(blob, fileName(chart, "png")), "image/png");
  },
  async SVG(chart) {
    const text = await fileView(chart).toSVG();
    save(new Blob([text], { type: "image/svg+xml" }), fileName(chart, "svg"));
  },
  async CSV(chart) {
    const text = csv(chart.columns, shownRows(chart));
    save(new Blob([text], { type: "text/csv" }), fileName(chart, "csv"));
  },
};

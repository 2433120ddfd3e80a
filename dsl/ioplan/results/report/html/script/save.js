// Downloads: a picture or a table of what is shown, under a name of its own.

const slug = (text) =>
  (text ?? "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");

// Which sessions: one by its id, several by their number and a digest of their ids.
const sessionsName = (sources) => {
  if (sources.length < 2) return sources[0]?.session ?? "";
  let digest = 0x811c9dc5; // FNV-1a
  for (const sign of sources.map(({ session }) => session).sort().join()) {
    digest = Math.imul(digest ^ sign.codePointAt(0), 0x01000193) >>> 0;
  }
  return `${sources.length}-sessions-${digest.toString(16).padStart(8, "0")}`;
};

const plainName = (figure) => [
  about.plan, figure.closest("section.test")?.dataset.title,
  figure.querySelector("h3").textContent,
].map(slug).filter(Boolean).join("-").slice(0, 120);

// Of charts of one name the second is numbered.
const fileName = (chart, ending) => {
  const name = plainName(chart.figure);
  const alike = figures.filter((figure) => plainName(figure) === name);
  const number = alike.indexOf(chart.figure);
  const part = texts(chart, chart.pick.key).indexOf(chart.pick.value);
  const parts = [
    name, number > 0 ? number + 1 : "", part > 0 ? `part-${part + 1}` : "",
    sessionsName(sourcesOf(chart)),
  ];
  return `${parts.filter(Boolean).join("-")}.${ending}`;
};

const save = (blob, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
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
    save(await pngBlob(await picture(chart)), fileName(chart, "png"));
  },
  async SVG(chart) {
    const text = svgText(await picture(chart));
    save(new Blob([text], { type: "image/svg+xml" }), fileName(chart, "svg"));
  },
  async CSV(chart) {
    const text = csv(chart.columns, shownRows(chart));
    save(new Blob([text], { type: "text/csv" }), fileName(chart, "csv"));
  },
};

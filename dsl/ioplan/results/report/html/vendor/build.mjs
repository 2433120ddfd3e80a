// Bundles entry.js into charts.js, and the licences of all that is in it.
import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const { metafile } = await build({
  entryPoints: ["entry.js"],
  outfile: "charts.js",
  bundle: true,
  minify: true,
  target: "es2022",
  format: "iife",
  globalName: "charts",
  legalComments: "none",
  metafile: true,
});

const folders = new Set(
  Object.keys(metafile.inputs)
    .map((path) => path.match(/^node_modules\/(@[^/]+\/)?[^/]+/)?.[0])
    .filter(Boolean),
);
const byText = new Map();
for (const folder of [...folders].sort()) {
  const about = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  const text = file
    ? readFileSync(`${folder}/${file}`, "utf8").trim()
    : `Licence: ${about.license}`;
  const name = `${about.name} ${about.version}`;
  byText.set(text, [...(byText.get(text) ?? []), name]);
}
const parts = [...byText].map(([text, names]) => `${names.join(", ")}\n\n${text}\n`);
writeFileSync("LICENSES.txt", parts.join(`\n${"-".repeat(72)}\n\n`));

"use strict";
// Parts of a page that are asked for again and again; forms and links need no script.

const parts = document.querySelectorAll("[data-refresh]");

const told = (text) => {
  const place = document.getElementById("stale");
  if (place && place.textContent !== text) place.textContent = text;
};

// What has the focus keeps it, and what is marked or being typed is not replaced.
const isBusy = (part) => part.contains(document.activeElement) &&
  /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);

const put = (part, text) => {
  if (part.dataset.shown === text || isBusy(part)) return;
  const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
  const open = [...part.querySelectorAll("details[open]")].map(({ id }) => id);
  part.innerHTML = text;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  part.dataset.shown = text;
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
};

const refresh = async (part) => {
  if (document.hidden) return;
  try {
    const answer = await fetch(part.dataset.refresh, { headers: { "X-Part": "1" } });
    if (answer.status === 401) { location.assign("/sign-in"); return; }
    if (!answer.ok) throw new Error(answer.statusText);
    put(part, await answer.text());
    told("");
  } catch {
    const time = new Date().toLocaleTimeString();
    if (!document.getElementById("stale")?.textContent) told(`No answer since ${time}; trying again.`);
  }
};

for (const part of parts) {
  const every = Number(part.dataset.every) * 1000;
  const again = () => refresh(part).finally(() => setTimeout(again, every));
  setTimeout(again, every);
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) parts.forEach(refresh); });

// A file of the reader's, into the text field that its plan is sent in.
for (const input of document.querySelectorAll("input[type=file][data-into]")) {
  input.addEventListener("change", async () => {
    const [file] = input.files;
    if (file) document.getElementById(input.dataset.into).value = await file.text();
  });
}

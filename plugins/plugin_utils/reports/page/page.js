// Copyright (c) 2026, the gpufabric.pyramid authors
// GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The page's own program: the table of verdicts, its filters, and evidence where a reader unfolds it.
// Text of devices is set as text only; nothing here makes markup of a string.
"use strict";

const PAGE_ROWS = 50;
const MOST_HOSTS = 64;
const data = JSON.parse(document.getElementById("data").textContent);
const index = JSON.parse(document.getElementById("evidence").textContent);
const names = { before: "before the soak or the load", idle: "at idle, just before the load", during: "during the load, sample", load: "load" };

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Rows of data.verdicts: [check, host, group, verdict, words, findings, waived].
function says(row) {
  const findings = row[5] || [];
  if (findings.length) {
    const [where, expected, actual] = findings[0];
    return `${where}: expected ${expected}, got ${actual}` + (findings.length > 1 ? ` (and ${findings.length - 1} more)` : "");
  }
  return row[4] || data.checks[row[0]].statement;
}

const filters = { verdict: "not well", layer: "", check: "", group: "", text: "" };
let shown = [];
let page = 0;

function fits(row) {
  const check = data.checks[row[0]];
  const well = row[3] === "pass" || row[3] === "skip";
  return (
    (filters.verdict === "" || (filters.verdict === "not well" ? !well : row[3] === filters.verdict)) &&
    (filters.layer === "" || check.layer === filters.layer) &&
    (filters.check === "" || check.check === filters.check) &&
    (filters.group === "" || row[2] === filters.group || (filters.group === "shared nodes" && row[2] === null)) &&
    (filters.text === "" || `${row[1] || row[2]} ${says(row)}`.toLowerCase().includes(filters.text.toLowerCase()))
  );
}

function refresh() {
  shown = data.verdicts.filter(fits);
  page = 0;
  table();
}

function table() {
  const body = document.querySelector("#table tbody");
  const rows = shown.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS);
  body.replaceChildren(...rows.map(line));
  const last = Math.max(0, Math.ceil(shown.length / PAGE_ROWS) - 1);
  const count = `${shown.length} of ${data.verdicts.length} verdicts`;
  document.getElementById("count").textContent = last ? `${count}, page ${page + 1} of ${last + 1}` : count;
  const turn = (words, by) => {
    const button = element("button", { type: "button" }, words);
    button.disabled = page + by < 0 || page + by > last;
    button.addEventListener("click", () => {
      page += by;
      table();
    });
    return button;
  };
  document.getElementById("pages").replaceChildren(...(last ? [turn("Earlier", -1), turn("Later", 1)] : []));
}

function line(row) {
  const check = data.checks[row[0]];
  const mark = element("span", { class: `mark ${row[3]}` }, row[3]);
  const cells = [mark, check.layer, check.check, row[1] || row[2] || "", says(row)].map((one) => element("td", {}, one));
  const made = element("tr", { class: "row", tabindex: "0", "aria-expanded": "false" }, ...cells);
  const toggle = () => {
    const open = made.getAttribute("aria-expanded") === "true";
    made.setAttribute("aria-expanded", String(!open));
    if (open) {
      made.nextSibling.remove();
    } else {
      made.after(element("tr", { class: "more" }, element("td", { colspan: "5" }, ...more(row, check))));
    }
  };
  made.addEventListener("click", toggle);
  made.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      toggle();
    }
  });
  return made;
}

// What a verdict folds out to: what must hold, each finding, and what each of its nodes printed.
function more(row, check) {
  const list = element("dl");
  const say = (name, text) => text && list.append(element("dt", {}, name), element("dd", {}, text));
  say("must hold", check.statement + (check.required ? " (required)" : ""));
  say("says", row[4]);
  for (const [where, expected, actual, severity, host, cause, fix] of row[5] || []) {
    say(severity, `${host && host !== row[1] ? host + " " : ""}${where}: expected ${expected}, got ${actual}`);
    say("cause of it", cause);
    say("fix of it", fix);
  }
  for (const [host, finding, reason, until] of row[6] || []) {
    say("waived", `${host}: ${finding} (until ${until}: ${reason})`);
  }
  if (row[3] !== "pass") {
    say("cause", check.cause);
    say("fix", check.fix + (check.remedy ? ` (remedy ${check.remedy})` : ""));
  }
  list.append(element("dt", {}, "documented"), element("dd", {}, element("a", { href: check.doc }, check.check)));
  const found = [...new Set((row[5] || []).map((one) => one[4]).filter(Boolean))];
  const hosts = row[1] ? [row[1]] : found.length ? found : data.groups[row[2]] || [];
  const parts = hosts.slice(0, MOST_HOSTS).flatMap((host) => check.reads.map((reading) => evidence(check.layer, reading, host))).filter(Boolean);
  return [list, ...(parts.length ? parts : [element("p", {}, "No text of a tool is kept for it.")])];
}

function evidence(layer, reading, host) {
  const number = index.findIndex((one) => one[0] === layer && one[1] === reading && one[2].includes(host));
  if (number < 0) {
    return null;
  }
  const made = element("details", { class: "evidence" }, element("summary", {}, `Evidence: ${reading} of ${host}`));
  made.addEventListener("toggle", () => made.open && made.childElementCount === 1 && unfold(made, number, host), { once: true });
  return made;
}

async function unfold(place, number, host) {
  const [layer, reading, , here] = index[number];
  if (!here) {
    place.append(element("p", {}, `Left out, to keep this file small: it is in evidence/${layer}/${host}/${reading}.txt of the run's directory.`));
    return;
  }
  const response = (await unpacked(number))[host];
  for (const one of response.commands.slice(0, 40)) {
    const status = one.rc === undefined || one.rc === null ? one.status : `status ${one.rc}`;
    const words = `$ ${one.argv.join(" ")}   (${status}, ${one.seconds} s)` + (one.stderr ? `\n${one.stderr}` : "");
    place.append(element("pre", { class: "command" }, words));
  }
  if (response.commands.length > 40) {
    place.append(element("p", {}, `And ${response.commands.length - 40} more commands of its kind.`));
  }
  for (const [phase, text] of Object.entries(response.texts)) {
    place.append(...(phase ? [element("h4", {}, phase.replace(/^[a-z]+/, (kind) => names[kind]).replace("-", " "))] : []), element("pre", {}, text));
  }
}

const opened = new Map();

function unpacked(number) {
  if (!opened.has(number)) {
    const packed = Uint8Array.from(atob(document.getElementById(`evidence-${number}`).textContent), (one) => one.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    opened.set(number, new Response(stream).json());
  }
  return opened.get(number);
}

function choice(name, label, options) {
  const select = element("select", { name }, ...options.map(([value, words]) => element("option", { value }, words)));
  select.addEventListener("change", () => {
    filters[name] = select.value;
    refresh();
  });
  return element("label", {}, label, select);
}

function begin() {
  document.getElementById("without").remove();
  const all = (words, values) => [["", words], ...[...new Set(values)].map((one) => [one, one])];
  const text = element("input", { name: "text", type: "search", placeholder: "host, port, words" });
  text.addEventListener("input", () => {
    filters.text = text.value;
    refresh();
  });
  const form = document.getElementById("filters");
  form.append(
    choice("verdict", "Verdict", [["not well", "not well"], ["", "all"], ...["fail", "unknown", "warn", "skip", "pass"].map((one) => [one, one])]),
    choice("layer", "Layer", all("all layers", data.checks.map((one) => one.layer))),
    choice("check", "Check", all("all checks", data.checks.map((one) => one.check).sort())),
    choice("group", "Gate group", all("all groups", [...Object.keys(data.groups), "shared nodes"])),
    element("label", {}, "Search", text),
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  const set = (values) => {
    Object.assign(filters, { verdict: "", layer: "", check: "", group: "", text: "" }, values);
    for (const [name, value] of Object.entries(filters)) {
      form.elements[name].value = value;
    }
    refresh();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-layer]");
    if (link) {
      set({ layer: link.dataset.layer, check: link.dataset.check || "", verdict: link.dataset.check ? "not well" : "" });
    }
  });
  set({ verdict: data.verdicts.some((row) => row[3] !== "pass" && row[3] !== "skip") ? "not well" : "" });
  // What is folded is not printed, so that findings are unfolded for paper.
  window.addEventListener("beforeprint", () => document.querySelectorAll("details.entry").forEach((one) => one.setAttribute("open", "")));
  window.pyramidCharts.begin(data, element, (values) => {
    set(values);
    document.getElementById("verdicts").scrollIntoView();
  });
}

begin();

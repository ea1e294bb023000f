"use strict";

// The page can be read without this script: it filters, sorts, and opens trials. What comes from a
// study is placed as text only; no markup is ever made of it. Nothing is stored or fetched.

const STEP = 50; // lines that are shown at first: the browser takes longer for each than the filter

const element = (id) => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

function labelled(tag, label, text, className = "") {
  const node = make(tag, { className }, text);
  node.dataset.label = label;
  return node;
}

const contains = (text, words) => words.every((word) => text.includes(word));
const wordsOf = (input) => input.value.toLowerCase().split(/\s+/).filter(Boolean);
const counted = (number, what) =>
  `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

// What has no value stands last, whichever way one sorts.
const alphabet = new Intl.Collator("en");
function compared(one, other, descending) {
  if (one === null || other === null) return (one === null) - (other === null);
  const order = typeof one === "string" ? alphabet.compare(one, other) : one - other;
  return (descending ? -order : order) || 0;
}

const inOrder = (all, value, descending) => all.map((one) => [value(one), one])
  .sort(([one], [other]) => compared(one, other, descending)).map(([, one]) => one);

function numberOf(text) {
  const bare = String(text ?? "").replaceAll(",", "").replace("\u2212", "-").replace("∞", "Infinity");
  return bare === "" || Number.isNaN(Number(bare)) ? null : Number(bare);
}

// Headings become buttons: the first press sorts, the second turns round, the third undoes.
function sortable(heading, first, changed) {
  const button = make("button", { type: "button", className: "sort" }, ...heading.childNodes);
  button.addEventListener("click", () => {
    const now = heading.getAttribute("aria-sort");
    const second = first === "descending" ? "ascending" : "descending";
    const next = now === null ? first : now === first ? second : null;
    changed(next === null ? null : heading.dataset.key, next === "descending");
  });
  heading.replaceChildren(button);
}

function showOrder(headings, key, descending) {
  for (const heading of headings) {
    if (heading.dataset.key !== key || key === null) heading.removeAttribute("aria-sort");
    else heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  }
}

// ---- light and dark: the rules for the dark are there, the button says when they hold

function themes(button) {
  const dark = [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .filter((rule) => rule.media?.mediaText.includes("prefers-color-scheme: dark"));
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const show = () => {
    const isDark = chosen ?? system.matches;
    button.textContent = isDark ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark ? "Show in light colours" : "Show in dark colours");
    if (chosen === null) return;
    for (const rule of dark) rule.media.mediaText = isDark ? "screen" : "not all";
    document.documentElement.style.colorScheme = isDark ? "dark" : "light";
  };
  button.addEventListener("click", () => {
    chosen = !(chosen ?? system.matches);
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
}

// ---- the table of verdicts

// A line of a cell with those below it that belong to it: other variants, notes.
function bundlesOf(table) {
  const bundles = [];
  for (const body of table.tBodies) {
    for (const row of body.rows) {
      if (row.dataset.cost !== undefined) {
        bundles.push({ head: row, rows: [row], body, group: body.rows[0] });
      } else if (bundles.at(-1)?.body === body) bundles.at(-1).rows.push(row);
    }
  }
  return bundles;
}

function valueOf(bundle, key) {
  const value = bundle.head.dataset[key] ?? "";
  return key === "platform" ? value : numberOf(value);
}

function verdicts(table, controls) {
  const bundles = bundlesOf(table);
  const headings = [...table.tHead.querySelectorAll("th[data-key]")];
  const inputs = {
    text: element("find"),
    verdict: element("by-verdict"),
    workload: element("by-workload"),
    platform: element("by-platform"),
  };
  const order = element("by-order");
  const sorted = make("tbody");
  const rest = element("rest");
  let limit = STEP;
  let ordered = bundles;
  let some = bundles;

  // Lines that are not shown are no part of the page: the browser would lay them all out again.
  function place(shown) {
    const bodies = new Map();
    for (const { body, group, rows } of shown) {
      const [into, first] = ordered === bundles ? [body, [group]] : [sorted, []];
      if (!bodies.has(into)) bodies.set(into, first);
      bodies.get(into).push(...rows);
    }
    for (const body of [...table.tBodies]) body.remove();
    for (const [body, rows] of bodies) body.replaceChildren(...rows);
    table.append(...bodies.keys());
  }

  function show() {
    place(some.slice(0, limit));
    rest.hidden = some.length <= limit;
    rest.textContent = `Show ${Math.min(limit, some.length - limit)} more`;
  }

  function filter() {
    const words = wordsOf(inputs.text);
    const keys = ["verdict", "workload", "platform"].filter((key) => inputs[key].value !== "");
    some = ordered.filter((bundle) => {
      bundle.text ??= [bundle.group, ...bundle.rows]
        .map((row) => row.textContent).join(" ").toLowerCase();
      const { dataset } = bundle.head;
      return contains(bundle.text, words)
        && keys.every((key) => dataset[key === "verdict" ? "word" : key] === inputs[key].value);
    });
    limit = STEP;
    show();
    const isAll = some.length === bundles.length;
    element("shown").textContent = isAll
      ? counted(some.length, "line") : `${some.length.toLocaleString("en")} of ${counted(bundles.length, "line")}`;
    controls.classList.toggle("filtered", !isAll);
  }

  function sort(key, descending) {
    ordered = key === null ? bundles : inOrder(bundles, (one) => valueOf(one, key), descending);
    table.classList.toggle("flat", key !== null);
    showOrder(headings, key, descending);
    order.value = key === null ? "" : `${key} ${descending ? "descending" : "ascending"}`;
    filter();
  }

  for (const heading of headings) {
    const { key } = heading.dataset;
    const name = heading.textContent.trim().replace(/\s+/g, " ");
    order.append(
      make("option", { value: `${key} descending` }, `${name}, ${key === "platform" ? "Z first" : "largest first"}`),
      make("option", { value: `${key} ascending` }, `${name}, ${key === "platform" ? "A first" : "smallest first"}`),
    );
    sortable(heading, ["platform", "verdict"].includes(key) ? "ascending" : "descending", sort);
  }
  order.addEventListener("change", () => {
    const [key, way] = order.value.split(" ");
    sort(key || null, way === "descending");
  });
  for (const input of Object.values(inputs)) input.addEventListener("input", filter);
  element("clear").addEventListener("click", () => {
    for (const input of Object.values(inputs)) input.value = "";
    sort(null, false);
    inputs.text.focus();
  });
  rest.addEventListener("click", () => {
    const next = some[limit];
    limit *= 2;
    show();
    next.head.querySelector("a")?.focus();
  });
  addEventListener("beforeprint", () => place(some));
  addEventListener("afterprint", show);
  controls.hidden = false;
  filter();
}

// ---- trials: a list in a dialog or on a page of its own, and one trial in a dialog above it

// A trial is a row in the columns of its cell. A column is a list with a value for each trial, a
// text that has those of all between separators, or anything else, which is the value of all.
class Trial {
  constructor(data, cell, row, number) {
    Object.assign(this, { data, cell, row, number });
    this.text = [cell.name, cell.workload, place(this), state(this), this.instance, this.reason,
      ...this.warnings].join(" ").toLowerCase();
  }

  in(columns, place) {
    const column = columns[place];
    const isMany = typeof column === "string" && column.includes(this.data.parted);
    if (isMany) columns[place] = column.split(this.data.parted);
    return Array.isArray(columns[place]) ? columns[place][this.row] : column;
  }

  get samples() {
    return this.cell.samples.map((_, place, columns) => this.in(columns, place));
  }

  get readings() {
    return this.cell.readings.map((named) => [this.data.texts[named[0]], this.in(named, 1)]);
  }

  get taken() {
    return this.cell.taken.map((named) => {
      const value = this.in(named, 2);
      const said = value === null ? "" : value === 0 ? "0" : `${full(value)} ${named[1]}`.trim();
      return [this.data.texts[named[0]], said];
    });
  }
}

let read = null;

function trials() {
  if (read !== null) return read;
  const data = JSON.parse(element("trials-data").textContent);
  data.fields.forEach((name, place) => {
    const isShared = data.shared.includes(name);
    Object.defineProperty(Trial.prototype, name, { get() {
      const value = this.in(this.cell.columns, place);
      return isShared ? this.data.texts[value] : value;
    } });
  });
  const rows = data.cells.map(() => 0);
  read = data.order.map((which, number) => new Trial(data, data.cells[which], rows[which]++, number + 1));
  return read;
}

const place = ({ block, slot }) => `block ${block}, slot ${slot}`;

function state({ status, kind, repeat }) {
  if (kind === "warmup") return `${status} (warm-up)`;
  return repeat ? `${status} (run again)` : status;
}

function firstValue({ samples, cell }) {
  const unit = cell.metrics[0]?.[1] ?? "";
  return samples[0] ? `${samples[0]} ${unit}`.trim() : "–";
}

const remark = ({ reason, warnings }) => [reason, ...warnings].filter(Boolean).join("; ");

// Of the trials of many cells the values have many units and are not sorted by.
function columnsOf(cell) {
  const own = [
    { key: "number", name: "trial", value: (trial) => trial.number },
    { key: "state", name: "status", value: state, text: state, className: "status" },
    { key: "duration", name: "duration, s", className: "n", text: (trial) => trial.duration,
      value: (trial) => numberOf(trial.duration) },
    { key: "instance", name: "instance", text: (trial) => trial.instance,
      value: (trial) => trial.instance },
    { key: "remark", name: "why, warnings", className: "remark", text: remark,
      value: (trial) => remark(trial) || null },
  ];
  const value = { key: "value", name: cell?.metrics[0]?.[0] ?? "value", className: "n",
    text: firstValue, value: cell && ((trial) => numberOf(trial.samples[0])) };
  const where = ["workload", "name"].map((key) => ({
    key, name: key === "name" ? "platform" : key, text: (trial) => trial.cell[key],
    value: (trial) => trial.cell[key] }));
  return [own[0], ...(cell ? [] : where), own[1], value, ...own.slice(2)];
}

function trialList() {
  const rows = element("trial-rows");
  const text = element("trial-text");
  const status = element("trial-status");
  const more = element("trial-more");
  let all = [];
  let some = [];
  let columns = [];
  let order = { key: null, descending: false };

  function row(trial) {
    const button = make("button", { type: "button", className: "open" }, place(trial));
    button.addEventListener("click", () => showTrial(trial));
    const first = labelled("td", "trial", button, "first");
    const others = columns.slice(1).map((column) =>
      labelled("td", column.name, column.text(trial), column.className ?? ""));
    return make("tr", {}, first, ...others);
  }

  function addRows() {
    const from = rows.rows.length;
    rows.append(...some.slice(from, from + STEP).map(row));
    more.hidden = rows.rows.length >= some.length;
    more.textContent = `Show ${Math.min(STEP, some.length - rows.rows.length)} more`;
  }

  function update() {
    const words = wordsOf(text);
    some = all.filter((trial) => contains(trial.text, words)
      && (status.value === "" || state(trial) === status.value));
    const column = columns.find(({ key }) => key === order.key);
    if (column) {
      some = inOrder(some, column.value, order.descending);
    }
    rows.replaceChildren();
    addRows();
    element("trial-count").textContent = some.length === all.length
      ? counted(all.length, "trial") : `${some.length.toLocaleString("en")} of ${counted(all.length, "trial")}`;
  }

  function show(cell) {
    all = cell === null ? trials() : trials().filter((trial) => trial.cell.id === cell);
    columns = columnsOf(cell === null ? null : all[0]?.cell);
    order = { key: null, descending: false };
    text.value = "";
    const states = [...new Set(all.map(state))].sort();
    status.replaceChildren(make("option", { value: "" }, "any"),
      ...states.map((one) => make("option", { value: one }, one)));
    const headings = columns.map((column) => {
      const heading = make("th", { scope: "col", className: column.className ?? "" }, column.name);
      if (!column.value) return heading;
      heading.dataset.key = column.key;
      sortable(heading, "descending", (key, descending) => {
        order = { key, descending };
        showOrder(headings, key, descending);
        update();
      });
      return heading;
    });
    element("trial-headings").replaceChildren(...headings);
    update();
  }

  text.addEventListener("input", update);
  status.addEventListener("input", update);
  more.addEventListener("click", () => {
    const next = rows.rows.length;
    addRows();
    rows.rows[next]?.querySelector("button").focus();
  });
  return show;
}

function pairs(lines) {
  return make("dl", {}, ...lines.filter(([, said]) => said !== "" && said !== undefined)
    .flatMap(([name, said]) => [make("dt", {}, name), make("dd", {}, said)]));
}

// What is zero is not what is not known: neither needs a line of its own.
function known(lines, untold) {
  const those = (wanted) => lines.filter(([, said]) => said === wanted).map(([name]) => name);
  const rest = [["Zero", those("0")], ["Not read of this trial", those("")], ["Not available here", untold]];
  return [
    pairs(lines.filter(([, said]) => said !== "0")),
    ...rest.filter(([, names]) => names.length > 0).map(([words, names]) =>
      make("p", { className: "quiet" }, `${words}: ${names.join("; ")}.`)),
  ];
}

function part(title, ...content) {
  return make("section", {}, make("h3", {}, title), ...content);
}

function rawOutput({ data, raw, files, command }) {
  if (files.length === 0) {
    return part("Raw output", make("p", {}, "None is stored next to this page: the command did not begin, or raw/ was not copied."));
  }
  const links = files.map((name) => make("li", {}, make("a", {
    href: `${data.results}raw/${raw}/${encodeURIComponent(name)}`, target: "_blank", rel: "noopener",
  }, name)));
  const said = command ? [make("pre", {}, make("code", {}, command))] : [];
  return part("Command and raw output", ...said, make("ul", { className: "files" }, ...links));
}

// ---- a trial over its time: CPUs hold between readings, memory changes along straight lines

const full = (value) => value.toLocaleString("en", { maximumSignificantDigits: 15 });
const listed = (text) => text.split(",").map((one) => (one === "" ? null : Number(one)));
const short = (value) => Number(value.toPrecision(3)).toLocaleString("en");

function svg(tag, properties, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// A point is [when in thousandths, value], a step is two of them, and null is a gap.
const held = (marks, values) =>
  values.flatMap((value, place) => (value === null ? [null] : [[marks[place], value], [marks[place + 1], value]]));
const joined = (marks, values) =>
  values.map((value, place) => (value === null ? null : [marks[place], value]));

function areaOf(points) {
  let area = 0;
  let width = 0;
  points.slice(1).forEach((point, place) => {
    const before = points[place];
    if (point === null || before === null) return;
    area += (point[0] - before[0]) * (point[1] + before[1]) / 2;
    width += point[0] - before[0];
  });
  return { area, width };
}

function described(points, unit) {
  const values = points.filter((point) => point !== null).map(([, value]) => value);
  if (values.length === 0) return "not reported on this host";
  const { area, width } = areaOf(points);
  const mean = width > 0 ? area / width : values[0];
  const [low, high] = [Math.min(...values), Math.max(...values)].map(short);
  return low === high ? `${low} ${unit}` : `${low} to ${high}, mean ${short(mean)} ${unit}`;
}

function roundUp(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((one) => one * power).find((one) => one >= most * (1 - 1e-9));
}

function pathOf(points, top, filled) {
  const runs = [[]];
  for (const point of points) {
    if (point === null) runs.push([]);
    else runs.at(-1).push(`${point[0]} ${(100 * (1 - point[1] / top)).toFixed(2)}`);
  }
  return runs.filter((run) => run.length > 1).map((run) => {
    const ends = [run[0], run.at(-1)].map((one) => one.split(" ")[0]);
    return filled ? `M${ends[0]} 100L${run.join("L")}L${ends[1]} 100Z` : `M${run.join("L")}`;
  }).join("");
}

function plot(title, seconds, unit, series) {
  const top = roundUp(Math.max(0, ...series.flatMap(({ points }) =>
    points.filter((point) => point !== null).map(([, value]) => value))));
  const lines = series.map(({ name, points }) => `${name} ${described(points, unit)}`);
  const shapes = series.flatMap(({ points, className }, place) => [
    ...(place === 0 ? [svg("path", { d: pathOf(points, top, true), class: `${className} filled` })] : []),
    svg("path", { d: pathOf(points, top, false), class: className }),
  ]);
  const picture = svg("svg", {
    viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img",
    "aria-label": `${title} over ${seconds} s: ${lines.join("; ")}`,
  }, svg("path", { d: "M0 0H1000M0 50H1000M0 100H1000", class: "grid" }), ...shapes);
  const words = series.map(({ className }, place) => make("span", {},
    make("span", { className: `swatch ${className}` }), lines[place]));
  const ends = ["0", `${seconds} s`].map((text) => make("span", {}, text));
  return make("figure", { className: "course" },
    make("figcaption", {}, make("strong", {}, title), ...words),
    make("div", { ariaHidden: "true" }, `${short(top)} ${unit}`), picture,
    make("div", { className: "ends", ariaHidden: "true" }, ...ends));
}

function overTime({ timeline }) {
  if (timeline === "") {
    return part("Over its time", make("p", { className: "quiet" },
      "Nothing is drawn: no samples of this trial are stored, or it took less than 50 ms."));
  }
  const [ended, when, layer, host, most, memory] = timeline.split("|");
  const marks = listed(when);
  const seconds = short(Number(ended) / 1000);
  const cpus = (text) => held(marks, listed(text).map((one) => (one === null ? null : one / 100)));
  const kibibytes = Number(most);
  const [factor, unit] = [[2 ** 20, "GiB"], [2 ** 10, "MiB"], [1, "KiB"]].find(([one]) => kibibytes >= one) ?? [1, "KiB"];
  const sizes = listed(memory).map((one) => (one === null || most === "" ? null : one / 1000 * kibibytes / factor));
  return part("Over its time",
    plot("CPU", seconds, "CPUs", [
      { name: "layer", points: cpus(layer), className: "layer" },
      { name: "host", points: cpus(host), className: "host" },
    ]),
    plot("Memory", seconds, unit, [{ name: "layer", points: joined(marks, sizes), className: "layer" }]),
    make("p", { className: "quiet" }, "CPUs are the mean of each step between readings, memory is what was read; of more than 30 steps several are one, with the most memory in it."));
}

function showTrial(trial) {
  const { cell, data } = trial;
  element("trial-title").textContent = `${cell.workload} on ${cell.name}: ${place(trial)}`;
  element("trial-about").replaceChildren(
    pairs([
      ["status", state(trial)], ["why", trial.reason], ["warnings", trial.warnings.join("; ")],
      ["instance", trial.instance], ["order", `${trial.number.toLocaleString("en")} of ${data.order.length.toLocaleString("en")}, as they ended`],
      ["started", trial.started], ["duration", `${trial.duration} s`], ["CPUs", trial.cpus],
      ["measured with", trial.partner],
    ]),
    rawOutput(trial),
    part("Values", pairs(trial.samples.map((value, number) => {
      const [name, unit] = cell.metrics[number];
      return [name, value ? `${value} ${unit}`.trim() : "–"];
    }))),
    overTime(trial),
    part("Taken of the host", ...known(trial.taken, data.untold.taken)),
    part("Read on the host", ...known(trial.readings, data.untold.readings)),
    part("Platform", pairs([...cell.about, ...data.platforms[cell.platform]])),
  );
  const dialog = element("trial");
  dialog.showModal();
  dialog.scrollTop = 0;
}

function drillDown() {
  const show = trialList();
  const dialog = element("trial-list");
  const open = (title, cell) => {
    element("list-title").textContent = title;
    show(cell);
    dialog.showModal();
    dialog.scrollTop = 0;
  };
  for (const button of document.querySelectorAll("dialog .close")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
  if (dialog === null) {
    show(trials()[0]?.cell.id ?? null);
    element("own-list").hidden = false;
    return;
  }
  for (const link of document.querySelectorAll("a[data-trials]")) {
    link.setAttribute("role", "button");
    link.setAttribute("aria-haspopup", "dialog");
    const press = (event) => {
      event.preventDefault();
      open(link.dataset.title, link.dataset.trials || null);
    };
    link.addEventListener("click", press);
    link.addEventListener("keydown", (event) => {
      if (event.key === " ") press(event); // as of every button
    });
    link.hidden = false;
  }
}

// ---- what is far from view is neither laid out nor painted, but on paper: pictures are most of a page

function render(visibility) {
  for (const section of document.querySelectorAll("main > section")) {
    Object.assign(section.style,
      { contentVisibility: visibility, containIntrinsicSize: "auto 60rem", overflowClipMargin: "8px" });
  }
}

// ---- on paper nothing can be opened, so everything is open

function printing() {
  let opened = [];
  addEventListener("beforeprint", () => {
    render("visible");
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    render("auto");
    for (const one of opened) one.open = false;
  });
}

render("auto");
themes(element("theme"));
if (element("trials-data")) drillDown(); // of all lines, before some are taken from the page
if (element("verdict-table")) verdicts(element("verdict-table"), element("verdict-controls"));
printing();

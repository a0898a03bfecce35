// page: puts the bench JSON into the page's places.

const bench = JSON.parse(document.getElementById("bench").textContent);
const find = (selector) => document.querySelector(selector);

/** The sentence a reader who reads one sentence should read. */
function headline(comparisons) {
  if (!comparisons.length) return "No comparisons in this run";
  const tally = { faster: 0, slower: 0, unclear: 0 };
  for (const c of comparisons) ++tally[verdict(c.speedup)];
  const said = [
    tally.faster && `${tally.faster} faster`, tally.slower && `${tally.slower} slower`,
    tally.unclear && `${tally.unclear} without a clear difference`,
  ].filter(Boolean);
  const best = comparisons.reduce((a, b) => (b.speedup.median > a.speedup.median ? b : a));
  const most = tally.faster ? `; most in ${best.workload}, ${ratio(best.speedup.median)}` : "";
  return `${comparisons.length} comparisons: ${said.join(", ")}${most}`;
}

/** What is known about the machine: the usual keys first and by their names, any other by its own. */
function facts({ machine, rounds, date, results }) {
  const names = {
    model: "Machine", cpu: "Machine", cpu_model: "Machine", cpus: "CPUs", hypervisor: "Hypervisor", kernel: "Kernel",
    architecture: "Architecture", arch: "Architecture", clocksource: "Clock", clock: "Clock",
  };
  const word = (value) => (value === true ? "yes" : value === false ? "no" : Array.isArray(value) ? value.join(", ")
    : value !== null && typeof value === "object" ? JSON.stringify(value) : String(value ?? "unknown"));
  const shown = ([key, value]) => (key.endsWith("_ns") && typeof value === "number"
    ? [key.slice(0, -3).replaceAll("_", " "), time(value)] : [names[key] ?? key.replaceAll("_", " "), word(value)]);
  const rank = (key) => { const i = Object.keys(names).indexOf(key); return i < 0 ? Infinity : i; };
  const entries = Object.entries(machine).sort(([a], [b]) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b))).map(shown);
  return [...entries, ["Rounds", String(rounds ?? new Set(results.map((r) => r.round)).size)],
    ...(date === undefined ? [] : [["Date", word(date)]])];
}

/** The curve's arms in order of appearance; rows without a backend are one unnamed arm. */
function curveArms(rows) {
  const arms = new Map();
  for (const row of rows) {
    const name = row.backend ?? "wake";
    if (!arms.has(name)) arms.set(name, []);
    arms.get(name).push(row);
  }
  return [...arms].map(([name, own]) => ({ name, rows: own.toSorted((a, b) => a.idle_ns - b.idle_ns) }));
}

function readout(arms, data, index) {
  const line = find("#curve .readout");
  line.replaceChildren();
  if (index === null) return void (line.textContent = "Point at the curve, or focus it and use the arrow keys, to read it.");
  line.append(element("b", { text: `idle ${time(data[0][index])}` }));
  arms.forEach(({ name }, a) => {
    const values = PERCENTILES.map((p, i) => data[1 + a * PERCENTILES.length + i][index]);
    if (values[0] == null) return;
    line.append(" · ", element("b", { text: name }), ` ${PERCENTILES.map((p, i) => `${p.name} ${time(values[i])}`).join(", ")}`);
  });
}

find("#verdict").textContent = headline(bench.comparisons);
find("#machine").append(...facts(bench).map(([name, value]) =>
  element("div", {}, element("dt", { text: name }), element("dd", { text: value }))));
if ((bench.quiet ?? bench.machine.quiet) === false) {
  find("#noise").hidden = false;
  find("#noise").textContent = "The machine was not quiet: other work ran beside the measurements. Trust the spreads, not the medians.";
}
const command = bench.command ?? bench.machine.command;
if (command !== undefined) {
  find("#command").hidden = false;
  find("#command").textContent = Array.isArray(command) ? command.join(" ") : String(command);
}

const speedups = bench.comparisons.map((c) => {
  const alone = bench.comparisons.filter((o) => o.workload === c.workload && o.placement === c.placement).length === 1;
  const usual = bench.comparisons.every((o) => o.baseline === bench.comparisons[0].baseline && o.candidate === bench.comparisons[0].candidate);
  return { name: c.workload, detail: alone && usual ? "" : `${c.candidate} over ${c.baseline}`, ...c.speedup };
});
const arms = curveArms(bench.curve ?? []);
const charts = {};

/** Draws both charts for the present width and theme. */
function draw() {
  for (const chart of Object.values(charts)) chart.plot.destroy();
  if (speedups.length) charts.speedup = speedupChart(find("#speedup .chart"), speedups);
  if (arms.length) {
    charts.curve = curveChart(find("#curve .chart"), arms, (i) => readout(arms, charts.curve?.data, charts.curve ? i : null));
  }
}

find("#speedup").hidden = find("#comparisons").hidden = !speedups.length;
find("#speedup .chart").setAttribute("aria-label", "Speed-ups: "
  + speedups.map((s) => `${s.name} ${s.detail} ${ratio(s.median)}, ${ratio(s.low)} to ${ratio(s.high)}`).join("; "));
find("#comparisons .table").append(comparisonTable(bench));
find("#results summary").textContent = `${count(bench.results.length)} measurements, one per arm and round`;
find("#results .table").append(resultTable(bench.results));
const parts = partTable(bench.results);
if (parts) {
  find("#parts").hidden = false;
  find("#parts .table").append(parts);
}
if (arms.length) {
  find("#curve").hidden = false;
  find("#curve .chart").setAttribute("aria-label",
    `Wake latency by idle time for ${arms.map((a) => a.name).join(" and ")}; the same figures are in the table below.`);
  find("#curve .legend").append(
    ...arms.map(({ name }, a) => {
      const swatch = element("i", { className: "swatch" });
      swatch.style.background = `var(--arm-${a})`;
      return element("span", {}, swatch, name);
    }),
    ...PERCENTILES.map((p) => element("span", {}, element("i", { className: `stroke ${p.style}` }), p.name)));
}
draw();
if (arms.length) {
  find("#curve details .table").append(curveTable(arms, charts.curve.data));
  readout(arms, charts.curve.data, null);
  find("#curve .chart").addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const { plot, data } = charts.curve, at = plot.cursor.idx ?? (step > 0 ? -1 : data[0].length);
    const index = Math.min(data[0].length - 1, Math.max(0, at + step));
    plot.setCursor({ left: plot.valToPos(data[0][index], "x"), top: plot.bbox.height / devicePixelRatio / 2 });
  });
}

let width = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (width === (width = document.documentElement.clientWidth)) return;
  requestAnimationFrame(draw);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

/** For the tests: what was drawn. */
window.__haltpoll = charts;

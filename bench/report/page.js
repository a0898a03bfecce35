// page: puts the bench JSON into the page's places.

const bench = JSON.parse(document.getElementById("bench").textContent);
const find = (selector) => document.querySelector(selector);

/** The sentence a reader who reads one sentence should read. */
function headline(comparisons) {
  if (!comparisons.length) return "No comparison in this run";
  const tally = { faster: 0, slower: 0, unclear: 0 };
  for (const c of comparisons) ++tally[verdict(c.speedup)];
  const said = [
    tally.faster && `${tally.faster}\u00a0faster`, tally.slower && `${tally.slower}\u00a0slower`,
    tally.unclear && `${tally.unclear}\u00a0without a clear difference`,
  ].filter(Boolean);
  const best = comparisons.reduce((a, b) => (b.speedup.median > a.speedup.median ? b : a));
  const most = tally.faster ? `; most in ${best.workload}, ${ratio(best.speedup.median)}` : "";
  return `${comparisons.length} comparisons: ${said.join(", ")}${most}`;
}

/** What is known about the machine: the usual keys first and by their names, any other by its own. */
function facts({ machine, rounds, governor, date, results }) {
  const names = {
    model: "Machine", cpus: "CPUs", hypervisor: "Hypervisor", kernel: "Kernel",
    architecture: "Architecture", clocksource: "Clock", cpuidle_driver: "Idle driver", load_before: "Load before",
    quiet: "Quiet",
  };
  const word = (value) => (value === true ? "yes" : value === false ? "no" : Array.isArray(value) ? value.join(", ")
    : value !== null && typeof value === "object" ? JSON.stringify(value) : String(value ?? "unknown"));
  const label = (key) => names[key] ?? (key.charAt(0).toUpperCase() + key.slice(1)).replaceAll("_", " ");
  const shown = ([key, value]) => (key.endsWith("_ns") && typeof value === "number"
    ? [label(key.slice(0, -3)), tick(value)] : key.endsWith("_percent") && typeof value === "number"
    ? [label(key.slice(0, -8)), percent(value / 100)] : [label(key), word(value)]);
  const rank = (key) => { const i = Object.keys(names).indexOf(key); return i < 0 ? Infinity : i; };
  const entries = Object.entries(machine).sort(([a], [b]) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b))).map(shown);
  return [...entries, ["Rounds", String(rounds ?? new Set(results.map((r) => r.round)).size)],
    ...(governor === undefined ? [] : [["Governor", word(governor)]]), ...(date === undefined ? [] : [["Date", word(date).replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:[\d.]+)?Z$/, "$1 $2 UTC")]])];
}

/** The curves, one per arm: medians over the rounds where the results hold them, else the run's own. */
function curveArms({ results, curve = [] }) {
  const measured = results.flatMap((r) => (r.curve ?? []).map((row) => ({ backend: r.backend, ...row })));
  return groups(measured.length ? measured : curve, (row) => row.backend ?? "wake").map(([name, own]) => ({
    name,
    rows: groups(own.toSorted((a, b) => a.idle_ns - b.idle_ns), (row) => row.idle_ns).map(([idle, rounds]) => (
      Object.fromEntries([["idle_ns", idle], ...PERCENTILES.map((p) => [p.key, median(rounds.map((r) => r[p.key]))])]))),
  }));
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

const measured = { results: bench.results.filter((r) => !r.error), comparisons: bench.comparisons.filter((c) => !c.error) };
const failed = [...bench.comparisons, ...bench.results].filter((r) => r.error);

find("#verdict").textContent = headline(measured.comparisons);
find("#machine").append(...facts(bench).map(([name, value]) =>
  element("div", {}, element("dt", { text: name }), element("dd", { text: value }))));
if ((bench.machine.quiet) === false) {
  find("#noise").hidden = false;
  find("#noise").textContent = "The machine was not quiet: other work ran beside the measurements. Trust the ratios and their spread, not the absolute times.";
}
const { command } = bench;
if (command !== undefined) {
  find("#command").hidden = false;
  find("#command").textContent = Array.isArray(command) ? command.join(" ") : String(command);
}

const speedups = measured.comparisons.map((c) => (
  { name: c.workload, detail: `${c.candidate} over ${c.baseline}`, candidate: c.candidate, ...c.speedup }));
const arms = curveArms({ ...measured, curve: bench.curve });
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
find("#comparisons .table").append(comparisonTable(measured));
find("#results summary").textContent = `${count(bench.results.length)} measurements, one per arm and round`;
find("#results .table").append(resultTable(bench.results));
if (failed.length) {
  find("#failures").hidden = false;
  find("#failures").append(failureList(failed));
}
const parts = partTable(measured.results);
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
      swatch.style.background = `var(--${armColor(a)})`;
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

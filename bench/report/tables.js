// tables: the same figures as text. Every cell is set by textContent: nothing from the JSON becomes markup.

function element(tag, { text, className, ...attributes } = {}, ...children) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** columns: {head, note, text: left-aligned}; cells: a string, or {text, note, className}. The first column names the row. */
function table(columns, rows) {
  const cell = (tag, value, column, attributes) => {
    const { text, note, className = "" } = typeof value === "string" ? { text: value } : value;
    const node = element(tag, { text, className: `${className} ${column.text ? "text" : ""}`.trim(), ...attributes });
    if (note) node.append(element("small", { text: note }));
    return node;
  };
  return element("table", {},
    element("thead", {}, element("tr", {},
      ...columns.map((c) => cell("th", { text: c.head, note: c.note }, c, { scope: "col" })))),
    element("tbody", {}, ...rows.map((row) => element("tr", {},
      ...row.map((value, i) => (i ? cell("td", value, columns[i]) : cell("th", value, columns[0], { scope: "row" })))))));
}

/** What the arms' polls prove: `off` must show none and its candidate some; a workload's own arms are different code. */
function proof({ baseline, candidate }, before, after) {
  if (!before || !after) return { text: "no results", className: "doubt" };
  const polls = `${count(before.polls)} / ${count(after.polls)}`;
  if (before.polls === 0 && after.polls > 0) return { text: "shown", note: polls };
  if (baseline === candidate) return { text: "same arm twice", note: polls };
  if (baseline === "off") return { text: "NOT shown", note: polls, className: "doubt" };
  return { text: "by build", note: polls };
}

/** Latency saved per CPU time spent on top; where CPU is saved too there is nothing to weigh. */
function saved(before, after) {
  if (!before?.p50 || !after?.p50) return "–";
  const latency = before.p50 - after.p50, cpu = after.cpu - before.cpu;
  if (latency <= 0) return "nothing saved";
  return cpu <= 0 ? "CPU saved too" : `${significant(latency / cpu)} ns per ns`;
}

const RATE = "ops_per_second";  // the metric of a workload where more is better

function comparisonTable({ comparisons, results }) {
  const pairs = comparisons.map((c) => [arm(results, c, c.baseline), arm(results, c, c.candidate)]);
  const times = (key) => {
    const both = microseconds(pairs.flatMap(([a, b]) => [a?.[key] ?? null, b?.[key] ?? null]));
    return pairs.map((_, i) => [both[2 * i], both[2 * i + 1]]);
  };
  const p50 = times("p50"), cpu = times("cpu");
  const halts = (one) => (one?.halts == null ? "–" : one.halts.toFixed(2));
  const rate = (value) => `${significant(value)}/s`;
  return table([
    { head: "Workload", note: "baseline → candidate", text: true },
    { head: "p50, µs", note: "baseline" }, { head: "p50, µs", note: "candidate" },
    { head: "Speed-up", note: "low .. high" },
    { head: "CPU/op, µs", note: "baseline" }, { head: "CPU/op, µs", note: "candidate" },
    { head: "Halts/op", note: "baseline" }, { head: "Halts/op", note: "candidate" },
    { head: "Hit rate", note: "candidate" },
    { head: "Saved per", note: "extra CPU" },
    { head: "Arms differ", note: "polls of each" },
  ], comparisons.map((c, i) => {
    const [before, after] = pairs[i], kind = verdict(c.speedup);
    return [
      { text: c.workload, note: `${c.placement}, ${c.baseline} → ${c.candidate}` },
      ...(c.metric === RATE ? [rate(c.baseline_value), rate(c.candidate_value)] : p50[i]),
      {
        text: ratio(c.speedup.median), note: `${ratio(c.speedup.low)} .. ${ratio(c.speedup.high)}`,
        className: kind === "unclear" ? "" : kind,
      },
      cpu[i][0], { text: cpu[i][1], note: c.cpu_ratio === null ? "–" : ratio(c.cpu_ratio) },
      halts(before), halts(after), after?.polls ? percent(after.hits / after.polls) : "–",
      c.metric === RATE ? "–" : saved(before, after), proof(c, before, after),
    ];
  }));
}

function resultTable(results) {
  return table([
    { head: "Workload", text: true }, { head: "Backend", text: true }, { head: "Round" }, { head: "Ops" },
    { head: "p50", note: "ns" }, { head: "p99", note: "ns" }, { head: "Mean", note: "ns" }, { head: "CPU/op", note: "ns" },
    { head: "Halts" }, { head: "Polls" }, { head: "Hits" },
  ], results.map((r) => [
    { text: r.workload, note: r.placement }, r.backend,
    ...(r.error ? [{ text: "failed", className: "doubt" }, ...Array(8).fill("–")]
      : [r.round, r.ops, r.p50_ns, r.p99_ns, r.mean_ns, r.cpu_ns_per_op, r.halts, r.polls, r.hits].map(count)),
  ]));
}

function curveTable(arms, data) {
  const columns = data.slice(1).map((column) => microseconds(column.map((v) => v ?? null)));
  const idle = microseconds(data[0]);
  return table([
    { head: "Idle for", note: "µs" },
    ...arms.flatMap((one) => PERCENTILES.map((p) => ({ head: one.name, note: `${p.name}, µs` }))),
  ], idle.map((at, i) => [at, ...columns.map((column) => column[i])]));
}

/** What has an error in place of a figure, each reason once. */
function failureList(rows) {
  const said = rows.map((r) => `${r.workload}, ${r.placement}, ${r.backend ?? `${r.baseline} → ${r.candidate}`}: ${r.error}`);
  return element("ul", {}, ...[...new Set(said)].map((text) => element("li", { text })));
}

/** Medians of the parts of an index, per second, arm by arm; null when no result has parts. */
function partTable(results) {
  const split = results.filter((r) => r.parts?.length);
  if (!split.length) return null;
  const backends = [...new Set(split.map((r) => r.backend))], base = backends[0];
  const names = groups(split.flatMap((r) => r.parts.map((p) => [r.workload, p.name])), JSON.stringify);
  return table([
    { head: "Part", text: true },
    ...backends.flatMap((b, i) => [{ head: b, note: "per second" }, ...(i ? [{ head: b, note: `over ${base}` }] : [])]),
  ], names.map(([, [[workload, name]]]) => {
    const of = (backend) => split.filter((r) => r.workload === workload && r.backend === backend)
      .flatMap((r) => r.parts.filter((p) => p.name === name).map((p) => p.per_second));
    const reference = of(base);
    return [{ text: name, note: workload }, ...backends.flatMap((b, i) => {
      const values = of(b);
      if (!values.length) return i ? ["–", "–"] : ["–"];
      return [significant(median(values)), ...(i ? [reference.length ? ratio(median(values) / median(reference)) : "–"] : [])];
    })];
  }));
}

// figures: numbers as text, and the medians the page shows beside the runner's ratios. All times come in ns.

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

const count = (n) => grouped.format(n);

/** A time for running text: 3 significant digits and its unit. */
function time(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (ns >= size) return `${significant(ns / size)} ${unit}`;
  }
  return `${significant(ns)} ns`;
}

function significant(n) {
  if (n === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(n))));
  return grouped.format(n) === "0" || digits > 0 ? n.toFixed(Math.min(digits, 6)) : count(n);
}

/** A time on an axis: 50 µs, not 50.0 µs. */
const tick = (ns) => time(ns).replace(/\.0+ /, " ");

/** A column of times in µs with the same number of decimals, so that the points align. Null where there is none. */
function microseconds(column) {
  const shown = column.filter((ns) => ns > 0);
  const decimals = shown.length && Math.min(...shown) < 100 ? 3 : 2;
  const format = new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return column.map((ns) => (ns === null ? "–" : format.format(ns / 1e3)));
}

/** 0.99, 3.72, 12.5, 79.7: a ratio with its sign of multiplication. */
const ratio = (x) => `${x < 10 ? x.toFixed(2) : x < 100 ? x.toFixed(1) : count(x)}×`;

const percent = (x) => `${(100 * x).toFixed(1)} %`;

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

/** Groups rows by a key, groups in order of appearance. */
function groups(rows, key) {
  const found = new Map();
  for (const row of rows) found.set(key(row), [...(found.get(key(row)) ?? []), row]);
  return [...found];
}

/** What the rounds say together: every one faster, every one slower, or not the same. */
function verdict({ low, high }) {
  return low > 1 ? "faster" : high < 1 ? "slower" : "unclear";
}

/** One arm of one workload over its rounds; null where the results do not hold it. */
function arm(results, { workload, placement }, backend) {
  const rows = results.filter((r) => (
    r.workload === workload && r.placement === placement && r.backend === backend && !r.error));
  if (!rows.length) return null;
  const of = (key) => median(rows.map((r) => r[key]));
  const ops = sum(rows.map((r) => r.ops));
  return {
    p50: of("p50_ns") || of("mean_ns") || null,
    cpu: of("cpu_ns_per_op"),
    halts: ops ? sum(rows.map((r) => r.halts)) / ops : null,
    polls: sum(rows.map((r) => r.polls)),
    hits: sum(rows.map((r) => r.hits)),
  };
}

// charts: the two drawings, on uPlot. A chart is a function of (element, data) that fills the element at its present
// width in the present theme and returns what it drew; page.js draws it anew when either changes.

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const font = (size, weight = 400) => `${weight} ${size}px ${FONT}`;

/** The theme's colours live in the style sheet alone. */
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Every 1, 2, 5 x 10^n within the range. */
function steps125(min, max) {
  const steps = [];
  for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); ++e) {
    // Number(): 10 ** -1 * 5 is not 0.5.
    for (const m of [1, 2, 5]) steps.push(Number(`${m}e${e}`));
  }
  return steps.filter((s) => s >= min * (1 - 1e-9) && s <= max * (1 + 1e-9));
}

/** The range widened to the nearest 1, 2, 5 x 10^n. */
function range125(min, max) {
  const steps = steps125(min / 10, max * 10);
  return [steps.findLast((s) => s <= min), steps.find((s) => s >= max)];
}

function linearSteps(min, max) {
  const rough = (max - min) / 6;
  const size = steps125(rough / 10, rough * 10).find((s) => s >= rough);
  const steps = [];
  for (let i = Math.ceil(min / size); i * size <= max * (1 + 1e-9); ++i) steps.push(i * size);
  return steps;
}

/** Cuts text to a width on the canvas. */
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) --end;
  return `${text.slice(0, end)}…`;
}

/** Draws on uPlot's canvas in CSS pixels: context, and x and y of values in them. */
function onCanvas(u, draw) {
  const { ctx } = u, dpr = devicePixelRatio;
  ctx.save();
  ctx.scale(dpr, dpr);
  draw(ctx, (value, scale) => u.valToPos(value, scale, true) / dpr, {
    left: u.bbox.left / dpr, top: u.bbox.top / dpr, width: u.bbox.width / dpr, height: u.bbox.height / dpr,
  });
  ctx.restore();
}

/** rows: {name, detail, candidate (where detail has no room), median, low, high}. Bars from 1x, whiskers over them, the figures in a column at the right. */
function speedupChart(element, rows) {
  const width = element.clientWidth, narrow = width < 560;
  const low = Math.min(1, ...rows.map((r) => r.low)), high = Math.max(1, ...rows.map((r) => r.high));
  const log = high / low > 8;  // beyond that the small differences vanish on a linear axis
  const margin = 0.1 * (high - low + 0.1);
  const [min, max] = log ? range125(low * 0.97, high * 1.03) : [Math.max(0, low - margin), high + margin];
  const rowHeight = 40;
  const labelWidth = narrow ? Math.min(128, Math.round(width * 0.36)) : 220;
  const figureWidth = narrow ? 54 : 150;
  const ink = color("ink"), muted = color("muted"), kinds = ["faster", "slower", "unclear"];
  let whiskers = 0;

  const names = (u) => onCanvas(u, (ctx, at, box) => {
    ctx.textBaseline = "middle";
    rows.forEach((row, i) => {
      const y = at(i, "x");
      ctx.textAlign = "left";
      ctx.fillStyle = ink;
      ctx.font = font(13, 500);
      ctx.fillText(fitted(ctx, row.name, labelWidth - 10), 0, y - 8);
      ctx.fillStyle = muted;
      ctx.font = font(11.5);
      ctx.fillText(fitted(ctx, narrow ? row.candidate : row.detail, labelWidth - 10), 0, y + 8);
      ctx.textAlign = "right";
      ctx.fillStyle = ink;
      ctx.font = font(13, 600);
      const spread = narrow ? "" : `${ratio(row.low)} .. ${ratio(row.high)}`;
      ctx.fillText(ratio(row.median), narrow ? width - 2 : width - 100, y);
      ctx.fillStyle = muted;
      ctx.font = font(12);
      ctx.fillText(spread, width - 2, y);
    });
  });

  const overlay = (u) => onCanvas(u, (ctx, at, box) => {
    ctx.strokeStyle = muted;
    ctx.lineWidth = 1.5;
    const one = at(1, "y");
    ctx.beginPath();
    ctx.moveTo(one, box.top);
    ctx.lineTo(one, box.top + box.height);
    ctx.stroke();
    ctx.strokeStyle = ink;
    whiskers = 0;
    rows.forEach((row, i) => {
      const y = at(i, "x"), from = at(row.low, "y"), to = at(row.high, "y");
      ctx.beginPath();
      ctx.moveTo(from, y);
      ctx.lineTo(to, y);
      for (const end of [from, to]) {
        ctx.moveTo(end, y - 4);
        ctx.lineTo(end, y + 4);
      }
      ctx.stroke();
      ++whiskers;
    });
  });

  const allTicks = log ? steps125(min, max) : linearSteps(min, max);
  const decimals = log ? undefined : Math.max(0, ...allTicks.map((t) => (String(Number(t.toFixed(6))).split(".")[1] ?? "").length));
  const plot = new uPlot({
    width,
    height: rows.length * rowHeight + 34,
    padding: [2, figureWidth, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, ori: 1, dir: -1, range: [-0.5, rows.length - 0.5] },
      y: { ori: 0, dir: 1, distr: log ? 3 : 1, range: [min, max] },
    },
    axes: [
      { scale: "x", side: 3, size: labelWidth, splits: [], grid: { show: false }, ticks: { show: false } },
      {
        scale: "y", side: 2, size: 32, font: font(12), stroke: muted, gap: 6, space: 34,
        splits: () => allTicks,
        // uPlot hides unwanted log labels by a rule of its own; ours are few enough, save on a narrow screen.
        filter: (u, splits) => splits.map((s) => (narrow && log && !/^1(e|0*$)/.test(String(s)) && s !== max ? null : s)),
        values: (u, splits) => splits.map((s) => (s === null ? "" : `${decimals === undefined ? s : s.toFixed(decimals)}×`)),
        grid: { stroke: color("grid"), width: 1 }, ticks: { show: false },
      },
    ],
    series: [{}, ...kinds.map((kind) => ({
      fill: color(kind),
      width: 0,
      fillTo: 1,
      points: { show: false },
      paths: uPlot.paths.bars({ size: [0.5, 14], align: 0 }),
    }))],
    hooks: { draw: [overlay, names] },
  }, [rows.map((_, i) => i), ...kinds.map((kind) => rows.map((r) => (verdict(r) === kind ? r.median : null)))], element);
  return { plot, get whiskers() { return whiskers; }, log };
}

const PERCENTILES = [
  { name: "p50", key: "wake_p50_ns", style: "solid", width: 2.2 },
  { name: "p90", key: "wake_p90_ns", style: "dashed", width: 1.2, dash: [6, 4] },
  { name: "p99", key: "wake_p99_ns", style: "dotted", width: 1.2, dash: [1.5, 3.5] },
];

/** The style sheet names five; a sixth arm would be told apart by the table alone. */
const armColor = (index) => `arm-${index % 5}`;

/** arms: [{name, rows}], in the order of their colours. `show(index)` is told where the cursor is, null for nowhere. */
function curveChart(element, arms, show) {
  const narrow = element.clientWidth < 560;
  const tables = arms.map(({ rows }) => [rows.map((r) => r.idle_ns), ...PERCENTILES.map((p) => rows.map((r) => r[p.key]))]);
  const data = uPlot.join(tables);
  const all = data.slice(1).flat().filter((v) => v != null);
  const xRange = [data[0][0] * 0.9, data[0].at(-1) * 1.1], yRange = range125(Math.min(...all), Math.max(...all));
  const muted = color("muted");
  const axis = (scale, side, size, label, keep) => ({
    scale, side, size, label, labelFont: font(12), labelSize: 20, labelGap: 0,
    font: font(12), stroke: muted, gap: 6,
    splits: () => steps125(...(scale === "x" ? xRange : yRange)),
    filter: (u, splits) => splits.map((s) => (keep(s) ? s : null)),
    values: (u, splits) => splits.map((s) => (s === null ? "" : tick(s))),
    grid: { stroke: color("grid"), width: 1 }, ticks: { show: false },
  });
  const decade = (s) => /^10*$/.test(String(s));
  const plot = new uPlot({
    width: element.clientWidth,
    height: narrow ? 300 : 400,
    padding: [10, narrow ? 22 : 24, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 8 } },
    scales: { x: { time: false, distr: 3, range: () => xRange }, y: { distr: 3, range: () => yRange } },
    axes: [
      axis("x", 2, 26, "idle for", (s) => !narrow || decade(s)),
      axis("y", 3, 56, "wake latency", () => true),
    ],
    series: [{}, ...arms.flatMap((one, a) => PERCENTILES.map((p) => ({
      label: `${one.name} ${p.name}`,
      stroke: color(armColor(a)),
      width: p.width,
      dash: p.dash,
      cap: "round",
      spanGaps: true,
      points: { show: p.name === "p50", size: 6, fill: color(armColor(a)), stroke: color("paper"), width: 1 },
    })))],
    hooks: { setCursor: [(u) => show(u.cursor.idx ?? null)] },
  }, data, element);
  return { plot, data };
}

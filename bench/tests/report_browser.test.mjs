// The page in a real browser: node report_browser.test.mjs REPORT_PAGE OUT_DIR
// REPORT_PAGE makes a page of a bench JSON; pages and a picture of each view stay in OUT_DIR. Exit 77: no browser here.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

const [reportPage, out] = process.argv.slice(2);
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
if (!existsSync(executablePath)) {
  console.log(`skipped: no browser at ${executablePath} (set CHROMIUM)`);
  process.exit(77);
}
const { chromium } = createRequire(new URL("../report/", import.meta.url))("playwright-core");
const read = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8"));
const sample = read("data/bench_sample.json");

/** The page's address for a bench JSON. */
function make(name, bench) {
  mkdirSync(out, { recursive: true });
  const from = join(out, `${name}.json`), to = join(out, `${name}.html`);
  writeFileSync(from, JSON.stringify(bench));
  execFileSync(reportPage, [from, to], { stdio: ["ignore", "inherit", "inherit"] });
  return pathToFileURL(to).href;
}

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
});
after(() => browser?.close());

/** Opens the address, runs `look(page)`, and asserts that the console stayed silent and nothing but the file was asked for. */
async function view(url, { width = 1280, colorScheme = "light" }, look) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage(), said = [], asked = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(error.stack));
  page.on("dialog", (dialog) => { said.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(url);
  try {
    const result = await look(page);
    assert.deepEqual(said, []);
    assert.deepEqual(asked, [url]);
    return result;
  } finally {
    await context.close();
  }
}

/** Per canvas: how many colours it has, and how many pixels that are not transparent. */
const pixels = (page) => page.evaluate(() => [...document.querySelectorAll("canvas")].map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colors = new Map();
  for (const one of new Uint32Array(data.buffer)) colors.set(one, (colors.get(one) ?? 0) + 1);
  const most = [...colors].filter(([c]) => c >>> 24 === 255).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([c]) => c);
  return { colors: colors.size, painted: canvas.width * canvas.height - (colors.get(0) ?? 0), most };
}));

const overflow = (page) => page.evaluate(() => (
  document.documentElement.scrollWidth - document.documentElement.clientWidth));

const rows = (page, selector) => page.$$eval(`${selector} tbody tr`, (all) => all.map((row) => (
  [...row.children].map((cell) => cell.textContent))));

const decimal = (x) => x.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];  // the sample's rounds are odd

for (const width of [1280, 360]) {
  test(`charts are drawn and nothing overflows at ${width} px, light and dark`, async () => {
    const url = make("sample", sample), seen = {};
    for (const colorScheme of ["light", "dark"]) {
      seen[colorScheme] = await view(url, { width, colorScheme }, async (page) => {
        await page.screenshot({ path: join(out, `sample-${colorScheme}-${width}.png`), fullPage: true });
        assert.equal(await overflow(page), 0);
        for (const details of await page.$$("details > summary")) await details.click();
        assert.equal(await overflow(page), 0, "with everything unfolded");
        const drawn = await page.evaluate(() => ({
          log: __haltpoll.speedup.log, whiskers: __haltpoll.speedup.whiskers, series: __haltpoll.curve.plot.series.length,
        }));
        const compared = sample.comparisons.filter((c) => !c.error).length;
        assert.deepEqual(drawn, { log: true, whiskers: compared, series: 1 + 2 * 3 });
        return { pixels: await pixels(page), paper: await page.evaluate(() => getComputedStyle(document.body).backgroundColor) };
      });
      assert.equal(seen[colorScheme].pixels.length, 2);
      for (const canvas of seen[colorScheme].pixels) {
        assert.ok(canvas.colors > 50, `${canvas.colors} colours`);
        assert.ok(canvas.painted > 5000, `${canvas.painted} painted pixels`);
      }
    }
    assert.notEqual(seen.light.paper, seen.dark.paper);
    for (const i of [0, 1]) assert.notDeepEqual(seen.light.pixels[i].most, seen.dark.pixels[i].most);
  });
}

test("a whisker reaches from the lowest round to the highest", async () => {
  await view(make("sample", sample), {}, async (page) => {
    const ends = await page.evaluate((comparisons) => {
      const { plot } = __haltpoll.speedup, ink = getComputedStyle(document.body).color.match(/\d+/g).map(Number);
      const { width, height } = plot.ctx.canvas, { data } = plot.ctx.getImageData(0, 0, width, height);
      const isInk = (x, y) => {
        const [r, g, b, a] = data.subarray(4 * (Math.round(y) * width + Math.round(x)));
        return a > 60 && Math.abs(r - ink[0]) + Math.abs(g - ink[1]) + Math.abs(b - ink[2]) < 150;
      };
      return comparisons.map(({ speedup }, i) => {
        const y = plot.valToPos(i, "x", true), from = plot.valToPos(speedup.low, "y", true);
        const to = plot.valToPos(speedup.high, "y", true);
        const near = (x, step) => [0, -1, 1].some((dx) => isInk(x + dx, y + step));
        return { low: near(from, 3), high: near(to, 3), beyond: isInk(to + 6, y) };
      });
    }, sample.comparisons.filter((c) => !c.error));
    for (const end of ends) assert.deepEqual(end, { low: true, high: true, beyond: false });
  });
});

test("the tables hold the run's figures", async () => {
  await view(make("sample", sample), {}, async (page) => {
    const comparisons = await rows(page, "#comparisons"), compared = sample.comparisons.filter((c) => !c.error);
    assert.equal(comparisons.length, compared.length);
    const ratio = (x) => `${x < 10 ? x.toFixed(2) : x.toFixed(1)}×`;
    compared.forEach((c, i) => {
      const of = (backend) => sample.results.filter((r) => r.workload === c.workload && r.backend === backend);
      const before = of(c.baseline), after = of(c.candidate), row = comparisons[i];
      const micro = (key, from) => decimal(median(from.map((r) => r[key])) / 1e3);
      const total = (key, from) => from.reduce((sum, r) => sum + r[key], 0);
      assert.equal(row[0], `${c.workload}${c.placement}, ${c.baseline} → ${c.candidate}`);
      if (c.metric === "p50_ns") assert.deepEqual(row.slice(1, 3), [micro("p50_ns", before), micro("p50_ns", after)]);
      else assert.deepEqual(row.slice(1, 3), ["1,187/s", "1,184/s"]);
      assert.equal(row[3], `${ratio(c.speedup.median)}${ratio(c.speedup.low)} .. ${ratio(c.speedup.high)}`);
      assert.equal(row[4], micro("cpu_ns_per_op", before));
      assert.equal(row[5], micro("cpu_ns_per_op", after) + ratio(c.cpu_ratio));
      assert.equal(row[6], (total("halts", before) / total("ops", before)).toFixed(2));
      assert.equal(row[7], (total("halts", after) / total("ops", after)).toFixed(2));
      const polls = total("polls", after);
      assert.equal(row[8], polls ? `${((100 * total("hits", after)) / polls).toFixed(1)} %` : "–");
      const proved = polls ? "shown" : "by build";
      assert.equal(row[10], `${proved}0 / ${polls.toLocaleString("en-US")}`);
    });
    const epoll = comparisons.find((row) => row[0].startsWith("epoll"));
    assert.match(epoll[9], /^\d+\.\d+ ns per ns$/, "what the latency cost, where it cost CPU");

    const results = await rows(page, "#results");
    assert.equal(results.length, sample.results.length);
    sample.results.forEach((r, i) => {
      assert.equal(results[i][0], r.workload + r.placement);
      if (r.error) assert.deepEqual(results[i].slice(1), [r.backend, "failed", ...Array(8).fill("–")]);
      else assert.equal(results[i][4], r.p50_ns.toLocaleString("en-US"));
    });

    const curve = await rows(page, "#curve"), own = sample.results.filter((r) => r.curve && r.backend === "process");
    assert.deepEqual(curve.map((row) => row[0]), own[0].curve.map((r) => decimal(r.idle_ns / 1e3)));
    const first = median(own.map((r) => r.curve[0].wake_p50_ns));
    assert.equal(curve[0][4], decimal(first / 1e3));

    assert.equal((await rows(page, "#parts")).length, 3);
    assert.deepEqual(await page.$$eval("#failures li", (all) => all.map((one) => one.textContent)),
      ["idle, all-cpus, off → process: process has no sample", "idle, all-cpus, process: worker took longer than 60 s and was killed"]);
    const facts = await page.textContent("#machine");
    for (const fact of [sample.machine.model, sample.machine.kernel, "2026-11-30 21:04 UTC", "Rounds5", "Quietyes"]) {
      assert.ok(facts.includes(fact), fact);
    }
    assert.equal(await page.textContent("#command"), sample.command);
    assert.match(await page.textContent("#verdict"), /^14 comparisons: 11\s?faster/);
    assert.ok(await page.isHidden("#noise"));
  });
});

test("text and bars stand out from the paper in both themes", async () => {
  for (const colorScheme of ["light", "dark"]) {
    await view(make("sample", sample), { colorScheme }, async (page) => {
      const colors = await page.evaluate(() => Object.fromEntries(["paper", "ink", "muted", "faster", "slower", "unclear",
        "arm-0", "arm-1", "arm-2", "arm-3", "arm-4"].map((name) => [name,
          getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()])));
      const luminance = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
      const paper = luminance(colors.paper);
      for (const [name, hex] of Object.entries(colors)) {
        if (name === "paper") continue;
        const [dark, light] = [paper, luminance(hex)].sort((a, b) => a - b), contrast = (light + 0.05) / (dark + 0.05);
        // WCAG 2.1: 4.5 for text, 3 for graphics.
        const least = ["ink", "muted", "faster", "slower"].includes(name) ? 4.5 : 3;
        assert.ok(contrast >= least, `${colorScheme} ${name}: ${contrast}`);
      }
    });
  }
});

test("the lock file pins the packages and names no registry", () => {
  const { packages } = read("../report/package-lock.json"), installed = Object.entries(packages).filter(([path]) => path);
  assert.equal(installed.length, 2);
  for (const [path, { integrity, resolved }] of installed) assert.ok(integrity && !resolved, path);
});

test("hostile strings stay text", async () => {
  const hostile = '</script><img src=x onerror="alert(1)"><script>alert(2)</script><!--\u2028${alert(3)}';
  const bench = structuredClone(sample);
  const fields = { workload: hostile, placement: hostile, backend: hostile, baseline: hostile, candidate: hostile, name: hostile };
  const poison = (row) => { for (const key of Object.keys(row)) if (key in fields) row[key] = hostile; };
  for (const row of [...bench.results, ...bench.comparisons]) {
    poison(row);
    for (const part of row.parts ?? []) poison(part);
    if (row.error) row.error = hostile;
  }
  bench.machine.model = bench.machine[hostile] = bench.command = bench.date = bench.governor = hostile;
  for (const width of [1280, 360]) {
    await view(make("hostile", bench), { width }, async (page) => {
      assert.equal(await page.locator("img").count(), 0);
      assert.equal(await page.locator("script").count(), 3);
      assert.equal(await page.textContent("#command"), hostile);
      assert.ok((await rows(page, "#comparisons"))[0][0].startsWith(hostile));
      assert.equal(await overflow(page), 0);
    });
  }
});

test("small differences are drawn on a linear axis, noise and missing proof are said", async () => {
  const bench = structuredClone(sample);
  bench.machine.quiet = false;
  bench.comparisons = bench.comparisons.filter((c) => c.workload === "pipe-same-cpu" || c.workload === "messaging");
  Object.assign(bench.comparisons[0].speedup, { low: 0.91, median: 0.93, high: 0.95 });
  for (const r of bench.results) if (r.workload === "messaging") r.polls = 0;
  await view(make("mild", bench), {}, async (page) => {
    await page.screenshot({ path: join(out, "mild.png"), fullPage: true });
    assert.equal(await page.evaluate(() => __haltpoll.speedup.log), false);
    assert.ok(await page.isVisible("#noise"));
    assert.match(await page.textContent("#verdict"), /1\s?slower, 1\s?without/);
    assert.equal((await rows(page, "#comparisons"))[1].at(-1), "NOT shown0 / 0");
  });
});

test("an empty run makes a page", async () => {
  const empty = { schema: "haltpoll.bench/1", machine: {}, results: [], comparisons: [] };
  await view(make("empty", empty), {}, async (page) => {
    assert.equal(await page.textContent("#verdict"), "No comparison in this run");
    for (const section of ["#speedup", "#comparisons", "#curve", "#parts", "#failures"]) {
      assert.ok(await page.isHidden(section), section);
    }
  });
});

test("the curve is read by keyboard; a change of theme or width redraws", async () => {
  await view(make("sample", sample), {}, async (page) => {
    await page.focus("#curve .chart");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    assert.match(await page.textContent("#curve .readout"), /^idle 5\.00 µs · off p50 \d.* · process p50 \d/);
    const light = await pixels(page), stroke = await page.evaluate(() => __haltpoll.curve.plot.axes[0].stroke());
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForFunction((before) => before !== __haltpoll.curve.plot.axes[0].stroke(), stroke);
    const dark = await pixels(page);
    for (const i of [0, 1]) assert.notDeepEqual(light[i].most, dark[i].most);
    await page.setViewportSize({ width: 500, height: 900 });
    await page.waitForFunction(() => __haltpoll.curve.plot.width < 500);
    assert.equal(await page.locator("canvas").count(), 2, "the old ones are gone");
    assert.equal(await overflow(page), 0);
  });
});

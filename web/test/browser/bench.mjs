// Measures the page on a daemon with many sessions. Prints one line of JSON; judges nothing.
import { readFileSync } from "node:fs";
import { asked, json, link, scenario, tcp, usage } from "./lib.mjs";

const LOAD_SECONDS = Number(process.env.SM_LOAD_SECONDS ?? 60);
const PER_SECOND = 200;

const percentile = (samples, share) => samples.toSorted((a, b) => a - b)[Math.ceil(samples.length * share) - 1];
const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

const { hostname, port } = new URL(tcp());
const used = (session, percent) => asked(hostname, port, "POST", "/hooks/context-usage", usage(session, percent));

await scenario(async ({ page }) => {
  const found = {};
  const sessions = json("ls").map(({ id, name }) => ({ id, name }));
  const client = await page.context().newCDPSession(page);
  await client.send("Network.enable");
  let bytes = 0;
  const streams = new Set();
  client.on("Network.responseReceived", ({ requestId, response }) => {
    if (response.mimeType === "text/event-stream") streams.add(requestId);
  });
  client.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (!streams.has(requestId)) bytes += encodedDataLength;
  });
  await page.goto(link());
  await page.waitForFunction((count) => document.querySelectorAll("a[data-session]").length === count, sessions.length);
  found.first_load_bytes = bytes;

  // Usable: a screenful is there, and keys lead through it. Whole: so is every other row.
  const usable = [];
  const whole = [];
  for (let round = 0; round < 9; round += 1) {
    await page.addInitScript((count) => {
      const look = () => {
        const there = document.querySelectorAll("a[data-session]").length;
        if (there > 0) globalThis.usableAt ??= performance.now();
        if (there === count) globalThis.wholeAt = performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }, sessions.length);
    await page.reload();
    await page.waitForFunction(() => globalThis.wholeAt !== undefined);
    usable.push(await page.evaluate(() => globalThis.usableAt));
    whole.push(await page.evaluate(() => globalThis.wholeAt));
  }
  found.usable_ms = percentile(usable, 0.5);
  found.whole_ms = percentile(whole, 0.5);

  // The page notes when a number is on the screen; both clocks are this machine's.
  const appears = [];
  for (let round = 0; round < 40; round += 1) {
    const { id } = sessions[round % 20];
    const percent = 20 + round;
    const seen = page.evaluate(
      ([session, wanted]) =>
        new Promise((done) => {
          const look = () => {
            const number = document.querySelector(`a[data-session="${session}"] .number`);
            if (number?.textContent === `${wanted}%`) done(Date.now());
            else requestAnimationFrame(look);
          };
          look();
        }),
      [id, percent],
    );
    const began = Date.now();
    await used(id, percent);
    appears.push((await seen) - began);
  }
  found.appears_ms = percentile(appears, 0.95);

  await client.send("HeapProfiler.enable");
  const heap = async () => {
    await client.send("HeapProfiler.collectGarbage");
    return (await client.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };
  const pid = Number(process.env.SM_DAEMON_PID);
  let sent = 0;
  let going = true;
  const load = (async () => {
    const began = Date.now();
    while (going) {
      const due = Math.floor(((Date.now() - began) / 1000) * PER_SECOND);
      const batch = [];
      for (; sent < due; sent += 1) batch.push(used(sessions[sent % sessions.length].id, 10 + (sent % 80)));
      await Promise.all(batch);
      await new Promise((done) => setTimeout(done, 5));
    }
    return (Date.now() - began) / 1000;
  })();
  const interactions = [];
  // From the key as the browser got it to the picture after it. It listens all the time: a key may be
  // faster than the order to listen.
  await page.evaluate(() => {
    globalThis.took = [];
    const note = (event) =>
      requestAnimationFrame(() => setTimeout(() => globalThis.took.push(performance.now() - event.timeStamp)));
    addEventListener("keydown", note, { capture: true });
  });
  const until = Date.now() + LOAD_SECONDS * 1000;
  // What is kept by design (points of every curve) is there after the first part.
  let before;
  let daemonBefore;
  while (Date.now() < until) {
    if (before === undefined && until - Date.now() < LOAD_SECONDS * 500) {
      before = await heap();
      daemonBefore = rss(pid);
    }
    await page.keyboard.press(interactions.length % 7 === 0 ? "k" : "j");
    const count = interactions.length + 1;
    await page.waitForFunction((wanted) => globalThis.took.length >= wanted, count);
    interactions.push(await page.evaluate((at) => globalThis.took[at], count - 1));
    await new Promise((done) => setTimeout(done, 100));
  }
  found.heap_mb = before;
  found.heap_growth_mb = (await heap()) - before;
  found.daemon_growth_mb = rss(pid) - daemonBefore;
  going = false;
  found.load_seconds = await load;
  found.events_per_second = sent / found.load_seconds;
  found.interactions = interactions.length;
  found.interaction_ms = percentile(interactions, 0.95);
  console.log(JSON.stringify(found));
});

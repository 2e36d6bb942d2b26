// What agents, documents and messages say is text on the page, whatever it is.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { agent, asProgram, equal, eventually, json, row, run, runGiven, scenario, signIn, yes } from "./lib.mjs";

const EVIL = `<img src=x onerror="window.hit=1"><script>window.hit=1</script><a href="javascript:window.hit=1">x</a>`;

await scenario(async ({ page }) => {
  const { id, cwd } = agent("api");
  const named = await asProgram("PATCH", `/sessions/${id}`, { name: "<img src=x onerror=window.hit=1>" });
  // Either such a name is refused, or it is shown as it is.
  const name = named === 200 ? "<img src=x onerror=window.hit=1>" : "api";
  await signIn(page);
  await page.locator("a[data-session] .name", { hasText: name }).click();

  runGiven(`SAY: ${EVIL}`, "send", id, "--wait", "60", "-");
  await page.getByRole("link", { name: "messages" }).click();
  await page.locator(".receipt .text", { hasText: "<script>" }).waitFor();
  await page.getByRole("link", { name: "terminal" }).click();
  await page.getByText("Live, read-only.").waitFor();
  await eventually("the terminal shows it", async () =>
    (await page.locator(".xterm-rows").textContent()).includes("onerror"),
  );

  const file = join(cwd, "notes.md");
  writeFileSync(file, `# Goal\n\nFinish.\n\n${EVIL}\n\n- ${EVIL}\n\n[x](javascript:window.hit=1) ![p](http://192.0.2.1/p.png)\n`);
  run("handoff", file, "--session", id, "--force");
  await page.getByRole("link", { name: "handoffs" }).click();
  const newest = page.locator(".lineage > li").first();
  await eventually("it is done", async () => (await newest.getAttribute("data-state")) === "done");
  await newest.locator(".markdown", { hasText: "onerror" }).waitFor();
  equal(await newest.locator(".markdown img, .markdown script, .markdown a").count(), 0, "no element of theirs");
  for (const tab of ["timeline", "ledger", "pins", "context", "archive"]) {
    await page.getByRole("link", { name: tab, exact: true }).click();
    await page.locator(`.view[data-tab=${tab}]`).waitFor();
  }
  equal(await page.evaluate(() => window.hit ?? null), null, "nothing of theirs has run");
  yes(json("show", id).id === id, "the session is there");
});

// Every view at three widths, light and dark: no serious fault that axe-core finds, nothing wider than
// the page, and pictures to look at.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { agent, equal, reports, row, run, scenario, shot, signedOut, signIn } from "./lib.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function faults(page, where) {
  // Evaluated by the test, not loaded by the page: its policy allows no foreign script.
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const serious = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const said = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ").slice(0, 600)}`);
  equal(said, [], `serious faults of ${where}`);
}

await scenario(async ({ browser, page: first, complaints }) => {
  agent("api");
  agent("a-session-with-a-very-long-name-that-does-not-fit-anywhere");
  equal(await reports("a-session-with-a-very-long-name-that-does-not-fit-anywhere", 91), 200, "usage is taken");
  for (const percent of [10, 35, 58, 77]) {
    equal(await reports("api", percent), 200, "usage is taken");
  }
  run("send", "api", "SAY: some work is done", "--wait", "60");
  run("handoff", "--auto", "--session", "api");
  run("wait", "api", "--for", "idle", "--timeout", "60");
  await first.close();

  for (const scheme of ["light", "dark"])
    for (const width of [390, 1024, 1920]) {
      const page = await signedOut(browser, complaints, {
        colorScheme: scheme,
        viewport: { width, height: width === 390 ? 844 : 900 },
        reducedMotion: "reduce",
      });
      await signIn(page);
      const at = `${width}-${scheme}`;
      const looked = async (name) => {
        await faults(page, `${name} ${at}`);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        equal(over <= 0, true, `${name} ${at} is ${over} px wider than the page`);
        await shot(page, `${name}-${at}`);
      };
      await row(page, "api").waitFor();
      await looked("overview");
      await page.getByLabel("Show as").selectOption("cards");
      await looked("cards");
      await row(page, "api").click();
      await page.getByText("Live, read-only.").waitFor();
      await looked("terminal");
      for (const [tab, sign] of [
        ["timeline", ".timeline li"],
        ["messages", ".receipt"],
        ["context", ".facts"],
        ["handoffs", ".lineage .markdown"],
        ["ledger", ".markdown, .problem"],
        ["archive", ".line"],
        ["pins", ".pins"],
      ]) {
        await page.getByRole("link", { name: tab, exact: true }).click();
        await page.locator(sign).first().waitFor();
        if (tab === "archive") {
          await page.getByPlaceholder("Regular expression").fill("work is d.ne");
          await page.getByRole("button", { name: "Search" }).click();
          await page.locator(".found .hit").first().waitFor();
        }
        await looked(tab);
      }
      await page.getByRole("button", { name: "Hand over…" }).click();
      await looked("dialog");
      await page.close();
    }
});

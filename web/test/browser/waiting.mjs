// What a dialog asks is on the page, in the words of the agent; times are those of `sm ls`.
import { agent, equal, eventually, json, reports, row, run, scenario, signIn, yes } from "./lib.mjs";

await scenario(async ({ page }) => {
  agent("api");
  await signIn(page);
  run("send", "api", "ASK: rm -rf build");
  json("wait", "api", "--for", "waiting", "--timeout", "60");
  const needs = page.locator(".attention li");
  await needs.getByText("rm -rf build").waitFor();
  // held behind the dialog, and nearly full: still one session that needs somebody
  run("send", "api", "later");
  equal(await reports("api", 92), 200, "usage is taken");
  await eventually("all that it needs is told", async () => (await needs.textContent()).includes("also:"));
  equal(await needs.count(), 1, "it is listed once");
  equal(await page.locator("#attention small").textContent(), "1", "and counted once");

  const since = json("show", "api").state_since;
  equal(await row(page, "api").locator(".when time").getAttribute("datetime"), since, "since when, as sm says it");
  await row(page, "api").click();
  await page.locator(".asks code").getByText("rm -rf build", { exact: true }).waitFor();
  yes((await page.locator(".why").textContent()).includes("rm -rf build"), "why it waits has the command");
});

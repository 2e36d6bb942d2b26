// A handoff that finds no successor: the overview and the session say so, and what to do, until
// somebody goes on with the session.
import { agent, row, run, scenario, signIn, yes } from "./lib.mjs";

await scenario(async ({ page }) => {
  agent("api");
  run("send", "api", "SAY: some work is done", "--wait", "60");
  await signIn(page);
  await row(page, "api").waitFor();
  run("handoff", "--auto", "--session", "api");
  const need = page.locator(".attention .need.rolled-back");
  await need.getByText("handoff failed").waitFor({ timeout: 120_000 });
  yes((await need.textContent()).includes("could not be given its prompt"), "the overview says why");
  await need.locator("a").click();
  await page.locator(".failed-handoff", { hasText: "rolled back" }).waitFor();
  yes(
    /sm handoff \S+document\.md --session api/.test(await page.locator(".failed-handoff").textContent()),
    "it says how to try again",
  );
  await page.locator(".lineage > li[data-state=rolled_back]").waitFor();

  await page.locator("#send-text").fill("are you there?");
  await page.keyboard.press("Control+Enter");
  await page.locator(".failed-handoff").waitFor({ state: "detached" });
  await page.goto(page.url().replace(/#.*/, "#/"));
  await row(page, "api").waitFor();
  await need.waitFor({ state: "detached" });
});

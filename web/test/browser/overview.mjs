// What the command line does is seen by itself: a session appears, its gauge follows, it is renamed,
// it ends. Keys lead through the list.
import { agent, equal, eventually, json, reports, row, run, scenario, signIn, yes } from "./lib.mjs";

await scenario(async ({ page }) => {
  await signIn(page);
  await page.getByText("No sessions yet").waitFor();
  agent("api");
  await row(page, "api").waitFor();
  await row(page, "api").getByText("idle").waitFor();

  for (const percent of [12, 81]) {
    equal(await reports("api", percent), 200, "usage is taken");
    await row(page, "api").getByText(`${percent}%`).waitFor();
  }
  await page.locator(".attention").getByText("context nearly full").waitFor();

  agent("web");
  agent("docs");
  await row(page, "docs").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("we");
  await eventually("the search leaves one", async () => (await page.locator("a[data-session]").count()) === 1);
  await page.keyboard.press("Escape");
  await eventually("Escape shows all", async () => (await page.locator("a[data-session]").count()) === 3);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  equal(await page.evaluate(() => document.activeElement?.querySelector(".name")?.textContent), "docs", "j, j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "docs", level: 1 }).waitFor();
  await page.keyboard.press("2");
  await page.locator(".timeline li").first().waitFor();
  await page.keyboard.press("Escape");
  await row(page, "web").waitFor();

  run("rename", "web", "site");
  await row(page, "site").waitFor();
  equal(await row(page, "web").count(), 0, "the old name is gone");
  await row(page, "site").click();
  await page.getByRole("button", { name: "Rename…" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("shop");
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await page.getByRole("heading", { name: "shop", level: 1 }).waitFor();
  equal(json("show", "shop").name, "shop", "renamed from the page");

  await page.getByRole("button", { name: "Kill…" }).click();
  await page.getByRole("button", { name: "Keep it" }).click();
  yes(json("show", "shop").state !== "exited", "keeping keeps");
  await page.getByRole("button", { name: "Kill…" }).click();
  await page.getByRole("button", { name: "Kill it" }).click();
  await page.locator("main .state", { hasText: "ended" }).first().waitFor();
  equal(json("show", "shop").state, "exited", "killed from the page");

  // What has ended is out of the way, and can be had.
  await page.goto(page.url().replace(/#.*/, "#/"));
  await page.reload();
  await row(page, "api").waitFor();
  equal(await row(page, "shop").count(), 0, "an ended one is not in the way");
  await page.getByLabel("Ended").selectOption("shown");
  await row(page, "shop").waitFor();
  await page.getByLabel("Ended").selectOption("hidden");
  await row(page, "shop").waitFor({ state: "detached" });
  yes((await row(page, "api").count()) === 1, "the others stay");
});

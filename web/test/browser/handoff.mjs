// A handoff asked for on the page: its steps appear as they happen, its document is shown, and the
// difference to the next one.
import { agent, eventually, json, row, run, scenario, signIn, yes } from "./lib.mjs";

async function handOver(page) {
  await page.getByRole("button", { name: "Hand over…" }).click();
  await page.getByRole("button", { name: "Hand over", exact: true }).click();
}

await scenario(async ({ page }) => {
  agent("api");
  run("send", "api", "SAY: the first work is done", "--wait", "60");
  await signIn(page);
  await row(page, "api").click();
  await handOver(page);
  await page.getByRole("link", { name: "handoffs" }).click();
  const newest = page.locator(".lineage > li").first();
  await eventually("it is done", async () => (await newest.getAttribute("data-state")) === "done");
  yes((await newest.locator(".steps li").count()) >= 3, "its steps are shown");
  yes((await newest.locator(".markdown").textContent()).length > 50, "its document is shown");
  await page.getByText("generation 2", { exact: true }).waitFor();

  run("send", "api", "SAY: the second work is done", "--wait", "60");
  await eventually("it is idle", () => json("show", "api").state === "idle");
  await handOver(page);
  await eventually("the second is done", async () => {
    const list = page.locator(".lineage > li");
    return (await list.count()) === 2 && (await list.first().getAttribute("data-state")) === "done";
  });
  await page.getByLabel("difference to the document before").check();
  await page.locator(".difference .added").first().waitFor();
});

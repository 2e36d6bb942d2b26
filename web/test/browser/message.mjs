// A message from the page reaches the agent, and its receipt walks to the end.
import { agent, eventually, row, run, scenario, signIn, yes } from "./lib.mjs";

await scenario(async ({ page }) => {
  agent("api");
  await signIn(page);
  await row(page, "api").click();
  await page.keyboard.press("m");
  await page.keyboard.type("SAY: hello from the page");
  await page.keyboard.press("Control+Enter");
  const receipt = page.locator(".send .receipt");
  await receipt.waitFor();
  await eventually("the receipt is consumed", async () => (await receipt.getAttribute("data-state")) === "consumed");
  const reached = await receipt.locator(".way .reached").allTextContents();
  yes(reached.join(" ") === "queued written submitted consumed", `the steps: ${reached}`);
  yes(await receipt.getByText("proven by").count(), "the proof is named");

  await page.getByRole("link", { name: "messages" }).click();
  await page.locator(".messages .receipt", { hasText: "hello from the page" }).waitFor();
  yes(run("output", "api").includes("hello from the page"), "the agent has it");
});

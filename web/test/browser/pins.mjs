// A pin of the session is taken back; one of the project says where it is and how it goes.
import { mkdirSync, writeFileSync } from "node:fs";
import { agent, equal, asProgram, row, run, scenario, signIn, yes } from "./lib.mjs";

await scenario(async ({ page }) => {
  mkdirSync(".sm", { recursive: true });
  writeFileSync(".sm/pins.md", "- never push\n");
  agent("api");
  run("pin", "add", "be quick", "--session", "api");
  await signIn(page);
  await row(page, "api").click();
  await page.getByRole("link", { name: "pins" }).click();
  const pin = (text) => page.locator(".pins li", { hasText: text });
  await pin("be quick").getByRole("button", { name: "Unpin" }).click();
  await pin("be quick").waitFor({ state: "detached" });
  equal(await pin("never push").getByRole("button").count(), 0, "no button that does nothing");
  const how = await pin("never push").locator(".how").textContent();
  yes(how.includes(".sm/pins.md") && how.includes("sm pin rm --project"), `how it goes: ${how}`);
  equal(await asProgram("DELETE", "/sessions/api/pins", { text: "never push" }), 409, "it is refused, not ignored");
  run("pin", "rm", "never push", "--project");
  await page.reload();
  await page.getByText("None yet.").waitFor();
});

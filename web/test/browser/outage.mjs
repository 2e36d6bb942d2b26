// The daemon is killed and comes back: the page says so, recovers by itself, and has missed nothing.
import { agent, equal, eventually, expect, json, row, run, scenario, signIn, tcp } from "./lib.mjs";

expect(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|WebSocket|ERR_CONNECTION_RESET|Failed to load/);
await scenario(async ({ page }) => {
  agent("api");
  await signIn(page);
  await row(page, "api").click();
  await page.getByRole("link", { name: "timeline" }).click();
  await page.getByLabel("also readings of the context").check();
  await page.locator(".timeline li").first().waitFor();
  const address = tcp();

  for (const round of [1, 2, 3]) {
    process.kill(json("status").pid, "SIGKILL");
    await page.getByText("Daemon gone").waitFor();
    const [program, ...command] = (await page.locator(".link-state.gone code").textContent()).split(" ");
    equal(program, "sm", "the page names a command");
    run(...command);
    equal(json("status").pid > 0, true, "and that command starts it");
    // What happens now may happen without the page.
    run("send", "api", `SAY: round ${round}`, "--wait", "60");
    equal(tcp(), address, "it comes back where it was");
    await page.getByRole("status").getByText("live", { exact: true }).waitFor();
  }
  // Somebody said `sm stop`: the command that is named starts it all the same.
  run("stop");
  await page.getByText("Daemon gone").waitFor();
  run(...(await page.locator(".link-state.gone code").textContent()).split(" ").slice(1));
  await page.getByRole("status").getByText("live", { exact: true }).waitFor();
  await eventually("all that happened is shown, each once", async () => {
    const known = json("events", "api", "--last", "1000").map(({ text }) => text).reverse();
    const seen = await page.locator(".timeline .text").allTextContents();
    return JSON.stringify(known) === JSON.stringify(seen);
  });
});

// Going elsewhere and coming back, a reload, a daemon that restarts: what was typed is there, and the
// page is where it was.
import { agent, equal, eventually, expect, json, row, run, scenario, signIn } from "./lib.mjs";

expect(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|WebSocket|ERR_CONNECTION_RESET|Failed to load|status of 4/);
await scenario(async ({ page }) => {
  agent("api");
  agent("web");
  await signIn(page);
  const field = page.getByLabel("Message", { exact: true });
  const draft = "half a message\nof two lines";
  await row(page, "api").click();
  await field.fill(draft);
  await page.getByLabel("When").selectOption("important");
  const there = async (what) => {
    equal(await field.inputValue(), draft, what);
    equal(await page.getByLabel("When").inputValue(), "important", what);
  };
  await page.getByRole("link", { name: "timeline" }).click();
  await there("after another view");
  await page.getByRole("link", { name: "← All" }).click();
  await row(page, "web").click();
  equal(await field.inputValue(), "", "another session has its own");
  await field.fill("for web");
  await page.goBack();
  await row(page, "api").click();
  await there("after another session");
  await page.reload();
  await page.getByRole("status").getByText("live", { exact: true }).waitFor();
  await there("after a reload");
  process.kill(json("status").pid, "SIGKILL");
  await page.getByText("Daemon gone").waitFor();
  run("ls");
  await page.getByRole("status").getByText("live", { exact: true }).waitFor();
  await there("after another daemon");

  // A name that is refused is not typed again; one that was not used is still there.
  await page.getByRole("button", { name: "Rename…" }).click();
  const name = page.getByRole("dialog").getByLabel("Name");
  await name.fill("web");
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await page.getByRole("dialog").getByRole("alert").waitFor();
  equal(await name.inputValue(), "web", "it says why, and keeps what was typed");
  await name.fill("api-2");
  await page.goBack();
  await page.goForward();
  await page.getByRole("button", { name: "Rename…" }).click();
  equal(await name.inputValue(), "api-2", "after going away");
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await page.getByRole("heading", { name: "api-2" }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });

  // One that was not changed is no draft: it follows the session's name.
  await page.getByRole("button", { name: "Rename…" }).click();
  equal(await name.inputValue(), "api-2", "the present name");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  run("rename", "api-2", "api-3");
  await page.getByRole("heading", { name: "api-3" }).waitFor();
  await page.getByRole("button", { name: "Rename…" }).click();
  equal(await name.inputValue(), "api-3", "the name it has now");
  await page.keyboard.press("Escape");

  // Who is to write a handoff's document.
  await page.getByRole("button", { name: "Hand over…" }).click();
  await page.getByRole("radio", { name: /the agent itself/ }).check();
  await page.goBack();
  await page.goForward();
  await page.getByRole("button", { name: "Hand over…" }).click();
  equal(await page.getByRole("radio", { name: /the agent itself/ }).isChecked(), true, "as it was chosen");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  // What brings back a session that has ended names it by its id: others may get its name.
  await page.getByRole("button", { name: "Kill…" }).click();
  await page.getByRole("dialog").getByText(`sm restore ${json("show", "api-3").id}`).waitFor();
  await page.getByRole("button", { name: "Keep it" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });

  // A sent message leaves no draft behind.
  await field.focus();
  await page.keyboard.press("Control+Enter");
  await page.locator(".send .receipt").waitFor();
  await eventually("the field is empty", async () => (await field.inputValue()) === "");

  // Where a long view was scrolled to.
  for (let at = 0; at < 12; at += 1) run("send", "web", `SAY: line ${at}`, "--wait", "60");
  await page.setViewportSize({ width: 900, height: 400 });
  await page.getByRole("link", { name: "← All" }).click();
  await row(page, "web").click();
  await page.getByRole("link", { name: "timeline" }).click();
  await page.locator(".timeline li").nth(30).waitFor();
  const scrolled = () => page.evaluate(() => Math.round(scrollY));
  await page.evaluate(() => scrollTo(0, 420));
  await eventually("it is scrolled", async () => (await scrolled()) === 420);
  // by key: to click a link above would scroll to it
  await page.keyboard.press("4");
  await eventually("a view that is new begins at its top", async () => (await scrolled()) === 0);
  await page.keyboard.press("2");
  await eventually("back where it was", async () => (await scrolled()) === 420);
  await page.keyboard.press("Escape");
  await page.locator("main.overview").waitFor();
  await page.goBack();
  await eventually("also by the way back", async () => (await scrolled()) === 420);
  await page.reload();
  await eventually("also after a reload", async () => (await scrolled()) === 420);
});

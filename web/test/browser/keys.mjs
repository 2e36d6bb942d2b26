// A click into a terminal that is only looked at takes no key from the page; one that was taken over
// gets them all, and one key gives it back.
import { agent, equal, eventually, row, run, scenario, signIn, yes } from "./lib.mjs";

await scenario(async ({ page }) => {
  // What the page sent is asked, not what its emulator has drawn of the answer: that comes later, and
  // is drawn anew whenever the daemon sends the screen again.
  let typed = "";
  page.on("websocket", (socket) =>
    socket.on("framesent", ({ payload }) => {
      if (typeof payload !== "string") return;
      const said = JSON.parse(payload);
      if (said.type === "keys") typed += said.data;
    }),
  );
  agent("api");
  await signIn(page);
  // The key right after a click, with nothing between them, is for what the click leads to.
  const focused = await row(page, "api").evaluate(async (link) => {
    link.click();
    await Promise.resolve();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "m", bubbles: true }));
    return document.activeElement?.id;
  });
  equal(focused, "send-text", "a message can be written at once");
  await page.goBack();
  await page.locator("main.overview").waitFor();

  const open = async () => {
    await row(page, "api").click();
    await page.getByText("Live, read-only.").waitFor();
    await page.locator(".xterm-screen").click();
  };
  await open();
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("give a terminal back").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  await page.locator(".xterm-screen").click();
  const inside = () => page.evaluate(() => document.activeElement?.closest(".xterm") !== null);
  yes(await inside(), "the click has put the focus into the terminal");
  await page.keyboard.press("Tab");
  yes(!(await inside()), "Tab leaves it");
  await page.locator(".xterm-screen").click();
  await page.keyboard.press("Shift+Tab");
  yes(!(await inside()), "and so does Shift+Tab");
  await page.locator(".xterm-screen").click();
  await page.keyboard.press("Escape");
  await page.locator("main.overview").waitFor();

  await open();
  await page.getByRole("button", { name: "Take over…" }).click();
  await page.getByRole("button", { name: "Take over", exact: true }).click();
  await page.getByText("You type into this terminal.").waitFor();
  await page.keyboard.type("is it? 3");
  await eventually("what is typed is the agent's", () => typed === "is it? 3");
  await eventually("and stands in its line", () => run("output", "api").replaceAll("\u00a0", " ").includes("is it? 3"));
  equal(await page.getByRole("dialog").count(), 0, "no key of it was the page's");
  await page.keyboard.press("Control+Shift+Enter");
  await page.getByText("Live, read-only.").waitFor();
  equal(typed, "is it? 3", "and nothing was sent by it");
  yes(!run("output", "api").includes("is it? 3\n\n●"), "the agent was asked nothing");
  await page.keyboard.press("Escape");
  await page.locator("main.overview").waitFor();
});

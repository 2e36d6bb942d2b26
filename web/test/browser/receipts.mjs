// A receipt tells what a message went through as it happened; waiting for the end of a turn is calm,
// waiting for a person is not.
import { agent, equal, eventually, json, row, run, scenario, signIn, yes } from "./lib.mjs";

await scenario(async ({ page }) => {
  agent("api");
  await signIn(page);
  await row(page, "api").click();
  await page.getByRole("link", { name: "messages" }).click();
  const receipt = (text) => page.locator(".messages .receipt", { hasText: text });
  const way = async (text) => (await receipt(text).locator(".way li").allTextContents()).join(" ");
  const colour = (text) =>
    receipt(text)
      .locator(".way .now")
      .evaluate((one) => getComputedStyle(one).color);
  const named = (name) =>
    page.evaluate((wanted) => {
      const probe = document.createElement("i");
      probe.style.color = `var(${wanted})`;
      document.body.append(probe);
      const found = getComputedStyle(probe).color;
      probe.remove();
      return found;
    }, name);

  run("send", "api", "SLEEP: 8");
  json("wait", "api", "--for", "working", "--timeout", "60");
  run("send", "api", "after the turn");
  await eventually("it is held", async () => (await receipt("after the turn").getAttribute("data-state")) === "held");
  await eventually("in its place", async () => (await way("after the turn")) === "queued held written submitted consumed");
  equal(await colour("after the turn"), await named("--busy"), "that is the ordinary case");
  await eventually("it arrives", async () => (await receipt("after the turn").getAttribute("data-state")) === "consumed");
  await eventually("the order stays", async () => /^queued held .*consumed$/.test(await way("after the turn")));
  yes(!(await way("after the turn")).endsWith("held"), "what was first is not told last");

  run("send", "api", "ASK: true");
  json("wait", "api", "--for", "waiting", "--timeout", "60");
  run("send", "api", "behind a dialog");
  await eventually("it is held", async () => (await receipt("behind a dialog").getAttribute("data-state")) === "held");
  equal(await colour("behind a dialog"), await named("--warn"), "somebody has to do something");

  // the newest first, also of those that came in one moment
  const sent = ["one", "two", "three", "four"].map((word) => `in a row: ${word}`);
  for (const text of sent) run("send", "api", text);
  await eventually("all are there", async () => (await receipt("in a row").count()) === 4);
  const listed = await receipt("in a row").locator(".text").allTextContents();
  equal(listed, sent.toReversed(), "their order");
});

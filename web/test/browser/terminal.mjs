// The live terminal shows what tmux shows; it is read-only until it is taken over, and then types.
import { execFileSync } from "node:child_process";
import { agent, eventually, json, row, run, scenario, signIn, yes } from "./lib.mjs";

function tmux(session) {
  const { tmux: at } = json("show", session);
  return execFileSync("tmux", ["-S", at.socket, "capture-pane", "-p", "-t", at.pane], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.replaceAll("\u00a0", " ").trimEnd())
    .join("\n")
    .trimEnd();
}

async function shown(page) {
  const rows = await page.locator(".xterm-rows > div").allTextContents();
  return rows
    .map((line) => line.replaceAll("\u00a0", " ").trimEnd())
    .join("\n")
    .trimEnd();
}

async function same(page, what) {
  let there;
  let here;
  try {
    await eventually(what, async () => {
      there = tmux("api");
      here = await shown(page);
      return here === there;
    });
  } catch (error) {
    throw new Error(`${error.message}\ntmux:\n${there}\npage:\n${here}`);
  }
}

await scenario(async ({ page }) => {
  agent("api");
  await signIn(page);
  await row(page, "api").click();
  await page.getByText("Live, read-only.").waitFor();
  await same(page, "the page shows what tmux shows");
  run("send", "api", "SAY: something to look at", "--wait", "60");
  await eventually(
    "the page shows what was said",
    async () => (await shown(page)) === tmux("api") && (await shown(page)).includes("something to look at"),
  );

  const before = tmux("api");
  await page.locator(".xterm-screen").click();
  await page.keyboard.type("not typed");
  yes(tmux("api") === before, "nothing is typed while it is read-only");

  await page.getByRole("button", { name: "Take over…" }).click();
  await page.getByRole("button", { name: "Take over", exact: true }).click();
  await page.getByText("You type into this terminal.").waitFor();
  await page.keyboard.type("half a line");
  await eventually("the keys arrive", () => tmux("api").includes("half a line"));
  yes(!tmux("api").includes("not typed"), "only those since");
  await same(page, "and are shown");
  await page.getByRole("button", { name: "Give back" }).click();
  await page.getByText("Live, read-only.").waitFor();

  // Ended, looked at anew, and brought back.
  run("kill", "api");
  await page.getByText("The agent has ended").waitFor();
  await page.reload();
  await page.getByText("The agent has ended").waitFor();
  await eventually("what it showed is there", async () => (await shown(page)).includes("something to look at"));
  run("restore", "api", "--detach");
  await page.getByText("Live, read-only.").waitFor();
  await same(page, "the new one is shown");
});

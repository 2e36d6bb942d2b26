// Lines that are found in the archive say in which generation they were shown.
import { agent, equal, eventually, json, row, run, scenario, signIn } from "./lib.mjs";

await scenario(async ({ page }) => {
  agent("api");
  const say = (text) => {
    run("send", "api", `SAY: ${text}`, "--wait", "60");
    json("wait", "api", "--for", "idle", "--timeout", "60");
  };
  const handOver = async (to) => {
    run("handoff", "--auto", "--session", "api");
    await eventually("it is handed over", () => {
      const { generation, state, handoff } = json("show", "api");
      return generation === to && state === "idle" && handoff === null;
    });
  };
  say("needle first");
  await handOver(2);
  say("needle second");
  await handOver(3);
  say("needle third");
  await signIn(page);
  await row(page, "api").click();
  await page.getByRole("link", { name: "archive" }).click();
  await page.getByLabel("Search the archive").fill("● needle");
  await page.getByRole("button", { name: "Search" }).click();
  const hits = page.locator(".found .hit");
  await hits.first().waitFor();
  const found = await hits.evaluateAll((all) =>
    all.map((one) => `${one.querySelector(".where").textContent.split(":")[0]} ${one.querySelector(".text").textContent.trim()}`),
  );
  // A successor is given what was said before and may show it again: never the other way round.
  const order = ["first", "second", "third"];
  const earliest = order.map((word) => found.filter((hit) => hit.endsWith(word)).sort()[0]);
  equal(earliest, ["g1 ● needle first", "g2 ● needle second", "g3 ● needle third"], "each in its own");
});

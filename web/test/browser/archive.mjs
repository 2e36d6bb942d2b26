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
  // Each in its own generation, once. A successor shows again only what it was given with its prompt.
  const order = ["first", "second", "third"];
  const own = order.map((word, at) => `g${at + 1} ● needle ${word}`);
  equal(found.filter((hit) => own.includes(hit)), own, "each in its own");
  const handoffs = json("handoffs", "api").map(({ id }) => json("handoffs", "show", id));
  const unexplained = found.filter((hit) => {
    if (own.includes(hit)) return false;
    const [, generation, word] = /^g(\d+) ● needle (\w+)$/.exec(hit) ?? [];
    const given = handoffs.find((one) => one.to_generation === Number(generation));
    const earlier = order.indexOf(word) + 1 < Number(generation);
    return !earlier || !given?.prompt.includes(`needle ${word}`);
  });
  equal(unexplained, [], "nothing else");
});

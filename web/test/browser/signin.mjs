// The link lets in once; without it there is nothing to see.
import { equal, expect, link, scenario, signedOut, signIn, tcp, yes } from "./lib.mjs";

expect(/401|410|Failed to load resource/);
await scenario(async ({ browser, page, complaints }) => {
  const stranger = await signedOut(browser, complaints);
  await stranger.goto(tcp());
  await stranger.getByRole("heading", { name: "Not signed in" }).waitFor();
  const status = await stranger.evaluate(async () => (await fetch("/sessions")).status);
  equal(status, 401, "a browser that is not signed in");

  const url = link();
  await page.goto(url);
  await page.getByText("No sessions yet").waitFor();
  equal(new URL(page.url()).pathname, "/", "the code is not left in the address");
  const cookies = await page.context().cookies();
  equal(cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite]), [[true, "Strict"]], "the cookie");
  equal(await page.evaluate(() => document.cookie), "", "no script can read it");

  const again = await stranger.goto(url);
  equal(again.status(), 410, "the same link again");
  yes((await stranger.textContent("body")).includes("sm open"), "it says what to do");
  await stranger.goto(tcp());
  await stranger.getByRole("heading", { name: "Not signed in" }).waitFor();

  await signIn(stranger);
  await page.reload();
  await page.getByText("No sessions yet").waitFor();
});

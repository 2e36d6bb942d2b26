// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { address, parse } from "../../src/route";

it.each([
  ["", { at: "overview" }],
  ["#/s/", { at: "overview" }],
  ["#/s/%E0%A4%A", { at: "overview" }],
  ["#/s/ab", { at: "session", id: "ab", tab: "terminal" }],
  ["#/s/ab/handoffs", { at: "session", id: "ab", tab: "handoffs" }],
  ["#/s/ab/nonsense", { at: "session", id: "ab", tab: "terminal" }],
])("%s", (hash, place) => {
  expect(parse(hash)).toEqual(place);
});

it("comes back to where it was, whatever the id", () => {
  const place = { at: "session", id: "a/b ü#", tab: "pins" } as const;
  expect(parse(address(place))).toEqual(place);
});

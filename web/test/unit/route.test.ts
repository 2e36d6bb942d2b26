// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { address, listen, parse, place } from "../../src/route";

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

it("goes where a link leads at once, but for another tab", () => {
  listen();
  document.body.innerHTML = '<a id="here" href="#/s/ab/pins">x</a><a id="out" href="#content">x</a>';
  const click = (id: string, more: MouseEventInit = {}) =>
    document.getElementById(id)?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...more }));
  click("here", { ctrlKey: true });
  expect(place.value).toEqual({ at: "overview" });
  expect(click("here")).toBe(false);
  expect(place.value).toEqual({ at: "session", id: "ab", tab: "pins" });
  expect(location.hash).toBe("#/s/ab/pins");
  expect(click("out")).toBe(true);
  expect(place.value).toEqual({ at: "session", id: "ab", tab: "pins" });
});

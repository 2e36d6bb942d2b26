import { describe, expect, it } from "vitest";
import { isCalm, type Step, shownWay } from "../../src/session/receipts";

const steps = (...states: string[]): Step[] => states.map((state) => ({ at: "", state, detail: "" }));
const told = (state: string, ...history: string[]): string =>
  shownWay(state, steps(...history))
    .map((one) => (one.when === "ahead" ? `(${one.state})` : one.when === "now" ? `[${one.state}]` : one.state))
    .join(" ");

describe("the way of a message", () => {
  it("is told in the order in which it went", () => {
    expect(told("queued")).toBe("[queued] (written) (submitted) (consumed)");
    expect(told("held", "held", "held")).toBe("queued [held] (written) (submitted) (consumed)");
    expect(told("written", "queued", "held", "written")).toBe("queued held [written] (submitted) (consumed)");
    expect(told("held", "queued", "written", "queued", "held")).toBe(
      "queued written queued [held] (written) (submitted) (consumed)",
    );
  });
  it("has no step that was not taken", () => {
    expect(told("consumed", "queued", "held", "submitted", "consumed")).toBe("queued held submitted [consumed]");
    expect(told("withdrawn", "queued", "withdrawn")).toBe("queued [withdrawn]");
    expect(told("failed", "queued", "written", "failed")).toBe("queued written [failed]");
  });
  it("is no further than the message, whatever the history knows", () => {
    expect(told("consumed")).toBe("queued [consumed]");
    expect(told("submitted")).toBe("queued [submitted] (consumed)");
  });
});

it("waiting for the end of a turn is no trouble", () => {
  expect([isCalm("working"), isCalm("next_hook"), isCalm("draft"), isCalm(null)]).toEqual([true, true, false, false]);
});

import { expect, it } from "vitest";
import { join } from "../../src/session/history";
import { receipts } from "../../src/session/receipts";
import { parseFound } from "../../src/session/archive";
import type { Happening } from "../../src/types";

const event = (seq: number, kind: string, text: string): Happening => ({
  seq,
  at: "2026-03-01T09:00:00.000Z",
  session: "s",
  generation: 1,
  turn: 1,
  kind,
  text,
});

it("joins what was loaded and what came meanwhile, each once, in order", () => {
  const live = [event(5, "turn", "live"), event(3, "turn", "twice")];
  const loaded = [event(1, "turn", "a"), event(3, "turn", "twice")];
  expect(join(loaded, live).map((one) => one.seq)).toEqual([1, 3, 5]);
});

it("reads the steps of each message, and takes nothing else for one", () => {
  const steps = receipts([
    event(1, "message", "aa11 queued"),
    event(2, "message", "bb22 held: a dialog is open"),
    event(3, "turn", "aa11 consumed"),
    event(4, "message", "aa11 submitted"),
    event(5, "message", "nonsense"),
  ]);
  expect(steps.get("aa11")?.map((step) => step.state)).toEqual(["queued", "submitted"]);
  expect(steps.get("bb22")?.[0]?.detail).toBe("a dialog is open");
  expect(steps.size).toBe(2);
});

it("reads lines that were found, and ignores a torn one", () => {
  expect(parseFound('{"line":1,"generation":1,"at":null,"match":true,"text":"x"}\n{"line":2,')).toHaveLength(1);
});

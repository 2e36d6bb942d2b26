import { describe, expect, it } from "vitest";
import { attention, group, matches, sort } from "../../src/sorting";
import { filled, session } from "./a-session";

describe("search", () => {
  const api = session({ id: "a1", name: "api", cwd: "/src/Server", state: "waiting" });
  it.each([
    ["", true],
    ["API", true],
    ["server api", true],
    ["api nothing", false],
    ["state:waiting", true],
    ["state:wait", false],
    ["agent:claude a1", true],
    ["agent:codex", false],
  ])("%j finds it: %s", (search, found) => {
    expect(matches(api, search)).toBe(found);
  });
});

describe("order", () => {
  const all = [
    session({ id: "1", name: "w10", state: "idle", context: filled(20), state_since: "2026-03-01T10:00:00Z" }),
    session({ id: "2", name: "w2", state: "waiting", state_since: "2026-03-01T09:00:00Z" }),
    session({ id: "3", name: "a", state: "working", context: filled(80), state_since: "2026-03-01T11:00:00Z" }),
  ];
  it("counts numbers in names as numbers", () => {
    expect(sort(all, "name").map((one) => one.name)).toEqual(["a", "w2", "w10"]);
  });
  it("puts who waits first, the fullest first, the newest first", () => {
    expect(sort(all, "state").map((one) => one.id)).toEqual(["2", "3", "1"]);
    expect(sort(all, "context").map((one) => one.id)).toEqual(["3", "1", "2"]);
    expect(sort(all, "activity").map((one) => one.id)).toEqual(["3", "1", "2"]);
  });
});

describe("groups", () => {
  it("are families under the eldest that is known, also where parents point in a circle", () => {
    const groups = group(
      [
        session({ id: "1", name: "lead" }),
        session({ id: "2", name: "child", parent: "1" }),
        session({ id: "3", name: "grandchild", parent: "2" }),
        session({ id: "4", name: "orphan", parent: "gone" }),
        session({ id: "5", name: "x", parent: "6" }),
        session({ id: "6", name: "y", parent: "5" }),
      ],
      "family",
    );
    expect(groups.map(({ title, sessions }) => [title, sessions.length])).toContainEqual(["lead", 3]);
    expect(groups.map(({ title }) => title)).toContain("orphan");
    expect(groups.flatMap(({ sessions }) => sessions)).toHaveLength(6);
  });
});

describe("what needs a person", () => {
  it("says each need once, most pressing first", () => {
    const found = attention(
      [
        session({
          id: "held",
          attention: "2 messages held: a dialog is open",
          queue: { queued: 2, held: 2, held_reason: "a dialog is open" },
        }),
        session({ id: "flows", queue: { queued: 1, held: 1, held_reason: "a handoff is under way" } }),
        session({ id: "full", context: filled(90) }),
        session({ id: "anybody's", context: { ...filled(99), source: "unproven" } }),
        session({ id: "own rule", context: { ...filled(80), critical: null } }),
        session({ id: "ended", state: "exited", context: filled(99) }),
        session({ id: "passing", state: "handing_off", queue: { queued: 1, held: 1, held_reason: "handing over" } }),
        session({
          id: "back",
          failed_handoff: { id: "h1", state: "rolled_back", reason: "no prompt", at: "", document: "/d.md" },
        }),
        session({ id: "works", state: "working", context: { ...filled(10), quiet_since: "2026-03-01T09:50:00Z" } }),
        session({ id: "silent", state: "working", context: { ...filled(10), quiet_since: "2026-03-01T09:47:00Z" } }),
        session({ id: "asks", state: "waiting", state_reason: "may it run rm?", context: filled(80) }),
      ],
      Date.parse("2026-03-01T10:00:00Z"),
    );
    expect(found.map(({ session: { id }, need }) => [id, need])).toEqual([
      ["asks", "person"],
      ["back", "rolled-back"],
      ["full", "critical"],
      ["held", "held"],
      ["silent", "quiet"],
    ]);
    expect(found[0]?.also).toEqual(["critical"]);
    expect(found[1]?.text).toBe("no prompt");
    expect(found[3]?.text).toContain("a dialog is open");
    expect(found[4]?.text).toContain("13 min");
  });

  it("says what else the daemon says, where nothing of the others is meant", () => {
    const found = attention(
      [
        session({ id: "over", attention: "its provider's usage limit is reached, which should be over" }),
        session({ id: "limited", state: "limited", attention: "tell it to go on then", context: filled(90) }),
        session({ id: "by itself", state: "limited" }),
        session({ id: "draft", state: "handing_off", attention: "its handoff waits for a draft" }),
      ],
      Date.parse("2026-03-01T10:00:00Z"),
    );
    expect(found.map(({ session: { id }, need, also }) => [id, need, also])).toEqual([
      ["draft", "person", []],
      ["limited", "person", ["critical"]],
      ["over", "person", []],
    ]);
  });
});

import { effect } from "@preact/signals";
import { expect, it } from "vitest";
import { Sessions } from "../../src/store";
import { session } from "./a-session";

it("draws the one that changed and not the list", () => {
  const store = new Sessions(() => {});
  store.replace([session({ id: "1" }), session({ id: "2" })]);
  let lists = 0;
  const drawn: string[] = [];
  effect(() => {
    store.ids.value;
    lists += 1;
  });
  for (const id of ["1", "2"])
    effect(() => {
      drawn.push(`${id} ${store.get(id)?.value.state ?? "none"}`);
    });
  store.change(session({ id: "2", state: "working" }));
  expect(lists).toBe(1);
  expect(drawn).toEqual(["1 idle", "2 idle", "2 working"]);
});

it("forgets what a new snapshot does not have, and what is said to be gone", () => {
  const store = new Sessions(() => {});
  store.replace([session({ id: "1" }), session({ id: "2" })]);
  store.replace([session({ id: "2" }), session({ id: "3" })]);
  expect(store.ids.value).toEqual(["2", "3"]);
  expect(store.get("1")).toBeUndefined();
  store.gone("3");
  store.gone("never");
  expect(store.ids.value).toEqual(["2"]);
});

it("beats once for many changes", () => {
  const due: (() => void)[] = [];
  const store = new Sessions((run) => due.push(run));
  for (let count = 0; count < 100; count += 1) store.change(session({ id: String(count % 7) }));
  expect(due).toHaveLength(1);
  const before = store.beat.value;
  due[0]?.();
  expect(store.beat.value).toBe(before + 1);
  store.change(session({ id: "1" }));
  expect(due).toHaveLength(2);
});

// @vitest-environment happy-dom
import { render } from "preact";
import { describe, expect, it } from "vitest";
import { Markdown } from "../../src/markdown";
import { pieces } from "../../src/session/difference";

function draw(text: string): HTMLElement {
  const place = document.createElement("div");
  render(<Markdown text={text} />, place);
  return place;
}

describe("a document of somebody else", () => {
  it.each([
    "<script>globalThis.hit = 1</script>",
    "text <img src=x onerror=alert(1)> text",
    '<a href="javascript:alert(1)">x</a>',
    "[x](javascript:alert(1))",
    "[x](data:text/html,<script>1</script>)",
    "![x](https://evil.example/p.png)",
    "<svg onload=alert(1)>",
    "- <iframe src=//evil.example>",
    "| a |\n|---|\n| <script>1</script> |",
    "# <style>*{display:none}</style>",
  ])("%s becomes text alone", (text) => {
    const place = draw(text);
    expect(place.querySelector("script,img,iframe,svg,style,object,embed,link,form")).toBeNull();
    for (const element of place.querySelectorAll("*"))
      for (const { name, value } of element.attributes) {
        expect(name.startsWith("on")).toBe(false);
        expect(value).not.toMatch(/^(javascript|data):/);
      }
    expect(place.textContent).not.toBe("");
  });

  it("is laid out as it was meant", () => {
    const place = draw("# Goal\n\n- [x] done\n- [ ] open\n\n1. one **bold** `code`\n\n```rust\nfn x() {}\n```\n");
    expect(place.querySelector("h2")?.textContent).toBe("Goal");
    expect(place.querySelectorAll("input[type=checkbox]")).toHaveLength(2);
    expect(place.querySelector("ol strong")?.textContent).toBe("bold");
    expect(place.querySelector("pre")?.textContent).toBe("fn x() {}");
  });

  it("links to the web open apart and tell nobody where they were", () => {
    const link = draw("[x](https://example.org)").querySelector("a");
    expect(link?.getAttribute("rel")).toBe("noopener noreferrer");
  });
});

describe("the difference of two documents", () => {
  const long = Array.from({ length: 40 }, (_, at) => `line ${at}`).join("\n");
  it("folds what is the same", () => {
    const all = pieces(`${long}\nold\n`, `${long}\nnew\n`);
    expect(all.map((piece) => piece.kind)).toEqual(["folded", "same", "removed", "added"]);
    expect(all[0]?.lines).toHaveLength(37);
  });
  it("is none where there is none", () => {
    expect(pieces("a\n", "a\n").every((piece) => piece.kind === "same")).toBe(true);
  });
});

// Markdown as elements. What others wrote is only ever text here: HTML in it is shown as it stands,
// pictures are named and not loaded, links are those of the web and open apart.

import { lexer, type Token, type Tokens } from "marked";
import type { ComponentChild } from "preact";

/// Longer ones are cut: a document of a megabyte must not hang the page.
const MOST = 200_000;

export function Markdown({ text }: { text: string }) {
  const cut = text.length > MOST;
  const tokens = lexer(cut ? text.slice(0, MOST) : text, { gfm: true });
  return (
    <div class="markdown">
      {blocks(tokens)}
      {cut && <p class="quiet">The rest is not shown: the document is longer than {MOST} characters.</p>}
    </div>
  );
}

function blocks(tokens: readonly Token[]): ComponentChild[] {
  return tokens.map((token, index) => block(token, index));
}

function block(token: Token, key: number): ComponentChild {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      // The page has its own first heading.
      const Tag = `h${Math.min(6, depth + 1)}` as "h2";
      return <Tag key={key}>{inlines(tokens)}</Tag>;
    }
    case "paragraph":
      return <p key={key}>{inlines((token as Tokens.Paragraph).tokens)}</p>;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return <span key={key}>{tokens ? inlines(tokens) : text}</span>;
    }
    case "code":
      return (
        <pre key={key} tabIndex={0}>
          <code>{(token as Tokens.Code).text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote key={key}>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list": {
      const { ordered, start, items } = token as Tokens.List;
      const children = items.map((item, index) => (
        <li key={index} class={item.task ? "task" : undefined}>
          {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked === true ? "done" : "open"} />}
          {blocks(item.tokens.filter((one) => one.type !== "checkbox"))}
        </li>
      ));
      return ordered ? (
        <ol key={key} start={typeof start === "number" ? start : 1}>
          {children}
        </ol>
      ) : (
        <ul key={key}>{children}</ul>
      );
    }
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return (
        <div class="wide" key={key} tabIndex={0}>
          <table>
            <thead>
              <tr>
                {header.map((cell, index) => (
                  <th key={index}>{inlines(cell.tokens)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, at) => (
                    <td key={at}>{inlines(cell.tokens)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    }
    case "hr":
      return <hr key={key} />;
    default:
      // HTML above all.
      return (
        <pre key={key} class="foreign" tabIndex={0}>
          {token.raw}
        </pre>
      );
  }
}

function inlines(tokens: readonly Token[]): ComponentChild[] {
  return tokens.map((token, index) => inline(token, index));
}

function inline(token: Token, key: number): ComponentChild {
  switch (token.type) {
    case "strong":
      return <strong key={key}>{inlines((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em key={key}>{inlines((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del key={key}>{inlines((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return <code key={key}>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br key={key} />;
    case "escape":
      return (token as Tokens.Escape).text;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? <span key={key}>{inlines(tokens)}</span> : text;
    }
    case "link": {
      const { href, tokens } = token as Tokens.Link;
      const inside = inlines(tokens);
      if (!/^https?:\/\//i.test(href)) return <span key={key}>{inside}</span>;
      return (
        <a key={key} href={href} target="_blank" rel="noopener noreferrer">
          {inside}
        </a>
      );
    }
    case "image":
      return (
        <span key={key} class="quiet">
          [picture: {(token as Tokens.Image).text || (token as Tokens.Image).href}]
        </span>
      );
    default:
      return token.raw;
  }
}

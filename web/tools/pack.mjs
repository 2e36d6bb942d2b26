// Compresses the built files once, so that the daemon only has to send them. The same bytes each
// time: no name and no date inside.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const dist = process.argv[2] ?? join(import.meta.dirname, "..", "dist");
let first = 0;
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || entry.name.endsWith(".gz")) continue;
  const path = join(entry.parentPath, entry.name);
  const packed = gzipSync(readFileSync(path), { level: 9 });
  packed[9] = 255; // "unknown system": zlib would name the one it ran on
  writeFileSync(`${path}.gz`, packed);
  first += packed.length;
}
console.log(`${first} bytes compressed`);

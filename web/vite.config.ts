import { defineConfig } from "vite";

// The output is committed and compiled into the daemon: the same sources must give the same bytes.
export default defineConfig({
  base: "/",
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    // Files of their own: the page's policy allows no data: scripts and no inline code.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/sessions": "http://127.0.0.1:8420" } },
});

// How the page is built: relative addresses, so that it works below any prefix of a proxy, and a .gz beside each file.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';
import solid from 'vite-plugin-solid';
import { defineConfig } from 'vitest/config';

/** `npm run dev` asks this server; see README. */
const server = process.env.MILES_URL ?? 'http://127.0.0.1:7788';

/** The server sends these as they are: nothing is compressed twice. */
function precompress(): Plugin {
  let out = '';
  return {
    name: 'precompress',
    apply: 'build',
    configResolved: (config) => void (out = config.build.outDir),
    closeBundle() {
      for (const entry of readdirSync(out, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(js|css|html|svg|json)$/.test(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  base: './',
  plugins: [solid(), precompress()],
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': { target: server, changeOrigin: true } } },
  test: { environment: 'node', include: ['src/**/*.test.ts'] },
});

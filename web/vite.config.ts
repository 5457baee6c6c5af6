import { fileURLToPath } from 'node:url'

import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'

/** Every browser that can run the page reads WOFF2: the other forms of the formulas' fonts stay out. */
const onlyNewFonts = {
  name: 'only-new-fonts',
  enforce: 'pre' as const,
  transform: (code: string, id: string) =>
    id.includes('katex') && id.includes('.css') ? code.replace(/,\s*url\([^)]*\.(woff|ttf)\)\s*format\([^)]*\)/g, '') : null,
}

/** Built into the Python package, from where `zeno serve` serves it. `npx vite` forwards the API to a server that is running. */
export default defineConfig({
  plugins: [vue(), onlyNewFonts],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  build: { outDir: '../src/zeno/web', emptyOutDir: true, target: 'es2022', manifest: true, chunkSizeWarningLimit: 2000 },
  // Another server than the usual one, for `npx vite`: ZENO_API.
  server: { proxy: { '/api': { target: process.env['ZENO_API'] ?? 'http://127.0.0.1:8321', changeOrigin: false } } },
  test: { environment: 'jsdom', include: ['tests/**/*.test.ts'], testTimeout: 30_000 },
})

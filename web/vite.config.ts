import { fileURLToPath } from 'node:url'

import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'

/** Built into the Python package, from where `zeno serve` serves it. `npx vite` forwards the API to a server that is running. */
export default defineConfig({
  plugins: [vue()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  build: { outDir: '../src/zeno/web', emptyOutDir: true, target: 'es2022', manifest: true, chunkSizeWarningLimit: 2000 },
  // Another server than the usual one, for `npx vite`: ZENO_API.
  server: { proxy: { '/api': { target: process.env['ZENO_API'] ?? 'http://127.0.0.1:8321', changeOrigin: false } } },
  test: { environment: 'jsdom', include: ['tests/**/*.test.ts'] },
})

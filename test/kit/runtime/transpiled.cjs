const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { fileURLToPath } = require('node:url');
const { transformSync } = require('@swc/core');
const { swcOptions } = require('../../../scripts/swc-options.cjs');

const isTypeScript = (path) => /\.tsx?$/.test(path);

/** @returns the code and the source map of the text of a TypeScript file */
const transpiled = (path, text) => transformSync(text, swcOptions(path));

/** Maps a file in a stack trace to the file with its source map, which is created on first use. */
class SourceMaps extends Map {
  #directory;

  get(name) {
    const path = name.startsWith('file:') ? fileURLToPath(name) : name.replace(/\?file=\d+$/, '');
    if (!isTypeScript(path)) return undefined;
    if (!this.has(path)) {
      const file = join(this.#home(), `${this.size}.map`);
      writeFileSync(file, transpiled(path, readFileSync(path, 'utf8')).map);
      this.set(path, file);
    }
    return super.get(path);
  }

  #home() {
    if (!this.#directory) {
      this.#directory = mkdtempSync(join(tmpdir(), 'source-maps-'));
      process.once('exit', () => rmSync(this.#directory, { recursive: true, force: true }));
    }
    return this.#directory;
  }
}

module.exports = { isTypeScript, SourceMaps, transpiled };

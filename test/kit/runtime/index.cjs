// Runs a test file as a module of the worker's process, like any other: docs/adr/0023-tests-as-modules-of-their-worker.md.
// What it imports is there for all files of the worker, and stays as they leave it: a test puts back what it changes.
// Mocks and `process.env` are put back for it. A module of the kit must ask for `describe`, `expect` and `jest` when it is
// called, not keep them. Of jest's options those that act on its own runtime have no effect: coverage, fake timers,
// `--watch`, `resetMocks`.
const { AsyncLocalStorage } = require('node:async_hooks');
const { createRequire, register } = require('node:module');
const { pathToFileURL } = require('node:url');
const { ModuleMocker } = require('jest-mock');
const { default: JestRuntime } = require('jest-runtime');
const { SourceMaps } = require('./transpiled.cjs');

register('./hooks.mjs', pathToFileURL(__filename));
const sourceMaps = new SourceMaps();
let files = 0;

/** Those that are in use. Every promise of Node.js 20 pays for each that ever was, and jest makes one for each file. */
const usedStorages = new Set();
for (const name of ['run', 'enterWith']) {
  const original = AsyncLocalStorage.prototype[name];
  AsyncLocalStorage.prototype[name] = function (...args) {
    usedStorages.add(this);
    return original.apply(this, args);
  };
}

module.exports = class PlainRuntime extends JestRuntime {
  #console;
  #consoleOfTests;
  #env = { ...process.env };
  #whenOver = [];

  constructor(config, environment, ...others) {
    super(config, environment, ...others);
    this.#consoleOfTests = environment.global.console;
  }

  /** Jest's own: what declares and runs tests, with the state of one test file. */
  requireInternalModule(path) {
    delete require.cache[path];
    delete globalThis[Symbol.for('EVENT_HANDLERS')]; // those of the file before would get its errors, and know of no test
    return createRequire(__filename)(path); // `require` would keep what it has loaded before as its children
  }

  /** What tests see of jest. Its mocks are all there is of the `jest` object. */
  setGlobalsForRuntime(globals) {
    const jest = new ModuleMocker(globalThis);
    this.#console = globalThis.console;
    /** `work` is called after the last hook of the test file; when it throws, the file has failed. */
    const whenFileIsOver = (work) => void this.#whenOver.push(work);
    Object.assign(globalThis, globals, { jest, console: this.#consoleOfTests, whenFileIsOver });
    Error.stackTraceLimit = 30; // the runner asks for 100, and each error of the service would pay for them
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  async unstable_importModule(path) {
    await import(`${pathToFileURL(path)}?file=${++files}`); // a file that runs again runs anew
  }

  getSourceMaps() {
    return sourceMaps;
  }

  teardown() {
    globalThis.jest?.restoreAllMocks();
    this.#putBack();
    for (const storage of usedStorages) storage.disable();
    usedStorages.clear();
    super.teardown();
    for (const work of this.#whenOver.splice(0)) work();
  }

  #putBack() {
    globalThis.console = this.#console ?? globalThis.console; // the tests' own lets nobody print when they are over
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    Object.assign(process.env, this.#env);
    const left = Object.getOwnPropertySymbols(globalThis);
    for (const symbol of left.filter(({ description }) => description === 'JEST_STATE_SYMBOL'))
      delete globalThis[symbol];
  }
};

// Runs a test file as a module of the worker's process, like any other. jest's own runtime evaluates all that a file
// imports anew for it, in a context of its own: the whole service each time, never warm, for a third of a whole run's
// processor time. What a test file changes in the process, it has to put back; and what it imports is there for all
// files of the worker: a module of the kit must ask for `describe`, `expect` and `jest` when it is called, not keep them.
// For the same reason `--watch` would not see what has changed.
const { AsyncLocalStorage } = require('node:async_hooks');
const { createRequire, register } = require('node:module');
const { pathToFileURL } = require('node:url');
const { ModuleMocker } = require('jest-mock');
const { default: JestRuntime } = require('jest-runtime');
const { SourceMaps } = require('./transpiled.cjs');

register('./hooks.mjs', pathToFileURL(__filename));
const sourceMaps = new SourceMaps();
let files = 0;

/** Every promise of Node.js 20 pays for each that was ever used; and jest makes one for each file. */
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

  constructor(config, environment, ...others) {
    super(config, environment, ...others);
    this.#console = environment.global.console;
  }

  /** Jest's own: what declares and runs tests, with the state of one test file. */
  requireInternalModule(path) {
    delete require.cache[path];
    delete globalThis[Symbol.for('EVENT_HANDLERS')]; // those of the file before would get its errors, and know of no test
    return createRequire(__filename)(path); // `require` would keep what it has loaded before as its children
  }

  /** What tests see of jest. Its mocks are all there is of the `jest` object. */
  setGlobalsForRuntime(globals) {
    super.setGlobalsForRuntime(globals);
    const jest = new ModuleMocker(globalThis);
    Object.assign(globalThis, globals, { jest, console: this.#console });
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
    for (const storage of usedStorages) storage.disable();
    usedStorages.clear();
    super.teardown();
  }
};

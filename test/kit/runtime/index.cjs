// Runs a test file as a module of the worker's process, like any other: docs/adr/0026-run-the-service-from-a-bundle.md.
// What it imports is there for all files of the worker, and stays as they leave it: a test puts back what it changes.
// Mocks and `process.env` are put back for it. A module of the kit must ask for `describe`, `expect` and `jest` when it is
// called, not keep them. What acts on jest's own runtime has no effect: coverage, fake timers, mocks of modules,
// `--watch`, `resetMocks` and its like.
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

/** What jest-circus listens for while a file runs, and does not let go of when the file could not be loaded. */
const ERRORS = ['uncaughtException', 'unhandledRejection', 'rejectionHandled'];

module.exports = class PlainRuntime extends JestRuntime {
  #console = globalThis.console;
  #consoleOfTests;
  #env = { ...process.env };
  #listeners = ERRORS.map((event) => [event, process.rawListeners(event)]);
  #whenOver = [];

  constructor(config, environment, ...others) {
    super(config, environment, ...others);
    this.#consoleOfTests = environment.global.console;
    environment.handleTestEvent = ({ name }, state) =>
      name === 'run_finish' && this.#finish(state.unhandledErrors);
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
    this.#putBack();
    for (const storage of usedStorages) storage.disable();
    usedStorages.clear();
    globalThis.jest?.restoreAllMocks();
    super.teardown();
  }

  async #finish(errors) {
    for (const work of this.#whenOver.splice(0)) {
      try {
        await work();
      } catch (error) {
        errors.push(error);
      }
    }
  }

  #putBack() {
    globalThis.console = this.#console; // the tests' own lets nobody print when they are over
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    Object.assign(process.env, this.#env);
    for (const [event, those] of this.#listeners) {
      process.removeAllListeners(event);
      for (const listener of those) process.on(event, listener);
    }
  }
};

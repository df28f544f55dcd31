// Runs a test file as an ordinary module of the worker's process: docs/adr/0026-run-the-service-from-a-bundle.md. All test
// files of a worker share the modules that they import, in the state that earlier files leave, so a test must restore what
// it changes. Mocks and `process.env` are restored automatically. A module of the kit must read `describe`, `expect` and
// `jest` when it is called, not when it is loaded. Features that act on jest's own runtime have no effect: coverage, fake
// timers, module mocks, `--watch`, `resetMocks` and the like.
const { AsyncLocalStorage } = require('node:async_hooks');
const { createRequire, register } = require('node:module');
const { pathToFileURL } = require('node:url');
const { ModuleMocker } = require('jest-mock');
const { default: JestRuntime } = require('jest-runtime');
const { SourceMaps } = require('./transpiled.cjs');

register('./hooks.mjs', pathToFileURL(__filename));
const sourceMaps = new SourceMaps();
let files = 0;

/** Storages in use. In Node.js 20, each one ever used slows down every promise, and jest creates one per file. */
const usedStorages = new Set();
for (const name of ['run', 'enterWith']) {
  const original = AsyncLocalStorage.prototype[name];
  AsyncLocalStorage.prototype[name] = function (...args) {
    usedStorages.add(this);
    return original.apply(this, args);
  };
}

/** Events that jest-circus listens for while a file runs, and keeps listening for if the file could not be loaded. */
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

  /** Jest's own modules, which declare and run tests and have the state of one test file. */
  requireInternalModule(path) {
    delete require.cache[path];
    delete globalThis[Symbol.for('EVENT_HANDLERS')]; // the previous file's handlers would get the errors, without a test to blame
    return createRequire(__filename)(path); // `require` would retain earlier ones as its children
  }

  /** The globals of tests. `jest` has only mocks. */
  setGlobalsForRuntime(globals) {
    const jest = new ModuleMocker(globalThis);
    const whenFileIsOver = (work) => void this.#whenOver.push(work);
    Object.assign(globalThis, globals, { jest, console: this.#consoleOfTests, whenFileIsOver });
    Error.stackTraceLimit = 30; // the runner sets 100, which slows down every error of the service
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  async unstable_importModule(path) {
    await import(`${pathToFileURL(path)}?file=${++files}`); // a file that runs again is loaded again
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
    globalThis.console = this.#console; // the tests' console does not print after they are over
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    Object.assign(process.env, this.#env);
    for (const [event, those] of this.#listeners) {
      process.removeAllListeners(event);
      for (const listener of those) process.on(event, listener);
    }
  }
};

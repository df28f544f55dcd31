export default {
  runtime: '<rootDir>/test/kit/runtime/index.cjs',
  rootDir: '.',
  roots: [
    '<rootDir>/src',
    '<rootDir>/test',
    '<rootDir>/examples',
    '<rootDir>/client/src',
    '<rootDir>/crypto/src',
  ],
  testMatch: ['<rootDir>/test/**/*.spec.ts'],
  // The storm takes minutes of all the machine has: STORM=1 npx jest neighbours
  testPathIgnorePatterns: ['/node_modules/', ...(process.env.STORM ? [] : ['/neighbours\\.spec'])],
  globalSetup: '<rootDir>/test/kit/global-setup.mjs',
  globalTeardown: '<rootDir>/test/kit/global-teardown.mjs',
  setupFilesAfterEnv: ['<rootDir>/test/kit/give-way.ts', '<rootDir>/test/kit/judge-answers.ts'],
  reporters: ['default', '<rootDir>/test/kit/answers-reporter.mjs'],
  testSequencer: '<rootDir>/test/kit/longest-first.mjs',
  maxWorkers: 4,
  workerIdleMemoryLimit: '1GB',
  // Giving its memory back takes a worker longer than jest's half a second on a busy machine, and is no leak.
  workerGracefulExitTimeout: 30_000,
  testTimeout: 900_000, // against what hangs; a slow machine is no fault
  transform: {}, // the runtime does it
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' }, // for `--onlyChanged` and `--findRelatedTests`
};

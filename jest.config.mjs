const transform = (tsx) => [
  '@swc/jest',
  {
    jsc: {
      target: 'es2023',
      keepClassNames: true,
      parser: { syntax: 'typescript', decorators: true, tsx },
      transform: {
        legacyDecorator: true,
        decoratorMetadata: true,
        useDefineForClassFields: false,
        react: { runtime: 'automatic', importSource: 'preact' },
      },
    },
    module: { type: 'es6' },
    sourceMaps: 'inline',
    swcrc: false,
  },
];

export default {
  testEnvironment: '<rootDir>/test/kit/environment.mjs',
  rootDir: '.',
  roots: ['<rootDir>/src', '<rootDir>/test', '<rootDir>/examples'],
  testMatch: ['<rootDir>/test/**/*.spec.ts'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  globalSetup: '<rootDir>/test/kit/global-setup.mjs',
  globalTeardown: '<rootDir>/test/kit/global-teardown.mjs',
  reporters: ['default', '<rootDir>/test/kit/answers-reporter.mjs'],
  testSequencer: '<rootDir>/test/kit/longest-first.mjs',
  maxWorkers: 3,
  workerIdleMemoryLimit: '1GB',
  testTimeout: 300_000, // against what hangs; a slow machine is no fault
  transform: { '^.+\\.ts$': transform(false), '^.+\\.tsx$': transform(true) },
};

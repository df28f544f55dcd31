// The suite of `npm test`.
import all from '../../jest.config.mjs';

export default {
  ...all,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/quick/**/*.spec.ts'],
  reporters: ['default'], // answers are counted over both suites
};

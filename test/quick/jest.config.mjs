// The suite of `npm test`.
import all from '../../jest.config.mjs';

process.env.TEST_SUITE = 'quick'; // for kit/rounds, in the workers too

export default {
  ...all,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/quick/**/*.spec.ts'],
  reporters: ['default'], // answers are counted over both suites
};

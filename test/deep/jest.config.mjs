// The suite of `npm run test:deep`.
import all from '../../jest.config.mjs';

process.env.TEST_SUITE = 'deep'; // for kit/rounds, in the workers too

export default {
  ...all,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/deep/**/*.spec.ts', '<rootDir>/test/quick/**/*.rounds.spec.ts'],
};

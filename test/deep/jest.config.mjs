// The suite of `npm run test:deep`.
import all from '../../jest.config.mjs';

export default {
  ...all,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/deep/**/*.spec.ts', '<rootDir>/test/quick/**/*.both.spec.ts'],
};

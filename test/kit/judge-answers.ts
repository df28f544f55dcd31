// Runs before each test file, and fails tests with answers that docs/openapi.json does not describe.
import { expectNoProblems, leaveSeen } from './documented-answers.js';

afterEach(expectNoProblems);
whenFileIsOver(leaveSeen);
whenFileIsOver(expectNoProblems);

// Runs before each test file: no answer in it may be other than docs/openapi.json says.
import { expectNoProblems, leaveSeen } from './documented-answers.js';

afterEach(expectNoProblems);
whenFileIsOver(leaveSeen);
whenFileIsOver(expectNoProblems);

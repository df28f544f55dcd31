// After a whole run, reports operations that never answered with a status from their document, and fails the run for it if
// REQUIRE_ALL_ANSWERS is set. Skips partial runs, failed ones, and those that left out tests because a server or a browser
// is missing: they prove nothing. A folder in SEEN_ANSWERS belongs to the caller, who runs several suites (.ci/run).
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const DOCUMENTS = ['openapi.json', 'internals/pages.openapi.json'].map(
  (file) => new URL(`../../docs/${file}`, import.meta.url),
);

export default class AnswersReporter {
  constructor(globalConfig) {
    this.globalConfig = globalConfig;
  }

  onRunStart() {
    const given = process.env.SEEN_ANSWERS;
    this.isOwn = given === undefined;
    this.directory = given ?? mkdtempSync(join(tmpdir(), 'seen-answers-'));
    process.env.SEEN_ANSWERS = this.directory; // each test file writes the answers that it has seen there
  }

  onRunComplete(_contexts, results) {
    const seen = new Set(
      readdirSync(this.directory).flatMap((file) =>
        readFileSync(join(this.directory, file), 'utf8').split('\n'),
      ),
    );
    if (this.isOwn) rmSync(this.directory, { recursive: true, force: true });
    if (!this.isWhole(results)) {
      if (process.env.REQUIRE_ALL_ANSWERS)
        console.log('\nDocumented answers were not counted: not all tests ran and passed.');
      return;
    }
    const documented = documentedAnswers();
    const missing = documented.filter((answer) => !seen.has(answer));
    const count = `${documented.length - missing.length} of ${documented.length} documented answers were seen`;
    console.log(`\n${count}${missing.length > 0 ? `; never:\n${missing.join('\n')}` : ''}`);
    if (missing.length > 0 && process.env.REQUIRE_ALL_ANSWERS) this.error = new Error(count);
  }

  getLastError() {
    return this.error;
  }

  isWhole({ numFailedTestSuites, numPendingTests, numRuntimeErrorTestSuites, wasInterrupted }) {
    const {
      testPathPatterns,
      testNamePattern,
      nonFlagArgs,
      onlyChanged,
      onlyFailures,
      findRelatedTests,
      shard,
    } = this.globalConfig;
    const isFiltered =
      (testPathPatterns?.patterns.length ?? 0) > 0 ||
      Boolean(testNamePattern) ||
      nonFlagArgs.length > 0 ||
      [onlyChanged, onlyFailures, findRelatedTests, shard].some(Boolean);
    return (
      !isFiltered &&
      !wasInterrupted &&
      numFailedTestSuites + numRuntimeErrorTestSuites + numPendingTests === 0
    );
  }
}

function documentedAnswers() {
  return DOCUMENTS.flatMap((file) => Object.values(JSON.parse(readFileSync(file, 'utf8')).paths))
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, responses }) =>
      Object.keys(responses).map((status) => `${operationId} ${status}`),
    );
}

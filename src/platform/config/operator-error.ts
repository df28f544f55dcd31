/**
 * A fault that the operator can fix, at start or in an admin command. The message is one sentence that says what is wrong and
 * what to do; both entry points print it without a stack trace and exit with code 1.
 */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

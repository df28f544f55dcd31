/**
 * A fault which the operator can cure, found while starting. The message is one sentence that says what is wrong
 * and what to do; `main` prints that sentence without a stack and exits 1.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}

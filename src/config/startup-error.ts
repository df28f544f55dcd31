/**
 * A fault which the operator can cure, found while the service starts or an admin command works. The message is one
 * sentence that says what is wrong and what to do; both entry points print it without a stack and exit 1.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}

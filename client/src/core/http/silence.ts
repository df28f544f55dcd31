import { chunksIn } from './bodies.js';
import { SilenceError } from './errors.js';

/** Aborts a request when no byte was sent or received for too long, or when the caller aborts it. */
export class Silence {
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  readonly signal: AbortSignal;

  constructor(
    private readonly ms: number,
    callers?: AbortSignal,
  ) {
    this.signal = callers ? AbortSignal.any([callers, this.controller.signal]) : this.controller.signal;
  }

  /** Restarts the timer: a byte was sent or received, or is expected from now on. @param extraMs more time, once */
  expect(extraMs = 0): void {
    this.stop();
    const ms = this.ms + extraMs;
    this.timer = setTimeout(() => this.controller.abort(new SilenceError(ms)), ms);
  }

  /** Stops the timer: nothing is expected. */
  stop(): void {
    clearTimeout(this.timer);
  }

  /** Chunks are expected only while the reader waits for one; a slow reader is not silence. */
  async *watch(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    const chunks = chunksIn(body);
    try {
      for (;;) {
        this.expect();
        const next = await chunks.next();
        this.stop();
        if (next.done) return;
        yield next.value;
      }
    } finally {
      this.stop();
      await chunks.return();
    }
  }
}

import { chunksIn } from './bodies.js';
import { SilenceError } from './errors.js';

/** Ends a request when nothing has come and nothing has gone for too long, and when its caller gives up. */
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

  /** A byte has come or gone, or is waited for from now on. @param extraMs more time, once */
  expect(extraMs = 0): void {
    this.stop();
    const ms = this.ms + extraMs;
    this.timer = setTimeout(() => this.controller.abort(new SilenceError(ms)), ms);
  }

  /** Nothing is waited for. */
  stop(): void {
    clearTimeout(this.timer);
  }

  /** A body whose chunks are expected while somebody reads it; a reader may take its time. */
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

/** Most bytes of bodies per second, in each direction. Undefined: unlimited. */
export interface Bandwidth {
  readonly up?: number | undefined;
  readonly down?: number | undefined;
}

/** A burst after a pause may be this long, at the full rate. */
const BURST_MS = 250;

/**
 * A token bucket that all requests of one direction share. It has no timer of its own: a caller that is too fast waits for
 * as long as its bytes take.
 */
export class Throttle {
  private paidUntil = -Infinity;
  /** Chunks are cut to this size: a longer one would look like silence on a slow link. */
  private readonly most: number;

  /** @throws RangeError unless the rate is a positive number */
  constructor(
    private readonly bytesPerSecond: number,
    private readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>,
    private readonly now: () => number = () => performance.now(),
  ) {
    if (!(bytesPerSecond > 0)) throw new RangeError('a limit of bandwidth is a positive number of bytes');
    this.most = Math.max(1, Math.floor((bytesPerSecond * BURST_MS) / 1_000));
  }

  /** Waits until `bytes` may pass. */
  async take(bytes: number, signal?: AbortSignal): Promise<void> {
    const now = this.now();
    this.paidUntil = Math.max(this.paidUntil, now - BURST_MS) + (bytes * 1_000) / this.bytesPerSecond;
    if (this.paidUntil > now) await this.sleep(this.paidUntil - now, signal);
  }

  /** Passes chunks on, cut to the size of a burst. */
  async *limit(chunks: AsyncIterable<Uint8Array>, signal?: AbortSignal): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of chunks)
      for (let at = 0; at < chunk.length; at += this.most) {
        const part = chunk.subarray(at, at + this.most);
        await this.take(part.length, signal);
        yield part;
      }
  }
}

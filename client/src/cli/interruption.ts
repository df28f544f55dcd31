import { type Bandwidth, Http, NetworkError, type SessionOptions } from '../core/index.js';
import { EXIT } from './exit-codes.js';

/** How long a request in flight may go on after the first signal. */
const GRACE_MS = 10_000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Ends a command on SIGINT or SIGTERM: the step in progress is completed, the next is not begun. A second signal ends the
 * process at once, which is as safe as a power failure.
 */
export class Interruption {
  private readonly soft = new AbortController();
  private readonly hard = new AbortController();

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.soft.signal;
  }

  get isRequested(): boolean {
    return this.soft.signal.aborted;
  }

  /** Handles signals from now on. @param onFirst called on the first one */
  listen(onFirst: (signal: NodeJS.Signals) => void): void {
    for (const name of SIGNALS)
      process.on(name, () => {
        if (this.isRequested) process.exit(EXIT.interrupted);
        onFirst(name);
        this.request();
      });
  }

  request(): void {
    this.soft.abort();
    setTimeout(() => this.hard.abort(), GRACE_MS).unref();
  }

  /** Requests that are aborted after the grace period, and are not retried after the first signal. */
  http(bandwidth: Bandwidth = {}): SessionOptions {
    return new Http({
      bandwidth,
      fetch: (url, init) => {
        const signals = init.signal ? [init.signal, this.hard.signal] : [this.hard.signal];
        return globalThis.fetch(url, { ...init, signal: AbortSignal.any(signals) });
      },
      sleep: (ms, signal) => this.pause(ms, signal),
    });
  }

  /** @throws NetworkError after the first signal */
  private pause(ms: number, signal?: AbortSignal): Promise<void> {
    const ended = AbortSignal.any(signal ? [signal, this.signal] : [this.signal]);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        reject(signal?.aborted === true ? (signal.reason as Error) : new NetworkError('ended by a signal'));
      };
      const timer = setTimeout(() => {
        ended.removeEventListener('abort', end);
        resolve();
      }, ms);
      if (ended.aborted) end();
      else ended.addEventListener('abort', end, { once: true });
    });
  }
}

import type { Answer } from './peer.js';

/** The answers that ordinary users got. */
export interface Report {
  readonly requests: number;
  /** 5xx answers, and connections that broke or stayed silent: the client can only retry. */
  readonly failed: number;
  /** 429: rate limited. */
  readonly limited: number;
  /** Any other unexpected answer. */
  readonly wrong: number;
  /** One line for each of the first failed, limited or wrong answers and lost sockets. */
  readonly examples: readonly string[];
  /** Sockets that were closed although their clients followed the protocol. */
  readonly socketsLost: number;
  /** Number of changes that sockets announced. */
  readonly heard: number;
  /** Response times in milliseconds, by phase and kind of request. */
  readonly latencies: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
}

const MOST_EXAMPLES = 40;

/** Counts answers to ordinary users, phase by phase. */
export class Ledger {
  private phase = 'calm';
  private counts = { requests: 0, failed: 0, limited: 0, wrong: 0 };
  private examples: string[] = [];
  private latencies: Record<string, Record<string, number[]>> = {};
  private socketsLost = 0;
  private heard = 0;

  /** @param kind of request, for reports @param ms from the request to the end of the answer */
  answered(kind: string, { status, body }: Answer, ms: number): void {
    this.counts.requests++;
    ((this.latencies[this.phase] ??= {})[kind] ??= []).push(ms);
    if (status >= 200 && status < 300) return;
    const fate = status === 0 || status >= 500 ? 'failed' : status === 429 ? 'limited' : 'wrong';
    this.counts[fate]++;
    this.example(`${kind}: ${status} after ${Math.round(ms)} ms ${String(body).slice(0, 100)}`);
  }

  lostSocket(code: number): void {
    this.socketsLost++;
    this.example(`socket closed with ${code}`);
  }

  heardOf(changes: number): void {
    this.heard += changes;
  }

  /** Counts answers for this phase from now on. @returns the counts since the last call */
  enter(phase: string): Report {
    const { counts, examples, latencies, socketsLost, heard } = this;
    this.phase = phase;
    this.counts = { requests: 0, failed: 0, limited: 0, wrong: 0 };
    this.examples = [];
    this.latencies = {};
    [this.socketsLost, this.heard] = [0, 0];
    return { ...counts, examples, latencies, socketsLost, heard };
  }

  private example(line: string): void {
    if (this.examples.length < MOST_EXAMPLES) this.examples.push(`${this.phase}: ${line}`);
  }
}
